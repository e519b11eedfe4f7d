package main

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	lua "github.com/echomq/emqctl/scripts"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// verbServer runs the verbs' scripts on a real server.
type verbServer struct {
	*valkeytest.Server
	c     valkeytest.Client
	verbs *scripts.Registry
}

func startVerbs(tb testing.TB, args ...string) *verbServer {
	tb.Helper()
	s := valkeytest.Start(tb, args...)
	return newVerbServer(tb, s, s.Client())
}

func newVerbServer(tb testing.TB, s *valkeytest.Server, c valkeytest.Client) *verbServer {
	tb.Helper()
	r, err := scripts.Load(lua.FS)
	if err != nil {
		tb.Fatal(err)
	}
	return &verbServer{Server: s, c: c, verbs: r}
}

// verbQueue is one queue of it, in the words of the verbs.
type verbQueue struct {
	tb   testing.TB
	s    *verbServer
	name string
}

func (s *verbServer) queue(tb testing.TB, name string) *verbQueue { return &verbQueue{tb, s, name} }

const leaseLong, leaseNone = "60000", "1"

// verbJob returns the id of a job minted an hour ago.
func verbJob(n int) string {
	ms := time.Now().Add(-time.Hour).Truncate(time.Hour).UnixMilli() - brandedid.EpochMilli
	id, err := brandedid.New("JOB", uint64(ms)<<22+uint64(n))
	if err != nil {
		panic(err)
	}
	return id.String()
}

func verbGroup(n int) string { return "PRT" + verbJob(n)[3:] }

func (q *verbQueue) base() string             { return "emq:{" + q.name + "}:" }
func (q *verbQueue) key(suffix string) string { return q.base() + suffix }
func (q *verbQueue) row(id string) string     { return q.key("job:" + id) }
func (q *verbQueue) lane(g string) string     { return q.key("g:" + g + ":pending") }

func (q *verbQueue) keys(suffixes ...string) []string {
	for i, s := range suffixes {
		suffixes[i] = q.key(s)
	}
	return suffixes
}

// try runs a verb and returns its reply.
func (q *verbQueue) try(verb string, keys []string, args ...string) (any, error) {
	v, ok := q.s.verbs.Lookup(verb)
	if !ok {
		q.tb.Fatalf("no verb %s", verb)
	}
	cmd := append([]string{"EVAL", v.Source, strconv.Itoa(len(keys))}, keys...)
	r := q.s.c.Do(context.Background(), q.s.c.B().Arbitrary(append(cmd, args...)...).Build())
	value, err := r.ToAny()
	if err != nil && strings.Contains(err.Error(), "nil") {
		err = nil
	}
	return value, err
}

func (q *verbQueue) run(verb string, keys []string, args ...string) any {
	q.tb.Helper()
	v, err := q.try(verb, keys, args...)
	if err != nil {
		q.tb.Fatalf("%s: %s: %v", q.name, verb, err)
	}
	return v
}

// do sends a plain command.
func (q *verbQueue) do(args ...string) {
	q.tb.Helper()
	if err := valkeytest.Do(q.s.c, args...).Error(); err != nil {
		q.tb.Fatalf("%s: %q: %v", q.name, args, err)
	}
}

func (q *verbQueue) enqueue(ids ...string) {
	q.tb.Helper()
	for _, id := range ids {
		q.run("enqueue", q.keys("job:"+id, "pending"), id, "payload")
	}
}

func (q *verbQueue) schedule(id, ms string) {
	q.run("schedule", q.keys("job:"+id, "schedule"), id, "payload", "in", ms)
}

func (q *verbQueue) genqueue(g string, ids ...string) {
	q.tb.Helper()
	for _, id := range ids {
		q.run("genqueue", q.keys("job:"+id, "g:"+g+":pending", "ring", "paused", "glimit", "gactive", "wake"), id, "payload", g)
	}
}

func (q *verbQueue) claim(lease string) any {
	return q.run("claim", q.keys("pending", "active"), q.key("job:"), lease)
}

func (q *verbQueue) gclaim(lease string) any {
	return q.run("gclaim", q.keys("ring", "active"), q.base(), lease)
}

func (q *verbQueue) complete(id, token string) any {
	return q.run("complete", q.keys("active", "job:"+id), id, token, q.base())
}

func (q *verbQueue) completeChild(id, token, parent string) any {
	p := "job:" + parent
	return q.run("complete", q.keys("active", "job:"+id, p+":dependencies", p+":processed", p), id, token, q.base(), parent, "result")
}

func (q *verbQueue) completeAway(id, token, parent, parentQueue string) any {
	return q.run("complete", q.keys("active", "job:"+id, "flow:outbox"), id, token, q.base(), parent, "result", "xq", parentQueue)
}

func (q *verbQueue) retry(id, token, most string) any {
	return q.run("retry", q.keys("active", "schedule", "dead", "job:"+id), id, token, "1", most, "error", q.base())
}

func (q *verbQueue) retryChild(id, token, most, parent, policy string) any {
	p := "job:" + parent
	return q.run("retry", q.keys("active", "schedule", "dead", "job:"+id, p+":failed", p+":unsuccessful", p+":dependencies", p),
		id, token, "1", most, "error", q.base(), policy, parent)
}

func (q *verbQueue) delay(id, token string) {
	q.run("delay", q.keys("job:"+id, "active", "schedule"), id, token, "in", leaseLong)
}

func (q *verbQueue) extend(id, token string) {
	q.run("extend_lock", q.keys("active", "job:"+id), id, token, leaseLong)
}

