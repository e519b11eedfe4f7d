package audit

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
)

// walk goes through the sets of every queue and what else it has one of.
func (a *auditor) walk(ctx context.Context) error {
	a.phase = "walking"
	for _, q := range a.sorted() {
		if err := a.walkQueue(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) walkQueue(ctx context.Context, q *queue) error {
	counts := [4]*int64{&q.Pending, &q.Active, &q.Scheduled, &q.Dead}
	for set := range setNames {
		w := walker{a: a, q: q, set: set, key: q.key(setNames[set])}
		sum, err := w.members(ctx)
		if err != nil {
			return err
		}
		*counts[set] = sum.n
		if sum == q.sets[set] {
			continue
		}
		if set == active {
			clear(q.active)
		}
		if err := w.rows(ctx); err != nil {
			return err
		}
	}
	for _, group := range slices.Sorted(maps.Keys(q.lanes)) {
		l := q.lanes[group]
		w := walker{a: a, q: q, set: pending, group: group, lane: true, key: q.laneKey(group)}
		sum, err := w.members(ctx)
		if err != nil {
			return err
		}
		l.members = sum.n
		q.Waiting += sum.n
		if sum.n > 0 {
			q.Lanes++
		}
		if sum != l.rows {
			if err := w.rows(ctx); err != nil {
				return err
			}
		}
	}
	if err := a.walkLanes(ctx, q); err != nil {
		return err
	}
	if err := a.walkRepeats(ctx, q); err != nil {
		return err
	}
	if err := a.walkOutbox(ctx, q); err != nil {
		return err
	}
	// Rows that did not fit in the scan, members that do not fit now.
	ids := slices.Sorted(maps.Keys(q.jobs))
	for chunk := range slices.Chunk(ids, jobsAtOnce) {
		c := &jobsCheck{a: a, q: q}
		for _, id := range chunk {
			c.jobs = append(c.jobs, suspectJob{id, q.jobs[id]})
		}
		a.suspect(c)
	}
	q.jobs = nil
	return nil
}

// walker goes through one set.
type walker struct {
	a     *auditor
	q     *queue
	set   int
	lane  bool
	group string
	key   string
}

// members walks the set once and judges what needs no row.
func (w *walker) members(ctx context.Context) (sum, error) {
	var s sum
	var limit float64
	a, q := w.a, w.q
	err := w.each(ctx, func(members []any) {
		if w.set == active && limit == 0 {
			limit = float64(a.serverTime(ctx, q) - a.o.Grace.Milliseconds())
		}
		for i := 0; i+1 < len(members); i += 2 {
			id, _ := text(members[i])
			a.add(&s, id)
			if !isJobID(id) {
				a.suspect(&memberCheck{a: a, q: q, key: w.key, member: strings.Clone(id)})
				continue
			}
			if w.set == pending && (q.Oldest == "" || id < q.Oldest) {
				q.Oldest = strings.Clone(id)
			}
			score, _ := text(members[i+1])
			switch {
			case w.set == pending || w.set == dead:
				if score != "0" {
					q.suspectJob(id, w.group)
				}
			case w.set == active && limit > 0:
				if deadline, err := strconv.ParseFloat(score, 64); err == nil && deadline < limit {
					q.suspectJob(id, "")
				}
			}
		}
	})
	return s, err
}

// rows walks the set again and reads the row of each member: the set and the
// rows that should be in it are not the same.
func (w *walker) rows(ctx context.Context) error {
	a, q := w.a, w.q
	return w.each(ctx, func(members []any) {
		ids := make([]string, 0, len(members)/2)
		for i := 0; i+1 < len(members); i += 2 {
			if id, _ := text(members[i]); isJobID(id) {
				ids = append(ids, id)
			}
		}
		// Twice, since most that does not fit has only moved.
		for try := range 2 {
			commands := make([]Command, 0, 2*len(ids))
			for _, id := range ids {
				row := q.row(id)
				commands = append(commands, command(row, "HMGET", row, "state", "group", "attempts"))
				if try > 0 {
					commands = append(commands, command(w.key, "ZSCORE", w.key, id))
				}
			}
			var bad []string
			replies := a.store.Read(ctx, commands)
			for i, id := range ids {
				r := replies[i*(1+try)]
				if a.failed(q, r) || try > 0 && replies[2*i+1].Value == nil {
					continue
				}
				v := list(r.Value)
				if len(v) != 3 {
					continue
				}
				state, _ := text(v[0])
				group, _ := text(v[1])
				fits := v[0] != nil && v[2] != nil && state == setStates[w.set] && (w.set != pending || group == w.group)
				if !fits {
					bad = append(bad, id)
				}
				if w.set == active && group != "" && (fits || try > 0) {
					q.active[group]++
				}
			}
			ids = bad
		}
		for _, id := range ids {
			q.suspectJob(id, w.group)
		}
	})
}

// each hands over the set's members with their scores, some at a time. A
// member may come twice.
func (w *walker) each(ctx context.Context, do func(members []any)) error {
	for cursor := "0"; ; {
		reply := w.a.store.Read(ctx, []Command{command(w.key, "ZSCAN", w.key, cursor, "COUNT", "1000")})[0]
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if w.a.failed(w.q, reply) {
			return nil
		}
		page := list(reply.Value)
		if len(page) != 2 {
			return nil
		}
		members := list(page[1])
		if err := w.a.pace(ctx, len(members)/2); err != nil {
			return err
		}
		do(members)
		if cursor, _ = text(page[0]); cursor == "0" || cursor == "" {
			return nil
		}
	}
}

// serverTime returns the clock of the node that has a queue, in Unix
// milliseconds, or 0 when it does not say.
func (a *auditor) serverTime(ctx context.Context, q *queue) int64 {
	r := a.store.Read(ctx, []Command{command(q.key("active"), "TIME")})[0]
	if a.failed(q, r) {
		return 0
	}
	return readTime(r.Value)
}

// readTime reads the reply of TIME.
func readTime(v any) int64 {
	parts := list(v)
	if len(parts) != 2 {
		return 0
	}
	sec, _ := text(parts[0])
	micro, _ := text(parts[1])
	s, err := strconv.ParseInt(sec, 10, 64)
	us, err2 := strconv.ParseInt(micro, 10, 64)
	if err != nil || err2 != nil {
		return 0
	}
	return s*1000 + us/1000
}

// isJobID reports whether a member can be the id of a job for both of an id's
// owners.
func isJobID(s string) bool {
	id, err := brandedid.Parse(s)
	return err == nil && id.Namespace() == brandedid.JobNamespace
}

// walkRepeats looks for registrations without a record; records without a
// registration were met by the scan.
func (a *auditor) walkRepeats(ctx context.Context, q *queue) error {
	if !q.types[decode.Repeat] {
		return nil
	}
	w := walker{a: a, q: q, key: q.key("repeat")}
	return w.each(ctx, func(members []any) {
		q.Repeats += int64(len(members) / 2)
		var commands []Command
		for i := 0; i+1 < len(members); i += 2 {
			name, _ := text(members[i])
			commands = append(commands, command(w.key, "EXISTS", q.key("repeat:"+name)))
		}
		for i, r := range a.store.Read(ctx, commands) {
			if !a.failed(q, r) && number(r.Value) == 0 {
				name, _ := text(members[2*i])
				a.suspect(&repeatCheck{a: a, q: q, name: strings.Clone(name)})
			}
		}
	})
}
