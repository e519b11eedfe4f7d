package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/embedded"
	"github.com/echomq/emqctl/internal/trace"
	"github.com/echomq/emqctl/internal/valkey"
)

type enqueueOptions struct {
	payloadOptions
	connectionOptions
	Queue      string
	ID         string
	HasID      bool
	Node       int
	In, At     string
	Group      string
	HasGroup   bool
	Via        via
	NoHostGate bool
	Print      printForm
	Fence      string
	GivenFence bool // by the flag
	ClaimFence bool
	Rehearse   bool
	Strict     bool
}

// via is the value of --via.
type via string

const (
	viaScript via = "script"
	viaNative via = "native"
	viaAuto   via = "auto"
)

func (v *via) String() string { return string(*v) }
func (v *via) Type() string   { return "script|native|auto" }

func (v *via) Set(s string) error {
	switch via(s) {
	case viaScript, viaNative, viaAuto:
		*v = via(s)
		return nil
	}
	return fmt.Errorf("want script, native or auto")
}

const enqueueColumns = "status queue id verb via engine slot host error"

func newEnqueueCmd(e *env) *cobra.Command {
	opts := enqueueOptions{Via: viaScript}
	cmd := &cobra.Command{
		Use:   "enqueue QUEUE [PAYLOAD...|-]",
		Short: "Admit jobs to a queue, rehearsed unless a server is given",
		Long: `Admit a job for each payload, by one atomic transition: mint an id, check it,
build the declared keys, run the script, and say what came of it.

Without an address it is a rehearsal: the script runs in an embedded store,
in this process, and nothing is stored. It says so, and shows what the store
then holds and which keys were touched, in order. --rehearse asks for that.
With --url or EMQCTL_URL it is done on a server.

Payloads are operands; - is all of standard input, as one. --payload-file reads
one from a file. --lines takes a payload a line from standard input, and
--ndjson a job a line:

  {"id": ID, "queue": QUEUE, "payload": VALUE}

id and queue may be left out. The payload is the bytes of a string, or the
exact text of any other JSON value; "payload_base64" in its place holds any
bytes. A line that is not that is refused, kind json, and the stream goes on.
A line may have ` + fmt.Sprint(maxPayloadLine) + ` bytes; - and --payload-file take ` + fmt.Sprint(maxPayload) + `, as a
server does unless it is told otherwise.

The status of a job, and the exit code:

  enqueued, scheduled   0  it is stored
  duplicate             0  the row of the id that was given existed already
  refused               1  by the host, the server or the fence; not stored
  failed                2  the call surely never ran; not stored. Of kind
                           collision: it ran, and the rows of ` + strconv.Itoa(maxMints) + ` ids
                           that were minted existed
  unknown               2  it was sent and no reply came: it may be stored.
                           The same id is safe to send again. But of kind
                           partial: the script stopped half-way, and the row
                           may be there without its place in the queue; repair
                           what the error names, delete the row, send it again

An id that emqctl minted and that exists is a collision: it mints again, ` + strconv.Itoa(maxMints) + `
times at most. After ` + strconv.Itoa(maxTimeouts) + ` batches in a row that got no connection within the
time-out, the rest is not tried; a connection that is refused at once is tried
anew for every batch, and not waited for. To make a bulk load repeatable, mint
the ids first; what a dead server, or a reader of the records that went away,
left open is completed by the same file again, but for kind partial:

  emqctl mint-id -n 1000 | jq -Rc '{id: ., payload: "x"}' >jobs
  emqctl enqueue quotes --ndjson -o json --url localhost:6379 <jobs

--in and --at schedule a job, --group puts it in a lane. --via native runs the
server's own EMQ.ENQUEUE instead of the script, auto does where a server has
it; a rehearsal asks no server, and its auto is the script.

The host checks all 14 bytes of an id before anything is sent; --no-host-gate
leaves the verdict to the wire, which reads three.

--fence refuses a server whose {emq}:version is absent, another, or no string,
before any write, and on every connection: it is read again when one was made
again, and what differs then refuses the rest. A user without the right to read
it is not stopped: the fence is unreadable, jobs go on, and a warning says so
once on standard error. --claim-fence also needs the right to SET the key, ACL
+set, and --via auto +command|info; without that it is the script.

--print shows the commands for other tools instead of running them: cli, lines
for a shell with valkey-cli, or resp, bytes for valkey-cli --pipe.

Columns of -o tsv: ` + enqueueColumns,
		Example: `  emqctl enqueue quotes '{"symbol":"EMQ"}' --rehearse
  emqctl enqueue quotes a b --in 90s --rehearse -o json
  emqctl enqueue quotes hello --id JOB-42 --rehearse
  emqctl enqueue quotes hello --id JOB-42 --no-host-gate --via native --rehearse
  emqctl enqueue quotes hello --id JOB0KHTOWnGLuC --print cli`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{msg: "no QUEUE given", hint: "as in emqctl enqueue QUEUE PAYLOAD; see emqctl enqueue --help"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Queue, opts.Payloads = args[0], args[1:]
			opts.HasID = cmd.Flags().Changed("id")
			opts.HasGroup = cmd.Flags().Changed("group")
			opts.GivenFence = cmd.Flags().Changed("fence")
			opts.HasFile = cmd.Flags().Changed("payload-file")
			return runEnqueue(cmd.Context(), e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.SortFlags = false
	opts.payloadOptions.flags(cmd)
	f.StringVar(&opts.ID, "id", "", "the id of the job (default: minted)")
	f.IntVar(&opts.Node, "node", nodeUnset, fmt.Sprintf("the node of minted ids, 0 to %d (default random)", brandedid.MaxNode))
	f.Lookup("node").DefValue = "0" // shows none
	f.StringVar(&opts.In, "in", "", "due after this DURATION, by the server's clock: 90s, 15m, 2d")
	f.StringVar(&opts.At, "at", "", "due at this TIME: RFC 3339 or Unix milliseconds")
	f.StringVar(&opts.Group, "group", "", "the lane, named by a branded ID")
	f.Var(&opts.Via, "via", "what runs: the script, or EMQ.ENQUEUE")
	f.BoolVar(&opts.NoHostGate, "no-host-gate", false, "let the wire alone judge ids")
	f.Var(&opts.Print, "print", "show the commands instead of running them")
	f.StringVar(&opts.Fence, "fence", "", "refuse a server whose {emq}:version is not VERSION; unreadable: warn")
	f.BoolVar(&opts.ClaimFence, "claim-fence", false, "set an absent {emq}:version to --fence")
	f.BoolVar(&opts.Rehearse, "rehearse", false, "use the embedded store, whatever the environment says")
	f.BoolVar(&opts.Strict, "strict", false, "a note makes the exit code 1")
	opts.connectionOptions.flags(cmd)
	for name, want := range map[string]string{
		"in": "a duration such as 90s", "at": "a time", "fence": "a version", "payload-file": "the name of a file",
		"id": "a branded id", "group": "a branded id",
	} {
		wantValue(cmd, name, want)
	}
	cmd.MarkFlagsMutuallyExclusive("in", "at", "group")
	cmd.MarkFlagsMutuallyExclusive("url", "rehearse")
	cmd.MarkFlagsMutuallyExclusive("id", "node") // a given id has its node
	cmd.RegisterFlagCompletionFunc("via", cobra.FixedCompletions([]string{"script", "native", "auto"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("print", cobra.FixedCompletions([]string{"cli", "resp"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runEnqueue(ctx context.Context, e *env, opts enqueueOptions) error {
	if opts.Fence == "" {
		opts.Fence = e.getenv(envFence)
	}
	a, err := e.newAdmission(opts)
	if err != nil {
		return err
	}
	if err := opts.payloadOptions.check(opts.HasID); err != nil {
		return err
	}
	if err := e.check(&enqueueRecord{}); err != nil {
		return err
	}
	if opts.Print != "" {
		if e.output != outputText || e.template != nil {
			return &usageError{msg: "--print shows commands, not records: no -o and no --format beside it"}
		}
		if name := opts.unprinted(); name != "" {
			return &usageError{msg: "--print asks no server: no --" + name + " beside it", hint: "what the commands are given to decides: valkey-cli has -h, -p and -n"}
		}
		return printCommands(e, a, opts)
	}
	if err := e.chooseStore(a, opts); err != nil {
		return err
	}
	return enqueueAll(ctx, e, a, opts)
}

// unprinted names a flag on the command line that commands for other tools do
// not show, or "".
func (o *enqueueOptions) unprinted() string {
	switch given := o.given(); {
	case len(given) > 0:
		return given[0]
	case o.GivenFence:
		return "fence"
	case o.ClaimFence:
		return "claim-fence"
	case o.Rehearse:
		return "rehearse"
	}
	return ""
}

// chooseStore says where jobs go: to a server when one is given, or else to
// the embedded store. Nothing is dialled yet, but what cannot be meant is
// refused.
func (e *env) chooseStore(a *admission, opts enqueueOptions) error {
	switch {
	case e.open != nil:
		a.open = e.open
		return nil
	case opts.Rehearse && len(opts.given()) > 0:
		return &usageError{msg: "--" + opts.given()[0] + " and --rehearse cannot both be had"}
	case !opts.Rehearse && opts.address(e) == "" && len(opts.given()) > 0:
		return &usageError{msg: "--" + opts.given()[0] + " is about a server, and none is given", hint: "give its address by --url or " + envURL}
	case opts.Rehearse || opts.address(e) == "":
		a.rehearsal = true
		t, err := trace.Of(trace.Script{Path: a.script.Path, Text: a.script.Source, Verb: a.script})
		if err != nil {
			return err
		}
		a.steps = t.Steps
		a.open = func(context.Context) (store, error) { return newRehearsalStore(e.now, opts.Fence) }
		if !opts.Rehearse {
			e.talk("no server is given: this is a rehearsal, and nothing is stored")
		}
		return nil
	}
	if _, err := valkey.ParseAddress(opts.address(e)); err != nil {
		return err
	}
	if err := opts.connectionOptions.check(); err != nil {
		return err
	}
	a.open = func(ctx context.Context) (store, error) {
		c, err := e.connect(ctx, opts.connectionOptions)
		if err != nil {
			return nil, err
		}
		c.HoldFence(a.wantFence, a.claimFence)
		return liveStore{c}, nil
	}
	return nil
}

// newAdmission holds the options to what can be meant together.
func (e *env) newAdmission(opts enqueueOptions) (*admission, error) {
	a := &admission{
		hostGate:   !opts.NoHostGate,
		wantVia:    opts.Via,
		via:        opts.Via,
		wantFence:  opts.Fence,
		claimFence: opts.ClaimFence,
		now:        e.now,
		verb:       "enqueue",
		say:        e.talk,
	}
	switch {
	case opts.In != "":
		d, err := parseAge(opts.In)
		switch {
		case err != nil && strings.HasPrefix(wantDuration(opts.In), "which"):
			return nil, &usageError{msg: "--in is " + quote(opts.In) + ", " + wantDuration(opts.In)}
		case err != nil:
			return nil, &usageError{msg: "--in is " + quote(opts.In) + ", want a duration such as 90s, 15m or 2d"}
		case d%time.Millisecond != 0:
			return nil, &usageError{msg: "--in is " + quote(opts.In) + ", want whole milliseconds"}
		}
		a.verb, a.more = "schedule", []string{"in", fmt.Sprint(d.Milliseconds())}
	case opts.At != "":
		if _, err := parseAge(opts.At); err == nil {
			return nil, &usageError{msg: "--at is " + quote(opts.At) + ", want RFC 3339 or Unix milliseconds", hint: "from now on it is --in " + opts.At}
		}
		t, err := parseTime("--at", opts.At, e.now())
		if err != nil {
			if ms, err := strconv.ParseInt(opts.At, 10, 64); err == nil {
				return nil, tooEarly("--at", opts.At, ms)
			}
			return nil, &usageError{msg: "--at is " + quote(opts.At) + ", want RFC 3339 or Unix milliseconds"}
		}
		a.verb, a.more = "schedule", []string{"at", fmt.Sprint(t.UnixMilli())}
	case opts.HasGroup:
		a.verb, a.more, a.group = "genqueue", []string{opts.Group}, opts.Group
	}
	if a.verb != "enqueue" && a.wantVia == viaNative {
		return nil, &usageError{msg: "--via native admits to the flat queue only: no --in, --at or --group beside it"}
	}
	if a.verb != "enqueue" {
		a.wantVia, a.via = viaScript, viaScript
	}
	if opts.ClaimFence && opts.Fence == "" {
		return nil, &usageError{msg: "--claim-fence needs the version to claim", hint: "give it by --fence VERSION or EMQCTL_FENCE"}
	}
	r, err := loadScripts("")
	if err != nil {
		return nil, err
	}
	a.script, _ = r.Lookup(a.verb)
	if a.minter, err = e.minter(opts.Node, ""); err != nil {
		return nil, err
	}
	return a, nil
}

// status is what came of a job.
type status string

const (
	statusEnqueued  status = "enqueued"
	statusScheduled status = "scheduled"
	statusDuplicate status = "duplicate"
	statusRefused   status = "refused"
	statusUnknown   status = "unknown"
	statusFailed    status = "failed"
)

// job is one payload on its way to a queue.
type job struct {
	queue, id, payload string
	given              bool  // the id was
	line               int64 // of standard input; 0 for others
	weight             int64 // of it and those that were read with it, in the first of them

	keys, args []string // of the call; nil when none was made
	status     status
	host       string // the host's word: ok, duplicate, kind
	executed   *bool  // yes, no, or nil when that is not known
	err        *problem
	in         string // what err has an offset into: queue, id, group, line; "" for none
	notes      []note

	apart bool        // what was read of the fence for its connection is in held
	held  *fenceState // nil when it had none

	observed *embedded.Rehearsal // of a rehearsal only
	lines    []int               // for each command observed, where the trace has it; 0 for nowhere
}

var yes, no = new(true), new(false)

// refuse gives a job that is not sent its status. The offset is into what in
// names.
func (j *job) refuse(in, kind string, off int, msg, hint string) {
	j.status, j.executed, j.in = statusRefused, no, in
	j.err = newProblem(kind, off, msg, hint)
}
