package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/brandedid"
)

type mintIDOptions struct {
	Namespace string
	N         int
	Node      int
	At        string
	Strict    bool
}

// nodeUnset is the flag --node when it is not given.
const nodeUnset = math.MinInt

func newMintIDCmd(e *env) *cobra.Command {
	var opts mintIDOptions
	cmd := &cobra.Command{
		Use:   "mint-id [NAMESPACE]",
		Short: "Mint new branded ids",
		Long: fmt.Sprintf(`Mint branded ids under a namespace, JOB when none is given. Within a run they
increase strictly: beyond 4096 in a millisecond the sequence carries into the
time, and a clock that steps back is not followed. The node is drawn at random,
0 to %d, unless --node gives it.

Text is the bare ids, one a line; -o json, -o tsv and --format show what
decode-id shows of each.

%s

Columns of -o tsv: %s`, brandedid.MaxNode, timeHelp, idColumns),
		Example: `  emqctl mint-id
  emqctl mint-id USR -n 3 --node 7 --at 2026-01-27T15:11:37.641Z`,
		Args: operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Namespace = brandedid.JobNamespace
			if len(args) > 0 {
				opts.Namespace = args[0]
			}
			return runMintID(cmd.Context(), e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVarP(&opts.N, "count", "n", 1, "how many")
	f.IntVar(&opts.Node, "node", nodeUnset, fmt.Sprintf("the node, 0 to %d (default random)", brandedid.MaxNode))
	f.Lookup("node").DefValue = "0" // shows none
	f.StringVar(&opts.At, "at", "", "mint at this TIME instead of now")
	wantValue(cmd, "at", "a time")
	f.BoolVar(&opts.Strict, "strict", false, "a note makes the exit code 1")
	return cmd
}

func runMintID(ctx context.Context, e *env, opts mintIDOptions) error {
	if err := checkNamespace(opts.Namespace, nil); err != nil {
		return err
	}
	if opts.N < 1 {
		return &usageError{msg: fmt.Sprintf("-n is %d, want 1 or more", opts.N)}
	}
	m, err := e.minter(opts.Node, opts.At)
	if err != nil {
		return err
	}
	r := &mintedIDRecord{}
	if err := e.check(r); err != nil {
		return err
	}
	render := e.rendering(r, '\n')
	var said verdict
	var buf []byte
	for i := range opts.N {
		if ctx.Err() != nil {
			return errInterrupted
		}
		id, err := m.Mint(opts.Namespace)
		if err != nil {
			e.Out.Write(buf)
			return &usageError{msg: "--at: " + err.Error()}
		}
		now := e.now()
		if opts.At == "" && id.Time().After(now) {
			now = id.Time() // a burst runs ahead of the clock by design
		}
		r.read(item{text: id.String()}, now)
		said |= r.verdict()
		if buf, err = render(buf); err != nil {
			return err
		}
		if len(buf) > blockLen || i == opts.N-1 {
			if _, err := e.Out.Write(buf); err == errClosed {
				break
			} else if err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return e.strictNotes(said, opts.Strict)
}

// minter makes the minter of the flags --node and --at.
func (e *env) minter(node int, at string) (*brandedid.Minter, error) {
	now := e.now
	if at != "" {
		t, err := parseTime("--at", at, e.now())
		if err != nil {
			return nil, err
		}
		now = func() time.Time { return t }
	}
	if node == nodeUnset {
		node = e.random(brandedid.MaxNode + 1)
	}
	m, err := brandedid.NewMinter(now, node)
	if err != nil {
		return nil, &usageError{msg: "--" + err.Error()}
	}
	return m, nil
}

// mintedIDRecord is an idRecord whose text is the bare id.
type mintedIDRecord struct{ idRecord }

func (r *mintedIDRecord) appendText(p *page) { p.str(r.item.text).end() }
