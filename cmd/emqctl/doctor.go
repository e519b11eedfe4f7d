package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/doctor"
	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/valkey"
)

type doctorOptions struct {
	connectionOptions
	Queue   string
	Require []string
}

const doctorColumns = "status check node detail"

func newDoctorCmd(e *env) *cobra.Command {
	var opts doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether a server is fit for queues, and what to do",
		Long: `Look at a server, or at every primary of a cluster, by commands that only read,
and judge it as a home for queues: its version and commands, the version fence,
the native command, which scripts are cached, what the connected user may do of
each verb, clock, latency, memory and its eviction policy, persistence and
replicas. No script is loaded and no fence is claimed.

A check is ok, warning, failure, or unknown: a right was missing, or the server
does not tell. The exit code is 1 when one is a failure, and 2 when a node did
not answer. What is unknown for want of a right does not change it, since a user
with the least rights may ask for little; --require makes it a failure.

--require makes a check a failure unless it is as required, for pipelines:

  emqctl doctor --url localhost:6379 --require fence=echomq:3.0.0,module
  emqctl doctor --require script=enqueue,script=claim

Rights are asked for the keys of --queue; without it, for those of an example.
The server is that of --url or EMQCTL_URL, the fence is compared with
EMQCTL_FENCE.

Columns of -o tsv: ` + doctorColumns,
		Example: "  emqctl doctor --url localhost:6379\n  emqctl doctor --url localhost:6379 --require script=enqueue -o json",
		Args:    noOperands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := emptyList(cmd, "require"); err != nil {
				return err
			}
			return runDoctor(cmd.Context(), e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&opts.Require, "require", nil, "fail unless so: fence=VERSION, module, script=VERB")
	f.StringVar(&opts.Queue, "queue", "", "ask rights for the keys of this queue")
	wantValue(cmd, "queue", "a queue")
	wantValue(cmd, "require", "fence=VERSION, module or script=VERB")
	cmd.RegisterFlagCompletionFunc("require", func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		if !strings.HasPrefix(begun, "script=") {
			return []string{"fence=", "module", "script="}, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		}
		var words []string
		if reg, err := loadScripts(""); err == nil {
			for _, v := range reg.Verbs() {
				words = append(words, "script="+v.Name)
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	})
	opts.flags(cmd)
	return cmd
}

// required reads the values of --require.
func (o *doctorOptions) required(reg *scripts.Registry) (r doctor.Require, err error) {
	for _, s := range o.Require {
		word, value, given := strings.Cut(s, "=")
		switch {
		case word == "fence" && given && value != "":
			r.Fence = value
		case s == "module":
			r.Module = true
		case word == "script" && given:
			if _, ok := reg.Lookup(value); !ok {
				u := &usageError{msg: "--require: no verb is called " + quote(value)}
				if near := reg.Nearest(value); len(near) > 0 {
					u.hint = "did you mean " + orList(near) + "?"
				}
				return r, u
			}
			if !slices.Contains(r.Scripts, value) {
				r.Scripts = append(r.Scripts, value)
			}
		default:
			return r, &usageError{msg: "--require has " + quote(s) + ", want fence=VERSION, module or script=VERB"}
		}
	}
	return r, nil
}

func runDoctor(ctx context.Context, e *env, opts doctorOptions) error {
	if err := e.check(&checkRecord{}); err != nil {
		return err
	}
	reg, err := loadScripts("")
	if err != nil {
		return err
	}
	require, err := opts.required(reg)
	if err != nil {
		return err
	}
	if err := decode.CheckQueue(opts.Queue); err != nil && opts.Queue != "" {
		return &usageError{msg: "--queue is " + quote(opts.Queue) + ": " + err.Error()}
	}
	c, err := e.connect(ctx, opts.connectionOptions)
	if err != nil {
		return err
	}
	defer c.Close()
	checks := doctor.Examine(ctx, c, doctor.Options{
		Verbs: reg.Verbs(), Queue: opts.Queue, Expected: e.getenv(envFence), Require: require, Now: e.now,
		OtherDB: func(ctx context.Context, db int) (valkey.Fence, error) {
			o := opts.connectionOptions
			o.DB = db
			c, err := e.connect(ctx, o)
			if err != nil {
				return valkey.Fence{}, err
			}
			defer c.Close()
			return c.Fence(ctx)
		},
	})
	if ctx.Err() != nil {
		return errInterrupted
	}
	var list []record
	for _, check := range checks {
		list = append(list, &checkRecord{check: check})
	}
	return e.emitAll(list, false)
}

// checkRecord is one check.
type checkRecord struct{ check doctor.Check }

type checkContract struct {
	Record  string          `json:"record"` // check
	Check   string          `json:"check"`
	Status  string          `json:"status"`
	Node    *string         `json:"node"` // null for what is not of one node
	Detail  string          `json:"detail"`
	Advice  *string         `json:"advice"`
	Scripts []doctor.Script `json:"scripts" null:"but of the check scripts"` // of the check scripts
	Verbs   []doctor.Right  `json:"verbs" null:"but of the check rights"`    // of the check rights
	Error   *problem        `json:"error"`                                   // the node did not answer
}

func (r *checkRecord) verdict() (v verdict) {
	if r.check.Status == doctor.Failure {
		v |= verdictNo
	}
	if r.check.Err != nil {
		v |= verdictUndone
	}
	return v
}

func (r *checkRecord) contract() any { return checkContract{} }

func (r *checkRecord) appendJSON(dst []byte) []byte {
	c := checkContract{
		Record: "check", Check: r.check.Name, Status: string(r.check.Status), Detail: clean(r.check.Detail),
		Scripts: r.check.Scripts, Verbs: r.check.Verbs, Error: problemOf(r.check.Err),
	}
	if r.check.Node != "" {
		c.Node = &r.check.Node
	}
	if r.check.Advice != "" {
		c.Advice = &r.check.Advice
	}
	return marshal(dst, c)
}

func (r *checkRecord) appendTSV(dst []byte) []byte {
	dst = append(append(dst, r.check.Status...), '\t')
	dst = append(append(dst, r.check.Name...), '\t')
	dst = append(appendOptional(dst, r.check.Node, r.check.Node != "", false), '\t')
	return appendCell(dst, clean(r.check.Detail), false)
}

func (r *checkRecord) appendText(p *page) {
	c := &r.check
	style := map[doctor.Status]ink{
		doctor.OK: p.paint.good, doctor.Warning: p.paint.note, doctor.Failure: p.paint.bad, doctor.Unknown: p.paint.note,
	}[c.Status]
	const statusWidth, nameWidth = 9, 16
	p.ink(style, string(c.Status)).pad(statusWidth - len(c.Status))
	p.ink(p.paint.main, c.Name).pad(nameWidth - len(c.Name))
	p.str(clean(c.Detail))
	if c.Node != "" {
		p.about("%s", c.Node)
	}
	p.end()
	under := strings.Repeat(" ", statusWidth+nameWidth)
	for _, v := range c.Verbs {
		if v.May != doctor.MayPart {
			continue
		}
		p.str(under).ink(p.paint.note, v.Verb).str(fmt.Sprintf(" wants %s", strings.Join(clipList(v.Missing, 3), ", "))).end()
	}
	if c.Advice != "" {
		p.str(under).ink(p.paint.dim, c.Advice).end()
	}
}

// clipList keeps the first ones of a list and tells how many follow.
func clipList(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("%d more", len(list)-n))
}
