package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/embedded"
	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/trace"
	"github.com/echomq/emqctl/internal/valkey"
)

// maxTimeouts is how many batches in a row may wait for a connection that does
// not come, each as long as the time-out, before nothing more is tried. A
// connection that is refused at once costs nothing, and may be tried for ever:
// the server may come back.
const maxTimeouts = 3

// maxMints is how often an id is minted anew when the last one exists.
const maxMints = 8

// admission takes jobs through the gates, to the store, and gives each its
// status.
type admission struct {
	verb   string
	script *scripts.Verb
	more   []string // ARGV after id and payload
	group  string   // of genqueue

	hostGate   bool
	wantVia    via // as it was asked for
	minter     *brandedid.Minter
	now        func() time.Time
	wantFence  string
	claimFence bool

	rehearsal bool
	steps     []trace.Step // what a rehearsal of the script is predicted to run
	open      func(context.Context) (store, error)
	say       func(line string)
	ring      keyring // of gate

	// These are set by connect, while one batch is under way and no other.
	store  store
	opened bool
	via    via // auto until then

	mu       sync.Mutex  // guards what follows
	over     error       // why nothing more is tried, or nil
	fence    *fenceState // as it was last read
	stopped  bool        // fence stopped a job, and stops all that come after
	warned   bool        // that the fence is unreadable
	timeouts int         // batches in a row that got no connection in time
}

func (a *admission) close() {
	if a.store != nil {
		a.store.Close()
	}
}

// connect opens the store when the first job needs it, and reads the fence.
func (a *admission) connect(ctx context.Context) error {
	if a.opened {
		return nil
	}
	if a.store == nil {
		s, err := a.open(ctx)
		if err != nil {
			if !passing(err) {
				a.end(err) // otherwise the next batch tries again
			}
			return err
		}
		a.store = s
	}
	f, err := a.store.Fence(ctx)
	if err != nil {
		return err
	}
	a.read(newFenceState(f, a.wantFence))
	if a.via == viaAuto {
		a.via = viaScript
		if !a.rehearsal {
			if has, err := a.store.HasCommand(ctx, embedded.Native); err == nil && has {
				a.via = viaNative
			}
		}
	}
	a.opened = true
	return nil
}

// end has nothing more tried.
func (a *admission) end(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over == nil {
		a.over = err
	}
}

// ended returns why nothing more is tried, or nil.
func (a *admission) ended() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over
}

// passing reports whether what kept a server from being reached may pass.
func passing(err error) bool {
	var e *valkey.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case valkey.KindRefused, valkey.KindUnreachable, valkey.KindTimeout, valkey.KindCut, valkey.KindCluster, valkey.KindLoading, valkey.KindBusy:
		return true
	}
	return false
}

// engine names the store, as far as it is known.
func (a *admission) engine() string {
	switch {
	case a.rehearsal:
		return embedded.Engine
	case a.store != nil:
		return a.store.Engine()
	}
	return ""
}

// admit gives every job of a batch that has passed the gate its status. It
// reports whether nothing went wrong with the store.
func (a *admission) admit(ctx context.Context, jobs []job) (calm bool) {
	open := make([]*job, 0, len(jobs))
	for i := range jobs {
		if j := &jobs[i]; j.status == "" {
			open = append(open, j)
		}
	}
	if len(open) == 0 {
		return a.opened
	}
	err := a.ended()
	if err == nil {
		if err = a.connect(ctx); err != nil {
			err = a.count(ctx, err)
		}
	}
	if err != nil {
		for _, j := range open {
			j.apart = true // it had no connection
			j.fail(statusFailed, err)
		}
		return false
	}
	if !a.fenced(ctx, open) {
		return false
	}
	calm = true
	for mints := 1; len(open) > 0; mints++ {
		var ran bool
		open, ran = a.run(ctx, open, mints)
		calm = calm && ran
	}
	return calm
}

// count keeps account of batches that waited for a connection in vain, and
// gives up after some. It returns the error of the batch.
func (a *admission) count(ctx context.Context, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var e *valkey.Error
	if !errors.As(err, &e) || e.Kind != valkey.KindTimeout && e.Kind != valkey.KindUnreachable || ctx.Err() != nil {
		a.timeouts = 0
		return err
	}
	if a.timeouts++; a.timeouts < maxTimeouts || a.over != nil {
		return err
	}
	given := *e
	given.Hint = fmt.Sprintf("given up after %d time-outs in a row: the rest was not tried", maxTimeouts)
	a.over = &given
	a.say(clean(e.Msg) + ": " + given.Hint)
	return a.over
}

// vain returns the error of a batch of which nothing had a connection, or nil.
func vain(outcomes []executor.Outcome) error {
	for _, o := range outcomes {
		if o.State != executor.Failed {
			return nil
		}
	}
	return outcomes[0].Err
}

