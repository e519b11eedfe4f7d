package main

import (
	"strings"
	"testing"

	"github.com/echomq/emqctl/internal/valkeytest"
)

// TestEnqueuePartial: a script that stopped half-way leaves a row without its
// place in the queue. To send it again loses the job, and nothing may say
// otherwise; what is said instead mends it.
func TestEnqueuePartial(t *testing.T) {
	const id = "JOB0KHTOWnGLuC"
	server := valkeytest.Start(t)
	c := server.Client()
	send := func(args ...string) enqueueContract {
		t.Helper()
		out, _, _ := runAt(testClock, append([]string{"enqueue", "q", "x", "--id", id, "--url", server.Addr, "-o", "json"}, args...), strings.NewReader(""), nil)
		return records(t, out)[0]
	}
	for _, args := range [][]string{nil, {"--in", "1m"}, {"--group", "PRT0KHTOWnGLuC"}} {
		valkeytest.Do(c, "FLUSHALL")
		for _, key := range []string{"emq:{q}:pending", "emq:{q}:schedule", "emq:{q}:g:PRT0KHTOWnGLuC:pending"} {
			valkeytest.Do(c, "SET", key, "x")
		}
		g := send(args...)
		if g.Status != "unknown" || g.Error.Kind != "partial" || g.Error.Hint == nil || strings.Contains(*g.Error.Hint, "safe") || !strings.Contains(*g.Error.Hint, "delete the row") {
			t.Errorf("%q: %s, %+v", args, g.Status, g.Error)
		}
		// So it is: the same id does not complete it.
		for _, key := range []string{"emq:{q}:pending", "emq:{q}:schedule", "emq:{q}:g:PRT0KHTOWnGLuC:pending"} {
			valkeytest.Do(c, "DEL", key)
		}
		if g := send(args...); g.Status != "duplicate" {
			t.Errorf("%q, again: %s", args, g.Status)
		}
		valkeytest.Do(c, "DEL", "emq:{q}:job:"+id)
		if g := send(args...); g.Status != "enqueued" && g.Status != "scheduled" {
			t.Errorf("%q, mended: %s", args, g.Status)
		}
	}
}
