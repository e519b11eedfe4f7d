package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// TestGenerated holds what is made from the command tree to the tree:
// completions/, man/ and docs/reference/. With -update it is made anew.
func TestGenerated(t *testing.T) {
	files := map[string]string{}
	for name, make := range map[string]func(*cobra.Command, *bytes.Buffer) error{
		"emqctl.bash": func(c *cobra.Command, b *bytes.Buffer) error { return genBash(c, b, true) },
		"_emqctl":     func(c *cobra.Command, b *bytes.Buffer) error { return c.GenZshCompletion(b) },
		"emqctl.fish": func(c *cobra.Command, b *bytes.Buffer) error { return genFish(c, b, true) },
		"emqctl.ps1":  func(c *cobra.Command, b *bytes.Buffer) error { return c.GenPowerShellCompletionWithDesc(b) },
	} {
		var b bytes.Buffer
		if err := make(generatedRoot(), &b); err != nil {
			t.Fatal(err)
		}
		files["completions/"+name] = b.String()
	}
	header := &doc.GenManHeader{Title: "EMQCTL", Section: "1", Source: "emqctl", Manual: "emqctl", Date: &time.Time{}}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.DisableAutoGenTag = true
		if cmd.Hidden || cmd.Name() == "help" {
			return
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		var man, md bytes.Buffer
		if !cmd.Runnable() && !cmd.HasSubCommands() {
			// The tables of a help topic are set as they are.
			long := cmd.Long
			md.WriteString("## emqctl help " + cmd.Name() + "\n\n" + cmd.Short + "\n\n```text\n" + long + "\n```\n")
			cmd.Long = "\n    " + strings.ReplaceAll(long, "\n", "\n    ")
		}
		if err := doc.GenMan(cmd, header, &man); err != nil {
			t.Fatal(err)
		}
		files["man/"+name+".1"] = undated(man.String())
		link := func(file string) string { return strings.ReplaceAll(strings.TrimSuffix(file, ".md"), "_", "-") + ".md" }
		if md.Len() == 0 {
			if err := doc.GenMarkdownCustom(cmd, &md, link); err != nil {
				t.Fatal(err)
			}
		}
		files["docs/reference/"+name+".md"] = md.String()
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(generatedRoot())

	root := filepath.Join("..", "..")
	for name, want := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%v; make it by go test ./cmd/emqctl -run Generated -update", err)
			continue
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is not what the command tree says (-tree +file):\n%s", name, diff)
		}
	}
	// Nothing else lies there.
	for _, dir := range []string{"completions", "man", "docs/reference"} {
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if _, ok := files[dir+"/"+entry.Name()]; !ok {
				t.Errorf("%s/%s is made from nothing", dir, entry.Name())
			}
		}
	}
}

// generatedRoot is the command tree as a release has it.
func generatedRoot() *cobra.Command {
	root := newRootCmd(newEnv(nil, nil, nil, nil), "")
	root.DisableAutoGenTag = true
	root.InitDefaultHelpFlag()
	return root
}

// undated takes the date out of a man page's first lines: it would change
// every month.
func undated(page string) string {
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".TH ") {
			fields := strings.Split(line, `"`)
			for j, f := range fields {
				if _, err := time.Parse("Jan 2006", f); err == nil {
					fields[j] = ""
				}
			}
			lines[i] = strings.Join(fields, `"`)
		}
	}
	return strings.Join(lines, "\n")
}
