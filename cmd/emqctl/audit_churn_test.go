package main

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/audit"
	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/valkey"
)

// TestAuditWhileItMoves runs the verbs at full speed while audits run one
// after another, which may find nothing. EMQCTL_AUDIT_CHURN=30s makes it last
// as long as that.
func TestAuditWhileItMoves(t *testing.T) {
	long := 5 * time.Second
	if v := os.Getenv("EMQCTL_AUDIT_CHURN"); v != "" {
		var err error
		if long, err = time.ParseDuration(v); err != nil {
			t.Fatal(err)
		}
	}
	s := startVerbs(t)
	var stop atomic.Bool
	var calls atomic.Int64
	mint, err := brandedid.NewMinter(time.Now, 7)
	if err != nil {
		t.Fatal(err)
	}
	// Flows are judged once they are older than the grace, so theirs are.
	old, err := brandedid.NewMinter(func() time.Time { return time.Now().Add(-time.Hour) }, 8)
	if err != nil {
		t.Fatal(err)
	}
	setup := s.queue(t, "q")
	setup.do("ACL", "SETUSER", "plain", "on", ">pw", "~*", "+@read", "+hello", "+auth", "+info", "+time", "+dbsize", "-@write")
	var wg sync.WaitGroup
	for n := range 4 {
		w := &churner{q: newVerbServer(t, s.Server, s.Server.Client()).queue(t, "churn-"+strconv.Itoa(n%2)), mint: mint, old: old, rnd: rand.New(rand.NewPCG(uint64(n), 11))}
		for range 500 { // so that an audit has something to do
			w.q.enqueue(w.id(), w.id())
			w.q.genqueue(w.group(), w.id(), w.id())
		}
		wg.Go(func() {
			for !stop.Load() {
				w.turn()
				calls.Add(1)
			}
		})
	}
	audits, unsettled := 0, int64(0)
	for end := time.Now().Add(long); time.Now().Before(end); audits++ {
		// Every other audit without the right to use transactions.
		a := runAuditOn(t, []string{s.Addr, "redis://plain:pw@" + s.Addr}[audits%2])
		if a.code != codeOK || len(a.findings) > 0 {
			t.Errorf("audit %d: %v", audits, a)
			break
		}
		for _, q := range a.queues {
			unsettled += q.Unsettled
		}
		if audits%4 == 3 {
			findings, n := auditLies(t, []string{s.Addr, "redis://plain:pw@" + s.Addr}[audits/4%2])
			if unsettled += n; findings > 0 {
				t.Errorf("audit %d saw everything wrong at first, and kept to it", audits)
				break
			}
		}
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("%d audits beside %d turns in %s, %d suspects unsettled", audits, calls.Load(), long, unsettled)
	if audits < 3 || calls.Load() < 1000 {
		t.Errorf("%d audits beside %d turns, want more", audits, calls.Load())
	}
	// Nothing was broken by then either.
	if a := runAuditOn(t, s.Addr, "--grace", "1m"); a.code != codeOK {
		t.Errorf("when all is still: %v", a)
	}
}

// churner uses a queue as hosts do, some of them slow or dying.
type churner struct {
	q    *verbQueue
	mint *brandedid.Minter
	old  *brandedid.Minter
	rnd  *rand.Rand
}

func (w *churner) id() string { return mintJob(w.mint) }

func mintJob(m *brandedid.Minter) string {
	id, err := m.Mint("JOB")
	if err != nil {
		panic(err)
	}
	return id.String()
}

func (w *churner) group() string { return verbGroup(w.rnd.IntN(6)) }

func (w *churner) turn() {
	q := w.q
	switch w.rnd.IntN(12) {
	case 0, 1:
		q.enqueue(w.id(), w.id())
	case 2, 3:
		q.genqueue(w.group(), w.id(), w.id())
	case 4:
		q.schedule(w.id(), strconv.Itoa(w.rnd.IntN(50)))
	case 5, 6:
		w.settle(q.claim("20"))
	case 7, 8, 9:
		w.settle(q.gclaim("20"))
	case 10:
		q.promote()
		q.reap()
		if w.rnd.IntN(4) == 0 {
			q.sweep("100")
		}
	case 11:
		switch g := w.group(); w.rnd.IntN(6) {
		case 0:
			q.pause(g)
		case 1, 2:
			q.resume(g)
		case 3:
			q.limit(g, strconv.Itoa(1+w.rnd.IntN(5)))
		case 4:
			// A job that may have been claimed by now: then it stays.
			id := w.id()
			q.genqueue(g, id)
			to := w.group()
			q.run("greassign", q.keys("job:"+id, "g:"+to+":pending", "ring", "paused", "glimit", "gactive", "wake"), id, to, q.base())
		case 5:
			w.flow()
		}
	}
}

// settle ends a job that was claimed, or leaves it to the reaper; or comes
// back when the reaper was there before it.
func (w *churner) settle(claimed any) {
	job, _ := claimed.([]any)
	if len(job) == 0 {
		return
	}
	id, token := job[0].(string), strconv.FormatInt(job[2].(int64), 10)
	if w.rnd.IntN(20) == 0 {
		time.Sleep(30 * time.Millisecond)
	}
	switch w.rnd.IntN(10) {
	case 0: // dies
	case 1, 2:
		w.q.try("retry", w.q.keys("active", "schedule", "dead", "job:"+id), id, token, strconv.Itoa(w.rnd.IntN(30)), "4", "error", w.q.base())
	default:
		w.q.try("complete", w.q.keys("active", "job:"+id), id, token, w.q.base())
	}
}

// flow runs a whole flow, on a queue of its own: a child that is reaped and
// then settled leaves its parent waiting, which is a finding.
func (w *churner) flow() {
	q := w.q.s.queue(w.q.tb, w.q.name+"-flows-"+w.id())
	parent := mintJob(w.old)
	children := []string{w.id(), w.id(), w.id()}
	q.flow(parent, children...)
	for range children {
		job := q.claim(leaseLong).([]any)
		q.completeChild(job[0].(string), "1", parent)
	}
	q.claim(leaseLong)
	q.complete(parent, "1")
	if w.rnd.IntN(2) == 0 {
		return
	}
	// And one across queues, whose reports a pump delivers.
	far := w.q.s.queue(w.q.tb, q.name+"-far")
	parent = mintJob(w.old)
	q.hold(parent, "2")
	for range 2 {
		far.child(w.id(), parent, q.name)
	}
	for range 2 {
		job := far.claim(leaseLong).([]any)
		far.completeAway(job[0].(string), "1", parent, q.name)
		p := "job:" + parent
		q.run("flow_deliver", q.keys(p+":dependencies", p+":processed", p), job[0].(string), "result", parent, q.base())
		far.do("LTRIM", far.key("flow:outbox"), "1", "-1")
	}
	q.claim(leaseLong)
	q.complete(parent, "1")
}

// liar is a store whose first looks see everything wrong: rows in no set, an
// empty ring, no gactive. What is looked at again it shows as it is.
type liar struct{ *auditStore }

func (l liar) Read(ctx context.Context, commands []audit.Command) []audit.Reply {
	replies := l.auditStore.Read(ctx, commands)
	for i, c := range commands {
		switch {
		case c.Args[0] == "ZMSCORE":
			replies[i].Value = make([]any, len(c.Args)-2)
		case c.Args[0] == "LRANGE" && strings.HasSuffix(c.Key, ":ring"):
			replies[i].Value = []any{}
		case c.Args[0] == "HSCAN" && strings.HasSuffix(c.Key, ":gactive"):
			replies[i].Value = []any{"0", []any{}}
		}
	}
	return replies
}

// auditLies runs an audit in which every job and every lane is a suspect.
func auditLies(t *testing.T, addr string) (findings, unsettled int64) {
	t.Helper()
	c, err := valkey.Open(t.Context(), valkey.Options{URL: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	store := liar{&auditStore{Client: c, down: map[string]nodeTrouble{}}}
	store.other = func(context.Context, int) (client, error) { return nil, audit.ErrApart }
	err = audit.Run(t.Context(), store, audit.Options{
		Grace: audit.DefaultGrace, Clock: auditClock{time.Now},
		OnFinding: func(f audit.Finding) error {
			t.Errorf("%s %s: %s", f.Queue, f.Kind, f.Detail)
			findings++
			return nil
		},
		OnQueue:  func(q audit.Queue) error { unsettled += q.Unsettled; return q.Err },
		OnServer: func(s audit.Server) error { return s.Err },
	})
	if err != nil {
		t.Fatal(err)
	}
	return findings, unsettled
}
