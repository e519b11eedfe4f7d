package valkey_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/valkey"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// tally holds what a server has to what was said of every call.
type tally map[executor.State]int

// check looks up the row of every call: it is there after a reply, not there
// after a failure, and may be there in doubt. It adds to the tally.
func (n tally) check(t *testing.T, has func(key string) bool, calls []executor.Call, outcomes []executor.Outcome) {
	t.Helper()
	if len(outcomes) != len(calls) {
		t.Fatalf("%d outcomes of %d calls", len(outcomes), len(calls))
	}
	for i, o := range outcomes {
		stored := has(calls[i].Keys[0])
		n[o.State]++
		switch {
		case o.State == executor.Replied && (!stored || o.Reply != int64(1)),
			o.State == executor.Failed && stored,
			o.State == executor.Refused:
			t.Fatalf("call %d: %+v, and stored is %t", i, o, stored)
		case o.State != executor.Replied:
			var e *valkey.Error
			if !errors.As(o.Err, &e) || e.Msg == "" {
				t.Fatalf("call %d: error %#v, want an *Error", i, o.Err)
			}
		}
	}
}

func rows(t *testing.T, c valkeytest.Client) func(key string) bool {
	return func(key string) bool {
		n, err := valkeytest.Do(c, "EXISTS", key).AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		return n == 1
	}
}

// again runs calls once more: afterwards every one is stored, once.
func again(t *testing.T, c *valkey.Client, raw valkeytest.Client, calls []executor.Call) {
	t.Helper()
	for i, o := range c.Run(context.Background(), calls) {
		if o.State != executor.Replied {
			t.Fatalf("again, call %d: %+v", i, o)
		}
	}
	n, err := valkeytest.Do(raw, "ZCARD", calls[0].Keys[1]).AsInt64()
	if err != nil || n != int64(len(calls)) {
		t.Fatalf("%d jobs are pending, %v, want %d", n, err, len(calls))
	}
}

func batch(t *testing.T, queue string, count, size int) []executor.Call {
	v, payload := verb(t, "enqueue"), strings.Repeat("x", size)
	calls := make([]executor.Call, count)
	for i := range calls {
		calls[i] = enqueueCall(v, queue, jobID(i), payload)
	}
	return calls
}

// sideBySide runs calls in so many batches at a time.
func sideBySide(c *valkey.Client, calls []executor.Call, batches int) []executor.Outcome {
	parts := make([][]executor.Outcome, batches)
	size := len(calls) / batches
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { parts[i] = c.Run(context.Background(), calls[i*size:(i+1)*size]) })
	}
	wg.Wait()
	return slices.Concat(parts...)
}

// TestCut cuts connections at random places of requests and replies, and
// before any reply, of one batch and of several that follow each other
// closely, and holds every outcome to the store.
func TestCut(t *testing.T) {
	t.Parallel()
	s := valkeytest.Start(t)
	p := valkeytest.StartProxy(t, s.Addr)
	raw := s.Client()
	c := open(t, valkey.Options{URL: p.Addr})
	rnd := rand.New(rand.NewPCG(4, 1))
	seen, runs := tally{}, 0
	// The first run loads the script.
	again(t, c, raw, batch(t, "warm", 1, 1))
	for _, kind := range []struct {
		name        string
		runs        int
		count, size int
		batches     int
		cut         func(length int)
	}{
		{"requests", 80, 40, 100, 1, func(length int) { p.CutRequests(rnd.IntN(length)) }},
		{"large-requests", 12, 40, 200_000, 1, func(length int) { p.CutRequests(rnd.IntN(length)) }},
		{"replies", 80, 40, 100, 1, func(int) { p.CutReplies(rnd.IntN(40 * len(":1\r\n"))) }},
		{"before-the-reply", 30, 1, 100, 1, func(int) { p.CutReplies(0) }},
		{"requests-of-four", 80, 40, 100, 4, func(length int) { p.CutRequests(rnd.IntN(length)) }},
		{"large-requests-of-two", 12, 40, 200_000, 2, func(length int) { p.CutRequests(rnd.IntN(length)) }},
		{"replies-of-four", 80, 40, 100, 4, func(int) { p.CutReplies(rnd.IntN(40 * len(":1\r\n"))) }},
	} {
		states := tally{}
		for run := range kind.runs {
			calls := batch(t, fmt.Sprintf("%s-%d", kind.name, run), kind.count, kind.size)
			kind.cut(kind.count * kind.size)
			outcomes := sideBySide(c, calls, kind.batches)
			// What was sent may still be on its way.
			time.Sleep(2 * time.Millisecond)
			states.check(t, rows(t, raw), calls, outcomes)
			p.CutRequests(-1)
			p.CutReplies(-1)
			again(t, c, raw, calls)
			runs++
		}
		t.Logf("%s: %d runs, %v", kind.name, kind.runs, states)
		for state, n := range states {
			seen[state] += n
		}
		if states[executor.Unknown] == 0 {
			t.Errorf("%s: nothing was in doubt: %v", kind.name, states)
		}
		if kind.name == "before-the-reply" && states[executor.Unknown] != kind.runs {
			t.Errorf("%s: %v, want all of them unknown", kind.name, states)
		}
	}
	if seen[executor.Failed] == 0 || seen[executor.Replied] == 0 {
		t.Errorf("%d runs: %v, want some of each state", runs, seen)
	}
}

