package trace

import (
	"io/fs"
	"os"
	"strings"
	"testing"
)

// lua reads every script of a file system.
func lua(tb testing.TB, fsys fs.FS) map[string]string {
	tb.Helper()
	out := map[string]string{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".lua") {
			return err
		}
		b, err := fs.ReadFile(fsys, p)
		out[p] = string(b)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// benchmarkFS traces and judges every script of a folder.
func benchmarkFS(b *testing.B, fsys fs.FS) {
	scripts := lua(b, fsys)
	if len(scripts) == 0 {
		b.Skip("no scripts")
	}
	n := 0
	for b.Loop() {
		for p, s := range scripts {
			t, err := Of(Script{Path: p, Text: s})
			if err != nil {
				b.Fatal(err)
			}
			t.Findings(Law{})
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "scripts/s")
}

func BenchmarkTestdata(b *testing.B) { benchmarkFS(b, os.DirFS("testdata")) }

// BenchmarkVerbs traces the embedded verbs, which lie beside this module's
// internal folder.
func BenchmarkVerbs(b *testing.B) {
	dir := "../../scripts"
	if d := os.Getenv("EMQCTL_BENCH_SCRIPTS"); d != "" {
		dir = d
	}
	if _, err := os.Stat(dir); err != nil {
		b.Skip(err)
	}
	benchmarkFS(b, os.DirFS(dir))
}
