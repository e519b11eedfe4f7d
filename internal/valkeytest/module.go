package valkeytest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed testdata/enqueue.c
var moduleSource []byte

// Module compiles the test module that answers EMQ.ENQUEUE and returns the
// args that load it into a server and tell it the version of the fence. Where
// there is no C compiler the test is skipped, whatever the environment says.
func Module(tb testing.TB, fence string) []string {
	tb.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		tb.Skip("no cc on PATH")
	}
	dir := tb.TempDir()
	source, lib := filepath.Join(dir, "enqueue.c"), filepath.Join(dir, "enqueue.so")
	if err := os.WriteFile(source, moduleSource, 0o666); err != nil {
		tb.Fatal(err)
	}
	if out, err := exec.Command(cc, "-O1", "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
		tb.Fatalf("cc: %v\n%s", err, out)
	}
	return []string{"--loadmodule", lib, fence}
}
