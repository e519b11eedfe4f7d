package embedded

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/scripts"
	lua "github.com/echomq/emqctl/scripts"
)

var clock = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func newStore(t *testing.T, fence string) (*Store, *scripts.Registry) {
	t.Helper()
	s, err := New(func() time.Time { return clock }, fence)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r, err := scripts.Load(lua.FS)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

const (
	jobA    = "JOB0KHTOWnGLuC"
	rowA    = "emq:{q}:job:" + jobA
	pending = "emq:{q}:pending"
)

func enqueueCall(r *scripts.Registry, native bool, row, pending string, args ...string) executor.Call {
	v, _ := r.Lookup("enqueue")
	return executor.Call{Verb: v, Native: native, Keys: []string{row, pending}, Args: args}
}

// TestEnqueue holds both executors to the same bytes in the store, and to the
// commands in order.
func TestEnqueue(t *testing.T) {
	const payload = "a\x00b\xff"
	holds := []Key{
		{rowA, "hash", 3, []Entry{{"attempts", "0", true}, {"payload", payload, true}, {"state", "pending", true}}},
		{pending, "zset", 1, []Entry{{jobA, "0", true}}},
	}
	for _, native := range []bool{false, true} {
		s, r := newStore(t, "")
		got := s.Rehearse(context.Background(), enqueueCall(r, native, rowA, pending, jobA, payload))
		want := Rehearsal{
			Outcome: executor.Outcome{State: executor.Replied, Reply: int64(1)},
			Commands: []Command{
				{"EXISTS", []string{rowA}, false},
				{"HSET", []string{rowA}, true},
				{"ZADD", []string{pending}, true},
			},
			Holds: holds,
		}
		if native {
			want.Commands = append([]Command{{"GET", []string{FenceKey}, false}}, want.Commands...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("native %v (-want +got):\n%s", native, diff)
		}
		got = s.Rehearse(context.Background(), enqueueCall(r, native, rowA, pending, jobA, "another"))
		if got.Reply != int64(0) {
			t.Errorf("native %v: the reply to a duplicate is %v, want 0", native, got.Outcome)
		}
		if diff := cmp.Diff(holds, s.Dump(), cmp.Transformer("sorted", func(k []Key) map[string]Key {
			m := map[string]Key{}
			for _, k := range k {
				m[k.Key] = k
			}
			return m
		})); diff != "" {
			t.Errorf("native %v: after a duplicate (-want +got):\n%s", native, diff)
		}
	}
}
