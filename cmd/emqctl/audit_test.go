package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/echomq/emqctl/internal/audit"
	"github.com/echomq/emqctl/internal/valkeytest"
)

type auditAnswer struct {
	findings []auditFinding
	queues   map[string]auditQueue
	server   auditServer
	code     int
	errw     string
}

// runAuditOn runs the command and reads its records.
func runAuditOn(t testing.TB, addr string, args ...string) auditAnswer {
	t.Helper()
	var out, errw strings.Builder
	a := auditAnswer{queues: map[string]auditQueue{}}
	a.code = run(append([]string{"audit", "--url", addr, "--rate", "0", "-o", "json"}, args...), strings.NewReader(""), &out, &errw, nil)
	a.errw = errw.String()
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/audit.json")
	if err != nil {
		t.Fatal(err)
	}
	order := ""
	for _, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		if line == "" {
			continue
		}
		var word struct{ Record string }
		if err := json.Unmarshal([]byte(line), &word); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err == nil {
			err = schema.Validate(doc)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		order += word.Record[:1]
		switch word.Record {
		case wordFinding:
			var f auditFinding
			err = json.Unmarshal([]byte(line), &f)
			a.findings = append(a.findings, f)
		case wordQueue:
			var q auditQueue
			err = json.Unmarshal([]byte(line), &q)
			a.queues[*q.Queue] = q
		case wordServer:
			err = json.Unmarshal([]byte(line), &a.server)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	if rest := strings.TrimLeft(strings.TrimLeft(order, "f"), "q"); a.code != codeInterrupted && len(order) > 0 && rest != "s" {
		t.Fatalf("records in the order %s, want findings, queues, server", order)
	}
	return a
}

func (a auditAnswer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "code %d, stderr %q\n", a.code, a.errw)
	for _, f := range a.findings {
		q := ""
		if f.Queue != nil {
			q = *f.Queue
		}
		fmt.Fprintf(&b, "  %s %s: %s\n", q, f.Kind, f.Detail)
	}
	return b.String()
}

// auditCase makes one state, in a queue of its own.
type auditCase struct {
	name string
	make func(q *verbQueue)
	want []string // the kinds of its findings, in the order of the table; nil for a healthy one
}

// auditCases are the faults, each named after the verbs that lead there or
// what was written, and after them healthy states that are near.
func auditCases() []auditCase {
	j, g := verbJob, verbGroup
	return []auditCase{
		// Sets without rows, ghosts.
		{"remove_job-of-a-grouped-job", func(q *verbQueue) { q.genqueue(g(1), j(1), j(2)); q.remove(j(1)) }, []string{"member-without-row"}},
		{"remove_job-of-a-grouped-job-then-gclaim", func(q *verbQueue) { q.genqueue(g(1), j(1), j(2)); q.remove(j(1)); q.gclaim(leaseLong) }, []string{"ghost-row", "gactive"}},
		{"remove_job-of-a-flat-job", func(q *verbQueue) { q.enqueue(j(1), j(2)); q.remove(j(1)) }, nil},
		{"gdrain", func(q *verbQueue) {
			q.genqueue(g(1), j(1), j(2))
			q.run("gdrain", []string{q.base(), q.lane(g(1)), q.key("ring")}, g(1))
		}, nil},
		{"a-row-deleted-then-claim", func(q *verbQueue) { q.enqueue(j(1)); q.do("DEL", q.row(j(1))); q.claim(leaseLong) }, []string{"ghost-row"}},
		{"a-row-deleted-then-reap", func(q *verbQueue) {
			q.enqueue(j(1))
			q.claim(leaseNone)
			q.do("DEL", q.row(j(1)))
			time.Sleep(5 * time.Millisecond)
			q.reap()
		}, []string{"ghost-row"}},
		{"a-row-deleted-then-promote", func(q *verbQueue) {
			q.schedule(j(1), "0")
			q.do("DEL", q.row(j(1)))
			time.Sleep(5 * time.Millisecond)
			q.promote()
		}, []string{"ghost-row"}},
		{"a-row-deleted-while-scheduled", func(q *verbQueue) { q.schedule(j(1), leaseLong); q.do("DEL", q.row(j(1))) }, []string{"member-without-row"}},
		{"a-lock-on-a-finished-job", func(q *verbQueue) { q.do("HSET", q.row(j(1)), "lock", "1") }, []string{"ghost-row"}},
		{"an-empty-payload", func(q *verbQueue) { q.run("enqueue", q.keys("job:"+j(1), "pending"), j(1), "") }, nil},

		// Rows and sets.
		{"a-row-in-no-set", func(q *verbQueue) { q.enqueue(j(1), j(2)); q.do("ZREM", q.key("pending"), j(1)) }, []string{"row-in-no-set"}},
		{"a-grouped-row-in-no-set", func(q *verbQueue) {
			q.genqueue(g(1), j(1), j(2))
			q.genqueue(g(2), j(3))
			q.do("ZREM", q.lane(g(1)), j(1))
		}, []string{"row-in-no-set"}},
		{"reap-then-extend_lock", func(q *verbQueue) {
			q.enqueue(j(1))
			q.claim(leaseNone)
			time.Sleep(5 * time.Millisecond)
			q.reap()
			q.extend(j(1), "1")
		}, []string{"id-in-two-sets"}},
		{"reap-then-extend_lock-of-a-grouped-job", func(q *verbQueue) {
			q.genqueue(g(1), j(1))
			q.gclaim(leaseNone)
			time.Sleep(5 * time.Millisecond)
			q.reap()
			q.extend(j(1), "1")
		}, []string{"id-in-two-sets", "gactive"}},
		{"reap-then-claim-then-extend_lock", func(q *verbQueue) {
			q.enqueue(j(1))
			q.claim(leaseNone)
			time.Sleep(5 * time.Millisecond)
			q.reap()
			q.claim(leaseLong)
			q.extend(j(1), "2")
		}, nil},
		{"reap-then-delay", func(q *verbQueue) {
			q.enqueue(j(1))
			q.claim(leaseNone)
			time.Sleep(5 * time.Millisecond)
			q.reap()
			q.delay(j(1), "1")
		}, []string{"id-in-two-sets"}},
		{"delay-of-a-flat-job", func(q *verbQueue) { q.enqueue(j(1)); q.claim(leaseLong); q.delay(j(1), "1") }, nil},
		{"in-two-lanes", func(q *verbQueue) {
			q.genqueue(g(1), j(1))
			q.genqueue(g(2), j(2))
			q.do("ZADD", q.lane(g(2)), "0", j(1))
		}, []string{"id-in-two-sets"}},
		{"in-three-sets", func(q *verbQueue) {
			q.enqueue(j(1))
			q.do("ZADD", q.key("schedule"), "1900000000000", j(1))
			q.do("ZADD", q.key("dead"), "0", j(1))
		}, []string{"id-in-two-sets"}},
		{"a-state-that-is-not-the-sets", func(q *verbQueue) { q.enqueue(j(1)); q.do("HSET", q.row(j(1)), "state", "active") }, []string{"state-mismatch"}},
		{"a-state-that-is-none", func(q *verbQueue) { q.enqueue(j(1)); q.do("HSET", q.row(j(1)), "state", "stuck") }, []string{"state-mismatch"}},
		{"hold_parent-of-a-job-that-is-there", func(q *verbQueue) { q.enqueue(j(1)); q.hold(j(1), "1"); q.child(j(2), j(1), "") }, []string{"state-mismatch"}},
		{"reprocess-of-a-grouped-job", func(q *verbQueue) {
			q.genqueue(g(1), j(1))
			q.gclaim(leaseLong)
			q.retry(j(1), "1", "1")
			q.reprocess(j(1))
		}, []string{"wrong-lane"}},
		{"reprocess-of-a-grouped-job-then-claim", func(q *verbQueue) {
			q.genqueue(g(1), j(1))
			q.gclaim(leaseLong)
			q.retry(j(1), "1", "1")
			q.reprocess(j(1))
			q.claim(leaseLong)
		}, []string{"gactive"}},
		{"reprocess-of-a-grouped-job-then-settled", func(q *verbQueue) {
			q.genqueue(g(1), j(1), j(2))
			q.gclaim(leaseLong)
			q.retry(j(1), "1", "1")
			q.gclaim(leaseLong)
			q.reprocess(j(1))
			q.claim(leaseLong)
			q.complete(j(1), "2")
		}, []string{"gactive"}},
		{"reprocess-of-a-flat-job", func(q *verbQueue) { q.enqueue(j(1)); q.claim(leaseLong); q.retry(j(1), "1", "1"); q.reprocess(j(1)) }, nil},
		{"a-lane-of-another-group", func(q *verbQueue) { q.genqueue(g(1), j(1)); q.do("HSET", q.row(j(1)), "group", g(2)) }, []string{"wrong-lane"}},
		{"a-lane-without-a-group", func(q *verbQueue) { q.genqueue(g(1), j(1)); q.do("HDEL", q.row(j(1)), "group") }, []string{"wrong-lane"}},

		// Leases, scores, members.
		{"a-lease-nobody-reaps", func(q *verbQueue) { q.enqueue(j(1)); q.claim(leaseNone) }, []string{"lease-expired"}},
		{"a-lease-that-lives", func(q *verbQueue) { q.enqueue(j(1)); q.claim(leaseLong) }, nil},
		{"a-score-in-pending", func(q *verbQueue) { q.enqueue(j(1), j(2)); q.do("ZADD", q.key("pending"), "-1", j(2)) }, []string{"score"}},
		{"a-score-in-a-lane", func(q *verbQueue) { q.genqueue(g(1), j(1)); q.do("ZADD", q.lane(g(1)), "7", j(1)) }, []string{"score"}},
		{"a-score-in-dead", func(q *verbQueue) {
			q.enqueue(j(1))
			q.claim(leaseLong)
			q.retry(j(1), "1", "1")
			q.do("ZADD", q.key("dead"), "1769526727641", j(1))
		}, []string{"score"}},
		{"enqueue-of-what-only-the-wire-admits", func(q *verbQueue) { q.enqueue("JOB-42") }, []string{"member-id", "stray-key"}},
		{"a-member-of-another-namespace", func(q *verbQueue) { q.do("ZADD", q.key("pending"), "0", "USR"+j(1)[3:]) }, []string{"member-id"}},
		{"members-of-any-bytes", func(q *verbQueue) { q.do("ZADD", q.key("dead"), "0", "\xff\x00\n", "0", "") }, []string{"member-id", "member-id"}},

		// Lanes.
		{"sweep_stalled-at-the-ceiling", func(q *verbQueue) {
			q.limit(g(1), "1")
			q.genqueue(g(1), j(1), j(2))
			q.gclaim(leaseNone)
			time.Sleep(5 * time.Millisecond)
			q.sweep("1")
		}, []string{"ring"}},
		{"sweep_stalled-that-recovers", func(q *verbQueue) {
			q.limit(g(1), "1")
			q.genqueue(g(1), j(1), j(2))
			q.gclaim(leaseNone)
			time.Sleep(5 * time.Millisecond)
			q.sweep("2")
		}, nil},
		{"obliterate-of-a-lane-at-its-ceiling", func(q *verbQueue) {
			q.limit(g(1), "1")
			q.genqueue(g(1), j(1), j(2))
			q.gclaim(leaseLong)
			q.obliterate()
		}, []string{"ring"}},
		{"obliterate-of-everything-else", func(q *verbQueue) {
			q.genqueue(g(1), j(1))
			q.genqueue(g(2), j(2))
			q.pause(g(2))
			q.enqueue(j(3), j(4))
			q.claim(leaseLong)
			q.run("gweight", q.keys("gweight"), g(1), "2")
			q.obliterate()
		}, nil},
		{"the-ring-holds-a-paused-lane", func(q *verbQueue) { q.genqueue(g(1), j(1)); q.do("SADD", q.key("paused"), g(1)) }, []string{"ring"}},
		{"gpause", func(q *verbQueue) { q.genqueue(g(1), j(1)); q.pause(g(1)) }, nil},
		{"the-ring-holds-a-full-lane", func(q *verbQueue) {
			q.genqueue(g(1), j(1), j(2))
			q.gclaim(leaseLong)
			q.do("HSET", q.key("glimit"), g(1), "1")
		}, []string{"ring"}},
		{"glimit", func(q *verbQueue) { q.genqueue(g(1), j(1), j(2)); q.gclaim(leaseLong); q.limit(g(1), "1") }, nil},
		{"the-ring-holds-an-empty-lane", func(q *verbQueue) { q.do("RPUSH", q.key("ring"), g(1)) }, []string{"ring"}},
		{"the-ring-holds-a-lane-twice", func(q *verbQueue) { q.genqueue(g(1), j(1)); q.do("RPUSH", q.key("ring"), g(1)) }, []string{"ring"}},
		{"a-limit-that-was-taken-away", func(q *verbQueue) {
			q.limit(g(1), "1")
			q.genqueue(g(1), j(1), j(2))
			q.gclaim(leaseLong)
			q.do("HDEL", q.key("glimit"), g(1))
		}, []string{"ring"}},
		{"delay-of-a-grouped-job", func(q *verbQueue) { q.genqueue(g(1), j(1)); q.gclaim(leaseLong); q.delay(j(1), "1") }, []string{"gactive"}},
		{"remove_job-of-an-active-grouped-job", func(q *verbQueue) { q.genqueue(g(1), j(1)); q.gclaim(leaseLong); q.remove(j(1)) }, []string{"gactive"}},
		{"retry-of-a-grouped-job", func(q *verbQueue) { q.genqueue(g(1), j(1)); q.gclaim(leaseLong); q.retry(j(1), "1", "3") }, nil},

		// Flows.
		{"sweep_stalled-of-a-flow-child", func(q *verbQueue) {
			q.flow(j(1), j(2), j(3))
			q.claim(leaseNone)
			time.Sleep(5 * time.Millisecond)
			q.sweep("1")
		}, []string{"flow-counter"}},
		{"sweep_stalled-of-the-only-child", func(q *verbQueue) {
			q.flow(j(1), j(2))
			q.claim(leaseNone)
			time.Sleep(5 * time.Millisecond)
			q.sweep("1")
		}, []string{"flow-stranded"}},
		{"retry-again-of-a-dead-child-that-is-ignored", func(q *verbQueue) {
			q.flow(j(1), j(2), j(3), j(4))
			q.claim(leaseLong)
			q.retryChild(j(2), "1", "1", j(1), "sq:id")
			q.retryChild(j(2), "1", "1", j(1), "sq:id")
		}, []string{"flow-counter"}},
		{"retry-of-a-child-that-is-ignored", func(q *verbQueue) {
			q.flow(j(1), j(2), j(3), j(4))
			q.claim(leaseLong)
			q.retryChild(j(2), "1", "1", j(1), "sq:id")
		}, nil},
		{"retry-of-a-child-that-fails-its-parent", func(q *verbQueue) {
			q.flow(j(1), j(2), j(3))
			q.claim(leaseLong)
			q.retryChild(j(2), "1", "1", j(1), "sq:fp")
		}, nil},
		{"a-flow-of-no-children", func(q *verbQueue) { q.flow(j(1)) }, []string{"flow-stranded"}},
		{"drain-of-the-children", func(q *verbQueue) {
			q.flow(j(1), j(2), j(3))
			q.run("drain", []string{q.base(), q.key("pending")})
		}, []string{"flow-stranded"}},
		{"obliterate-of-a-flow", func(q *verbQueue) { q.flow(j(1), j(2), j(3)); q.obliterate() }, []string{"flow-stranded"}},
		{"remove_job-of-one-child", func(q *verbQueue) { q.flow(j(1), j(2), j(3)); q.remove(j(2)) }, []string{"flow-counter"}},
		{"a-flow-half-done", func(q *verbQueue) {
			q.flow(j(1), j(2), j(3))
			q.claim(leaseLong)
			q.completeChild(j(2), "1", j(1))
		}, nil},
		{"a-flow-done", func(q *verbQueue) {
			q.flow(j(1), j(2))
			q.claim(leaseLong)
			q.completeChild(j(2), "1", j(1))
		}, nil},
		{"a-counter-that-is-missing", func(q *verbQueue) { q.flow(j(1), j(2)); q.do("DEL", q.row(j(1))+":dependencies") }, []string{"flow-counter"}},
		{"a-parent-that-was-removed", func(q *verbQueue) { q.flow(j(1), j(2)); q.remove(j(1)) }, []string{"flow-orphan"}},
		{"a-parent-that-vanished-then-complete", func(q *verbQueue) {
			q.flow(j(1), j(2))
			q.do("DEL", q.row(j(1)), q.row(j(1))+":dependencies")
			q.claim(leaseLong)
			q.completeChild(j(2), "1", j(1))
		}, []string{"ghost-row", "flow-counter"}},
		{"a-dead-child-of-a-parent-that-is-done", func(q *verbQueue) {
			q.flow(j(1), j(2))
			q.claim(leaseLong)
			q.retryChild(j(2), "1", "1", j(1), "sq:id")
			q.claim(leaseLong)
			q.complete(j(1), "1")
		}, nil},
		{"complete-of-a-child-that-was-reaped", func(q *verbQueue) {
			q.flow(j(1), j(2))
			q.claim(leaseNone)
			time.Sleep(5 * time.Millisecond)
			q.reap()
			q.completeChild(j(2), "1", j(1))
		}, []string{"flow-stranded"}},

		// Outbox, repeat, keys.
		{"complete-into-an-empty-parent-queue", func(q *verbQueue) {
			q.enqueue(j(1))
			q.claim(leaseLong)
			q.completeAway(j(1), "1", j(9), "")
		}, []string{"outbox"}},
		{"an-outbox-entry-cut-short", func(q *verbQueue) { q.do("RPUSH", q.key("flow:outbox"), "q\x00"+j(1)+"\x00"+j(2)) }, []string{"outbox"}},
		{"an-outbox-entry-behind-sound-ones", func(q *verbQueue) {
			q.do("RPUSH", q.key("flow:outbox"), "q\x00"+j(1)+"\x00"+j(2)+"\x00r", "\x00fail\x00q\x00"+j(1)+"\x00"+j(2)+"\x00fp\x00e\x00e", "\x00fail\x00q")
		}, []string{"outbox"}},
		{"a-sound-outbox", func(q *verbQueue) {
			q.do("RPUSH", q.key("flow:outbox"), "q\x00"+j(1)+"\x00"+j(2)+"\x00r\x00\x00", "\x00fail\x00q\x00"+j(1)+"\x00"+j(2)+"\x00id\x00")
		}, nil},
		{"repeat-without-a-record", func(q *verbQueue) { q.every("a"); q.do("DEL", q.key("repeat:a")) }, []string{"repeat"}},
		{"repeat-without-a-member", func(q *verbQueue) { q.every("a"); q.every("b"); q.do("ZREM", q.key("repeat"), "a") }, []string{"repeat"}},
		{"repeat-without-a-template", func(q *verbQueue) { q.every("a"); q.do("HDEL", q.key("repeat:a"), "template") }, []string{"repeat"}},
		{"repeat", func(q *verbQueue) { q.every("a"); q.every("b:c") }, nil},
		{"pending-that-is-a-string", func(q *verbQueue) { q.do("SET", q.key("pending"), "x") }, []string{"store-type"}},
		{"a-row-that-is-a-list", func(q *verbQueue) { q.do("RPUSH", q.row(j(1)), "x") }, []string{"store-type"}},
		{"events-that-are-stored", func(q *verbQueue) { q.do("SET", q.key("events"), "x") }, []string{"stray-key"}},
		{"a-key-of-an-older-version", func(q *verbQueue) { q.do("SET", q.key("wait"), "x") }, []string{"stray-key"}},
		{"the-base-stored", func(q *verbQueue) { q.do("SET", q.base(), "x") }, []string{"stray-key"}},
		{"orphans", func(q *verbQueue) {
			q.enqueue(j(1))
			q.do("RPUSH", q.row(j(1))+":logs", "x")
			q.do("SET", q.row(j(1))+":lock", "1")
			q.claim(leaseLong)
			q.complete(j(1), "1")
		}, nil},
		{"everything", func(q *verbQueue) { q.healthy() }, nil},
	}
}

func makeAuditCases(t *testing.T, s *verbServer) {
	for _, c := range auditCases() {
		c.make(s.queue(t, c.name))
	}
	time.Sleep(150 * time.Millisecond) // beyond the grace
}

// TestAuditFindings makes every fault that the table has, by the verbs where
// they lead there, and states that are near a fault and healthy.
func TestAuditFindings(t *testing.T) {
	s := startVerbs(t)
	makeAuditCases(t, s)
	a := runAuditOn(t, s.Addr, "--grace", "100ms")
	if a.code != codeNo || a.errw != "" {
		t.Errorf("code %d, stderr %q", a.code, a.errw)
	}
	got, order := map[string][]string{}, auditKinds()
	seen := map[string]bool{}
	for _, f := range a.findings {
		if f.Queue == nil {
			t.Errorf("%s of no queue: %s", f.Kind, f.Detail)
			continue
		}
		got[*f.Queue] = append(got[*f.Queue], f.Kind)
		seen[f.Kind] = true
		doc, _ := audit.DocOf(audit.Kind(f.Kind))
		if f.Why != doc.Why || f.Mend == "" || f.Detail == "" || len(f.Keys) == 0 {
			t.Errorf("%+v does not say everything", f)
		}
	}
	for _, c := range auditCases() {
		kinds := got[c.name]
		slices.SortFunc(kinds, func(x, y string) int { return slices.Index(order, x) - slices.Index(order, y) })
		if diff := cmp.Diff(c.want, kinds); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if q := a.queues[c.name]; q.Findings != int64(len(c.want)) || q.Unsettled != 0 || !q.Complete {
			t.Errorf("%s: the record says %d findings, %d unsettled, complete %t", c.name, q.Findings, q.Unsettled, q.Complete)
		}
		delete(got, c.name)
	}
	if len(got) > 0 {
		t.Errorf("findings in other queues: %v", got)
	}
	if t.Failed() {
		t.Log(a)
	}
	for _, k := range order {
		if !seen[k] && k != string(audit.Slots) && k != string(audit.FenceKind) {
			t.Errorf("no case makes a finding of kind %s", k)
		}
	}
	all := int64(len(a.findings))
	if a.server.Findings != all {
		t.Errorf("the server's record says %d findings, want %d", a.server.Findings, all)
	}
	// What is allowed is not reported, and one queue alone is as good.
	args := []string{"--grace", "100ms"}
	for _, k := range order {
		args = append(args, "--allow", k)
	}
	if a := runAuditOn(t, s.Addr, args...); a.code != codeOK || len(a.findings) > 0 {
		t.Errorf("with everything allowed: %v", a)
	}
	for _, c := range auditCases() {
		if strings.Contains(c.name, "child") || c.name == "everything" {
			a := runAuditOn(t, s.Addr, "--grace", "100ms", c.name)
			if len(a.findings) != len(c.want) || len(a.queues) != 1 {
				t.Errorf("%s alone: %v", c.name, a)
			}
		}
	}
	// The grace, by default, is longer than this lease has been over, and than
	// this flow has been in the making.
	young, _, _ := runAt(time.Now(), []string{"mint-id"}, strings.NewReader(""), nil)
	s.queue(t, "a-young-flow").hold(strings.TrimSpace(young), "2")
	for _, f := range runAuditOn(t, s.Addr, "a-lease-nobody-reaps", "a-young-flow").findings {
		t.Errorf("within the grace: %s %s", f.Kind, f.Detail)
	}
}

// TestAuditCounts holds the summary of a queue that has everything.
func TestAuditCounts(t *testing.T) {
	s := startVerbs(t)
	s.queue(t, "q").healthy()
	a := runAuditOn(t, s.Addr)
	if a.code != codeOK || len(a.findings) > 0 {
		t.Fatal(a)
	}
	q := a.queues["q"]
	got := fmt.Sprintf("pending %d active %d scheduled %d dead %d waits %d lanes %+v orphans %d repeats %d streams %d",
		q.Pending, q.Active, q.Scheduled, q.Dead, q.Awaiting, q.Lanes, q.Orphans, q.Repeats, q.Streams)
	want := "pending 8 active 6 scheduled 2 dead 0 waits 5 lanes {Count:3 Pending:4 Paused:1 Full:1} orphans 1 repeats 2 streams 2"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if q.Oldest == nil || q.Oldest.ID != verbJob(4) {
		t.Errorf("oldest is %+v, want %s", q.Oldest, verbJob(4))
	}
	if n := a.queues["q-3"].Outbox; n != 1 {
		t.Errorf("the outbox has %d entries, want 1", n)
	}
}

// TestAuditServer has what is of no queue: braces, fences, keys of others.
func TestAuditServer(t *testing.T) {
	s := startVerbs(t)
	q := s.queue(t, "q")
	q.enqueue(verbJob(1))
	q.do("SET", "orders:pending", "somebody else's")
	q.do("SET", "{emq}:version", "echomq:3.0.0")
	if a := runAuditOn(t, s.Addr); a.code != codeOK || a.server.Fence == nil || *a.server.Fence != "echomq:3.0.0" {
		t.Errorf("a healthy server: %v", a)
	}
	q.do("SET", "emq:{}:pending", "x")
	q.do("SET", "emq:{}:active", "x")
	q.do("SET", "emq:{a}b}:pending", "x")
	q.do("SET", "emq:quotes:pending", "x")
	q.do("SET", "{emq}:verson", "x")
	c := s.c
	for _, db := range []string{"3", "5"} {
		for _, r := range c.DoMulti(t.Context(), c.B().Arbitrary("MULTI").Build(), c.B().Arbitrary("SELECT", db).Build(),
			c.B().Arbitrary("SET", "{emq}:version", map[string]string{"3": "echomq:2.4.2", "5": "2.4"}[db]).Build(),
			c.B().Arbitrary("SELECT", "0").Build(), c.B().Arbitrary("EXEC").Build()) {
			if err := r.Error(); err != nil {
				t.Fatal(err)
			}
		}
	}
	a := runAuditOn(t, s.Addr)
	var kinds []string
	for _, f := range a.findings {
		kinds = append(kinds, f.Kind)
	}
	slices.Sort(kinds)
	if want := []string{"fence", "fence", "slots", "stray-key", "stray-key", "stray-key"}; !slices.Equal(kinds, want) || a.code != codeNo {
		t.Errorf("kinds %q, want %q\n%v", kinds, want, a)
	}
	if len(a.server.Fences) != 3 {
		t.Errorf("fences %+v, want three", a.server.Fences)
	}
}

// auditSends is every command that an audit may send.
var auditSends = strings.Fields(`HELLO AUTH SELECT CLUSTER DBSIZE INFO SCAN TIME TYPE EXISTS GET MULTI EXEC
	HMGET HGET HGETALL HSTRLEN HEXISTS HSCAN ZSCAN ZSCORE ZMSCORE ZCARD ZRANGE LRANGE LPOS SSCAN SISMEMBER`)

// TestAuditOnlyReads holds every command of an audit that meets every fault to
// a list, runs it as a user who may not write, and holds the server's counts
// of changes and of refusals still.
func TestAuditOnlyReads(t *testing.T) {
	s := startVerbs(t)
	makeAuditCases(t, s)
	s.queue(t, "q").do("SET", "{emq}:version", "echomq:3.0.0")
	s.queue(t, "q").do("ACL", "SETUSER", "auditor", "on", ">pw", "~*", "+@read", "+@connection", "+multi", "+exec", "+info", "+time", "+dbsize", "-@write", "+@transaction")
	s.queue(t, "q").do("ACL", "SETUSER", "plain", "on", ">pw", "~*", "+@read", "+hello", "+auth", "+info", "+time", "+dbsize", "-@write")
	info := func() string {
		v, err := valkeytest.Do(s.c, "INFO").ToString()
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, line := range strings.Split(v, "\r\n") {
			if strings.HasPrefix(line, "rdb_changes_since_last_save:") || strings.HasPrefix(line, "acl_access_denied") {
				out += line + " "
			}
		}
		return out
	}
	before := info()
	m := s.Monitor()
	for _, user := range []string{"", "auditor:pw@"} {
		a := runAuditOn(t, "redis://"+user+s.Addr, "--grace", "100ms")
		if a.code != codeNo || len(a.findings) < 50 {
			t.Errorf("user %q: %v", user, a)
		}
	}
	if after := info(); after != before {
		t.Errorf("INFO said %s, and then %s", before, after)
	}
	valkeytest.Do(s.c, "PING", "the-end")
	lines, err := m.Until("the-end")
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]int{}
	for _, line := range lines {
		_, rest, _ := strings.Cut(line, `] "`)
		word, _, _ := strings.Cut(rest, `"`)
		if !strings.Contains(line, "INFO\"") || strings.Contains(line, "keyspace") {
			sent[strings.ToUpper(word)]++
		}
	}
	for word := range sent {
		if !slices.Contains(auditSends, word) {
			t.Errorf("an audit sent %s", word)
		}
	}
	if sent["SCAN"] == 0 || sent["EXEC"] == 0 {
		t.Errorf("the monitor saw %v", sent)
	}
	// A user who may not even use transactions finds the same.
	if a := runAuditOn(t, "redis://plain:pw@"+s.Addr, "--grace", "100ms"); a.code != codeNo || len(a.findings) < 50 {
		t.Errorf("without transactions: %v", a)
	}
}
