package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.DisableAutoGenTag = true
		if cmd.Hidden || cmd.Name() == "help" {
			return
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		var md bytes.Buffer
		long := cmd.Long
		if isTopic(cmd) {
			md.WriteString("## emqctl help " + cmd.Name() + "\n\n" + cmd.Short + "\n\n```text\n" + long + "\n```\n")
		}
		page := manPage(cmd, name)
		checkWords(t, cmd, page)
		files["man/"+name+".1"] = page
		cmd.Long = fenced(long)
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

// isTopic reports whether a command is a page of help alone.
func isTopic(cmd *cobra.Command) bool { return !cmd.Runnable() && !cmd.HasSubCommands() }

// isTable reports whether a paragraph is an example or a table, to be set as it
// is.
func isTable(paragraph string) bool {
	return strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ")
}

// fenced is a Long as Markdown: its tables are code.
func fenced(long string) string {
	paragraphs := strings.Split(long, "\n\n")
	for i, p := range paragraphs {
		if isTable(p) {
			paragraphs[i] = "```text\n" + p + "\n```"
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
