package main

import (
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/echomq/emqctl/internal/valkeytest"
)

// TestLiveScript runs testdata/live against real servers: $ADDR is one that
// the scripts share, each in a database of its own whose number is $DB, and
// $LOCKED is one whose default user has the password in $SECRET.
func TestLiveScript(t *testing.T) {
	const secret = "s3cr3t-of-the-test"
	open, locked := valkeytest.Start(t), valkeytest.Start(t, "--requirepass", secret)
	c := open.Client()
	db := 0
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/live",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			db++
			env.Setenv("ADDR", open.Addr)
			env.Setenv("LOCKED", locked.Addr)
			env.Setenv("SECRET", secret)
			env.Setenv("DB", strconv.Itoa(db))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits,
			"shell": cmdShell,
			// valkey COMMAND...: sends a command to the database of the script.
			"valkey": func(ts *testscript.TestScript, neg bool, args []string) {
				replies := c.DoMulti(t.Context(),
					c.B().Arbitrary("MULTI").Build(),
					c.B().Arbitrary("SELECT", ts.Getenv("DB")).Build(),
					c.B().Arbitrary(args...).Build(),
					c.B().Arbitrary("SELECT", "0").Build(),
					c.B().Arbitrary("EXEC").Build())
				for _, r := range replies {
					ts.Check(r.Error())
				}
			},
		},
	})
}
