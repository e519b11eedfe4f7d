package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/slot"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// clusterQueues makes queues on every node, of jobs each and with one fault.
func clusterQueues(t *testing.T, c *valkeytest.Cluster, queues, jobs int) (owners map[string]int) {
	owners = map[string]int{}
	for n := range queues {
		name := fmt.Sprintf("q%d", n)
		s := slot.Of("emq:{" + name + "}:pending")
		owner := int(s) / 5461
		owners[name] = owner
		q := newVerbServer(t, c.Nodes[owner], c.Client(owner)).queue(t, name)
		for i := range jobs {
			q.enqueue(verbJob(i))
		}
		q.genqueue(verbGroup(1), verbJob(jobs+1), verbJob(jobs+2))
		q.flow(verbJob(jobs+3), verbJob(jobs+4))
		q.do("ZREM", q.key("pending"), verbJob(0))
	}
	return owners
}

func TestAuditCluster(t *testing.T) {
	c := valkeytest.StartCluster(t)
	owners := clusterQueues(t, c, 9, 130)
	if a := runAuditOn(t, c.Nodes[1].Addr, "--allow", "row-in-no-set"); a.code != codeOK || len(a.server.Nodes) != 3 || !a.server.Cluster {
		t.Fatalf("%v %+v", a, a.server)
	}
	check := func(when string) {
		a := runAuditOn(t, c.Nodes[0].Addr)
		if len(a.findings) != len(owners) || a.code != codeNo {
			t.Errorf("%s: %d findings, want %d: %v", when, len(a.findings), len(owners), a)
		}
		for _, f := range a.findings {
			if f.Kind != "row-in-no-set" || *f.IDs[0] != verbJob(0) {
				t.Errorf("%s: %s %s %s", when, *f.Queue, f.Kind, f.Detail)
			}
		}
		for name := range owners {
			if q, ok := a.queues[name]; !ok || !q.Complete || q.Pending != 130 {
				t.Errorf("%s: %s is %+v", when, name, q)
			}
		}
	}
	check("still")
	s := slot.Of("emq:{q0}:pending")
	steps := 0
	c.Move(s, (owners["q0"]+1)%3, func() { steps++; check(fmt.Sprintf("step %d of a move", steps)) })
	check("moved")
	if steps < 4 {
		t.Errorf("%d steps, want more", steps)
	}
}

// TestAuditNodeDies kills a node while its keys are looked at.
func TestAuditNodeDies(t *testing.T) {
	c := valkeytest.StartCluster(t, "--cluster-require-full-coverage", "no")
	owners := clusterQueues(t, c, 30, 100)
	addr := c.Nodes[0].Addr
	done := make(chan auditAnswer)
	// 3,000 jobs at 2,000 keys a second: the scan of the nodes takes over a second.
	go func() { done <- runAuditOn(t, addr, "--rate", "2000") }()
	time.Sleep(300 * time.Millisecond)
	c.Nodes[2].Kill()
	began := time.Now()
	a := <-done
	if a.code != codeFailed || !strings.Contains(a.errw, c.Nodes[2].Addr) {
		t.Errorf("code %d, stderr %q, want 2 and the node's address", a.code, a.errw)
	}
	if time.Since(began) > 20*time.Second {
		t.Errorf("it took %s after the node had died", time.Since(began))
	}
	if a.server.Covered.Complete || a.server.Covered.Nodes != 2 || a.server.Covered.Error == nil {
		t.Errorf("covered %+v", a.server.Covered)
	}
	for _, n := range a.server.Nodes {
		if n.Covered != (n.Address != c.Nodes[2].Addr) {
			t.Errorf("node %+v", n)
		}
	}
	for _, f := range a.findings {
		if f.Kind != "row-in-no-set" {
			t.Errorf("%s %s: %s", *f.Queue, f.Kind, f.Detail)
		}
	}
	alive := 0
	for name, owner := range owners {
		if owner != 2 {
			alive++
			if !slices.ContainsFunc(a.findings, func(f auditFinding) bool { return *f.Queue == name }) {
				t.Errorf("nothing found in %s, which is on a node that lives", name)
			}
		} else if q, ok := a.queues[name]; ok && q.Complete {
			t.Errorf("%s was on the node that died, and is said to be complete", name)
		}
	}
	if alive < 10 || alive == len(owners) {
		t.Fatalf("%d of %d queues on nodes that live", alive, len(owners))
	}

	// The cluster knows by and by, and then it is no other answer.
	raw := c.Nodes[0].Client()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if text, _ := valkeytest.Do(raw, "CLUSTER", "NODES").ToString(); strings.Contains(text, "master,fail ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the cluster does not know that a node is dead")
		}
	}
	a = runAuditOn(t, addr)
	if a.code != codeFailed || !strings.Contains(a.errw, c.Nodes[2].Addr) || a.server.Covered.Complete || a.server.Covered.Nodes != 2 {
		t.Errorf("with a node that has failed: code %d, stderr %q, covered %+v", a.code, a.errw, a.server.Covered)
	}
	out, _, code := runAt(testClock, []string{"doctor", "--url", addr}, strings.NewReader(""), nil)
	if want := "failure  cluster         1 of 3 primaries failed, and "; code != codeFailed || !strings.Contains(out, want) || strings.Count(out, c.Nodes[2].Addr) < 2 {
		t.Errorf("doctor with a node that has failed: code %d\n%s", code, out)
	}
}

// TestAuditServerDies kills the only server in the middle.
func TestAuditServerDies(t *testing.T) {
	s := startVerbs(t)
	q := s.queue(t, "q")
	for i := range 3000 {
		q.enqueue(verbJob(i))
	}
	done := make(chan auditAnswer)
	go func() { done <- runAuditOn(t, s.Addr, "--rate", "2000") }()
	time.Sleep(300 * time.Millisecond)
	s.Kill()
	a := <-done
	if a.code != codeFailed || a.errw == "" || a.server.Covered.Complete || a.server.Covered.Keys == 0 || len(a.findings) > 0 {
		t.Errorf("%v %+v", a, a.server.Covered)
	}
}
