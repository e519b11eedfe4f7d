package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/emqctl/internal/escape"
)

// laneView is a lane and what decides whether the ring has it.
type laneView struct {
	places int // how often it is in the ring
	paused bool
	limit  string
	active string
	jobs   int64
}

// number reads a count as the scripts do: what is no number is none.
func luaNumber(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f, err == nil
}

func (v laneView) full() bool {
	limit, limited := luaNumber(v.limit)
	in, _ := luaNumber(v.active)
	return limited && in >= limit
}

// faults returns what is wrong, each a word and a sentence.
func (v laneView) faults() [][2]string {
	var out [][2]string
	if v.places > 1 {
		out = append(out, [2]string{"twice", sprint("the ring has it %d times, want once", v.places)})
	}
	switch {
	case v.places > 0 && v.jobs == 0:
		out = append(out, [2]string{"empty", "the ring has it, and its lane is empty"})
	case v.places > 0 && v.paused:
		out = append(out, [2]string{"paused", "the ring has it, and it is paused"})
	case v.places > 0 && v.full():
		out = append(out, [2]string{"full", sprint("the ring has it, and it is at its limit of %s with %s active", v.limit, cmp.Or(v.active, "none"))})
	case v.places == 0 && v.jobs > 0 && !v.paused && !v.full():
		out = append(out, [2]string{"missing", "its lane has jobs, it is neither paused nor at its limit, and the ring does not have it"})
	}
	return out
}

const lanesAtOnce = 64

// walkLanes compares the ring with the lanes, and gactive with the jobs.
func (a *auditor) walkLanes(ctx context.Context, q *queue) error {
	views, err := a.lanesNow(ctx, q)
	if err != nil {
		return err
	}
	var odd []string
	gactive := false
	for _, g := range slices.Sorted(maps.Keys(views)) {
		v := views[g]
		if v.paused {
			q.Paused++
		}
		if v.full() {
			q.Full++
		}
		if len(v.faults()) > 0 {
			odd = append(odd, g)
		}
		if n, ok := luaNumber(v.active); v.active != "" && !ok || int64(n) != q.active[g] {
			gactive = true
		}
	}
	for g, n := range q.active {
		if views[g] == nil && n > 0 {
			gactive = true
		}
	}
	for chunk := range slices.Chunk(odd, lanesAtOnce) {
		a.suspect(&ringCheck{a: a, q: q, groups: chunk})
	}
	if gactive {
		a.suspect(&gactiveCheck{a: a, q: q, groups: map[string]string{}})
	}
	return nil
}

// lanesNow reads what is known of all groups, not at one instant.
func (a *auditor) lanesNow(ctx context.Context, q *queue) (map[string]*laneView, error) {
	views := map[string]*laneView{}
	of := func(g string) *laneView {
		if views[g] == nil {
			views[g] = &laneView{}
		}
		return views[g]
	}
	for g := range q.lanes {
		of(g)
	}
	const page = 1000
	ring := q.key("ring")
	for from := 0; ; from += page {
		r := a.store.Read(ctx, []Command{command(ring, "LRANGE", ring, strconv.Itoa(from), strconv.Itoa(from+page-1))})[0]
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if a.failed(q, r) {
			break
		}
		for _, v := range list(r.Value) {
			g, _ := text(v)
			of(g).places++
		}
		if len(list(r.Value)) < page {
			break
		}
	}
	for _, what := range []struct {
		name string
		scan string
		take func(g, value string)
	}{
		{"paused", "SSCAN", func(g, _ string) { of(g).paused = true }},
		{"glimit", "HSCAN", func(g, v string) { of(g).limit = v }},
		{"gactive", "HSCAN", func(g, v string) { of(g).active = v }},
	} {
		key := q.key(what.name)
		for cursor := "0"; ; {
			r := a.store.Read(ctx, []Command{command(key, what.scan, key, cursor, "COUNT", "1000")})[0]
			if a.failed(q, r) || len(list(r.Value)) != 2 {
				break
			}
			elems := list(list(r.Value)[1])
			for i := 0; i < len(elems); i++ {
				g, _ := text(elems[i])
				value := ""
				if what.scan == "HSCAN" && i+1 < len(elems) {
					i++
					value, _ = text(elems[i])
				}
				what.take(g, value)
			}
			if cursor, _ = text(list(r.Value)[0]); cursor == "0" || cursor == "" {
				break
			}
		}
	}
	groups := slices.Sorted(maps.Keys(views))
	for chunk := range slices.Chunk(groups, page) {
		commands := make([]Command, len(chunk))
		for i, g := range chunk {
			commands[i] = command(q.laneKey(g), "ZCARD", q.laneKey(g))
		}
		for i, r := range a.store.Read(ctx, commands) {
			if !a.failed(q, r) {
				views[chunk[i]].jobs = number(r.Value)
			}
		}
	}
	return views, context.Cause(ctx)
}

// ringCheck looks at groups of a queue.
type ringCheck struct {
	a      *auditor
	q      *queue
	groups []string
}

func (c *ringCheck) of() *queue { return c.q }