// TestIdleCut runs on a connection that the server has closed since: nothing
// went out, so it is made again without a word. It takes all processors, and runs
// alone.
func TestIdleCut(t *testing.T) {
	s := valkeytest.Start(t)
	c := open(t, valkey.Options{URL: s.Addr})
	raw := s.Client()
	// Busy, so that nobody reads of the end before the next batch is sent.
	var stop atomic.Bool
	defer stop.Store(true)
	for range 4 * runtime.GOMAXPROCS(0) {
		go func() {
			for !stop.Load() {
			}
		}()
	}
	for i := range 6 {
		if err := valkeytest.Do(raw, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Error(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
		again(t, c, raw, batch(t, fmt.Sprint(i), 3, 10))
	}
}

// TestBlackHole is a server that stops answering.
func TestBlackHole(t *testing.T) {
	t.Parallel()
	s := valkeytest.Start(t)
	p := valkeytest.StartProxy(t, s.Addr)
	raw := s.Client()
	c := open(t, valkey.Options{URL: p.Addr, Timeout: 300 * time.Millisecond})
	again(t, c, raw, batch(t, "warm", 1, 1))
	p.Swallow(true)
	began, calls := time.Now(), batch(t, "q", 10, 10)
	outcomes := c.Run(context.Background(), calls)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %s", took)
	}
	seen := tally{}
	seen.check(t, rows(t, raw), calls, outcomes)
	if seen[executor.Unknown] != 10 || !strings.HasSuffix(outcomes[0].Err.Error(), ": the server sent nothing for 300ms") {
		t.Errorf("%v, %v", seen, outcomes[0].Err)
	}
	// And when it cannot be reached anew either, nothing was sent.
	outcomes = c.Run(context.Background(), batch(t, "r", 3, 10))
	for _, o := range outcomes {
		if o.State != executor.Failed || !strings.Contains(o.Err.Error(), "no answer came within 300ms") {
			t.Errorf("%+v", o)
		}
	}
	p.Swallow(false)
	again(t, c, raw, calls)

	ctx, cancel := context.WithCancel(context.Background())
	p.Swallow(true)
	calls = batch(t, "s", 2, 10)
	time.AfterFunc(100*time.Millisecond, cancel)
	outcomes = c.Run(ctx, calls)
	if outcomes[0].State != executor.Unknown || !strings.HasSuffix(outcomes[0].Err.Error(), ": given up") {
		t.Errorf("interrupted: %+v", outcomes[0])
	}
	outcomes = c.Run(ctx, batch(t, "u", 2, 10))
	if outcomes[0].State != executor.Failed {
		t.Errorf("after the interrupt: %+v", outcomes[0])
	}
	c.Close()
	if o := c.Run(context.Background(), calls[:1])[0]; o.State != executor.Failed {
		t.Errorf("after Close: %+v", o)
	}
}

// TestRestart kills the server in the middle of a load, again and again.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := valkeytest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	c := open(t, valkey.Options{URL: s.Addr})
	calls := batch(t, "q", 2000, 20)
	outcomes := make([]executor.Outcome, 0, len(calls))
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		restarts := 0
		for {
			select {
			case <-stop:
				done <- restarts
				return
			case <-time.After(60 * time.Millisecond):
				s.Restart()
				restarts++
			}
		}
	}()
	const step = 20
	for i := 0; i < len(calls); i += step {
		outcomes = append(outcomes, c.Run(context.Background(), calls[i:i+step])...)
		time.Sleep(5 * time.Millisecond)
	}
	close(stop)
	restarts := <-done
	raw := s.Client()
	for deadline := time.Now().Add(5 * time.Second); valkeytest.Do(raw, "DBSIZE").Error() != nil && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	seen := tally{}
	seen.check(t, rows(t, raw), calls, outcomes)
	t.Logf("%d restarts: %v", restarts, seen)
	if restarts < 3 || seen[executor.Replied] == 0 || seen[executor.Failed] == 0 {
		t.Errorf("%d restarts: %v", restarts, seen)
	}
	again(t, c, raw, calls)
}

// TestScriptFlush flushes the script cache all through a load.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	s := valkeytest.Start(t)
	c := open(t, valkey.Options{URL: s.Addr})
	raw := s.Client()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	flushes := 0
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				valkeytest.Do(raw, "SCRIPT", "FLUSH")
				flushes++
			}
		}
	})
	calls := batch(t, "q", 6000, 20)
	var outcomes []executor.Outcome
	for i := 0; i < len(calls); i += 100 {
		outcomes = append(outcomes, c.Run(context.Background(), calls[i:i+100])...)
	}
	close(stop)
	wg.Wait()
	seen := tally{}
	other := s.Client()
	seen.check(t, rows(t, other), calls, outcomes)
	t.Logf("%d flushes: %v", flushes, seen)
	if seen[executor.Unknown] > 0 || seen[executor.Replied] == 0 || flushes < 10 {
		t.Errorf("%d flushes: %v", flushes, seen)
	}
	for i, o := range outcomes {
		if o.State == executor.Failed && o.Err.(*valkey.Error).Kind != valkey.KindScript {
			t.Errorf("call %d: %v", i, o.Err)
		}
	}
	again(t, c, other, calls)
}
