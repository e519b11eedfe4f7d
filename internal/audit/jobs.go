package audit

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/escape"
)

// jobsAtOnce is how many jobs one transaction reads: some 300 short commands.
const jobsAtOnce = 32

// jobsCheck looks at jobs of a queue: their rows and all sets that they are in.
type jobsCheck struct {
	a    *auditor
	q    *queue
	jobs []suspectJob
}

type suspectJob struct {
	id     string
	groups []string // in whose lanes to look, besides that of the row's group
}

func (c *jobsCheck) of() *queue { return c.q }

func (c *jobsCheck) look(ctx context.Context) ([]sighting, error) {
	pool := c.jobs
	for range 4 {
		views, now, err := c.read(ctx, pool)
		if err != nil {
			return nil, err
		}
		// A row whose group has changed since its lanes were chosen, or that is
		// in no set so far, is looked for in all lanes.
		again := false
		for i := range views {
			v := &views[i]
			if v.changed {
				again = true
			}
			if v.exists && len(v.in) == 0 && v.state != waitsForChildren && len(c.q.lanes) > len(pool[i].groups) {
				if !again {
					pool = slices.Clone(pool)
				}
				pool[i].groups = slices.Sorted(maps.Keys(c.q.lanes))
				again = true
			}
		}
		if again {
			continue
		}
		var found []sighting
		for i := range views {
			found = append(found, views[i].judge(c.q, now, c.a.o.Grace)...)
		}
		c.jobs = pool
		return found, nil
	}
	return nil, errMoving
}

// jobView is a job at one instant.
type jobView struct {
	id                           string
	exists                       bool
	state, attempts, group       string
	hasState, hasTries, hasGroup bool
	payload                      bool
	in                           []membership
	unsure                       bool // a set, or the row, is of another type
	changed                      bool // the row names a lane that was not read
}

type membership struct {
	set   int
	lane  bool
	group string
	key   string
	score string
}

func (m membership) String() string {
	if m.lane {
		return "the lane of " + escape.Quote(m.group)
	}
	return setNames[m.set]
}

func (c *jobsCheck) read(ctx context.Context, jobs []suspectJob) ([]jobView, int64, error) {
	q := c.q
	var commands []Command
	for _, j := range jobs {
		commands = append(commands, command(q.row(j.id), "HGET", q.row(j.id), "group"))
	}
	lanes := make([][]string, len(jobs))
	for i, r := range c.a.store.Read(ctx, commands) {
		if r.Err != nil && !r.WrongType {
			return nil, 0, r.Err
		}
		lanes[i] = slices.Clone(jobs[i].groups)
		if g, ok := text(r.Value); ok && !slices.Contains(lanes[i], g) {
			lanes[i] = append(lanes[i], g)
		}
	}
	commands = commands[:0]
	for i, j := range jobs {
		row := q.row(j.id)
		commands = append(commands,
			command(row, "EXISTS", row),
			command(row, "HMGET", row, "state", "attempts", "group"),
			command(row, "HEXISTS", row, "payload"))
		for _, name := range setNames {
			commands = append(commands, command(row, "ZSCORE", q.key(name), j.id))
		}
		for _, g := range lanes[i] {
			commands = append(commands, command(row, "ZSCORE", q.laneKey(g), j.id))
		}
	}
	replies, now, err := c.a.atOnce(ctx, q.key("active"), commands)
	if err != nil {
		return nil, 0, err
	}
	views := make([]jobView, len(jobs))
	for i, j := range jobs {
		v := &views[i]
		v.id = j.id
		v.exists = number(replies[0].Value) == 1
		v.unsure = replies[1].WrongType
		if f := list(replies[1].Value); len(f) == 3 {
			v.state, v.hasState = text(f[0])
			v.attempts, v.hasTries = text(f[1])
			v.group, v.hasGroup = text(f[2])
		}
		v.payload = number(replies[2].Value) == 1
		v.changed = v.hasGroup && !slices.Contains(lanes[i], v.group)
		replies = replies[3:]
		for set, name := range setNames {
			v.add(replies[set], membership{set: set, key: q.key(name)})
		}
		replies = replies[len(setNames):]
		for n, g := range lanes[i] {
			v.add(replies[n], membership{set: pending, lane: true, group: g, key: q.laneKey(g)})
		}
		replies = replies[len(lanes[i]):]
	}
	return views, now, nil
}

func (v *jobView) add(r Reply, m membership) {
	if r.WrongType {
		v.unsure = true
	}
	if score, ok := text(r.Value); ok {
		m.score = score
		v.in = append(v.in, m)
	}
}

