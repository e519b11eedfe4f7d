package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootLong = `emqctl reads the wire of EchoMQ, a job-queue protocol over Valkey and Redis:
keys, ids, slots and scripts. Answers go to standard output, one record an
item, in the order given; talk about them goes to standard error.`

// commands are what emqctl has, as help shows them. A name stands here too so
// that a command can be had without the others.
var commands = []struct {
	name string
	make func(*env) *cobra.Command
}{
	{"decode-key", newDecodeKeyCmd},
	{"encode-key", newEncodeKeyCmd},
	{"decode-id", newDecodeIDCmd},
	{"encode-id", newEncodeIDCmd},
	{"mint-id", newMintIDCmd},
	{"id-range", newIDRangeCmd},
	{"slot", newSlotCmd},
	{"trace", newTraceCmd},
	{"lint", newLintCmd},
	{"enqueue", newEnqueueCmd},
	{"gate", newGateCmd},
	{"fence", newFenceCmd},
	{"doctor", newDoctorCmd},
	{"audit", newAuditCmd},
	{"browse", newBrowseCmd},
	{"version", newVersionCmd},
	{"self-check", newSelfCheckCmd},
}

func commandNamed(name string) func(*env) *cobra.Command {
	for _, c := range commands {
		if c.name == name {
			return c.make
		}
	}
	return nil
}

// newRootCmd makes the tree of commands. Of a tree for the name of a command
// only that is made, which is half of what a short run takes.
func newRootCmd(e *env, name string) *cobra.Command {
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
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if e.format == "" && cmd.Flags().Changed("format") {
				return &usageError{msg: "--format is empty, want a template", hint: "as in --format '{{.slot}}'"}
			}
			if err := checkFlags(cmd); err != nil {
				return err
			}
			e.begin()
			return nil
		},
	}
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	root.SetFlagErrorFunc(flagError)
	root.Flags().SortFlags = false
	f := root.PersistentFlags()
	f.SortFlags = false
	f.VarP(&e.output, "output", "o", "how answers are shown")
	f.StringVar(&e.format, "format", "", "show answers by a Go text/template over the JSON record")
	f.Var(&e.color, "color", "whether text is coloured")
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.RegisterFlagCompletionFunc("output", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		words := outputs
		if cmd.Name() == "lint" {
			words = append(slices.Clone(words), string(outputSARIF))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	})
	root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))

	if c := commandNamed(name); c != nil {
		root.AddCommand(c(e))
		root.SetHelpCommand(&cobra.Command{Hidden: true})
		root.CompletionOptions.DisableDefaultCmd = true
		return root
	}
	for _, c := range commands {
		root.AddCommand(c.make(e))
	}
	root.AddCommand(newHelpTopics()...)
	root.SetHelpCommand(newHelpCmd(root))
	addCompletion(root)
	return root
}

