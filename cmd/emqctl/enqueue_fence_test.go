package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/slot"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// lineByLine runs a bulk enqueue and returns a function that hands it a line
// and waits for its record, and one that ends it.
func lineByLine(t *testing.T, args ...string) (send func(line string) enqueueContract, end func() (errw string, code int)) {
	t.Helper()
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	var errw syncBuffer
	done := make(chan int)
	go func() {
		e := newEnv(in, out, &errw, nil)
		done <- e.run(append([]string{"enqueue", "--ndjson", "-o", "json"}, args...))
		out.Close()
	}()
	r := bufio.NewReader(answers)
	send = func(line string) (c enqueueContract) {
		t.Helper()
		if _, err := io.WriteString(feed, line+"\n"); err != nil {
			t.Fatal(err)
		}
		got, err := r.ReadBytes('\n')
		if err := json.Unmarshal(got, &c); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return send, func() (string, int) {
		feed.Close()
		return errw.String(), <-done
	}
}

// syncBuffer is a buffer that goroutines share.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// cutOff kills connections, and waits until their other ends can know.
func cutOff(c valkeytest.Client, which ...string) {
	valkeytest.Do(c, append([]string{"CLIENT", "KILL"}, which...)...)
	time.Sleep(10 * time.Millisecond)
}

// TestEnqueueFenceNoRight: a missing right for the fence stops nothing, and is
// told: once on standard error, and in every record.
func TestEnqueueFenceNoRight(t *testing.T) {
	server := valkeytest.Start(t)
	c := server.Client()
	valkeytest.Do(c, "ACL", "SETUSER", "u", "reset", "on", ">p", "+evalsha", "+script|load", "+exists", "+hset", "+zadd", "+hello", "~emq:{quotes}:*")
	valkeytest.Do(c, "SET", "{emq}:version", "echomq:9.9.9")
	for _, more := range [][]string{nil, {"--claim-fence"}} {
		send, end := lineByLine(t, append([]string{"quotes", "--url", "redis://u:p@" + server.Addr, "--fence", "echomq:4.0.0"}, more...)...)
		for range 3 {
			g := send(`{"payload":"x"}`)
			if g.Status != "enqueued" || g.Fence.Status != "unreadable" || g.Fence.Reason == nil || !strings.Contains(*g.Fence.Reason, "the user may not touch the key") {
				t.Errorf("%+v, fence %+v", g, g.Fence)
			}
			cutOff(c, "USER", "u") // also on a connection of later
		}
		errw, code := end()
		const want = "emqctl: warning: {emq}:version is unreadable: "
		if code != 0 || strings.Count(errw, want) != 1 || strings.Count(errw, "\n") != 1 {
			t.Errorf("code %d, stderr %q", code, errw)
		}
	}
	// In text it is beside the fence; with nothing expected nobody is warned.
	out, errw, code := runAt(testClock, []string{"enqueue", "quotes", "x", "--url", "redis://u:p@" + server.Addr}, strings.NewReader(""), nil)
	if code != 0 || errw != "" || !strings.Contains(out, "fence      unreadable  "+server.Addr+": the user may not touch the key") {
		t.Errorf("code %d, stderr %q: %s", code, errw, out)
	}
}

// TestEnqueueFenceAgain: the fence is read on every connection, since what is
// at an address may be another server by then.
func TestEnqueueFenceAgain(t *testing.T) {
	const v = "echomq:4.0.0"
	server := valkeytest.Start(t)
	c := server.Client()
	kill := func() { cutOff(c, "TYPE", "normal", "SKIPME", "yes") }
	for _, tt := range []struct {
		name  string
		then  []string // what becomes of the fence
		args  []string
		fence string
		state string // of the job
	}{
		{"differs", []string{"SET", "{emq}:version", "echomq:3.0.0"}, []string{"--fence", v}, "differs", "refused"},
		{"absent", []string{"DEL", "{emq}:version"}, []string{"--fence", v}, "absent", "refused"},
		{"no-string", []string{"RPUSH", "{emq}:version", "x"}, []string{"--fence", v}, "differs", "refused"},
		{"absent-claimed", []string{"DEL", "{emq}:version"}, []string{"--fence", v, "--claim-fence"}, "match", "enqueued"},
		{"reported", []string{"SET", "{emq}:version", "echomq:3.0.0"}, nil, "present", "enqueued"},
	} {
		valkeytest.Do(c, "FLUSHALL")
		valkeytest.Do(c, "SET", "{emq}:version", v)
		send, end := lineByLine(t, append([]string{"q", "--url", server.Addr}, tt.args...)...)
		first := send(`{"payload":"a"}`)
		if first.Status != "enqueued" || *first.Fence.Value != v {
			t.Fatalf("%s: %+v", tt.name, first)
		}
		valkeytest.Do(c, "DEL", "{emq}:version")
		valkeytest.Do(c, tt.then...)
		// As long as the connection holds, what was read for it stands.
		if g := send(`{"payload":"b"}`); g.Status != "enqueued" || *g.Fence.Value != v {
			t.Errorf("%s: on the same connection: %+v", tt.name, g)
		}
		kill()
		g := send(`{"payload":"c"}`)
		if g.Status != tt.state || g.Fence.Status != tt.fence {
			t.Errorf("%s: %s, fence %+v, want %s, %s", tt.name, g.Status, g.Fence, tt.state, tt.fence)
		}
		if tt.name == "reported" && *g.Fence.Value != "echomq:3.0.0" {
			t.Errorf("%s: %s", tt.name, *g.Fence.Value)
		}
		want := 2
		if tt.state == "refused" {
			// And the rest is refused, whatever comes.
			valkeytest.Do(c, "DEL", "{emq}:version")
			valkeytest.Do(c, "SET", "{emq}:version", v)
			kill()
			if g := send(`{"payload":"d"}`); g.Status != "refused" || g.Error.Kind != "fence" || g.Executed == nil || *g.Executed {
				t.Errorf("%s: after that: %+v", tt.name, g)
			}
		} else {
			want++
		}
		errw, _ := end()
		if n, err := valkeytest.Do(c, "ZCARD", "emq:{q}:pending").AsInt64(); err != nil || n != int64(want) || errw != "" {
			t.Errorf("%s: %d jobs, %v, want %d; stderr %q", tt.name, n, err, want, errw)
		}
	}
}

// TestEnqueueFenceCluster: the fence lies on one node, and counts for a
// connection to any.
func TestEnqueueFenceCluster(t *testing.T) {
	const v = "echomq:4.0.0"
	cluster := valkeytest.StartCluster(t)
	fence := cluster.Client(cluster.Owner(slot.OfTag("emq")))
	valkeytest.Do(fence, "SET", "{emq}:version", v)
	queue := "quotes"
	for i := 0; cluster.Owner(slot.OfTag(queue)) == cluster.Owner(slot.OfTag("emq")); i++ {
		queue = fmt.Sprint("q", i)
	}
	other := cluster.Client(cluster.Owner(slot.OfTag(queue)))
	send, end := lineByLine(t, queue, "--url", cluster.Nodes[0].Addr, "--fence", v)
	if g := send(`{"payload":"a"}`); g.Status != "enqueued" || g.Fence.Status != "match" {
		t.Fatalf("%+v, %+v", g, g.Error)
	}
	valkeytest.Do(fence, "SET", "{emq}:version", "echomq:3.0.0")
	cutOff(other, "TYPE", "normal", "SKIPME", "yes")
	if g := send(`{"payload":"b"}`); g.Status != "refused" || g.Fence.Status != "differs" || *g.Fence.Value != "echomq:3.0.0" {
		t.Errorf("%+v, %+v", g, g.Error)
	}
	if errw, code := end(); code != codeNo || errw != "" {
		t.Errorf("code %d, stderr %q", code, errw)
	}
}

// TestEnqueueFenceUnconnected: of a job that had no connection no fence is
// told.
func TestEnqueueFenceUnconnected(t *testing.T) {
	const v = "echomq:4.0.0"
	server := valkeytest.Start(t)
	valkeytest.Do(server.Client(), "SET", "{emq}:version", v)
	send, end := lineByLine(t, "q", "--url", server.Addr, "--fence", v)
	send(`{"payload":"a"}`)
	server.Kill()
	time.Sleep(10 * time.Millisecond)
	if g := send(`{"payload":"b"}`); g.Status != "failed" || g.Fence != nil {
		t.Errorf("%+v, fence %+v", g, g.Fence)
	}
	// It comes back without the fence, as another server would.
	server.Restart()
	if g := send(`{"payload":"c"}`); g.Status != "refused" || g.Fence.Status != "absent" {
		t.Errorf("%+v, fence %+v", g, g.Fence)
	}
	if errw, code := end(); code != codeFailed || errw != "" {
		t.Errorf("code %d, stderr %q", code, errw)
	}
}

// TestEnqueueNoNative: a server without the native command says what to do.
func TestEnqueueNoNative(t *testing.T) {
	server := valkeytest.Start(t)
	out, errw, code := runAt(testClock, []string{"enqueue", "q", "x", "--url", server.Addr, "--via", "native", "-o", "json"}, strings.NewReader(""), nil)
	g := records(t, out)[0]
	if code != codeFailed || errw != "" || g.Status != "failed" || !strings.Contains(g.Error.Message, "the server has no EMQ.ENQUEUE") || g.Error.Hint == nil || !strings.Contains(*g.Error.Hint, "--via script") {
		t.Errorf("code %d: %s%s", code, out, errw)
	}
}
