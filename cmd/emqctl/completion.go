package main

import (
	_ "embed"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// genFish writes fish's completion script. Cobra's evaluates the words before
// the cursor as fish hands them over, without their quotes: what was quoted
// could run.
func genFish(root *cobra.Command, w io.Writer, descriptions bool) error {
	var b strings.Builder
	if err := root.GenFishCompletion(&b, descriptions); err != nil {
		return err
	}
	const words, escaped = "set -l args (commandline -opc)\n", "set -l args (string escape -- (commandline -opc))\n"
	if strings.Count(b.String(), words) != 1 {
		return errors.New("fish's script is another than is known")
	}
	_, err := io.WriteString(w, strings.Replace(b.String(), words, escaped, 1))
	return err
}

// addCompletion adds the command completion, to be called when root has all
// the others.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completeFiles(root)
	finishCompletion(root)
}

// bashWords is bash code that cobra's script leaves to the package
// bash-completion.
//
//go:embed completion.bash
var bashWords string

// genBash writes bash's completion script.
func genBash(root *cobra.Command, w io.Writer, descriptions bool) error {
	if err := root.GenBashCompletionV2(w, descriptions); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n"+bashWords)
	return err
}

// completeFiles lets flags that name files and folders be completed with them,
// and the operands of lint; nothing else is a file.
func completeFiles(root *cobra.Command) {
	complete := func(d cobra.ShellCompDirective) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return nil, d }
	}
	for _, cmd := range root.Commands() {
		for _, name := range []string{"file", "payload-file", "password-file", "cacert", "cert", "key"} {
			if cmd.Flags().Lookup(name) != nil {
				cmd.RegisterFlagCompletionFunc(name, complete(cobra.ShellCompDirectiveDefault))
			}
		}
		if cmd.Flags().Lookup("scripts") != nil {
			cmd.RegisterFlagCompletionFunc("scripts", complete(cobra.ShellCompDirectiveFilterDirs))
		}
		if cmd.Name() == "lint" {
			cmd.ValidArgsFunction = complete(cobra.ShellCompDirectiveDefault)
		}
	}
}

// finishCompletion makes `completion tcsh` an error, and has the scripts of bash
// and fish written by genBash and genFish.
func finishCompletion(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		var shells []string
		for _, sub := range cmd.Commands() {
			shells = append(shells, sub.Name())
			sub.Example = "  emqctl completion " + sub.Name()
			if generate, ok := map[string]func(*cobra.Command, io.Writer, bool) error{"bash": genBash, "fish": genFish}[sub.Name()]; ok {
				sub.RunE = func(cmd *cobra.Command, _ []string) error {
					bare, err := cmd.Flags().GetBool("no-descriptions")
					if err != nil {
						return err
					}
					return generate(root, root.OutOrStdout(), !bare)
				}
			}
			if sub.Name() == "bash" {
				// Cobra's text wants the package bash-completion.
				sub.Long = strings.NewReplacer("\nThis script depends on the 'bash-completion' package.\nIf it is not installed already, you can install it via your OS's package manager.\n", "").Replace(sub.Long)
			}
		}
		cmd.Use = "completion SHELL"
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{msg: "found no operand, want a shell: " + orList(shells)}
			}
			return &usageError{msg: "SHELL is " + quote(args[0]) + ", want " + orList(shells)}
		}
	}
}
