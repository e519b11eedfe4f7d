package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/escape"
	"github.com/echomq/emqctl/internal/slot"
)

type slotOptions struct {
	inputOptions
	Keys     []string
	Together bool
	Find     bool
	Prefix   string
	N        int
}

const slotColumns = "slot tag key"

func newSlotCmd(e *env) *cobra.Command {
	var opts slotOptions
	cmd := &cobra.Command{
		Use:   "slot KEY...",
		Short: "Compute the cluster slots of keys",
		Long: fmt.Sprintf(`Compute the cluster slots of keys, any keys: CRC16 of the tag, modulo %d.
The record tells which bytes were hashed and by which rule. Without operands, or
with the operand -, keys are read from standard input, one a line.

With --together one more record tells whether all keys share a slot, as the keys
of a script in a cluster must; the exit code is 1 when they do not. -o tsv and
--format show the keys' records only.

With --find the operands are slots, and the answer is queue names that land on
them.

Columns of -o tsv: %s; with --find: slot queue`, slot.Count, slotColumns),
		Example: `  emqctl slot 'emq:{quotes}:pending' 'foo{}{bar}'
  emqctl slot --together 'emq:{quotes}:pending' 'emq:{quotes}:active'
  emqctl slot --find 0 16383 --prefix orders-`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Keys = args
			for _, name := range []string{"prefix", "count"} {
				if cmd.Flags().Changed(name) && !opts.Find {
					return &usageError{msg: "--" + name + " is for --find"}
				}
			}
			if opts.Together && opts.Find {
				return &usageError{msg: "--together and --find cannot both be had"}
			}
			return runSlot(cmd.Context(), e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	opts.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&opts.Together, "together", false, "tell whether all keys share a slot")
	f.BoolVar(&opts.Find, "find", false, "the operands are slots: find names that land on them")
	f.StringVar(&opts.Prefix, "prefix", "q", "how the names of --find begin")
	wantValue(cmd, "prefix", "the beginning of a name")
	f.IntVarP(&opts.N, "count", "n", 1, "how many names --find gives for each slot")
	return cmd
}

func runSlot(ctx context.Context, e *env, opts slotOptions) error {
	if opts.Find {
		return runSlotFind(ctx, e, opts)
	}
	if !opts.Together {
		return e.answerInput(ctx, opts.inputOptions, opts.Keys, func() answerer { return &slotRecord{} }, nil)
	}
	return runSlotTogether(ctx, e, opts)
}

// slotRecord is the answer to a key.
type slotRecord struct {
	seen *slotCounts // for --together, or nil

	item  item
	tag   string
	slot  uint16
	rule  slot.Rule
	notes []note
	plain bool
}

func (r *slotRecord) read(it item, now time.Time) {
	r.item, r.notes = it, r.notes[:0]
	r.plain = escape.IsPlain(it.text)
	if it.bad != nil {
		if r.seen != nil {
			r.seen.addUnread()
		}
		return
	}
	r.tag, r.rule = slot.Tag(it.text)
	r.slot = slot.OfTag(r.tag)
	if r.rule != slot.RuleTag && strings.HasPrefix(it.text, "emq:") {
		// A key of the protocol without a tag: the queue's keys scatter.
		if _, err := decode.Parse(it.text); err != nil {
			e := err.(*decode.Error)
			msg := e.Error()
			if hint := decode.Hint(it.text, err, now); hint != "" {
				msg += "; " + hint
			}
			r.notes = append(r.notes, note{string(e.Kind), e.Off, msg})
		}
	}
	if r.seen != nil {
		r.seen.add(r.slot, it.line, it.text)
	}
}

func (r *slotRecord) verdict() (v verdict) {
	if r.item.bad != nil {
		v |= verdictNo
	}
	if len(r.notes) > 0 {
		v |= verdictNotes
	}
	return v
}

type slotContract struct {
	Key       *string  `json:"key"`
	KeyBase64 *string  `json:"key_base64,omitempty"`
	Tag       *string  `json:"tag"`
	TagBase64 *string  `json:"tag_base64,omitempty"`
	Slot      *uint16  `json:"slot"`
	Rule      *string  `json:"rule"`
	Notes     []note   `json:"notes"`
	Error     *problem `json:"error"`
}

func (r *slotRecord) contract() any { return slotContract{} }
func (r *slotRecord) lost() bool    { return r.item.bad != nil && r.item.text == "" }

func (r *slotRecord) appendJSON(dst []byte) []byte {
	dst = appendNullable(dst, `{"key":`, r.item.text, !r.lost(), r.plain)
	if r.item.bad != nil {
		dst = append(dst, `,"tag":null,"slot":null,"rule":null,"notes":[],"error":`...)
		return append(appendProblem(dst, r.item.bad), '}')
	}
	dst = appendField(dst, `,"tag":`, r.tag, r.plain)
	dst = append(dst, `,"slot":`...)
	dst = strconv.AppendUint(dst, uint64(r.slot), 10)
	dst = append(dst, `,"rule":"`...)
	dst = append(dst, r.rule.String()...)
	dst = append(dst, `","notes":`...)
	dst = appendNotes(dst, r.notes)
	return append(dst, `,"error":null}`...)
}

func (r *slotRecord) appendTSV(dst []byte) []byte {
	if r.item.bad != nil {
		dst = append(dst, "-\t-\t"...)
		return appendOptional(dst, r.item.text, !r.lost(), r.plain)
	}
	dst = strconv.AppendUint(dst, uint64(r.slot), 10)
	dst = appendCell(append(dst, '\t'), r.tag, r.plain)
	return appendCell(append(dst, '\t'), r.item.text, r.plain)
}

func (r *slotRecord) appendText(p *page) {
	if r.item.bad != nil {
		if r.lost() {
			p.problemLine(r.item.bad)
		} else {
			p.problem("key", r.item.text, r.item.bad)
		}
		return
	}
	s := strconv.Itoa(int(r.slot))
	p.ink(p.paint.main, s).pad(7-len(s)).bytes(ink{}, r.item.text).str("  ")
	if r.rule == slot.RuleTag {
		p.ink(p.paint.dim, "tag ").bytes(p.paint.dim, r.tag)
	} else {
		p.ink(p.paint.dim, r.rule.About())
	}
	p.end()
	for _, n := range r.notes {
		p.pad(7).ink(p.paint.note, n.Kind).str(fmt.Sprintf(" at byte %d: %s", n.Offset, n.Message)).end()
	}
}