// judge says what is wrong with a job.
func (v *jobView) judge(q *queue, now int64, grace time.Duration) (found []sighting) {
	names := make([]string, len(v.in))
	keys := []string{q.row(v.id)}
	for i, m := range v.in {
		names[i] = m.String()
		keys = append(keys, m.key)
	}
	in := strings.Join(names, " and ")
	evidence := sprint("%t %q %q %q %t in %s", v.exists, v.state, v.attempts, v.group, v.payload, in)
	say := func(k Kind, keys []string, more string, format string, args ...any) {
		found = append(found, sighting{
			finding: Finding{Kind: k, Queue: q.Name, Keys: keys, IDs: []string{v.id}, Detail: sprint(format, args...)},
			subject: v.id, evidence: evidence + more,
		})
	}
	for _, m := range v.in {
		switch {
		case (m.set == pending || m.set == dead) && m.score != "0":
			say(Score, []string{m.key}, m.score, "its score in %s is %s, want 0", m, m.score)
		case m.set == active && v.id != "":
			if deadline, err := strconv.ParseFloat(m.score, 64); err == nil && now > 0 && deadline+float64(grace.Milliseconds()) < float64(now) {
				say(LeaseExpired, []string{m.key}, m.score, "its lease ended %s ago on the server's clock", time.Duration(float64(now)-deadline)*time.Millisecond)
			}
		}
	}
	if !v.exists {
		if len(v.in) > 0 {
			say(MemberWithoutRow, keys, "", "it is in %s, and there is no row %s", in, escape.Quote(q.row(v.id)))
		}
		return found
	}
	var lacks []string
	for _, f := range []struct {
		name string
		has  bool
	}{{"state", v.hasState}, {"attempts", v.hasTries}, {"payload", v.payload}} {
		if !f.has {
			lacks = append(lacks, f.name)
		}
	}
	ghost := len(lacks) > 0 && !v.unsure
	if !ghost && v.hasTries && !isToken(v.attempts) && !v.unsure {
		say(GhostRow, keys, "", "its attempts are %s, want a decimal number: the next claim fails when it has taken the job out of its set", escape.Quote(v.attempts))
		return found
	}
	if ghost {
		where := "in no set"
		if len(v.in) > 0 {
			where = "in " + in
		}
		say(GhostRow, keys, "", "its row has no %s; it is %s", strings.Join(lacks, " and no "), where)
	}
	if len(v.in) > 1 {
		say(IDInTwoSets, keys, "", "it is in %s, and its state is %s", in, v.quotedState())
		return found
	}
	if ghost {
		return found
	}
	want := slices.Index(setStates[:], v.state)
	if len(v.in) == 0 {
		switch {
		case v.unsure || v.state == waitsForChildren:
		case want == noSet:
			say(StateMismatch, keys, "", "it is in no set, and its state is %s, which is none", v.quotedState())
		default:
			say(RowInNoSet, keys, "", "its state is %s, and it is not in %s, nor in any other set", v.quotedState(), v.home(want))
		}
		return found
	}
	m := v.in[0]
	switch {
	case want != m.set:
		say(StateMismatch, keys, "", "it is in %s, and its state is %s, want %s", m, v.quotedState(), setStates[m.set])
	case m.set == pending && m.lane && !v.hasGroup:
		say(WrongLane, keys, "", "it is in %s, and its row has no group", m)
	case m.set == pending && m.lane && m.group != v.group, m.set == pending && !m.lane && v.hasGroup:
		say(WrongLane, keys, "", "it is in %s, and its group is %s", m, escape.Quote(v.group))
	}
	return found
}

func (v *jobView) quotedState() string {
	if !v.hasState {
		return "missing"
	}
	if slices.Contains(setStates[:], v.state) || v.state == waitsForChildren {
		return v.state
	}
	return escape.Quote(v.state)
}

// home is the set in which a state says that the job is.
func (v *jobView) home(set int) string {
	if set == pending && v.hasGroup {
		return membership{lane: true, group: v.group}.String()
	}
	return setNames[set]
}

// memberCheck looks at a member that is no id of a job.
type memberCheck struct {
	a           *auditor
	q           *queue
	key, member string
}

func (c *memberCheck) of() *queue { return c.q }

func (c *memberCheck) look(ctx context.Context) ([]sighting, error) {
	replies, _, err := c.a.atOnce(ctx, c.key, []Command{command(c.key, "ZSCORE", c.key, c.member)})
	if err != nil || replies[0].Value == nil {
		return nil, err
	}
	detail := ""
	if id, err := brandedid.Parse(c.member); err != nil {
		detail = sprint("found %s, want the id of a job: %s", escape.Quote(c.member), err)
	} else {
		detail = sprint("found an id of the namespace %s, want JOB", id.Namespace())
	}
	return []sighting{{
		finding:  Finding{Kind: MemberID, Queue: c.q.Name, Keys: []string{c.key}, IDs: []string{c.member}, Detail: detail},
		subject:  c.key + " " + c.member,
		evidence: "",
	}}, nil
}
