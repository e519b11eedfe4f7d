package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
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
	var db atomic.Int64 // scripts are set up side by side
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/live",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ADDR", open.Addr)
			env.Setenv("LOCKED", locked.Addr)
			env.Setenv("SECRET", secret)
			env.Setenv("DB", strconv.FormatInt(db.Add(1), 10))
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

// TestNoSecretIsShown fails to connect in many ways, with a password from
// each place that it may come from, and searches both streams for it.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	const secret, encoded = "s3cr3t/w#rd%", "s3cr3t%2Fw%23rd%25"
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	locked, plain := valkeytest.Start(t, "--requirepass", "another"), valkeytest.Start(t)
	hole := valkeytest.StartProxy(t, "")
	free, err := valkeytest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, args := range [][]string{
		{locked.Addr},
		{locked.Addr, "--user", "default"},
		{plain.Addr},
		{plain.Addr, "--tls", "--timeout", "200ms"},
		{plain.Addr, "--db", "1000"},
		{plain.Addr + "/x"},
		{plain.Addr + "?x=1"},
		{"127.0.0.1:" + strconv.Itoa(free)},
		{strings.TrimPrefix(web.URL, "http://")},
		{hole.Addr, "--timeout", "100ms"},
		{"no-such-host.invalid"},
		{"h1:1,h2:2"},
		{"h:port"},
		{"[h]"},
		{""},
	} {
		for _, how := range []string{"url", "raw-url", "bare-url", "port", "env-url", "env", "file"} {
			var environ []string
			flags := append([]string{"--url", args[0]}, args[1:]...)
			switch how {
			case "url":
				flags[1] = "redis://:" + encoded + "@" + args[0]
			case "raw-url":
				flags[1] = "redis://u:" + secret + "@" + args[0]
			case "bare-url":
				flags[1] = "u:" + secret + "@" + args[0]
			case "port":
				flags[1] = "redis://u:" + secret
			case "env-url":
				environ, flags = []string{"EMQCTL_URL=valkey://:" + encoded + "@" + args[0]}, flags[2:]
			case "env":
				environ = []string{"EMQCTL_PASSWORD=" + secret}
			case "file":
				flags = append(flags, "--password-file", file)
			}
			for _, output := range []string{"text", "json"} {
				out, errw, code := runAt(testClock, append([]string{"fence", "-o", output}, flags...), strings.NewReader(""), environ)
				if code != codeFailed || out != "" || errw == "" {
					t.Errorf("%s by %s: code %d, stdout %q, stderr %q, want a failure on stderr", args, how, code, out, errw)
				}
				if all := out + errw; strings.Contains(all, "s3cr3t") || strings.Contains(all, "w#rd") || strings.Contains(all, "w%23rd") {
					t.Errorf("%s by %s: the secret is in %q", args, how, all)
				}
				runs++
			}
		}
	}
	t.Logf("%d failures", runs)
}
