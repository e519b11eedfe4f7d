package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
)

// TestFactsAgree holds together what has to be said in two places: the scripts
// are files of their own, and the README is read without the program.
func TestFactsAgree(t *testing.T) {
	reg, err := loadScripts("")
	if err != nil {
		t.Fatal(err)
	}
	refusals, keys := 0, 0
	for _, v := range reg.Verbs() {
		for _, r := range v.Refusals {
			if r.Class == "EMQKIND" {
				refusals++
				if r.Text != brandedid.WireRefusal {
					t.Errorf("%s refuses with %q, the gate says %q", v.Name, r.Text, brandedid.WireRefusal)
				}
			}
		}
		for _, k := range v.Keys {
			// The placeholders stand for what their type wants.
			key := strings.NewReplacer("<id>", "JOB0KHTOWnGLuC", "<parent>", "JOB0KHTOWnGLuC", "<child>", "JOB0KHTOWnGLuC").Replace(k.Pattern)
			parsed, err := decode.Parse(key)
			if err != nil {
				t.Errorf("%s: KEYS[%d] %s: %v", v.Name, k.N, k.Pattern, err)
				continue
			}
			if parsed.Type == decode.Unregistered {
				continue // <state> is one of several sets
			}
			keys++
			if got := parsed.Type.Info().Store; got != k.Store {
				t.Errorf("%s: KEYS[%d] %s is declared as a %q, the grammar says %q", v.Name, k.N, k.Pattern, k.Store, got)
			}
		}
	}
	if refusals < 7 || keys < 100 {
		t.Errorf("compared %d refusals and %d keys, want at least 7 and 100", refusals, keys)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range exitCodes {
		row := fmt.Sprintf("| %d | %s", c.code, c.about)
		if c.detail != "" {
			row += ": " + c.detail
		}
		if !strings.Contains(string(readme), row+" |\n") {
			t.Errorf("the README lacks the row %s |", row)
		}
	}
	named := regexp.MustCompile(`go test \./(\S+) -run (\w+)`).FindAllStringSubmatch(string(readme), -1)
	if len(named) < 8 {
		t.Errorf("found %d commands that name tests in the README", len(named))
	}
	for _, m := range named {
		dir := "../../" + strings.TrimSuffix(m[1], "/...")
		found := false
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, "_test.go") {
				text, _ := os.ReadFile(path)
				found = found || regexp.MustCompile(`(?m)^func Test\w*`+m[2]).Match(text)
			}
			return nil
		})
		if !found {
			t.Errorf("no test is run by the README's %s", m[0])
		}
	}
}

// TestToolVersions: a tool that builds releases has one version, wherever it
// is named.
func TestToolVersions(t *testing.T) {
	versions := map[string][]string{}
	for _, name := range []string{"CONTRIBUTING.md", ".github/workflows/ci.yml", ".github/workflows/release.yml"} {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(goreleaser/v2)@(\S+)`).FindAllStringSubmatch(string(text), -1) {
			versions[m[2]] = append(versions[m[2]], name)
		}
	}
	if len(versions) != 1 {
		t.Errorf("found %v, want one version", versions)
	}
}
