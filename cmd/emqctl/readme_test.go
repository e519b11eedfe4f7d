package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme runs the transcripts of the README: what stands after a "$" is
// run, and what follows up to a line that is no transcript is its output. A
// line of three dots stands for any lines.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("lua", 0o777); err != nil {
		t.Fatal(err)
	}
	limiter := "-- A limiter in the style of many.\nlocal rcall = redis.call\nlocal prefix = ARGV[1]\nlocal key = prefix .. ':tokens'\nlocal n = rcall('INCR', key)\nreturn n\n"
	if err := os.WriteFile(filepath.Join("lua", "limiter.lua"), []byte(limiter), 0o666); err != nil {
		t.Fatal(err)
	}
	age := regexp.MustCompile(`\d+ days ago`)
	ran := 0
	lines := strings.Split(string(readme), "\n")
	for i := 0; i < len(lines); i++ {
		command, ok := strings.CutPrefix(lines[i], "    $ emqctl ")
		if !ok {
			continue
		}
		var want []string
		for i+1 < len(lines) && (strings.HasPrefix(lines[i+1], "    ") || lines[i+1] == "" && i+2 < len(lines) && strings.HasPrefix(lines[i+2], "    ") && !strings.HasPrefix(lines[i+2], "    $")) {
			i++
			want = append(want, strings.TrimPrefix(lines[i], "    "))
		}
		out, errw, _ := runAt(testClock, splitExample(command), strings.NewReader(""), nil)
		got := strings.Split(strings.TrimSuffix(age.ReplaceAllString(errw+out, "N days ago"), "\n"), "\n")
		if !linesMatch(strings.Split(age.ReplaceAllString(strings.Join(want, "\n"), "N days ago"), "\n"), got) {
			t.Errorf("emqctl %s prints\n%s\nthe README says\n%s", command, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		ran++
	}
	if ran < 5 {
		t.Errorf("ran %d transcripts, want all", ran)
	}
}

// linesMatch compares lines, where "..." stands for any number of them.
func linesMatch(want, got []string) bool {
	for i, w := range want {
		if w == "..." {
			for skip := 0; skip <= len(got)-i; skip++ {
				if linesMatch(want[i+1:], got[i+skip:]) {
					return true
				}
			}
			return false
		}
		if i >= len(got) || got[i] != w {
			return false
		}
	}
	return len(want) == len(got)
}
