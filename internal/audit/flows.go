package audit

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/escape"
)

// parentKey names a flow parent.
type parentKey struct{ queue, id string }

// badCounter reports whether the counter of a flow parent is one that the
// verbs do not leave.
func badCounter(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err != nil || n < 0
}

// child notes that a parent has a child to come, and asks whether the parent
// has a row.
func (a *auditor) child(asks []asking, r *rowSeen, parent string, parentQueue any) []asking {
	k := parentKey{r.q.Name, parent}
	if pq, ok := text(parentQueue); ok {
		k.queue = pq
	}
	a.children[k]++
	row := decode.QueueKey(k.queue, "job:"+parent)
	q, id := r.q, r.id
	return append(asks, asking{q, command(row, "EXISTS", row), func(reply Reply) {
		if number(reply.Value) == 0 {
			a.suspect(&orphanCheck{a: a, q: q, id: id, parent: k})
		}
	}})
}

// parent notes a parent that waits, with its counter.
func (a *auditor) parent(asks []asking, r *rowSeen) []asking {
	k, q, counter := parentKey{r.q.Name, r.id}, r.q, r.key+":dependencies"
	return append(asks, asking{q, command(counter, "GET", counter), func(reply Reply) {
		n, ok := text(reply.Value)
		if !ok {
			n = noCounter
		}
		if _, again := a.parents[k]; !again {
			q.Awaiting++
		}
		a.parents[k] = n
	}})
}

const noCounter = "missing"

// family is what was seen of a parent's children on one way through all rows.
type family struct {
	live    map[string]bool // ids of children that are yet to come
	dead    map[string]bool // ids of those that are dead
	reports int             // reports of children on their way, in outboxes
}

func (f *family) same(o *family) bool {
	return maps.Equal(f.live, o.live) && maps.Equal(f.dead, o.dead) && f.reports == o.reports
}

// flows compares the counters of parents that wait with their children. Those
// that do not fit at first, and have not moved since, have their children
// looked for among all rows, twice or until two ways through say the same.
func (a *auditor) flows(ctx context.Context) error {
	if len(a.parents) == 0 || a.err != nil {
		return nil // children may be where nothing was seen
	}
	a.phase = "checking"
	if a.asked == nil {
		for _, q := range a.sorted() {
			if q.Outbox > 0 {
				if err := a.reports(ctx, q.Name, func(k parentKey) { a.children[k]++ }); err != nil {
					return nil
				}
			}
		}
	}
	odd := map[parentKey]*family{}
	for k, counter := range a.parents {
		if a.asked != nil || !agrees(counter, a.children[k]) {
			odd[k] = nil
		}
	}
	if len(odd) == 0 {
		return nil
	}
	counters := map[parentKey]string{}
	for k := range odd {
		counters[k] = a.parents[k]
	}
	const ways = 3
	for way := range ways {
		if err := a.dropMoved(ctx, odd, counters); err != nil || len(odd) == 0 {
			return err
		}
		before := odd
		var err error
		if odd, err = a.families(ctx, slices.Collect(maps.Keys(before))); err != nil || a.err != nil {
			return err
		}
		if err := a.dropMoved(ctx, odd, counters); err != nil {
			return err
		}
		var findings []Finding
		for k, f := range odd {
			if agrees(counters[k], len(f.live)+f.reports) {
				delete(odd, k)
				continue
			}
			if b := before[k]; b != nil && b.same(f) {
				findings = append(findings, flowFinding(k, counters[k], f))
				delete(odd, k)
			}
		}
		if err := a.reportAll(findings); err != nil {
			return err
		}
		if way+1 < ways && len(odd) > 0 {
			if err := a.o.Clock.Sleep(ctx, a.o.Pause); err != nil {
				return err
			}
		}
	}
	for k := range odd {
		a.queue(k.queue).Unsettled++
	}
	return nil
}

// agrees reports whether a counter is the number of children to come. A parent
// that waits for nobody agrees with nothing.
func agrees(counter string, children int) bool {
	n, err := strconv.Atoi(counter)
	return err == nil && n == children && n > 0
}

// dropMoved drops the parents that have left, have another counter than when
// they were first seen, or are younger than the grace: a host adds a flow in
// several calls.
func (a *auditor) dropMoved(ctx context.Context, odd map[parentKey]*family, counters map[parentKey]string) error {
	keys := slices.Collect(maps.Keys(odd))
	for chunk := range slices.Chunk(keys, 500) {
		var commands []Command
		for _, k := range chunk {
			row := decode.QueueKey(k.queue, "job:"+k.id)
			commands = append(commands, command(row, "HGET", row, "state"), command(row, "GET", row+":dependencies"), command(row, "TIME"))
		}
		replies := a.store.Read(ctx, commands)
		for i, k := range chunk {
			r := replies[3*i : 3*i+3]
			if a.failed(a.queue(k.queue), r[0]) || a.failed(a.queue(k.queue), r[1]) || r[2].Err != nil {
				delete(odd, k)
				continue
			}
			counter, ok := text(r[1].Value)
			if !ok {
				counter = noCounter
			}
			id, err := brandedid.Parse(k.id)
			young := err == nil && readTime(r[2].Value)-id.UnixMilli() < a.o.Grace.Milliseconds()
			if state, _ := text(r[0].Value); state != waitsForChildren || counter != counters[k] || young {
				delete(odd, k)
			}
		}
	}
	return context.Cause(ctx)
}

