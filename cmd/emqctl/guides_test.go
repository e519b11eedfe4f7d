package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	lua "github.com/echomq/emqctl/scripts"

	"github.com/echomq/emqctl/internal/valkeytest"
)

// TestGuides runs every sh block of docs/*.md, one shell a guide, so that a
// recipe that is copied works. Blocks marked "sh server" get a Valkey.
func TestGuides(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("no jq")
	}
	guides, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(guides) < 5 {
		t.Fatalf("%d guides, %v", len(guides), err)
	}
	for _, path := range guides {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".md"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			guideFiles(t, dir)
			cmd := exec.Command(bash, "-eu", "-c", "")
			cmd.Dir, cmd.Env = dir, os.Environ()
			var script strings.Builder
			for n, block := range strings.Split(string(text), "\n```sh") {
				if n == 0 {
					continue
				}
				head, code, _ := strings.Cut(block, "\n")
				code, _, _ = strings.Cut(code, "\n```")
				if strings.TrimSpace(head) == "server" {
					if _, err := exec.LookPath("valkey-cli"); err != nil {
						continue
					}
					if !strings.Contains(strings.Join(cmd.Env, "\n"), "\nURL=") {
						s := valkeytest.Start(t)
						c := s.Client()
						valkeytest.Do(c, "SET", "{emq}:version", "echomq:3.0.0")
						cmd.Env = append(cmd.Env, "URL=redis://"+s.Addr)
					}
				}
				script.WriteString(code + "\n")
			}
			cmd.Args[len(cmd.Args)-1] = script.String()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\n%s", err, script.String(), out)
			}
		})
	}
}

// guideFiles are the files that the guides speak of.
func guideFiles(t *testing.T, dir string) {
	t.Helper()
	claim, err := lua.FS.ReadFile("claim.lua")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"keys":           "emq:{quotes}:job:JOB0KHTOWnGLuC\nemq:{quotes}:pending\nemq:{orders}:g:PRT0KHTOWnGLuC:pending\nemq:quotes:pending\n",
		"keys-of-a-call": "emq:{quotes}:job:JOB0KHTOWnGLuC\nemq:{quotes}:pending\n",
		"job-ids":        "JOB0KHTOWnGLuC\nJOB0Nb1VTbfnu4\n",
		"service.log":    `{"msg":"claimed \"emq:{quotes}:job:JOB0KHTOWnGLuC\""}` + "\n",
		"payloads":       "one\ntwo\n",
		"lua/claim.lua":  string(claim),
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
