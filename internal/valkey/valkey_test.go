package valkey_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/valkey"
	"github.com/echomq/emqctl/internal/valkeytest"
	lua "github.com/echomq/emqctl/scripts"
)

var registry = sync.OnceValues(func() (*scripts.Registry, error) { return scripts.Load(lua.FS) })

// verb returns one of the embedded scripts.
func verb(t testing.TB, name string) *scripts.Verb {
	t.Helper()
	r, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	v, ok := r.Lookup(name)
	if !ok {
		t.Fatalf("no verb %s", name)
	}
	return v
}

// jobID returns the n-th id of a test.
func jobID(n int) string { return fmt.Sprintf("JOB0KHTO%06d", n) }

func enqueueCall(v *scripts.Verb, queue, id, payload string) executor.Call {
	return executor.Call{Verb: v, Keys: []string{"emq:{" + queue + "}:job:" + id, "emq:{" + queue + "}:pending"}, Args: []string{id, payload}}
}

func open(t testing.TB, o valkey.Options) *valkey.Client {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	c, err := valkey.Open(context.Background(), o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRun(t *testing.T) {
	t.Parallel()
	s := valkeytest.Start(t)
	c, v := open(t, valkey.Options{URL: s.Addr}), verb(t, "enqueue")
	if !strings.HasPrefix(c.Server(), "valkey ") || c.Cluster() {
		t.Errorf("Server() = %q, Cluster() = %t", c.Server(), c.Cluster())
	}
	big := strings.Repeat("\x00\xff\r\n", 10<<20/4)
	calls := []executor.Call{
		enqueueCall(v, "q", jobID(1), "one"),
		enqueueCall(v, "q", jobID(2), big),
		enqueueCall(v, "q", jobID(1), "again"),
		enqueueCall(v, "q", "USR0KHTOWnGLuC", "other kind"),
	}
	got := c.Run(context.Background(), calls)
	for i, want := range []executor.Outcome{
		{State: executor.Replied, Reply: int64(1)},
		{State: executor.Replied, Reply: int64(1)},
		{State: executor.Replied, Reply: int64(0)},
		{State: executor.Refused, Text: "EMQKIND job id must be JOB-namespaced"},
	} {
		if got[i] != want {
			t.Errorf("call %d: %+v, want %+v", i, got[i], want)
		}
	}
	raw := s.Client()
	fields, err := valkeytest.Do(raw, "HGETALL", calls[1].Keys[0]).AsStrMap()
	if err != nil || len(fields) != 3 || fields["payload"] != big || fields["state"] != "pending" || fields["attempts"] != "0" {
		t.Errorf("row: %d fields, payload of %d bytes, %v", len(fields), len(fields["payload"]), err)
	}
	// The script cache is lost in the middle, and the server again.
	if err := valkeytest.Do(raw, "SCRIPT", "FLUSH").Error(); err != nil {
		t.Fatal(err)
	}
	got = c.Run(context.Background(), []executor.Call{enqueueCall(v, "q", jobID(3), "x"), enqueueCall(v, "q", jobID(4), "x")})
	for i := range got {
		if got[i] != (executor.Outcome{State: executor.Replied, Reply: int64(1)}) {
			t.Errorf("after SCRIPT FLUSH: %+v", got[i])
		}
	}
	if reply, err := c.Do(context.Background(), calls[0].Keys[1], "ZRANGE", calls[0].Keys[1], "-", "+", "BYLEX"); err != nil || fmt.Sprint(reply) != fmt.Sprint([]any{jobID(1), jobID(2), jobID(3), jobID(4)}) {
		t.Errorf("pending is %v, %v", reply, err)
	}
}
