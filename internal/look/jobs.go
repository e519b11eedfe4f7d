package look

import (
	"container/heap"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
)

// Window says which members of a set are wanted.
type Window struct {
	Set decode.Type // Pending, Active, Schedule, Dead or Lane
	Key string      // of the set
	// Lowest and Highest bound the ids, both inclusive, when Bounded.
	Bounded         bool
	Lowest, Highest brandedid.ID
	Newest          bool // from the newest to the oldest
	Count           int  // at most so many, 0 for all
}

// Job is a member of a set and its row.
type Job struct {
	Member Bytes
	ID     brandedid.ID // the zero ID when the member is no branded id
	Score  float64
	Row    *Row // nil when there is none, or it could not be read
	Err    error
}

// chunk is how many members are read at a time.
const chunk = 500

// lexicographic reports whether every score of a set is 0, so that a BYLEX
// range is one in mint order.
func lexicographic(t decode.Type) bool { return t != decode.Active && t != decode.Schedule }

// Jobs hands the members of a window to each, some at a time and in the order
// of their bytes. It returns the first error of the set's, or of each; that of
// a row is in its Job. Members that came or went meanwhile may be missed or, in
// a set whose scores are times, be there without a row.
func (l *Looker) Jobs(ctx context.Context, queue string, w Window, each func([]Job) error) error {
	walk := l.byLex
	if !lexicographic(w.Set) {
		walk = l.byScan
	}
	return walk(ctx, w, func(members []member) error {
		return each(l.rows(ctx, queue, members))
	})
}

type member struct {
	name  string
	score float64
}

// ask1 sends one command and waits for its reply.
func (l *Looker) ask1(ctx context.Context, key string, args ...string) (reply any, err error) {
	l.send(ctx, []ask{{
		key: key, args: args,
		got:    func(r any) { reply = r },
		failed: func(e error) { err = e },
	}})
	return reply, err
}

// byLex takes one BYLEX range after the other, each from behind the last
// member on. The score of each member is asked for: one that is not 0 breaks
// the order, and is for the reader to see.
func (l *Looker) byLex(ctx context.Context, w Window, each func([]member) error) error {
	from, to := "-", "+"
	if w.Bounded {
		from, to = "["+w.Lowest.String(), "["+w.Highest.String()
	}
	for left := w.Count; ; {
		n := chunk
		if w.Count > 0 {
			n = min(n, left)
		}
		args := []string{"ZRANGE", w.Key, from, to, "BYLEX", "LIMIT", "0", strconv.Itoa(n)}
		if w.Newest {
			args = []string{"ZRANGE", w.Key, to, from, "BYLEX", "REV", "LIMIT", "0", strconv.Itoa(n)}
		}
		reply, err := l.ask1(ctx, w.Key, args...)
		if err != nil {
			return err
		}
		names := list(reply)
		if len(names) == 0 {
			return nil
		}
		scores := []string{"ZMSCORE", w.Key}
		for _, name := range names {
			scores = append(scores, text(name))
		}
		if reply, err = l.ask1(ctx, w.Key, scores...); err != nil {
			return err
		}
		members := make([]member, len(names))
		for i, name := range names {
			members[i].name = text(name)
			if all := list(reply); i < len(all) {
				members[i].score, _ = strconv.ParseFloat(text(all[i]), 64)
			}
		}
		if err := each(members); err != nil {
			return err
		}
		if left -= len(names); len(names) < n || w.Count > 0 && left <= 0 {
			return nil
		}
		last := "(" + members[len(members)-1].name
		if w.Newest {
			to = last
		} else {
			from = last
		}
	}
}

// maxHeld is how many members a walk through a set of times holds.
const maxHeld = 50_000