// gate is what a host does before any wire: the rule for the queue's name, the
// id, the lane's name. It builds the call. It asks no store, and may go on
// beside admit; not beside itself.
func (a *admission) gate(j *job) bool {
	if err := decode.CheckQueue(j.queue); err != nil {
		bad := err.(*decode.Error)
		j.refuse("queue", string(bad.Kind), bad.Off, bad.Error(), "")
		return false
	}
	if n, ok := decode.CheckDesign(j.queue); ok {
		j.notes = append(j.notes, note{string(n.Kind), n.Off, n.Msg})
	}
	if !j.given && !a.mint(j) {
		return false
	}
	if j.given {
		id, err := brandedid.Parse(j.id)
		switch {
		case err == nil:
			for _, n := range decode.IDNotes(id, a.now()) {
				j.notes = append(j.notes, note{string(n.Kind), n.Off, n.Msg})
			}
		case a.hostGate:
			bad := err.(*brandedid.Error)
			j.refuse("id", string(bad.Kind), bad.Off, bad.Error(), brandedid.Hint(j.id, a.now()))
			return false
		}
	}
	if a.verb == "genqueue" && a.hostGate {
		if _, err := brandedid.Parse(a.group); err != nil {
			bad := err.(*brandedid.Error)
			j.refuse("group", string(bad.Kind), bad.Off, "a lane is named by a valid branded id: "+bad.Error(), brandedid.Hint(a.group, a.now()))
			return false
		}
	}
	a.build(j, &a.ring)
	return true
}

// mint gives a job a new id.
func (a *admission) mint(j *job) bool {
	id, err := a.minter.Mint(brandedid.JobNamespace)
	if err != nil {
		j.fail(statusFailed, err)
		return false
	}
	j.id = id.String()
	return true
}

// build makes the call of a job.
func (a *admission) build(j *job, ring *keyring) {
	j.keys = ring.of(a.script, j.queue, a.group, j.id)
	j.args = append(append(make([]string, 0, 2+len(a.more)), j.id, j.payload), a.more...)
}

// keyring builds the declared keys of one verb from its header. All but the
// row are the same for every job of a queue.
type keyring struct {
	queue  string
	before string   // of the row, up to the id
	rest   []string // KEYS[2] and later
}

func (k *keyring) of(v *scripts.Verb, queue, group, id string) []string {
	if k.rest == nil || k.queue != queue {
		fill := strings.NewReplacer("{q}", "{"+queue+"}", "<group>", group, "<id>", "")
		*k = keyring{queue: queue, before: fill.Replace(v.Keys[0].Pattern), rest: make([]string, 0, len(v.Keys)-1)}
		for _, key := range v.Keys[1:] {
			k.rest = append(k.rest, fill.Replace(key.Pattern))
		}
	}
	return append(append(make([]string, 0, 1+len(k.rest)), k.before+id), k.rest...)
}

// fenced holds the store to the fence that is wanted, before any write, and
// reports whether the jobs may go on.
func (a *admission) fenced(ctx context.Context, jobs []*job) bool {
	if a.wantFence == "" {
		return true
	}
	f := a.fenceRead()
	if f.State == valkey.FenceAbsent && a.claimFence {
		claimed, err := a.store.ClaimFence(ctx, a.wantFence)
		if err != nil {
			for _, j := range jobs {
				j.fail(statusFailed, err)
			}
			return false
		}
		f = newFenceState(claimed, a.wantFence)
		a.read(f)
	}
	msg, hint := f.refusal()
	if msg == "" {
		return true
	}
	a.stop(f)
	for _, j := range jobs {
		j.refuse("", "fence", 0, msg, hint)
	}
	return false
}

// fenceRead is the fence as it was last read; nil before that.
func (a *admission) fenceRead() *fenceState {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fence
}

// stop has a fence that stopped a job stop all that come after.
func (a *admission) stop(f *fenceState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopped {
		a.fence, a.stopped = f, true
	}
}

// read keeps what was read of the fence. A missing right for it stops no job,
// but is told.
func (a *admission) read(f *fenceState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopped {
		a.fence = f
	}
	if f.status != string(valkey.FenceUnreadable) || a.wantFence == "" || !f.Admits(f.want) {
		return
	}
	if !a.warned {
		a.warned = true
		a.say(fmt.Sprintf("warning: %s is unreadable: %s; jobs go on, and nothing holds the server to %s", valkey.FenceKey, f.reason(), quote(f.want)))
	}
}

// hold gives each job what was read of the fence for its connection, and
// refuses those that it stopped.
func (a *admission) hold(jobs []*job, outcomes []executor.Outcome, fences []*valkey.Fence) {
	var last *valkey.Fence
	var state *fenceState
	for i, j := range jobs {
		j.apart, j.held = true, nil
		if fences[i] == nil {
			continue
		}
		if fences[i] != last {
			last, state = fences[i], newFenceState(*fences[i], a.wantFence)
			a.read(state)
		}
		j.held = state
	}
	for i, j := range jobs {
		var err *valkey.Error
		if j.held != nil && errors.As(outcomes[i].Err, &err) && err.Kind == valkey.KindFence {
			msg, hint := j.held.refusal()
			j.host = ""
			j.refuse("", "fence", 0, msg, hint)
			a.stop(j.held)
		}
	}
}

