package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/escape"
)

type encodeKeyOptions struct {
	Queue, Type, Name string
	Named             bool // an operand says Name
	Strict            bool
}

func newEncodeKeyCmd(e *env) *cobra.Command {
	var opts encodeKeyOptions
	cmd := &cobra.Command{
		Use:   "encode-key QUEUE TYPE [ID|NAME]",
		Short: "Write the key of a queue and type",
		Long: `Write a key: the queue's, of a type that help grammar lists, with the id or the
name that the type's pattern asks for. For a type of the reserve QUEUE is emq.

Text is the bare key, or the error of an operand that is refused; -o json,
-o tsv and --format show what decode-key shows of it. A queue name with a brace
or a NUL, and an id that is not a branded id, are refused as the host refuses
them: code 1.

Columns of -o tsv: ` + keyColumns,
		Example: `  emqctl encode-key quotes job JOB0KHTOWnGLuC
  emqctl encode-key quotes lane PRT0KHTOWnGLuC
  emqctl encode-key emq version`,
		Args: operands(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Queue, opts.Type = args[0], args[1]
			if opts.Named = len(args) > 2; opts.Named {
				opts.Name = args[2]
			}
			return runEncodeKey(e, opts)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return typeWords(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&opts.Strict, "strict", false, "a note makes the exit code 1")
	return cmd
}

func typeWords() []string {
	var words []string
	for _, info := range decode.Types() {
		words = append(words, info.Word)
	}
	return words
}

func runEncodeKey(e *env, opts encodeKeyOptions) error {
	info, ok := decode.TypeByWord(opts.Type)
	if !ok {
		u := &usageError{msg: "no type is called " + quote(opts.Type), hint: "emqctl help grammar lists them"}
		if near := decode.NearestWord(opts.Type); near != "" {
			u.hint = "did you mean " + near + "?"
		}
		return u
	}
	if info.Space == decode.Reserve && opts.Queue != "emq" {
		return &usageError{msg: "QUEUE is " + quote(opts.Queue) + ", want emq: " + info.Word + " belongs to the reserve, " + info.Key()}
	}
	if want := info.Placeholder(); want != "" && !opts.Named {
		return &usageError{msg: "found no operand after " + info.Word + ", want <" + want + ">", hint: "its keys are " + info.Key()}
	}
	r := &encodedKeyRecord{}
	key, err := decode.Build(opts.Queue, info.Type, opts.Name)
	r.read(item{text: key}, e.now())
	var bad *decode.Error
	if errors.As(err, &bad) {
		input := opts.Name
		if bad.Kind == decode.KindQueue {
			input = opts.Queue
		}
		r.read(item{bad: newProblem(string(bad.Kind), bad.Off, bad.Error(), decode.Hint(input, bad, e.now()))}, e.now())
		r.input = input
		// What was given is shown in its fields.
		r.key = decode.Key{Space: info.Space, Queue: opts.Queue, Type: info.Type, Name: opts.Name}
		r.plain = escape.IsPlain(opts.Queue) && escape.IsPlain(opts.Name)
	}
	if e.output == outputText && e.format == "" {
		for _, n := range r.notes {
			e.talk(fmt.Sprintf("note: %s at byte %d: %s", n.Kind, n.Offset, n.Message))
		}
	}
	return e.emit(r, opts.Strict)
}

// encodedKeyRecord is a keyRecord whose text is the bare key.
type encodedKeyRecord struct {
	keyRecord
	input string // the operand that is wrong
}

func (r *encodedKeyRecord) appendText(p *page) {
	if r.item.bad != nil {
		p.problem("operand", r.input, r.item.bad)
		return
	}
	p.bytes(ink{}, r.item.text).end()
}
