package audit

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/slot"
)

// scan goes through the keys of every node, once.
func (a *auditor) scan(ctx context.Context) error {
	a.phase = "scanning"
	addrs, err := a.store.Nodes(ctx)
	if err != nil {
		a.fail(nil, err)
		return context.Cause(ctx)
	}
	for _, addr := range addrs {
		if n, err := a.store.Size(ctx, addr); err == nil {
			a.size += n
		}
	}
	for _, addr := range addrs {
		a.nodes = append(a.nodes, Node{Addr: addr})
	}
	return a.eachStep(ctx, a.pattern(), a.step)
}

// pattern is what SCAN is asked to match. A glob has no "this or that", and
// both emq: and {emq}: are wanted, so more comes than is.
func (a *auditor) pattern() string {
	if len(a.asked) == 1 {
		for name := range a.asked {
			return glob(decode.QueueKey(name, "")) + "*"
		}
	}
	if a.asked != nil {
		return "emq:*"
	}
	return "*emq*:*"
}

// glob escapes what a pattern would read as more than itself.
func glob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}

// eachStep hands the steps of the scan of every node to do, two at a time. A
// node that fails is noted, and the others are still scanned.
func (a *auditor) eachStep(ctx context.Context, pattern string, do func(context.Context, []string)) error {
	first := a.phase == "scanning"
	for i := range a.nodes {
		n := &a.nodes[i]
		steps := make(chan []string)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for keys := range steps {
					do(ctx, keys)
				}
			})
		}
		var batch []string
		flush := func() error {
			select {
			case steps <- batch:
				batch = make([]string, 0, cap(batch))
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		err := a.store.Scan(ctx, n.Addr, pattern, func(keys []string) error {
			if len(keys) == 0 {
				return context.Cause(ctx)
			}
			if err := a.pace(ctx, len(keys)); err != nil {
				return err
			}
			if first {
				n.Keys += int64(len(keys))
			}
			if batch = append(batch, keys...); len(batch) < a.batchKeys() {
				return nil
			}
			return flush()
		})
		if len(batch) > 0 {
			flush() // what was seen before an error counts
		}
		close(steps)
		wg.Wait()
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			if n.Err == nil {
				n.Err = err
			}
			a.fail(nil, err)
		}
	}
	return nil
}

// batchKeys is how many keys are worked on together. Over more of them fewer
// questions about sets are asked, since one can name many members; when slow
// is wanted, they should not come in bursts.
func (a *auditor) batchKeys() int {
	const most, least = 8000, 1000
	if a.o.Rate > 0 {
		return min(max(a.o.Rate/20, least), most)
	}
	return most
}

// readInChunks runs commands, not too many in one go: the server answers one
// client's at a time.
func (a *auditor) readInChunks(ctx context.Context, commands []Command) []Reply {
	replies := make([]Reply, 0, len(commands))
	for chunk := range slices.Chunk(commands, 1000) {
		replies = append(replies, a.store.Read(ctx, chunk)...)
	}
	return replies
}

// rowSeen is a row as it was read in a step.
type rowSeen struct {
	q     *queue
	id    string
	key   string
	group string // "" when it has none
	set   int    // the flat set that its state names, or noSet
	bad   bool   // it does not fit
}

// asking is a command and what to do with its reply.
type asking struct {
	q       *queue
	command Command
	got     func(Reply)
}

// step reads what the keys of one step of the scan are about.
func (a *auditor) step(ctx context.Context, keys []string) {
	var rows []rowSeen
	var asks []asking
	a.mu.Lock()
	for _, key := range keys {
		k, err := decode.Parse(key)
		if k.Space == decode.Reserve && a.asked != nil || k.Space == decode.Queue && a.asked != nil && !a.asked[k.Queue] {
			continue
		}
		if err != nil {
			a.malformed(key, k, err)
			continue
		}
		if k.Space == decode.Reserve {
			asks = a.reserveKey(asks, key, k)
			continue
		}
		q := a.queue(k.Queue)
		q.Keys++
		if k.Type == decode.Job {
			rows = append(rows, rowSeen{q: q, id: k.ID.String(), key: key})
			continue
		}
		asks = a.queueKey(asks, q, key, k)
	}
	a.mu.Unlock()
	a.ask(ctx, asks)
	a.rows(ctx, rows)
}

func (a *auditor) ask(ctx context.Context, asks []asking) {
	commands := make([]Command, len(asks))
	for i := range asks {
		commands[i] = asks[i].command
	}
	replies := a.readInChunks(ctx, commands)
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, r := range replies {
		if !a.failed(asks[i].q, r) {
			asks[i].got(r)
		}
	}
}

// suspect puts a check on the list. The caller holds a.mu during the scan.
func (a *auditor) suspect(c check) { a.suspects = append(a.suspects, c) }

