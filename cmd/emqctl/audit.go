package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/audit"
)

type auditOptions struct {
	connectionOptions
	Queues []string
	Rate   int
	Grace  time.Duration
	Allow  []string
}

func newAuditCmd(e *env) *cobra.Command {
	var opts auditOptions
	cmd := &cobra.Command{
		Use:   "audit [QUEUE...]",
		Short: "Find what is wrong with the queues of a live server",
		Long: `Look at every queue of a database or a cluster, or at those that are named, and
print what no verb of the protocol leaves behind, or should not have: jobs that
nobody will ever claim, counters that have drifted, leases that nobody reaps.
Only commands that read are sent. What moves is looked at again before it is
reported: a finding held on two looks, with nothing changed between them.

Findings come first, then a line for each queue, then the server. The exit code
is 1 when there are findings, and 2 when not everything could be looked at;
what was is said. A name without any key is no finding, since a queue that is
drained has none: standard error says so. See help findings for the kinds and
what mends them.`,
		Example: `  emqctl audit --url localhost:6379
  emqctl audit --url localhost:6379 --rate 0 -o json quotes orders
  emqctl audit --url localhost:6379 --allow stray-key --grace 1m`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := emptyList(cmd, "allow"); err != nil {
				return err
			}
			opts.Queues = args
			return runAudit(cmd.Context(), e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&opts.Rate, "rate", audit.DefaultRate, "how many keys to look at a second, 0 for no limit")
	f.DurationVar(&opts.Grace, "grace", audit.DefaultGrace, "how long a lease may be over, and a flow be added")
	f.StringSliceVar(&opts.Allow, "allow", nil, "do not report this kind; may be given often")
	cmd.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions(auditKinds(), cobra.ShellCompDirectiveNoFileComp))
	opts.flags(cmd)
	return cmd
}

func auditKinds() []string {
	var kinds []string
	for _, k := range audit.Kinds() {
		kinds = append(kinds, string(k.Kind))
	}
	return kinds
}

func runAudit(ctx context.Context, e *env, opts auditOptions) error {
	if err := e.check(&auditRecord{}); err != nil {
		return err
	}
	o, err := opts.audit()
	if err != nil {
		return err
	}
	c, err := e.connect(ctx, opts.connectionOptions)
	if err != nil {
		return err
	}
	// Little is held and much is read: collecting it less often is cheap.
	defer debug.SetGCPercent(debug.SetGCPercent(200))
	store := &auditStore{Client: c, other: func(ctx context.Context, db int) (client, error) {
		other := opts.connectionOptions
		other.DB = db
		return e.connect(ctx, other)
	}, dbs: map[int]client{}, down: map[string]nodeTrouble{}}
	defer store.close()

	p := &auditPrinter{e: e, progress: isTerminal(e.Err)}
	o.Clock = auditClock{e.now}
	o.OnFinding, o.OnQueue, o.OnProgress = p.finding, p.queue, p.show
	var server audit.Server
	o.OnServer = func(s audit.Server) error {
		server = s
		return p.server(s, c)
	}
	err = audit.Run(ctx, store, o)
	p.clear()
	p.tell()
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err == errClosed:
	case err != nil:
		return err
	}
	switch {
	case server.Err != nil:
		return server.Err
	case p.said:
		return errNo
	}
	return nil
}

// audit checks the flags.
func (o auditOptions) audit() (audit.Options, error) {
	out := audit.Options{Queues: o.Queues, Rate: o.Rate, Grace: o.Grace}
	switch {
	case o.Rate < 0:
		return out, &usageError{msg: fmt.Sprintf("--rate is %d, want 0 or more", o.Rate)}
	case o.Grace < 0:
		return out, &usageError{msg: "--grace is " + o.Grace.String() + ", want 0 or more"}
	}
	for _, q := range o.Queues {
		if q == "" || strings.Contains(q, "}") {
			return out, &usageError{msg: "QUEUE is " + quote(q) + ", want the name of a queue", hint: "the name is what stands between the braces of its keys"}
		}
	}
	for _, kind := range o.Allow {
		if !slices.Contains(auditKinds(), kind) {
			return out, &usageError{msg: "--allow is " + quote(kind) + ", want a kind of finding", hint: "they are " + strings.Join(auditKinds(), ", ")}
		}
		out.Allow = append(out.Allow, audit.Kind(kind))
	}
	return out, nil
}

// auditPrinter writes the records of an audit as they come.
type auditPrinter struct {
	e        *env
	said     bool // something is wrong
	wrote    bool
	queues   []*auditRecord
	empty    []string // queues without a key
	progress bool
	last     time.Time
}

func (p *auditPrinter) emit(r record) error {
	p.clear()
	buf, err := p.e.rendering(r, '\n')(nil)
	if err != nil {
		return err
	}
	if !p.wrote {
		buf, p.wrote = p.e.undivided(buf), true
	}
	_, err = p.e.Out.Write(buf)
	return err
}

func (p *auditPrinter) finding(f audit.Finding) error {
	p.said = true
	return p.emit(newAuditFinding(f))
}

func (p *auditPrinter) queue(q audit.Queue) error {
	if q.Keys == 0 && q.Err == nil {
		p.empty = append(p.empty, q.Name)
	}
	p.queues = append(p.queues, newAuditQueue(q))
	return nil
}

// tell says on standard error which queues have no keys: a name may be misspelt.
func (p *auditPrinter) tell() {
	for _, q := range p.empty {
		p.e.talk("no key of the queue " + quote(q) + " was found")
	}
}

func (p *auditPrinter) server(s audit.Server, c client) error {
	layoutQueues(p.queues, p.e.now())
	for _, r := range p.queues {
		if err := p.emit(r); err != nil {
			return err
		}
	}
	return p.emit(newAuditServer(s, c))
}

// show writes the progress, on a terminal alone, a few times a second.
func (p *auditPrinter) show(s audit.Progress) {
	now := p.e.now()
	if !p.progress || now.Sub(p.last) < 200*time.Millisecond {
		return
	}
	p.last = now
	of := ""
	if s.Of > 0 && s.Phase == "scanning" {
		of = fmt.Sprintf(" of %d", s.Of)
	}
	fmt.Fprintf(p.e.Err, "\r\x1b[K%s: %d%s keys, %s", s.Phase, s.Keys, of, plural(int(s.Queues), "queue"))
}

func (p *auditPrinter) clear() {
	if p.progress && !p.last.IsZero() {
		p.last = time.Time{}
		p.e.Err.Write([]byte("\r\x1b[K"))
	}
}

func findingsHelp() string {
	var b bytes.Buffer
	b.WriteString("What audit finds in a live server, why it matters, and which verb mends it:\n")
	for _, k := range audit.Kinds() {
		fmt.Fprintf(&b, "\n  %s\n%s%s%s", k.Kind, indent(k.Title, 6), indent("Why: "+k.Why+".", 6), indent("Mend: "+k.Mend+".", 6))
	}
	b.WriteString(`
Subkeys of jobs that are gone, such as :logs, are normal after complete; they
are counted as orphans. So is a missing version fence.`)
	return b.String()
}