func (c *ringCheck) look(ctx context.Context) ([]sighting, error) {
	q, ring := c.q, c.q.key("ring")
	var commands []Command
	for _, g := range c.groups {
		commands = append(commands,
			command(ring, "LPOS", ring, g, "COUNT", "0"),
			command(ring, "SISMEMBER", q.key("paused"), g),
			command(ring, "HGET", q.key("glimit"), g),
			command(ring, "HGET", q.key("gactive"), g),
			command(ring, "ZCARD", q.laneKey(g)))
	}
	replies, _, err := c.a.atOnce(ctx, ring, commands)
	if err != nil {
		return nil, err
	}
	var found []sighting
	for i, g := range c.groups {
		r := replies[5*i : 5*i+5]
		if slices.ContainsFunc(r, func(r Reply) bool { return r.Err != nil }) {
			continue // of another type, which is a finding of its own
		}
		v := laneView{places: len(list(r[0].Value)), paused: number(r[1].Value) == 1, jobs: number(r[4].Value)}
		v.limit, _ = text(r[2].Value)
		v.active, _ = text(r[3].Value)
		for _, f := range v.faults() {
			found = append(found, sighting{
				finding: Finding{Kind: Ring, Queue: q.Name, Keys: []string{ring, q.laneKey(g)},
					Detail: sprint("group %s: %s", escape.Quote(g), f[1]), Mend: ringMend(f[0])},
				subject: f[0] + " " + g, evidence: f[0],
			})
		}
	}
	return found, nil
}

// ringMend is the verb that mends a fault of the ring.
func ringMend(fault string) string {
	switch fault {
	case "twice":
		return "gpause and then gresume of the group"
	case "empty":
		return "nothing to do: the next gclaim that meets it takes it out"
	case "paused":
		return "gpause of the group, once more"
	case "full":
		return "glimit of the group, to the same number"
	}
	return "gresume of the group, paused or not; the next genqueue to it does it too"
}

// gactiveCheck compares gactive of a queue with the active jobs.
type gactiveCheck struct {
	a      *auditor
	q      *queue
	groups map[string]string // of ids, as far as their rows were ever read
}

func (c *gactiveCheck) of() *queue { return c.q }

// look reads gactive and the active set at one instant; the groups of the jobs
// do not change while they are active, so their rows may be read after it. A
// row that is gone by then leaves a job that could be of any group.
func (c *gactiveCheck) look(ctx context.Context) ([]sighting, error) {
	q := c.q
	set, gactive := q.key("active"), q.key("gactive")
	for range 8 {
		replies, _, err := c.a.atOnce(ctx, set, []Command{command(set, "HGETALL", gactive), command(set, "ZRANGE", set, "0", "-1")})
		if err != nil {
			return nil, err
		}
		if replies[0].Err != nil || replies[1].Err != nil {
			return nil, nil // of another type
		}
		var ids []string
		for _, m := range list(replies[1].Value) {
			id, _ := text(m)
			ids = append(ids, id)
		}
		if err := c.readGroups(ctx, ids); err != nil {
			return nil, err
		}
		count, unknown := map[string]int64{}, int64(0)
		for _, id := range ids {
			if g, ok := c.groups[id]; ok {
				count[g]++
			} else {
				unknown++
			}
		}
		delete(count, "")
		var found []sighting
		unsure := false
		judge := func(g, value string) {
			n, ok := luaNumber(value)
			lo, hi := count[g], count[g]+unknown
			if ok && int64(n) >= lo && int64(n) <= hi && n == float64(int64(n)) {
				unsure = unsure || lo != hi && int64(n) != lo
				return
			}
			found = append(found, sighting{
				finding: Finding{Kind: GActive, Queue: q.Name, Keys: []string{gactive, set},
					Detail: sprint("group %s: gactive is %s, and %d of its jobs are active", escape.Quote(g), escape.Quote(value), lo)},
				subject: g, evidence: sprint("%t %v", ok, int64(n)-lo),
			})
		}
		fields := list(replies[0].Value)
		for i := 0; i+1 < len(fields); i += 2 {
			g, _ := text(fields[i])
			value, _ := text(fields[i+1])
			judge(g, value)
			delete(count, g)
		}
		for _, g := range slices.Sorted(maps.Keys(count)) {
			judge(g, "0")
		}
		if !unsure || unknown == 0 {
			return found, nil
		}
	}
	return nil, errMoving
}

// readGroups reads the groups of ids that are not known yet; "" is none.
func (c *gactiveCheck) readGroups(ctx context.Context, ids []string) error {
	var want []string
	for _, id := range ids {
		if _, ok := c.groups[id]; !ok {
			want = append(want, id)
		}
	}
	for chunk := range slices.Chunk(want, 1000) {
		commands := make([]Command, len(chunk))
		for i, id := range chunk {
			commands[i] = command(c.q.row(id), "HMGET", c.q.row(id), "group", "state")
		}
		for i, r := range c.a.store.Read(ctx, commands) {
			if r.Err != nil && !r.WrongType {
				return r.Err
			}
			if v := list(r.Value); len(v) == 2 && v[1] != nil {
				c.groups[chunk[i]], _ = text(v[0])
			}
		}
	}
	return nil
}
