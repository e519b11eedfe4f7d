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
	"github.com/spf13/pflag"
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

// roff is text as man reads it, every byte as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// manPage is a command's page. It is made here and not by cobra, which goes
// through Markdown: that takes <jobs for HTML, and a table for prose.
func manPage(cmd *cobra.Command, name string) string {
	var b strings.Builder
	cmd.InitDefaultHelpFlag()
	// Left alone at the right, and no word is divided.
	b.WriteString(".TH " + strings.ToUpper(roff(name)) + " 1 \"\" emqctl emqctl\n.nr HY 0\n.nh\n.ad l\n")
	section := func(title string) { b.WriteString(".SH " + title + "\n") }
	asIs := func(text string) { b.WriteString(".EX\n" + roff(text) + "\n.EE\n") }
	section("NAME")
	b.WriteString(roff(name) + ` \- ` + roff(cmd.Short) + "\n")
	section("SYNOPSIS")
	b.WriteString(`\fB` + roff(synopsis(cmd)) + "\\fP\n")
	section("DESCRIPTION")
	for _, paragraph := range strings.Split(cmd.Long, "\n\n") {
		b.WriteString(".PP\n")
		if isTopic(cmd) || isTable(paragraph) {
			asIs(paragraph)
		} else {
			b.WriteString(roff(paragraph) + "\n")
		}
	}
	flags := func(title string, set *pflag.FlagSet) {
		if isTopic(cmd) || !set.HasAvailableFlags() {
			return
		}
		section(title)
		set.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			b.WriteString(".TP\n")
			if f.Shorthand != "" {
				b.WriteString(`\fB` + roff("-"+f.Shorthand) + `\fP, `)
			}
			b.WriteString(`\fB` + roff("--"+f.Name) + `\fP`)
			if value != "" {
				b.WriteString(` \fI` + roff(value) + `\fP`)
			}
			b.WriteString("\n" + roff(usage))
			if flagDefault(f) != "" {
				b.WriteString(roff(" (default " + flagDefault(f) + ")"))
			}
			b.WriteString("\n")
		})
	}
	flags("OPTIONS", cmd.NonInheritedFlags())
	flags("OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if cmd.Example != "" {
		section("EXAMPLE")
		asIs(cmd.Example)
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, cmd.Parent().CommandPath())
	}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			also = append(also, sub.CommandPath())
		}
	}
	if len(also) > 0 {
		section("SEE ALSO")
		for i, path := range also {
			also[i] = `\fB` + roff(strings.ReplaceAll(path, " ", "-")) + `\fP(1)`
		}
		b.WriteString(strings.Join(also, ",\n") + "\n")
	}
	return b.String()
}

// synopsis is how a command, or a page of help, is called.
func synopsis(cmd *cobra.Command) string {
	if isTopic(cmd) {
		return cmd.Parent().CommandPath() + " help " + cmd.Name()
	}
	return cmd.UseLine()
}

// flagDefault is what a flag is when it is not given, "" for nothing.
func flagDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "false", "[]", "0s":
		return ""
	}
	return f.DefValue
}

// checkWords holds a page to the command: it has every word, in order.
func checkWords(t *testing.T, cmd *cobra.Command, page string) {
	t.Helper()
	var text strings.Builder
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, ".") {
			text.WriteString(line)
		}
	}
	words := func(s string) string { return " " + strings.Join(strings.Fields(s), " ") + " " }
	shown := words(strings.NewReplacer(`\&`, "", `\fB`, "", `\fI`, "", `\fP`, "", `\-`, "-", `\e`, `\`).Replace(text.String()))
	want := []string{cmd.Short, cmd.Long, cmd.Example, synopsis(cmd)}
	visit := func(f *pflag.Flag) {
		if !f.Hidden {
			_, usage := pflag.UnquoteUsage(f)
			want = append(want, "--"+f.Name, usage)
		}
	}
	if !isTopic(cmd) {
		cmd.NonInheritedFlags().VisitAll(visit)
		cmd.InheritedFlags().VisitAll(visit)
	}
	for _, w := range want {
		if w != "" && !strings.Contains(shown, words(w)) {
			t.Errorf("the man page of %s lacks %q", cmd.CommandPath(), w)
		}
	}
}
