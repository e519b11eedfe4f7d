package main

import (
	"errors"
	"fmt"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootLong = `emqctl reads the wire of EchoMQ, a job-queue protocol over Valkey and Redis:
keys, ids, slots and scripts. Answers go to standard output, one record an
item, in the order given; talk about them goes to standard error.`

func newRootCmd(e *env) *cobra.Command {
	cobra.EnableCommandSorting = false // help shows commands as they are added
	root := &cobra.Command{
		Use:           "emqctl",
		Short:         "Read the wire of EchoMQ by hand",
		Long:          rootLong,
		Example:       "  emqctl decode-key 'emq:{quotes}:job:JOB0KHTOWnGLuC'",
		SilenceUsage:  true,
		SilenceErrors: true,

		SuggestionsMinimumDistance: 2,

		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return &usageError{msg: "no command given", help: true}
		},
		PersistentPreRun: func(*cobra.Command, []string) { e.begin() },
	}
	root.SetFlagErrorFunc(flagError)
	root.Flags().SortFlags = false
	f := root.PersistentFlags()
	f.SortFlags = false
	f.VarP(&e.output, "output", "o", "how answers are shown")
	f.StringVar(&e.format, "format", "", "show answers by a Go text/template over the JSON record")
	f.Var(&e.color, "color", "whether text is coloured")
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json", "tsv"}, cobra.ShellCompDirectiveNoFileComp))
	root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))

	root.AddCommand(
		newDecodeKeyCmd(e),
		newEncodeKeyCmd(e),
		newDecodeIDCmd(e),
		newEncodeIDCmd(e),
		newMintIDCmd(e),
		newIDRangeCmd(e),
		newSlotCmd(e),
		newTraceCmd(e),
		newLintCmd(e),
		newVersionCmd(e),
		newSelfCheckCmd(e),
	)
	root.AddCommand(newHelpTopics()...)
	return root
}

// flagError names the flag that a command line gets wrong, and what it takes.
func flagError(cmd *cobra.Command, err error) error {
	u := &usageError{msg: err.Error(), hint: "see " + cmd.CommandPath() + " --help"}
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &missing):
		f := missing.GetFlag()
		u.msg = fmt.Sprintf("--%s takes %s, found nothing after it", f.Name, f.Value.Type())
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		near := ""
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if levenshtein.ComputeDistance(f.Name, unknown.GetSpecifiedName()) <= 2 {
				near = f.Name
			}
		})
		if near != "" {
			u.hint = "did you mean --" + near + "?"
		}
	}
	return u
}

// unknownCommand is cobra's own complaint with its suggestions.
func unknownCommand(cmd *cobra.Command, name string) error {
	err := &usageError{msg: "unknown command " + quote(name), hint: "see emqctl --help"}
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		err.hint = "did you mean " + orList(near) + "?"
	}
	return err
}