// suspectJob does so with a job, seen in the lane of a group unless that is "".
func (q *queue) suspectJob(id, group string) {
	groups, known := q.jobs[id]
	if !known {
		id = strings.Clone(id)
	}
	if group != "" && !slices.Contains(groups, group) {
		groups = append(groups, group)
	}
	q.jobs[id] = groups
}

// malformed takes a key that the grammar refuses.
func (a *auditor) malformed(key string, k decode.Key, err error) {
	e, ok := err.(*decode.Error)
	if !ok || e.Kind == decode.KindPrefix && !strings.HasPrefix(key, "emq:") {
		return // somebody else's
	}
	if a.asked != nil && k.Space != decode.Queue {
		return
	}
	if e.Kind == decode.KindEmptyQueue || e.Kind == decode.KindBraces && strings.HasPrefix(key, "emq:{") {
		// What was meant to hold the keys together is not there.
		b := a.braces[string(e.Kind)]
		if b == nil {
			b = &broken{kind: e.Kind, slots: map[uint16]bool{}}
			a.braces[string(e.Kind)] = b
		}
		b.add(key)
		return
	}
	a.suspect(&strayCheck{a: a, queue: k.Queue, key: strings.Clone(key), why: e.Error()})
}

// reserveKey takes a key of the reserve.
func (a *auditor) reserveKey(asks []asking, key string, k decode.Key) []asking {
	if k.Type == decode.Unregistered {
		a.suspect(&strayCheck{a: a, key: key, why: "the reserve has no unit of that name"})
		return asks
	}
	return a.askType(asks, nil, key, k)
}

// queueKey takes a key of a queue that is no row.
func (a *auditor) queueKey(asks []asking, q *queue, key string, k decode.Key) []asking {
	switch k.Type {
	case decode.Unregistered:
		a.suspect(&strayCheck{a: a, queue: q.Name, key: key, why: "no pattern of the grammar has this suffix"})
		return asks
	case decode.Base, decode.Events:
		a.suspect(&strayCheck{a: a, queue: q.Name, key: key, why: "nothing is ever stored there"})
		return asks
	case decode.JobLogs, decode.JobLock, decode.JobDependencies, decode.JobProcessed, decode.JobFailed, decode.JobUnsuccessful:
		id := k.ID.String()
		asks = append(asks, asking{q, command(key, "EXISTS", q.row(id)), func(r Reply) {
			if number(r.Value) == 0 {
				q.Orphans++
			}
		}})
		if k.Type == decode.JobDependencies {
			asks = append(asks, asking{q, command(key, "GET", key), func(r Reply) {
				if v, ok := text(r.Value); ok && badCounter(v) {
					a.suspect(&counterCheck{a: a, q: q, id: id})
				}
			}})
		}
	case decode.Lane:
		q.lane(k.Name)
	case decode.RepeatRecord:
		name, suspected := strings.Clone(k.Name), false
		suspect := func(bad bool) {
			if bad && !suspected { // one look finds all that is wrong with it
				suspected = true
				a.suspect(&repeatCheck{a: a, q: q, name: name})
			}
		}
		asks = append(asks, asking{q, command(key, "HMGET", key, "every_ms", "template"), func(r Reply) {
			v := list(r.Value)
			suspect(len(v) == 2 && (v[0] == nil || v[1] == nil))
		}}, asking{q, command(key, "ZSCORE", q.key("repeat"), name), func(r Reply) {
			suspect(r.Value == nil)
		}})
	case decode.Stream:
		q.Streams++
	default:
		q.types[k.Type] = true
	}
	return a.askType(asks, q, key, k)
}

// askType compares what the store holds with the grammar.
func (a *auditor) askType(asks []asking, q *queue, key string, k decode.Key) []asking {
	want := k.Type.Info().Store
	if want == "" {
		return asks
	}
	return append(asks, asking{q, command(key, "TYPE", key), func(r Reply) {
		got, _ := text(r.Value)
		if k.Type == decode.StreamArchived && got == "stream" {
			q.Streams++
		}
		if !holds(k.Type, got) {
			a.suspect(&typeCheck{a: a, q: q, key: key, is: k.Type})
		}
	}})
}

// holds reports whether a key of a type may hold what TYPE says; "none" is a
// key that is gone.
func holds(t decode.Type, got string) bool {
	return got == "none" || got == t.Info().Store || t == decode.StreamArchived && got == "stream"
}

