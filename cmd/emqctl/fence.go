package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/valkey"
)

type fenceOptions struct {
	connectionOptions
	Fence string
}

const fenceColumns = "fence value expected db address"

func newFenceCmd(e *env) *cobra.Command {
	var opts fenceOptions
	cmd := &cobra.Command{
		Use:   "fence",
		Short: "Read the version fence of a database",
		Long: `Read {emq}:version, by which the hosts of a database agree on the version of the
protocol, and never claim it. There is one in each logical database.

Without --fence and EMQCTL_FENCE the answer is present or absent. With one of
them it is match, absent or differs, to the byte, and the exit code is 1 unless
it is match; a key that holds no string differs. A fence that the user may not
read is unreadable, code 2, and so is one that is no string when nothing is
expected of it.

Columns of -o tsv: ` + fenceColumns,
		Example: "  emqctl fence --url localhost:6379\n  emqctl fence --url localhost:6379 --fence echomq:3.0.0 -o json",
		Args:    noOperands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runFence(cmd.Context(), e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&opts.Fence, "fence", "", "the version that is expected, as in echomq:3.0.0")
	wantValue(cmd, "fence", "a version")
	opts.flags(cmd)
	return cmd
}

func runFence(ctx context.Context, e *env, opts fenceOptions) error {
	r := &fenceRecord{}
	if err := e.check(r); err != nil {
		return err
	}
	c, err := e.connect(ctx, opts.connectionOptions)
	if err != nil {
		return err
	}
	defer c.Close()
	f, err := c.Fence(ctx)
	if err != nil {
		return asInterrupt(ctx, err)
	}
	expected := opts.Fence
	if expected == "" {
		expected = e.getenv(envFence)
	}
	*r = newFenceRecord(f, expected)
	r.DB, r.Address, r.Server, r.Cluster = c.DB(), c.Addr(), c.Server(), c.Cluster()
	return e.emit(r, false)
}

// fenceRecord is what the fence says, beside what was expected of it.
type fenceRecord struct {
	Fence       string   `json:"fence"` // match, differs, absent, unreadable; present when nothing is expected
	Value       *string  `json:"value"`
	ValueBase64 *string  `json:"value_base64,omitempty"`
	Expected    *string  `json:"expected"`
	ExpectedB64 *string  `json:"expected_base64,omitempty"`
	Key         string   `json:"key"`
	DB          int      `json:"db"`
	Address     string   `json:"address"`
	Server      string   `json:"server"`
	Cluster     bool     `json:"cluster"`
	Error       *problem `json:"error"`

	value, expected string
}

// newFenceRecord compares a fence with what is expected, "" for nothing.
func newFenceRecord(f valkey.Fence, expected string) fenceRecord {
	r := fenceRecord{Fence: newFenceState(f, expected).status, Key: valkey.FenceKey, value: f.Value, expected: expected}
	if expected != "" {
		r.Expected, r.ExpectedB64 = bytesFields(expected)
	}
	switch f.State {
	case valkey.FencePresent:
		r.Value, r.ValueBase64 = bytesFields(f.Value)
	case valkey.FenceUnreadable:
		r.Error = newProblem(string(f.Reason.Kind), 0, f.Reason.Error(), f.Reason.Hint)
	}
	return r
}

func (r *fenceRecord) verdict() verdict {
	switch {
	case r.Fence == string(valkey.FenceUnreadable):
		return verdictUndone
	case r.expected != "" && r.Fence != fenceMatch:
		return verdictNo
	}
	return 0
}

func (r *fenceRecord) contract() any                { return *r }
func (r *fenceRecord) appendJSON(dst []byte) []byte { return marshal(dst, r) }

func (r *fenceRecord) appendText(p *page) {
	p.label("fence")
	switch r.Fence {
	case "match", "present":
		p.ink(p.paint.good, r.Fence)
	case "absent":
		p.ink(p.paint.note, r.Fence).about("nobody has claimed this database")
	default:
		p.ink(p.paint.bad, r.Fence)
	}
	p.end()
	if r.Value != nil || r.ValueBase64 != nil {
		p.label("value").bytes(p.paint.main, r.value)
		if r.value == "" {
			p.about("empty")
		}
		p.end()
	}
	if r.expected != "" {
		p.label("expected").bytes(ink{}, r.expected).end()
	}
	p.label("key").str(r.Key).about("in database %d", r.DB).end()
	p.label("server").str(r.Address)
	if r.Server != "" {
		p.about("%s", r.Server)
	}
	if r.Cluster {
		p.about("a cluster")
	}
	p.end()
	if r.Error != nil {
		p.label("error").ink(p.paint.bad, r.Error.Kind).str(": " + r.Error.Message).end()
	}
}

func (r *fenceRecord) appendTSV(dst []byte) []byte {
	dst = append(appendCell(dst, r.Fence, true), '\t')
	dst = append(appendOptional(dst, r.value, r.Value != nil || r.ValueBase64 != nil, false), '\t')
	dst = append(appendOptional(dst, r.expected, r.expected != "", false), '\t')
	dst = append(strconv.AppendInt(dst, int64(r.DB), 10), '\t')
	return appendCell(dst, r.Address, false)
}
