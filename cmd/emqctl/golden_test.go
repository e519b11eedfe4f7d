package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGolden runs testdata/golden/<command>/<case>.args, one argument a line
// after the wanted exit code, with <case>.in on standard input if there is
// one, and compares text and JSON with <case>.txt and <case>.json. Whatever
// the rendering, the code is the same.
func TestGolden(t *testing.T) {
	const root = "../../testdata/golden"
	var cases []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".args") {
			cases = append(cases, strings.TrimSuffix(path, ".args"))
		}
		return err
	})
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, base := range cases {
		name, _ := filepath.Rel(root, base)
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			spec, err := os.ReadFile(base + ".args")
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(spec), "\n"), "\n")
			want, err := strconv.Atoi(lines[0])
			if err != nil {
				t.Fatalf("%s.args opens with %q, want the exit code", base, lines[0])
			}
			args := append([]string{filepath.Base(filepath.Dir(base))}, lines[1:]...)
			input, err := os.ReadFile(base + ".in")
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			for _, mode := range []struct{ output, ext string }{{"text", ".txt"}, {"json", ".json"}} {
				out, errw, code := runAt(testClock, append(args, "-o", mode.output), bytes.NewReader(input), nil)
				if code != want || errw != "" {
					t.Errorf("-o %s: code %d, want %d; stderr %q", mode.output, code, want, errw)
				}
				golden(t, base+mode.ext, out)
			}
			if _, _, code := runAt(testClock, append(args, "-o", "tsv"), bytes.NewReader(input), nil); code != want && code != codeFailed {
				t.Errorf("-o tsv: code %d, want %d", code, want)
			}
		})
	}
}

// TestGoldenColor shows one answer of each command in colour.
func TestGoldenColor(t *testing.T) {
	for _, args := range []string{
		"decode-key emq:{quotes}:job:JOB0KHTOWnGLuC emq:quotes:pending emq:{q}:wait",
		"decode-id JOB0KHTOWnGLuC JOB-42",
		"slot emq:{quotes}:pending foo{}{bar}",
		"enqueue quotes hello --rehearse --id USR0KHTOWnGLuC",
		"gate JOB0KHTOWnGLuC JOB-42 USR0KHTOWnGLuC",
	} {
		fields := strings.Fields(args)
		out, _, _ := runAt(testClock, append(fields, "--color", "always"), strings.NewReader(""), nil)
		golden(t, "../../testdata/golden/"+fields[0]+"/color.ansi", out)
		plain, _, _ := runAt(testClock, fields, strings.NewReader(""), nil)
		if stripped := stripColor(out); stripped != plain {
			t.Errorf("%s: without its colour the text is another:\n%s", args, cmp.Diff(plain, stripped))
		}
	}
}

func stripColor(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

// runAt runs the program with its clock stopped.
func runAt(now time.Time, args []string, in io.Reader, environ []string) (out, errw string, code int) {
	var outBuf, errBuf bytes.Buffer
	e := newEnv(in, &outBuf, &errBuf, environ)
	e.now = func() time.Time { return now }
	e.random = func(int) int { return 7 }
	code = e.run(args)
	return outBuf.String(), errBuf.String(), code
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
