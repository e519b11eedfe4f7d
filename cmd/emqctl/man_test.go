package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