// run sends jobs and gives them their status. It returns those whose minted
// id was taken, with another, and whether every job had an answer.
func (a *admission) run(ctx context.Context, jobs []*job, mints int) (again []*job, calm bool) {
	calls := make([]executor.Call, len(jobs))
	for i, j := range jobs {
		calls[i] = executor.Call{Verb: a.script, Native: a.via == viaNative, Keys: j.keys, Args: j.args}
	}
	var outcomes []executor.Outcome
	if r, ok := a.store.(rehearser); ok && a.rehearsal {
		outcomes = make([]executor.Outcome, len(calls))
		for i, call := range calls {
			rehearsal := r.Rehearse(ctx, call)
			outcomes[i], jobs[i].observed = rehearsal.Outcome, &rehearsal
			jobs[i].lines = a.predicted(call, rehearsal.Commands)
		}
	} else if s, ok := a.store.(holder); ok {
		var fences []*valkey.Fence
		outcomes, fences = s.RunHeld(ctx, calls)
		a.hold(jobs, outcomes, fences)
	} else {
		outcomes = a.store.Run(ctx, calls)
	}
	a.count(ctx, vain(outcomes))
	calm = true
	var ring keyring
	for i, j := range jobs {
		if j.status == statusRefused {
			continue
		}
		a.judge(j, outcomes[i])
		calm = calm && outcomes[i].Err == nil
		if j.status != statusDuplicate || j.given {
			continue
		}
		if mints == maxMints {
			j.status, j.host = statusFailed, ""
			j.err = newProblem("collision", 0, fmt.Sprintf("the row of %d minted ids exists already, the last is %s", maxMints, j.id),
				"another host may mint with the same node: give another by --node")
			continue
		}
		if a.mint(j) {
			a.build(j, &ring)
			again = append(again, j)
		}
	}
	return again, calm
}

// predicted finds each command that a rehearsal observed among the steps that
// the trace of the script has, in their order, and returns its line: 0 for one
// that the trace does not have there.
func (a *admission) predicted(call executor.Call, ran []embedded.Command) []int {
	lines := make([]int, len(ran))
	if call.Native {
		return lines
	}
	next := 0
	for i, c := range ran {
		for n := next; n < len(a.steps); n++ {
			if stepIs(a.steps[n], c, call.Keys) {
				lines[i], next = a.steps[n].Line, n+1
				break
			}
		}
	}
	return lines
}

// stepIs reports whether a step, with these KEYS, is the command that ran. The
// scripts that admit jobs touch declared keys only.
func stepIs(s trace.Step, c embedded.Command, keys []string) bool {
	if s.Command != c.Name || s.Write != c.Write {
		return false
	}
	var touched []string
	for _, k := range s.Keys {
		if k.N < 1 || k.N > len(keys) {
			return false
		}
		touched = append(touched, keys[k.N-1])
	}
	return slices.Equal(touched, c.Keys)
}

// judge gives a job the status of its outcome.
func (a *admission) judge(j *job, o executor.Outcome) {
	ran := yes
	if a.rehearsal {
		ran = no
	}
	switch o.State {
	case executor.Replied:
		j.executed = ran
		switch o.Reply {
		case int64(1):
			j.status, j.host = statusEnqueued, "ok"
			if a.verb == "schedule" {
				j.status = statusScheduled
			}
		case int64(0):
			j.status, j.host = statusDuplicate, "duplicate"
		default:
			j.status = statusUnknown
			j.err = newProblem("reply", 0, fmt.Sprintf("found the reply %s, want 1 or 0", quote(fmt.Sprint(o.Reply))), "")
		}
	case executor.Refused:
		j.status, j.executed = statusRefused, ran
		class, _, _ := strings.Cut(o.Text, " ")
		j.err = newProblem(strings.ToLower(strings.TrimPrefix(class, "EMQ")), 0, clean(o.Text), "")
		for _, r := range a.script.Refusals {
			if r.Text == o.Text {
				j.host = hostWord(r.Host)
			}
		}
	case executor.Failed:
		j.fail(statusFailed, o.Err)
	default:
		j.fail(statusUnknown, o.Err)
	}
}

// hostWord is the word in {:error, :kind}.
func hostWord(tuple string) string {
	_, word, _ := strings.Cut(strings.Trim(tuple, "{}"), ", :")
	return word
}

// fail gives a job that was not done, or perhaps not, its status.
func (j *job) fail(s status, err error) {
	j.status, j.host, j.executed = s, "", nil
	if s == statusFailed {
		j.executed = no
	}
	kind, msg, hint := describe(err)
	switch {
	case hint != "" || s != statusUnknown:
	case kind == string(valkey.KindPartial):
		// The row may be all that was written. The same id is then a duplicate,
		// and nobody ever claims the job.
		hint = "the row may be there without its place in the queue, and the same id is then a duplicate: repair what the error names, delete the row, and send it again"
	default:
		hint = "it may be stored: the same id is safe to send again"
	}
	j.err = newProblem(kind, 0, clean(msg), hint)
}