// rows reads rows, and whether they are in the sets that their states name.
// What does not fit is read again, twice, before it is a suspect: most of it
// has only moved.
func (a *auditor) rows(ctx context.Context, rows []rowSeen) {
	for try := 0; len(rows) > 0 && ctx.Err() == nil; try++ {
		a.readRows(ctx, rows, try == 0)
		bad := rows[:0]
		for _, r := range rows {
			if r.bad {
				bad = append(bad, r)
			}
		}
		rows = bad
		if try == 2 {
			break
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range rows {
		r.q.suspectJob(r.id, r.group)
	}
}

func (a *auditor) readRows(ctx context.Context, rows []rowSeen, first bool) {
	bySet := map[string][]int{}
	for from := 0; from < len(rows); from += rowsAtOnce {
		to := min(from+rowsAtOnce, len(rows))
		a.readFields(ctx, rows[from:to], first, func(i int, set string) { bySet[set] = append(bySet[set], from+i) })
	}
	a.readPlaces(ctx, rows, bySet)
}

const rowsAtOnce = 500

// readFields reads rows and says for each that is sound which set it names.
func (a *auditor) readFields(ctx context.Context, rows []rowSeen, first bool, names func(i int, set string)) {
	commands := make([]Command, 0, 2*len(rows))
	for _, r := range rows {
		commands = append(commands, command(r.key, "HMGET", r.key, "state", "attempts", "group", "parent", "parent_queue"))
		if first {
			commands = append(commands, command(r.key, "HSTRLEN", r.key, "payload"))
		} else {
			commands = append(commands, command(r.key, "HEXISTS", r.key, "payload"))
		}
	}
	replies := a.store.Read(ctx, commands)
	var asks []asking
	a.mu.Lock()
	for i := range rows {
		r := &rows[i]
		fields, payload := replies[2*i], replies[2*i+1]
		r.bad = false
		if fields.WrongType {
			a.suspect(&typeCheck{a: a, q: r.q, key: r.key, is: decode.Job})
			continue
		}
		if a.failed(r.q, fields) || a.failed(r.q, payload) {
			continue
		}
		v := list(fields.Value)
		if len(v) != 5 {
			continue
		}
		state, hasState := text(v[0])
		attempts, hasAttempts := text(v[1])
		r.group, _ = text(v[2])
		r.set = slices.Index(setStates[:], state)
		hasPayload := number(payload.Value) > 0
		switch {
		case !hasState && !hasAttempts && !hasPayload:
			// Gone, most likely; a row that has only other fields is a ghost.
			asks = append(asks, asking{r.q, command(r.key, "EXISTS", r.key), func(reply Reply) { r.bad = number(reply.Value) == 1 }})
		case !hasState, !hasAttempts, !hasPayload, !isToken(attempts), r.set == noSet && state != waitsForChildren:
			r.bad = true
		default:
			if parent, ok := text(v[3]); ok && state != setStates[dead] {
				asks = a.child(asks, r, parent, v[4])
			}
			switch {
			case state == waitsForChildren:
				asks = a.parent(asks, r)
			case r.set == pending && r.group != "":
				names(i, r.q.laneKey(r.group))
			default:
				names(i, r.q.key(setNames[r.set]))
			}
		}
	}
	a.mu.Unlock()
	a.ask(ctx, asks)
}

// isToken reports whether attempts are what a claim can count up and a worker
// can hold: a decimal number.
func isToken(attempts string) bool {
	_, err := strconv.ParseUint(attempts, 10, 63)
	return err == nil
}

// readPlaces asks whether rows are in the sets that they name.
func (a *auditor) readPlaces(ctx context.Context, rows []rowSeen, bySet map[string][]int) {
	commands := make([]Command, 0, len(bySet))
	sets := make([][]int, 0, len(bySet))
	for set, indexes := range bySet {
		args := make([]string, 0, 2+len(indexes))
		args = append(args, "ZMSCORE", set)
		for _, i := range indexes {
			args = append(args, rows[i].id)
		}
		commands = append(commands, Command{set, args})
		sets = append(sets, indexes)
	}
	replies := a.readInChunks(ctx, commands)
	a.mu.Lock()
	defer a.mu.Unlock()
	for n, reply := range replies {
		if a.failed(rows[sets[n][0]].q, reply) {
			continue
		}
		scores := list(reply.Value)
		for at, i := range sets[n] {
			r := &rows[i]
			if at >= len(scores) || scores[at] == nil {
				r.bad = true
				continue
			}
			if r.set == pending && r.group != "" {
				a.add(&r.q.lane(r.group).rows, r.id)
				continue
			}
			a.add(&r.q.sets[r.set], r.id)
			if r.set == active && r.group != "" {
				r.q.active[r.group]++
			}
		}
	}
}

// broken are keys whose braces do not hold them together.
type broken struct {
	kind  decode.Kind
	keys  []string // the first of them
	slots map[uint16]bool
}

const brokenShown = 8

func (b *broken) add(key string) {
	if len(b.keys) < brokenShown {
		b.keys = append(b.keys, strings.Clone(key))
	}
	if len(b.slots) < brokenShown {
		b.slots[slot.Of(key)] = true
	}
}
