package audit

import (
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/echomq/emqctl/internal/decode"
)

// Run looks at a store and hands over what it finds, then a summary of each
// queue, then one of the whole. Its error is that of a callback, or the end of
// ctx; what could not be looked at is in the summaries, and no error.
func Run(ctx context.Context, s Store, o Options) error {
	a := &auditor{
		store: s, o: o, seed: maphash.MakeSeed(), began: o.Clock.Now(),
		queues: map[string]*queue{}, braces: map[string]*broken{},
		parents: map[parentKey]string{}, children: map[parentKey]int{},
	}
	if o.Pause <= 0 {
		a.o.Pause = DefaultPause
	}
	if len(o.Queues) > 0 {
		a.asked = map[string]bool{}
		for _, name := range o.Queues {
			a.asked[name] = true
			a.queue(name)
		}
	}
	for _, phase := range []func(context.Context) error{a.scan, a.walk, a.settle, a.flows, a.fences} {
		if err := phase(ctx); err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return a.summarize()
}

// auditor is one run.
type auditor struct {
	store Store
	o     Options
	asked map[string]bool // nil: every queue
	seed  maphash.Seed
	began time.Time

	mu       sync.Mutex // while the scan runs
	queues   map[string]*queue
	braces   map[string]*broken   // keys whose braces do not hold, by how
	parents  map[parentKey]string // the counters of flow parents that wait
	children map[parentKey]int    // how many children are to come
	suspects []check
	paced    int64 // keys and members so far
	phase    string

	nodes    []Node
	size     int64
	fence    []Fence
	fenceErr error
	found    int64
	err      error // the first reason why something was not looked at
}

// queue is what is held of one queue.
type queue struct {
	Queue
	sets   [4]sum // of the rows that are in the flat set that their state names
	lanes  map[string]*lane
	active map[string]int64    // active rows that are in the set, by group
	jobs   map[string][]string // suspect ids, and groups in whose lanes they were seen
	types  map[decode.Type]bool
}

// sum tells whether two collections of ids are the same, whatever their order.
type sum struct {
	n    int64
	hash uint64
}

type lane struct {
	rows    sum
	members int64
}

// The flat sets, by their place in queue.sets.
const (
	pending = iota
	active
	schedule
	dead
	noSet = -1
)

var (
	setNames  = [...]string{"pending", "active", "schedule", "dead"}
	setStates = [...]string{"pending", "active", "scheduled", "dead"}
)

const waitsForChildren = "awaiting_children"

func (q *queue) key(suffix string) string { return decode.QueueKey(q.Name, suffix) }
func (q *queue) row(id string) string     { return q.key("job:" + id) }
func (q *queue) laneKey(g string) string  { return q.key("g:" + g + ":pending") }

// queue returns what is held of a queue. The caller holds a.mu during the scan.
func (a *auditor) queue(name string) *queue {
	q := a.queues[name]
	if q == nil {
		name = strings.Clone(name)
		q = &queue{Queue: Queue{Name: name}, lanes: map[string]*lane{}, active: map[string]int64{}, jobs: map[string][]string{}, types: map[decode.Type]bool{}}
		a.queues[name] = q
	}
	return q
}

func (q *queue) lane(group string) *lane {
	l := q.lanes[group]
	if l == nil {
		l = &lane{}
		q.lanes[strings.Clone(group)] = l
	}
	return l
}

// sorted returns the queues as they were asked for, or by name.
func (a *auditor) sorted() []*queue {
	return slices.SortedFunc(maps.Values(a.queues), func(x, y *queue) int {
		return cmp.Or(
			cmp.Compare(slices.Index(a.o.Queues, x.Name), slices.Index(a.o.Queues, y.Name)),
			strings.Compare(x.Name, y.Name))
	})
}

func (a *auditor) add(s *sum, id string) {
	s.n++
	s.hash += maphash.String(a.seed, id)
}

// fail notes that something of a queue, or of none, could not be looked at.
func (a *auditor) fail(q *queue, err error) {
	if q != nil && q.Err == nil {
		q.Err = err
	}
	if a.err == nil {
		a.err = err
	}
}

// failed is fail for replies; it reports whether there is no value to go by.
// Another type than the grammar's is a finding, made elsewhere.
func (a *auditor) failed(q *queue, r Reply) bool {
	if r.Err != nil && !r.WrongType {
		a.fail(q, r.Err)
	}
	return r.Err != nil
}

// pace counts n keys or members and waits as the rate demands.
func (a *auditor) pace(ctx context.Context, n int) error {
	a.paced += int64(n)
	if a.o.OnProgress != nil {
		a.mu.Lock()
		p := Progress{Phase: a.phase, Keys: a.paced, Of: a.size, Queues: int64(len(a.queues))}
		a.mu.Unlock()
		a.o.OnProgress(p)
	}
	if a.o.Rate <= 0 {
		return nil
	}
	due := time.Duration(float64(a.paced) / float64(a.o.Rate) * float64(time.Second))
	if wait := due - a.o.Clock.Now().Sub(a.began); wait > 0 {
		return a.o.Clock.Sleep(ctx, wait)
	}
	return nil
}

// report hands a finding over.
func (a *auditor) report(f Finding) error {
	if slices.Contains(a.o.Allow, f.Kind) {
		return nil
	}
	doc, _ := DocOf(f.Kind)
	f.Why = cmp.Or(f.Why, doc.Why)
	f.Mend = cmp.Or(f.Mend, doc.Mend)
	if q := a.queues[f.Queue]; q != nil {
		q.Findings++
	}
	a.found++
	return a.o.OnFinding(f)
}

func (a *auditor) summarize() error {
	s := Server{Fences: a.fence, FenceErr: a.fenceErr, Nodes: a.nodes, Findings: a.found, Err: a.err}
	for _, n := range a.nodes {
		s.Keys += n.Keys
	}
	for _, q := range a.sorted() {
		if s.Err != nil && q.Err == nil {
			for _, n := range a.nodes {
				if n.Err != nil {
					q.Err = n.Err // keys of it may have been there
				}
			}
		}
		s.Queues++
		s.Unsettled += q.Unsettled
		if q.Err != nil {
			s.Partial++
		}
		if err := a.o.OnQueue(q.Queue); err != nil {
			return err
		}
	}
	return a.o.OnServer(s)
}

// text returns a reply as text.
func text(v any) (string, bool) {
	s, ok := v.(string)
	return s, ok
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func number(v any) int64 {
	n, _ := v.(int64)
	return n
}

func command(key string, args ...string) Command { return Command{Key: key, Args: args} }