// newHelpCmd is cobra's help command, but that an unknown topic is an error.
func newHelpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show help about a command or a topic",
		Long:  "Show help about a command or a topic: emqctl help grammar.",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || cmd == root && len(args) > 0 {
				return unknownCommand(root, args[0])
			}
			if len(rest) > 0 {
				if cmd.HasSubCommands() {
					return unknownCommand(cmd, rest[0])
				}
				return &usageError{msg: "found " + quote(rest[0]) + " after help " + cmd.Name() + ", want nothing", hint: "see emqctl help " + cmd.Name()}
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, sub := range root.Commands() {
				if len(args) == 0 && !sub.Hidden {
					names = append(names, sub.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// emptyList refuses flags that take lists and are given an empty one, as by a
// variable that is not set.
func emptyList(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if list, err := cmd.Flags().GetStringSlice(name); err == nil && cmd.Flags().Changed(name) && len(list) == 0 {
			return &usageError{msg: "--" + name + " is empty", hint: "see " + cmd.CommandPath() + " --help"}
		}
	}
	return nil
}

// operands is the check of a command that takes from least to most operands,
// or any number from least when most is -1.
func operands(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		_, want, _ := strings.Cut(cmd.Use, " ")
		if want == "" {
			want = "none"
		}
		return &usageError{msg: fmt.Sprintf("found %s, want %s", plural(len(args), "operand"), want), hint: "see " + cmd.CommandPath() + " --help"}
	}
}

// wanted is the annotation of a flag whose value may not be empty: what it
// wants. An empty value is most often a variable that is not set, and to take
// it for a flag that was not given would do another thing than was asked.
const wanted = "emqctl_wanted"

func wantValue(cmd *cobra.Command, name, want string) {
	cmd.Flags().SetAnnotation(name, wanted, []string{want})
}

// exclusive is the annotation that cobra makes of MarkFlagsMutuallyExclusive.
const exclusive = "cobra_annotation_mutually_exclusive"

// checkFlags refuses flags that are given and empty, and those that cannot be
// had together, which cobra would refuse later in words of its own.
func checkFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed || err != nil {
			return
		}
		empty := f.Value.String() == "" || f.Value.Type() == "stringSlice" && f.Value.String() == "[]"
		if want := f.Annotations[wanted]; want != nil && empty {
			err = &usageError{msg: "--" + f.Name + " is empty, want " + want[0]}
			if f.Name == "url" {
				err = &usageError{msg: "no address given: --url is empty"}
			}
			return
		}
		for _, group := range f.Annotations[exclusive] {
			names := slices.DeleteFunc(strings.Fields(group), func(n string) bool { return !cmd.Flags().Changed(n) })
			if len(names) > 1 {
				err = &usageError{msg: "--" + names[0] + " and --" + names[1] + " cannot both be had"}
				return
			}
		}
	})
	return err
}

// flagError names the flag that a command line gets wrong, and what it takes.
func flagError(cmd *cobra.Command, err error) error {
	u := &usageError{msg: err.Error(), hint: "see " + cmd.CommandPath() + " --help"}
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		want := map[string]string{"int": "want a whole number", "bool": "want true or false"}[f.Value.Type()]
		switch {
		case f.Value.Type() == "duration":
			want = wantDuration(invalid.GetValue())
		case want == "":
			want = errors.Unwrap(invalid).Error()
		}
		found := quote(invalid.GetValue())
		if strings.Contains(found, "@") {
			found = "something with an @" // an address, and its password, in the wrong place
		}
		u.msg = fmt.Sprintf("--%s is %s, %s", f.Name, found, want)
	case errors.As(err, &missing):
		f := missing.GetFlag()
		u.msg = fmt.Sprintf("--%s takes %s, found nothing after it", f.Name, f.Value.Type())
	case errors.As(err, &unknown) && slices.Contains([]string{"version", "v", "V"}, unknown.GetSpecifiedName()):
		u.hint = "it is a command: emqctl version"
	case errors.As(err, &unknown) && unknown.GetSpecifiedName() == "password":
		u.hint = "others can see a command line: give it by --password-file FILE, EMQCTL_PASSWORD or the URL"
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		near, name := "", unknown.GetSpecifiedName()
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			begins := strings.HasPrefix(f.Name, name)
			if begins || !strings.HasPrefix(near, name) && levenshtein.ComputeDistance(f.Name, name) <= 2 {
				near = f.Name
			}
		})
		if near != "" {
			u.hint = "did you mean --" + near + "?"
		}
	case errors.As(err, &unknown):
		u.hint = "an operand that begins with - goes after --"
	}
	return u
}

// unknownCommand is cobra's own complaint with its suggestions.
func unknownCommand(cmd *cobra.Command, name string) error {
	err := &usageError{msg: "unknown command " + quote(name), hint: "see emqctl --help"}
	var near []string
	if name != "" {
		near = cmd.SuggestionsFor(name)
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAdditionalHelpTopicCommand() && levenshtein.ComputeDistance(sub.Name(), name) <= cmd.SuggestionsMinimumDistance {
			near = append(near, "help "+sub.Name())
		}
	}
	if len(near) > 0 {
		err.hint = "did you mean " + orList(near) + "?"
	}
	return err
}
