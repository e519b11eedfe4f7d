package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/look"
)

type browseOptions struct {
	connectionOptions
	Queue    string
	Set      string
	Group    string
	Counted  bool // Count was given
	Grouped  bool // --group was given
	From, To string
	Count    int
	Newest   bool
	Payload  int
}

const browseColumns = "set score time state attempts minted member"

// browsable are the values of --set.
var browsable = []string{"pending", "active", "schedule", "dead"}

func newBrowseCmd(e *env) *cobra.Command {
	var opts browseOptions
	cmd := &cobra.Command{
		Use:   "browse QUEUE",
		Short: "List the jobs of a set by mint time, rows decoded",
		Long: `List the jobs of one set of a queue, or of one lane, in mint order: the byte
order of ids. Each is a record with its score, its decoded id, and its row; a
member without a row has row null. Only reads are sent.

  emqctl browse quotes --url localhost:6379 --set active -n 5 --newest

--from and --to bound the mint time, to the millisecond and both inclusive. In
pending, dead and a lane, where every score is 0, the server takes a BYLEX range
and reads what is shown. In active and schedule, whose scores are lease
deadlines and due times, no range in mint order can be had: the whole set is
read and emqctl picks. Bounded, ids of the namespace JOB are listed; unbounded,
whatever is in the set.

` + timeHelp + `

The server is that of --url or EMQCTL_URL. Jobs move while they are listed.

Columns of -o tsv: ` + browseColumns,
		Example: "  emqctl browse quotes --url localhost:6379",
		Args:    operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Queue, opts.Grouped, opts.Counted = args[0], cmd.Flags().Changed("group"), cmd.Flags().Changed("count")
			if opts.Grouped && cmd.Flags().Changed("set") {
				return &usageError{msg: "--group and --set cannot both be had", hint: "--group lists a lane: the pending jobs of one group"}
			}
			return runBrowse(cmd.Context(), e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&opts.Set, "set", "pending", "which `set`: "+orList(browsable))
	f.StringVar(&opts.Group, "group", "", "list the lane of this group")
	f.StringVar(&opts.From, "from", "", "jobs minted at this TIME or later")
	f.StringVar(&opts.To, "to", "", "jobs minted at this TIME or earlier")
	wantValue(cmd, "from", "a time")
	wantValue(cmd, "to", "a time")
	f.IntVarP(&opts.Count, "count", "n", 20, "list so many, 0 for all")
	f.BoolVar(&opts.Newest, "newest", false, "from the newest to the oldest")
	f.IntVar(&opts.Payload, "payload", 80, "how many `bytes` of a payload are shown")
	cmd.RegisterFlagCompletionFunc("set", cobra.FixedCompletions(browsable, cobra.ShellCompDirectiveNoFileComp))
	opts.flags(cmd)
	return cmd
}

// window turns the options into what is wanted of a set.
func (o *browseOptions) window(now time.Time) (w look.Window, err error) {
	w.Count, w.Newest = o.Count, o.Newest
	switch {
	case o.Count < 0:
		return w, &usageError{msg: "-n is " + strconv.Itoa(o.Count) + ", want 0 or more"}
	case o.Payload < 0:
		return w, &usageError{msg: "--payload is " + strconv.Itoa(o.Payload) + ", want 0 or more"}
	case o.Grouped && o.Group == "":
		return w, &usageError{msg: "--group is empty, want the id of a group"}
	}
	suffix := o.Set
	if o.Grouped {
		suffix = "g:" + o.Group + ":pending"
	}
	w.Key = decode.QueueKey(o.Queue, suffix)
	k, err := decode.Parse(w.Key)
	if err != nil || k.Queue != o.Queue {
		return w, &usageError{msg: "QUEUE is " + quote(o.Queue) + ", want a name without }", hint: "the queue is what stands between the braces of its keys"}
	}
	w.Set = k.Type
	if !o.Grouped && !isBrowsable(o.Set) {
		return w, &usageError{msg: "--set is " + quote(o.Set) + ", want " + orList(browsable)}
	}
	if o.From == "" && o.To == "" {
		return w, nil
	}
	from, to := time.UnixMilli(brandedid.EpochMilli).UTC(), now
	if o.From != "" {
		if from, err = parseTime("--from", o.From, now); err != nil {
			return w, err
		}
	}
	if o.To != "" {
		if to, err = parseTime("--to", o.To, now); err != nil {
			return w, err
		}
	}
	w.Bounded = true
	if w.Lowest, w.Highest, err = brandedid.Window(brandedid.JobNamespace, from, to); err != nil {
		return w, badWindow(err, from, to, o.From, o.To != "")
	}
	return w, nil
}

func isBrowsable(set string) bool {
	for _, s := range browsable {
		if s == set {
			return true
		}
	}
	return false
}

func runBrowse(ctx context.Context, e *env, opts browseOptions) error {
	r := &browseRecord{opts: opts}
	if err := e.check(r); err != nil {
		return err
	}
	now := e.now()
	w, err := opts.window(now)
	if err != nil {
		return err
	}
	c, err := e.connect(ctx, opts.connectionOptions)
	if err != nil {
		return err
	}
	defer c.Close()
	r.window, r.now = w, now
	l := &look.Looker{Payload: opts.Payload, Connect: func() (look.Client, error) { return c, nil }}
	render, listed, said := e.rendering(r, '\n'), 0, verdict(0)
	err = l.Jobs(ctx, opts.Queue, w, func(jobs []look.Job) error {
		var buf []byte
		for i := range jobs {
			r.job = &jobs[i]
			if buf, err = render(buf); err != nil {
				return err
			}
			said |= r.verdict()
			listed++
		}
		_, err := e.Out.Write(buf)
		return err
	})
	switch {
	case err == errClosed:
		return said.err(false)
	case err != nil:
		if ctx.Err() != nil {
			return errInterrupted
		}
		return err
	case listed == 0:
		e.talk("no job there: " + quote(w.Key))
	case listed == opts.Count && !opts.Counted:
		e.talk(fmt.Sprintf("%d are listed, and there may be more: -n lists so many, -n 0 all", listed))
	}
	return said.err(false)
}

// browseRecord is a member of a set and its row.
type browseRecord struct {
	opts   browseOptions
	window look.Window
	now    time.Time
	job    *look.Job
}

type browseContract struct {
	Queue        *shownText   `json:"queue"`
	QueueBase64  *string      `json:"queue_base64,omitempty"`
	Set          string       `json:"set"`
	Group        *shownText   `json:"group"` // of a lane
	GroupBase64  *string      `json:"group_base64,omitempty"`
	Member       *shownText   `json:"member"`
	MemberBase64 *string      `json:"member_base64,omitempty"`
	Score        scoreJSON    `json:"score" null:"when infinite"`
	Time         *string      `json:"time"` // the score, where that is one
	Meaning      *string      `json:"meaning"`
	ID           *idContract  `json:"id"` // null for a member that is no branded id
	Row          *rowContract `json:"row"`
	Error        *problem     `json:"error"` // why the row could not be read
}

func (r *browseRecord) verdict() verdict {
	if r.job.Err != nil {
		return verdictUndone
	}
	return 0
}

func (r *browseRecord) contract() any { return browseContract{} }

func (r *browseRecord) appendJSON(dst []byte) []byte {
	c := browseContract{Set: r.window.Set.String(), Score: scoreJSON(r.job.Score), Error: problemOf(r.job.Err)}
	c.Queue, c.QueueBase64 = foreignPair(r.opts.Queue, true)
	c.Group, c.GroupBase64 = foreignPair(r.opts.Group, r.opts.Grouped)
	c.Member, c.MemberBase64 = foreignPair(r.job.Member.Text, true)
	if at, meaning, ok := scoreTime(r.window.Set, r.job.Score); ok {
		text := formatTime(at)
		c.Time, c.Meaning = &text, &meaning
	}
	if r.hasID() {
		c.ID = newIDContract(r.job.ID, r.now)
	}
	if r.job.Row != nil {
		c.Row = newRowContract(r.job.Row)
	}
	return marshal(dst, c)
}

func (r *browseRecord) hasID() bool { return r.job.ID != brandedid.ID{} }

func (r *browseRecord) appendTSV(dst []byte) []byte {
	row := r.job.Row
	dst = append(append(dst, r.window.Set.String()...), '\t')
	dst = append(append(dst, scoreJSON(r.job.Score).String()...), '\t')
	at, _, timed := scoreTime(r.window.Set, r.job.Score)
	dst = append(appendOptional(dst, formatTime(at), timed, true), '\t')
	if row != nil {
		dst = append(appendOptional(dst, row.State, row.Has(decode.FieldState), false), '\t')
		dst = append(appendOptional(dst, row.Attempts, row.Has(decode.FieldAttempts), false), '\t')
	} else {
		dst = append(dst, "-\t-\t"...)
	}
	minted := ""
	if r.hasID() {
		minted = formatTime(r.job.ID.Time())
	}
	dst = append(appendOptional(dst, minted, r.hasID(), true), '\t')
	return appendCell(dst, r.job.Member.Text, false)
}

func (r *browseRecord) appendText(p *page) {
	p.bytes(p.paint.id, r.job.Member.Text)
	if r.hasID() {
		p.str("  ").ink(p.paint.time, formatTime(r.job.ID.Time()))
	} else {
		p.str("  ").ink(p.paint.bad, "no branded id")
	}
	if at, meaning, ok := scoreTime(r.window.Set, r.job.Score); ok {
		p.str("  "+meaning+" ").ink(p.paint.time, formatTime(at)).str(" (" + age(at, r.now) + ")")
	} else if r.job.Score != 0 {
		p.str("  ").ink(p.paint.bad, "score "+scoreJSON(r.job.Score).String())
	}
	row := r.job.Row
	switch {
	case r.job.Err != nil:
		p.str("  ").ink(p.paint.bad, clean(r.job.Err.Error())).end()
		return
	case row == nil:
		p.str("  ").ink(p.paint.bad, "no row").end()
		return
	}
	p.str("  ").bytes(p.paint.main, row.State)
	p.str("  attempts ").bytes(ink{}, row.Attempts)
	if row.Has(decode.FieldGroup) {
		p.str("  group ").bytes(p.paint.id, row.Group)
	}
	if row.Has(decode.FieldParent) {
		p.str("  parent ").bytes(p.paint.id, row.Parent)
	}
	if row.Has(decode.FieldLastError) {
		p.str("  error ").bytes(p.paint.note, row.LastError)
		if int64(len(row.LastError)) < row.LastErrorLen {
			p.str("...")
		}
	}
	p.str("  payload ").bytes(ink{}, row.Payload)
	if int64(len(row.Payload)) < row.PayloadLen {
		p.str("...").about("%s", plural(int(row.PayloadLen), "byte"))
	}
	p.end()
}