func (q *verbQueue) reap() any { return q.run("reap", q.keys("active", "pending"), q.base()) }
func (q *verbQueue) promote() any {
	return q.run("promote", q.keys("schedule", "pending"), q.base(), "100")
}
func (q *verbQueue) pause(g string) { q.run("gpause", q.keys("paused", "ring"), g) }

func (q *verbQueue) resume(g string) {
	q.run("gresume", q.keys("paused", "ring", "glimit", "gactive", "wake"), q.base(), g)
}

func (q *verbQueue) limit(g, n string) {
	q.run("glimit", q.keys("glimit", "gactive", "ring", "paused", "wake"), q.base(), g, n)
}

func (q *verbQueue) sweep(most string) {
	q.run("sweep_stalled", q.keys("active", "pending", "dead"), q.base(), most, "100")
}

func (q *verbQueue) remove(id string) {
	q.run("remove_job", q.keys("job:"+id, "pending", "active", "schedule", "dead", "de:"), id, "")
}

func (q *verbQueue) reprocess(id string) {
	q.run("reprocess", q.keys("job:"+id, "dead", "pending"), id)
}

func (q *verbQueue) flow(parent string, children ...string) {
	keys, args := []string{"job:" + parent, "job:" + parent + ":dependencies", "pending"}, []string{parent, "payload", strconv.Itoa(len(children))}
	for _, c := range children {
		keys, args = append(keys, "job:"+c), append(args, c, "payload")
	}
	q.run("enqueue_flow", q.keys(keys...), args...)
}

func (q *verbQueue) hold(parent, n string) {
	q.run("hold_parent", q.keys("job:"+parent, "job:"+parent+":dependencies"), parent, "payload", n)
}

func (q *verbQueue) child(id, parent, parentQueue string) {
	q.run("enqueue_flow_child", q.keys("job:"+id, "pending"), id, "payload", parent, parentQueue)
}

func (q *verbQueue) obliterate() {
	q.run("queue_pause", q.keys("meta"))
	for range 10 {
		if q.run("obliterate", q.keys("meta", ""), "force", "1000") == int64(0) {
			return
		}
	}
	q.tb.Fatalf("%s: obliterate does not end", q.name)
}

func (q *verbQueue) every(name string) {
	q.run("repeat_register", q.keys("repeat", "repeat:"+name), name, "60000", "template", "1900000000000")
}

// healthy fills a queue with everything that the protocol has.
func (q *verbQueue) healthy() {
	id, g := verbJob, verbGroup
	q.enqueue(id(1), id(2), id(3), id(4))
	q.claim(leaseLong) // 1
	q.claim(leaseLong) // 2
	q.complete(id(2), "1")
	q.claim(leaseLong) // 3
	q.retry(id(3), "1", "3")
	q.schedule(id(5), leaseLong)
	q.do("RPUSH", q.row(id(2))+":logs", "of a job that is done")
	q.enqueue(id(6))
	q.claim(leaseLong) // 4
	q.retry(id(4), "1", "1")
	// Lanes: served, paused, limited, at their ceiling, empty.
	q.genqueue(g(1), id(11), id(12))
	q.genqueue(g(2), id(13), id(14))
	q.pause(g(2))
	q.genqueue(g(3), id(15), id(16))
	q.limit(g(3), "5")
	q.gclaim(leaseLong)
	q.limit(g(4), "1")
	q.genqueue(g(4), id(17), id(18))
	for range 4 {
		q.gclaim(leaseLong)
	}
	q.genqueue(g(5), id(19))
	q.run("greassign", q.keys("job:"+id(19), "g:"+g(1)+":pending", "ring", "paused", "glimit", "gactive", "wake"), id(19), g(1), q.base())
	q.run("gweight", q.keys("gweight"), g(1), "3")
	// A job that was dead and lives, an empty payload, a lock of both kinds.
	q.reprocess(id(4))
	q.run("enqueue", q.keys("job:"+id(7), "pending"), id(7), "")
	q.do("SET", q.row(id(1))+":lock", "1", "PX", "600000")
	q.do("HSET", q.row(id(1)), "lock", "1")
	// Flows: whole, half done, of one that ignores, done, across queues.
	q.flow(id(21), id(22), id(23))
	q.flow(id(31), id(32), id(33))
	q.completeChild(id(32), "0", id(31)) // never claimed: not counted, the child is gone
	q.do("DECR", q.row(id(31))+":dependencies")
	q.flow(id(41), id(42), id(43))
	q.hold(id(51), "1")
	q.s.queue(q.tb, q.name+"-2").child(id(52), id(51), q.name)
	q.hold(id(61), "1")
	far := q.s.queue(q.tb, q.name+"-3")
	far.child(id(62), id(61), q.name)
	far.claim(leaseLong)
	far.completeAway(id(62), "1", id(61), q.name) // on its way
	q.every("nightly")
	q.every("hourly: at 0")
	q.do("XADD", q.key("stream:audit"), "1704117200000-1620567", "id", "EVT000xY9Wvvcd")
	q.do("SET", q.key("stream:audit:archived"), "EVT000xY9Wvvcd")
	q.do("XADD", q.key("stream:odd:archived"), "1704117200000-1620567", "id", "EVT000xY9Wvvcd")
	q.do("HSET", q.key("meta"), "concurrency", "10")
	q.do("SET", q.key("de:order-1"), id(6))
	q.do("SET", q.key("limiter"), "3", "PX", "60000")
	q.do("RPUSH", q.key("metrics:completed:data"), "1")
}