// families goes through all rows, of every queue, and all outboxes.
func (a *auditor) families(ctx context.Context, keys []parentKey) (map[parentKey]*family, error) {
	all := map[parentKey]*family{}
	for _, k := range keys {
		all[k] = &family{live: map[string]bool{}, dead: map[string]bool{}}
	}
	outboxes := map[string]bool{}
	err := a.eachStep(ctx, "emq:*", func(ctx context.Context, keys []string) {
		var commands []Command
		var rows []decode.Key
		for _, key := range keys {
			k, err := decode.Parse(key)
			switch {
			case err != nil:
			case k.Type == decode.FlowOutbox:
				a.mu.Lock()
				outboxes[strings.Clone(k.Queue)] = true
				a.mu.Unlock()
			case k.Type == decode.Job:
				rows = append(rows, k)
				commands = append(commands, command(key, "HMGET", key, "parent", "parent_queue", "state"))
			}
		}
		replies := a.readInChunks(ctx, commands)
		a.mu.Lock()
		defer a.mu.Unlock()
		for i, r := range replies {
			v := list(r.Value)
			if a.failed(nil, r) || len(v) != 3 {
				continue
			}
			parent, ok := text(v[0])
			if !ok {
				continue
			}
			pk := parentKey{rows[i].Queue, parent}
			if pq, ok := text(v[1]); ok {
				pk.queue = pq
			}
			if f := all[pk]; f != nil {
				child := rows[i].ID.String()
				if rows[i].Queue != pk.queue {
					child = rows[i].Queue + " " + child
				}
				if v[2] == "dead" {
					f.dead[child] = true
				} else {
					f.live[child] = true
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for name := range outboxes {
		if err := a.reports(ctx, name, func(k parentKey) {
			if f := all[k]; f != nil {
				f.reports++
			}
		}); err != nil {
			a.fail(nil, err)
		}
	}
	return all, context.Cause(ctx)
}

func flowFinding(k parentKey, counter string, f *family) Finding {
	row := decode.QueueKey(k.queue, "job:"+k.id)
	out := Finding{Kind: FlowCounter, Queue: k.queue, Keys: []string{row, row + ":dependencies"}, IDs: []string{k.id}}
	coming := len(f.live) + f.reports
	if coming == 0 {
		out.Kind = FlowStranded
	}
	out.Detail = counted(counter) + ", and " + plural(coming, "child is", "children are") + " to come"
	if n := len(f.dead); n > 0 {
		out.Detail += sprint("; %s dead", plural(n, "other is", "others are"))
		for _, id := range slices.Sorted(maps.Keys(f.dead)) {
			out.IDs = append(out.IDs, id[strings.LastIndexByte(id, ' ')+1:])
		}
	}
	return out
}

func counted(counter string) string {
	if counter == noCounter {
		return "it waits, and its counter is missing"
	}
	if n, err := strconv.Atoi(counter); err == nil {
		return "it waits for " + plural(n, "child", "children")
	}
	return "its counter is " + escape.Quote(counter)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// orphanCheck looks at a child whose parent had no row.
type orphanCheck struct {
	a      *auditor
	q      *queue
	id     string
	parent parentKey
}

func (c *orphanCheck) of() *queue { return c.q }

func (c *orphanCheck) look(ctx context.Context) ([]sighting, error) {
	row, parent := c.q.row(c.id), decode.QueueKey(c.parent.queue, "job:"+c.parent.id)
	read := func() ([]Reply, error) {
		r := c.a.store.Read(ctx, []Command{command(row, "HMGET", row, "state", "parent", "parent_queue", "attempts"), command(parent, "EXISTS", parent)})
		return r, firstError(r)
	}
	// The two may be on different nodes, so no transaction holds them.
	r, err := read()
	if err != nil {
		return nil, err
	}
	again, err := read()
	if err != nil {
		return nil, err
	}
	if !sameReplies(r, again) {
		return nil, errMoving
	}
	v := list(r[0].Value)
	if len(v) != 4 || v[0] == nil || v[0] == "dead" || v[1] != c.parent.id || number(r[1].Value) == 1 {
		return nil, nil
	}
	return []sighting{{
		finding: Finding{Kind: FlowOrphan, Queue: c.q.Name, Keys: []string{row, parent}, IDs: []string{c.id, c.parent.id},
			Detail: sprint("its state is %s, and its parent has no row %s", escape.Quote(v[0].(string)), escape.Quote(parent))},
		subject: c.id, evidence: sprint("%v", v),
	}}, nil
}

// counterCheck looks at a parent whose counter is below zero, or no number.
type counterCheck struct {
	a  *auditor
	q  *queue
	id string
}

func (c *counterCheck) of() *queue { return c.q }

func (c *counterCheck) look(ctx context.Context) ([]sighting, error) {
	row := c.q.row(c.id)
	counter := row + ":dependencies"
	r, _, err := c.a.atOnce(ctx, row, []Command{command(row, "HGET", row, "state"), command(row, "EXISTS", row), command(counter, "GET", counter)})
	if err != nil {
		return nil, err
	}
	value, ok := text(r[2].Value)
	state, _ := text(r[0].Value)
	if !ok || !badCounter(value) || number(r[1].Value) == 0 || state == waitsForChildren {
		return nil, nil // without a row it is an orphan; one that waits is judged with its children
	}
	return []sighting{{
		finding: Finding{Kind: FlowCounter, Queue: c.q.Name, Keys: []string{row, counter}, IDs: []string{c.id},
			Detail: sprint("its counter is %s, want 0 or more", escape.Quote(value))},
		subject: c.id, evidence: value + " " + state,
	}}, nil
}

// parseReport reads an entry of a flow outbox; why is empty when it is sound.
func parseReport(entry string) (parent parentKey, why string) {
	o, fault := decode.ReadOutcome(entry)
	if fault != "" {
		return parent, fault
	}
	parent = parentKey{o.ParentQueue, o.Parent}
	if parent.queue == "" {
		return parent, "the entry has no parent queue"
	}
	if _, err := brandedid.Parse(parent.id); err != nil {
		return parent, sprint("the parent %s is no id: %s", escape.Quote(parent.id), err)
	}
	return parent, ""
}

// outbox hands over the entries of a queue's outbox until do says stop.
func (a *auditor) outbox(ctx context.Context, queue string, do func(at int, entry string) bool) error {
	const page = 100
	key := decode.QueueKey(queue, "flow:outbox")
	for from := 0; ; from += page {
		r := a.store.Read(ctx, []Command{command(key, "LRANGE", key, strconv.Itoa(from), strconv.Itoa(from+page-1))})[0]
		if r.WrongType {
			return nil
		}
		if r.Err != nil {
			return r.Err
		}
		entries := list(r.Value)
		for i, v := range entries {
			entry, _ := text(v)
			if !do(from+i, entry) {
				return nil
			}
		}
		if len(entries) < page {
			return nil
		}
		if err := a.pace(ctx, len(entries)); err != nil {
			return err
		}
	}
}

// reports hands over the parents for whom reports are on their way.
func (a *auditor) reports(ctx context.Context, queue string, do func(parentKey)) error {
	return a.outbox(ctx, queue, func(_ int, entry string) bool {
		if k, why := parseReport(entry); why == "" {
			do(k)
		}
		return true
	})
}

// walkOutbox counts the entries and looks for one that is malformed.
func (a *auditor) walkOutbox(ctx context.Context, q *queue) error {
	if !q.types[decode.FlowOutbox] {
		return nil
	}
	bad := false
	err := a.outbox(ctx, q.Name, func(_ int, entry string) bool {
		q.Outbox++
		_, why := parseReport(entry)
		bad = bad || why != ""
		return true
	})
	if err != nil {
		a.fail(q, err)
	}
	if bad {
		a.suspect(&outboxCheck{a: a, q: q})
	}
	return context.Cause(ctx)
}

// outboxCheck looks for the first malformed entry of an outbox.
type outboxCheck struct {
	a *auditor
	q *queue
}

func (c *outboxCheck) of() *queue { return c.q }

func (c *outboxCheck) look(ctx context.Context) (found []sighting, err error) {
	key := c.q.key("flow:outbox")
	err = c.a.outbox(ctx, c.q.Name, func(at int, entry string) bool {
		_, why := parseReport(entry)
		if why == "" {
			return true
		}
		shown := entry
		if len(shown) > 200 {
			shown = shown[:200]
		}
		where := "the head"
		if at > 0 {
			where = sprint("an entry behind the head")
		}
		found = append(found, sighting{
			finding: Finding{Kind: Outbox, Queue: c.q.Name, Keys: []string{key},
				Detail: sprint("%s is %s: %s", where, escape.Quote(shown), why)},
			evidence: entry,
		})
		return false
	})
	return found, err
}
