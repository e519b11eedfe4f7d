package valkey_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/slot"
	"github.com/echomq/emqctl/internal/valkey"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// TestCluster covers what a cluster adds, on one cluster of three primaries:
// it takes a second to form.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := valkeytest.StartCluster(t)
	v, ctx := verb(t, "enqueue"), context.Background()
	has := func(key string) bool {
		return rows(t, cluster.Client(cluster.Owner(slot.Of(key))))(key)
	}

	t.Run("routing", func(t *testing.T) {
		c := open(t, valkey.Options{URL: cluster.Nodes[1].Addr, DB: -1})
		if !c.Cluster() {
			t.Fatal("Cluster() = false")
		}
		var calls []executor.Call
		for i := range 300 {
			calls = append(calls, enqueueCall(v, fmt.Sprintf("routing-%d", i%60), jobID(i), "x"))
		}
		calls = append(calls, enqueueCall(v, "routing-0", "USR0KHTOWnGLuC", "x"))
		seen := map[executor.State]int{}
		for i, o := range c.Run(ctx, calls) {
			seen[o.State]++
			if o.State == executor.Replied && (o.Reply != int64(1) || !has(calls[i].Keys[0])) {
				t.Errorf("call %d: %+v", i, o)
			}
		}
		if seen[executor.Replied] != 300 || seen[executor.Refused] != 1 {
			t.Errorf("%v", seen)
		}
		// Each primary has a script cache of its own.
		for i := range cluster.Nodes {
			do(t, cluster.Client(i), "SCRIPT FLUSH")
		}
		for i, o := range c.Run(ctx, calls[:300]) {
			if o != (executor.Outcome{State: executor.Replied, Reply: int64(0)}) {
				t.Errorf("again, call %d: %+v", i, o)
			}
		}
	})

	t.Run("reading", func(t *testing.T) {
		c := open(t, valkey.Options{URL: cluster.Nodes[2].Addr, Cluster: true, DB: -1})
		primaries, err := c.Primaries(ctx)
		if err != nil || len(primaries) != 3 {
			t.Fatalf("Primaries = %+v, %v", primaries, err)
		}
		owned, keys := 0, 0
		for _, p := range primaries {
			for _, r := range p.Slots {
				owned += int(r[1]-r[0]) + 1
				if got := c.NodeOfSlot(r[0]); got != p.Addr {
					t.Errorf("NodeOfSlot(%d) = %s, want %s", r[0], got, p.Addr)
				}
			}
			err := c.Scan(ctx, p.Addr, "emq:{routing-*}:pending", func(found []string) error {
				keys += len(found)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if owned != slot.Count || keys != 60 {
			t.Errorf("%d slots and %d keys, want %d and 60", owned, keys, slot.Count)
		}
		if n, err := c.Do(ctx, "emq:{routing-7}:pending", "ZCARD", "emq:{routing-7}:pending"); err != nil || n != int64(5) {
			t.Errorf("ZCARD = %v, %v", n, err)
		}
		other := primaries[0].Addr
		if other == c.NodeOfSlot(slot.Of("emq:{routing-7}:pending")) {
			other = primaries[1].Addr
		}
		if _, err := c.DoOn(ctx, other, "ZCARD", "emq:{routing-7}:pending"); err == nil {
			t.Error("DoOn follows a redirection")
		}
		if f, err := c.ClaimFence(ctx, "echomq:3.0.0"); err != nil || f.Value != "echomq:3.0.0" {
			t.Errorf("ClaimFence = %+v, %v", f, err)
		}
	})

	t.Run("one-database", func(t *testing.T) {
		_, err := valkey.Open(ctx, valkey.Options{URL: cluster.Nodes[0].Addr, DB: 1})
		var e *valkey.Error
		if !errors.As(err, &e) || e.Kind != valkey.KindDatabase || !strings.HasSuffix(e.Msg, "a cluster has database 0 only") {
			t.Errorf("Open = %v", err)
		}
	})

	t.Run("apart", func(t *testing.T) {
		c := open(t, valkey.Options{URL: cluster.Nodes[0].Addr, DB: -1})
		call := enqueueCall(v, "a", jobID(1), "x")
		call.Keys[1] = "emq:{b}:pending"
		o := c.Run(ctx, []executor.Call{call})[0]
		var e *valkey.Error
		if o.State != executor.Failed || !errors.As(o.Err, &e) || e.Kind != valkey.KindCluster || !strings.Contains(e.Msg, "the keys do not share a slot") {
			t.Errorf("%+v", o)
		}
	})

	// Who may not ask for the shards is sent on by MOVED.
	t.Run("least-rights", func(t *testing.T) {
		for i := range cluster.Nodes {
			do(t, cluster.Client(i), "ACL SETUSER emq reset on >pw "+strings.ReplaceAll(rights, "{q}", "{*}")+" -cluster")
		}
		c := open(t, valkey.Options{URL: cluster.Nodes[0].Addr, User: "emq", Password: "pw", DB: -1})
		for i := range 9 {
			calls := []executor.Call{enqueueCall(v, fmt.Sprintf("rights-%d", i), jobID(i), "x")}
			if o := c.Run(ctx, calls)[0]; o != (executor.Outcome{State: executor.Replied, Reply: int64(1)}) {
				t.Errorf("%+v", o)
			}
		}
	})

	// A slot moves to and fro while two clients enqueue to it and to others.
	t.Run("migration", func(t *testing.T) {
		const workers, moves = 2, 6
		moved := slot.Of("emq:{moved}:pending")
		home := cluster.Owner(moved)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		type log struct {
			calls    []executor.Call
			outcomes []executor.Outcome
		}
		logs := make([]log, workers)
		for w := range workers {
			c := open(t, valkey.Options{URL: cluster.Nodes[w].Addr, DB: -1})
			wg.Go(func() {
				for n := 0; ; n += 20 {
					select {
					case <-stop:
						return
					default:
					}
					var calls []executor.Call
					for i := range 20 {
						queue := "moved"
						if i%4 == 3 {
							queue = fmt.Sprintf("other-%d", n)
						}
						calls = append(calls, enqueueCall(v, queue, fmt.Sprintf("JOB%02d%09d", w, n+i), "x"))
					}
					logs[w].calls = append(logs[w].calls, calls...)
					logs[w].outcomes = append(logs[w].outcomes, c.Run(ctx, calls)...)
				}
			})
		}
		for i := range moves {
			time.Sleep(30 * time.Millisecond)
			cluster.Move(moved, (home+1+i)%3, func() { time.Sleep(5 * time.Millisecond) })
		}
		time.Sleep(50 * time.Millisecond)
		close(stop)
		wg.Wait()
		total := 0
		for w := range workers {
			seen := tally{}
			seen.check(t, has, logs[w].calls, logs[w].outcomes)
			total += len(logs[w].calls)
			if seen[executor.Replied] != len(logs[w].calls) {
				i := slices.IndexFunc(logs[w].outcomes, func(o executor.Outcome) bool { return o.State != executor.Replied })
				t.Errorf("client %d: %v, the first at %d: %v", w, seen, i, logs[w].outcomes[i].Err)
			}
		}
		t.Logf("%d moves of a slot under %d enqueues", moves, total)
		if total < 200 {
			t.Errorf("%d enqueues, want a load", total)
		}
	})

	// A replica takes over, first while its primary lives and then back when
	// that has died: what was said to be stored is stored.
	t.Run("failover", func(t *testing.T) {
		const queue = "failover"
		home := cluster.Owner(slot.Of("emq:{failover}:pending"))
		replica := cluster.AddReplica(home)
		raw := replica.Client()
		c := open(t, valkey.Options{URL: cluster.Nodes[(home+1)%3].Addr, Timeout: 2 * time.Second, DB: -1})
		var calls []executor.Call
		var outcomes []executor.Outcome
		run := func() executor.State {
			call := enqueueCall(v, queue, jobID(len(calls)), "x")
			calls = append(calls, call)
			outcomes = append(outcomes, c.Run(ctx, []executor.Call{call})[0])
			return outcomes[len(outcomes)-1].State
		}
		for range 10 {
			run()
		}
		do(t, raw, "CLUSTER FAILOVER")
		for deadline := time.Now().Add(10 * time.Second); ; {
			run()
			info, err := do(t, raw, "ROLE").ToArray()
			role := ""
			if err == nil {
				role, _ = info[0].ToString()
			}
			if role == "master" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the replica is %s, %v", role, err)
			}
		}
		for range 10 {
			if state := run(); state != executor.Replied {
				t.Errorf("after the failover: %+v", outcomes[len(outcomes)-1])
			}
		}
		// Now the other way, by force.
		back := cluster.Client(home)
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if info, err := do(t, back, "INFO REPLICATION").ToString(); err == nil && strings.Contains(info, "master_link_status:up") {
				break
			}
		}
		n, err := do(t, raw, "WAIT 1 2000").AsInt64()
		if err != nil || n != 1 {
			t.Fatalf("WAIT = %d, %v", n, err)
		}
		replica.Kill()
		if state := run(); state != executor.Failed && state != executor.Unknown {
			t.Errorf("without a primary: %+v", outcomes[len(outcomes)-1])
		}
		do(t, back, "CLUSTER FAILOVER TAKEOVER")
		for deadline := time.Now().Add(10 * time.Second); run() != executor.Replied; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("after the takeover: %+v", outcomes[len(outcomes)-1])
			}
		}
		seen := tally{}
		seen.check(t, has, calls, outcomes)
		t.Logf("%v", seen)
	})

	// The last: it breaks the cluster.
	t.Run("down", func(t *testing.T) {
		c := open(t, valkey.Options{URL: cluster.Nodes[0].Addr, Timeout: 2 * time.Second, DB: -1})
		var calls []executor.Call
		for i := range 60 {
			calls = append(calls, enqueueCall(v, fmt.Sprintf("down-%d", i), jobID(i), "x"))
		}
		dead := cluster.Owner(slot.Of(calls[0].Keys[0]))
		if dead == 0 {
			dead = cluster.Owner(slot.Of(calls[1].Keys[0]))
		}
		lost := map[int]bool{}
		for i := range calls {
			lost[i] = cluster.Owner(slot.Of(calls[i].Keys[0])) == dead
		}
		cluster.Nodes[dead].Kill()
		for i, o := range c.Run(ctx, calls) {
			if want := map[bool]executor.State{true: executor.Failed, false: executor.Replied}[lost[i]]; o.State != want {
				t.Errorf("call %d: %+v, want %s", i, o, want)
			}
		}
		// Until the others agree that it has failed they go on alone.
		var e *valkey.Error
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			o := c.Run(ctx, []executor.Call{enqueueCall(v, "down-alive", jobID(1), "x"), calls[0], calls[1], calls[2], calls[3]})
			i := slices.IndexFunc(o, func(o executor.Outcome) bool {
				return o.Err != nil && errors.As(o.Err, &e) && e.Kind == valkey.KindCluster
			})
			if i >= 0 {
				if o[i].State != executor.Failed || !strings.Contains(e.Msg, "the cluster is down") {
					t.Errorf("%+v", o[i])
				}
				return
			}
		}
		t.Error("no CLUSTERDOWN within 20 s")
	})
}
