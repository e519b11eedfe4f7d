package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/valkeytest"
)

var update = flag.Bool("update", false, "rewrite golden files and scripts from what the program prints")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"emqctl": main})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits,
			"shell": cmdShell,
		},
	})
}

// cmdExits runs a command that has to end with one exit code: exits 2 emqctl
// slot. Its output is there for stdout, stderr and cmp.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("%s: code %d, want %d", strings.Join(args[1:], " "), code, want)
	}
}

// cmdShell runs a line of bash, where redirections and pipes are the point.
func cmdShell(ts *testscript.TestScript, neg bool, args []string) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		ts.Fatalf("%v", err)
	}
	err = ts.Exec(bash, "-o", "pipefail", "-c", strings.Join(args, " "))
	if neg != (err != nil) {
		ts.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
}

// TestExamples runs every line of every command's Example.
func TestExamples(t *testing.T) {
	t.Chdir("../..") // examples name files of the repository
	ran := 0
	live := sync.OnceValue(func() string {
		s := valkeytest.Start(t)
		c := s.Client() // with a job, for the examples that show some
		valkeytest.Do(c, "HSET", "emq:{quotes}:job:JOB0KHTOWnGLuC", "state", "pending", "attempts", "0", "payload", "x")
		valkeytest.Do(c, "ZADD", "emq:{quotes}:pending", "0", "JOB0KHTOWnGLuC")
		valkeytest.Do(c, "HSET", "emq:{orders}:meta", "paused", "0")
		return s.Addr
	})
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if !cmd.Runnable() || cmd.Name() == "help" || cmd.Name() == "completion" {
			return
		}
		if cmd.Example == "" {
			t.Errorf("%s has no Example", cmd.CommandPath())
		}
		for _, line := range strings.Split(cmd.Example, "\n") {
			args := splitExample(line)
			if len(args) == 0 || args[0] != "emqctl" {
				t.Errorf("%s: example %q does not begin with emqctl", cmd.CommandPath(), line)
				continue
			}
			if i := slices.Index(args, "localhost:6379"); i >= 0 {
				args[i] = live()
			}
			var out, errw strings.Builder
			code := run(args[1:], strings.NewReader(""), &out, &errw, nil)
			silent := out.Len() == 0 && cmd.Name() != "lint" // which finds nothing in clean scripts
			if code != codeOK && code != codeNo || silent || errw.Len() != 0 {
				t.Errorf("%s: code %d, stdout %q, stderr %q", line, code, out.String(), errw.String())
			}
			ran++
		}
	}
	walk(newRootCmd(newEnv(nil, nil, nil, nil), ""))
	if ran < 15 {
		t.Errorf("ran %d examples, want them all", ran)
	}
}

// splitExample splits a line as a shell does: blanks divide, single quotes
// hold together.
func splitExample(line string) []string {
	var args []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		var arg strings.Builder
		for line != "" && line[0] != ' ' {
			if line[0] == '\'' {
				quoted, rest, _ := strings.Cut(line[1:], "'")
				arg.WriteString(quoted)
				line = rest
				continue
			}
			arg.WriteByte(line[0])
			line = line[1:]
		}
		args = append(args, arg.String())
	}
	return args
}

// TestHelpFits holds the pages to the width of a terminal.
func TestHelpFits(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		for _, line := range strings.Split(cmd.Long+"\n"+cmd.Example, "\n") {
			if len(line) > 81 {
				t.Errorf("%s: a line of %d bytes: %s", cmd.CommandPath(), len(line), line)
			}
		}
	}
	walk(newRootCmd(newEnv(nil, nil, nil, nil), ""))
}

// TestCommandAlone: a command that is made without the others is the same.
func TestCommandAlone(t *testing.T) {
	for _, c := range commands {
		var usage [2]string
		for i, name := range []string{"", c.name} {
			cmd, rest, err := newRootCmd(newEnv(nil, nil, nil, nil), name).Find([]string{c.name})
			if err != nil || len(rest) > 0 || cmd.Name() != c.name {
				t.Fatalf("%s: found %s, %v", c.name, cmd.Name(), err)
			}
			usage[i] = cmd.UsageString()
		}
		if diff := cmp.Diff(usage[0], usage[1]); diff != "" {
			t.Errorf("%s (-among the others +alone):\n%s", c.name, diff)
		}
	}
}

// TestMainIsRun keeps main to one call, so that run is what tests test.
func TestMainIsRun(t *testing.T) {
	src, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), "\n"); n > 10 {
		t.Errorf("main.go has %d lines, want main and nothing else", n)
	}
}