// byScan reads all members and keeps the first ones of the window; when there
// are more than it may hold it reads them all again for the next ones.
func (l *Looker) byScan(ctx context.Context, w Window, each func([]member) error) error {
	from, to := w.Lowest.String(), w.Highest.String()
	inside := func(name string) bool { return !w.Bounded || from <= name && name <= to }
	held := maxHeld
	if l.held > 0 {
		held = l.held
	}
	for left, last := w.Count, ""; ; {
		keep := &first{limit: held, newest: w.Newest, seen: map[string]bool{}}
		if w.Count > 0 {
			keep.limit = min(held, left)
		}
		err := l.scan(ctx, w.Key, func(m member) {
			if inside(m.name) && (last == "" || keep.before(member{name: last}, m)) {
				keep.add(m)
			}
		})
		if err != nil {
			return err
		}
		members := keep.sorted()
		for part := range slices.Chunk(members, chunk) {
			if err := each(part); err != nil {
				return err
			}
		}
		if left -= len(members); len(members) < keep.limit || w.Count > 0 && left <= 0 {
			return nil
		}
		last = members[len(members)-1].name
	}
}

// scan reads a set by ZSCAN, which gives a member that moves once or more.
func (l *Looker) scan(ctx context.Context, key string, each func(member)) error {
	for cursor := "0"; ; {
		reply, err := l.ask1(ctx, key, "ZSCAN", key, cursor, "COUNT", "1000")
		if err != nil {
			return err
		}
		step := list(reply)
		if len(step) != 2 {
			return nil
		}
		items := list(step[1])
		for i := 0; i+1 < len(items); i += 2 {
			score, err := strconv.ParseFloat(text(items[i+1]), 64)
			if err != nil {
				score = math.NaN()
			}
			each(member{text(items[i]), score})
		}
		if cursor = text(step[0]); cursor == "0" || cursor == "" {
			return nil
		}
	}
}

// first keeps the first members in an order: a heap whose top is the last of
// them.
type first struct {
	limit  int // 0 for no limit
	newest bool
	list   []member
	seen   map[string]bool
}

func (f *first) add(m member) {
	if f.seen[m.name] {
		return
	}
	full := f.limit > 0 && len(f.list) == f.limit
	if full && !f.before(m, f.list[0]) {
		return
	}
	m.name = strings.Clone(m.name)
	f.seen[m.name] = true
	heap.Push(f, m)
	if full {
		delete(f.seen, heap.Pop(f).(member).name)
	}
}

func (f *first) before(a, b member) bool { return (a.name < b.name) != f.newest && a.name != b.name }

func (f *first) sorted() []member {
	slices.SortFunc(f.list, func(a, b member) int {
		if f.newest {
			a, b = b, a
		}
		return strings.Compare(a.name, b.name)
	})
	return f.list
}

func (f *first) Len() int           { return len(f.list) }
func (f *first) Less(i, j int) bool { return f.before(f.list[j], f.list[i]) }
func (f *first) Swap(i, j int)      { f.list[i], f.list[j] = f.list[j], f.list[i] }
func (f *first) Push(m any)         { f.list = append(f.list, m.(member)) }
func (f *first) Pop() any {
	m := f.list[len(f.list)-1]
	f.list = f.list[:len(f.list)-1]
	return m
}

// rows reads the rows of members.
func (l *Looker) rows(ctx context.Context, queue string, members []member) []Job {
	jobs := make([]Job, len(members))
	looks := make([]*keyLook, len(members))
	for i, m := range members {
		jobs[i] = Job{Member: Bytes{clip(m.name, memberLen), int64(len(m.name))}, Score: m.score}
		jobs[i].ID, _ = brandedid.Parse(m.name)
		looks[i] = &keyLook{Key: &Key{Size: -1}, l: l, name: decode.QueueKey(queue, "job:"+m.name)}
	}
	for _, round := range []func(*keyLook){(*keyLook).fieldsOfRow, (*keyLook).largeFields} {
		var asks []ask
		for _, k := range looks {
			if k.Err == nil {
				k.asks = asks
				round(k)
				asks = k.asks
			}
		}
		l.run(ctx, asks)
	}
	for i, k := range looks {
		k.finish()
		jobs[i].Err = k.Err
		if k.Size > 0 {
			jobs[i].Row = k.Row
		}
	}
	return jobs
}
