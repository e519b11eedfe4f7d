package main

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/valkey"
)

// TestEnqueueBlackHole: a server that takes connections and never answers
// costs some time-outs, not one for every batch.
func TestEnqueueBlackHole(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var tried atomic.Int32
	go func() {
		var open []net.Conn // one that is dropped would be closed
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			open = append(open, c)
			tried.Add(1)
		}
		for _, c := range open {
			c.Close()
		}
	}()
	const n = 50_000
	out, errw, code := runAt(testClock, []string{"enqueue", "q", "--lines", "--url", l.Addr().String(), "--timeout", "100ms", "--format", "{{.status}} {{.error.kind}}"}, strings.NewReader(strings.Repeat("x\n", n)), nil)
	if got := strings.Count(out, "failed timeout\n"); code != codeFailed || got != n || len(out) != n*len("failed timeout\n") {
		t.Errorf("code %d, %d of %d failed", code, got, n)
	}
	if strings.Count(errw, "\n") != 1 || !strings.HasSuffix(errw, ": given up after 3 time-outs in a row: the rest was not tried\n") {
		t.Errorf("stderr %q", errw)
	}
	if tried.Load() != maxTimeouts {
		t.Errorf("%d connections, want %d", tried.Load(), maxTimeouts)
	}
}

// TestEnqueueGivesUp counts what is tried: a server that vanishes in the middle
// likewise, one that refuses at once or comes back is not given up.
func TestEnqueueGivesUp(t *testing.T) {
	slow := &valkey.Error{Kind: valkey.KindTimeout, Msg: "h:1: no connection within 5s"}
	refused := &valkey.Error{Kind: valkey.KindRefused, Msg: "h:1: nothing listens there"}
	in := strings.Repeat("x\n", 20*batchJobs)
	for _, c := range []struct {
		name  string
		fails func(batch int) error
		most  int // batches that are sent
		gives bool
	}{
		{"vanishes", func(batch int) error {
			if batch > 2 {
				return slow
			}
			return nil
		}, 5, true},
		{"refuses", func(batch int) error { return refused }, 0, false},
		{"comes-back", func(batch int) error {
			if batch%3 == 0 {
				return nil
			}
			return slow
		}, 0, false},
	} {
		f := newFakeServer()
		f.outcome = func(int, executor.Call) executor.Outcome {
			if err := c.fails(len(f.batches)); err != nil {
				return executor.Outcome{State: executor.Failed, Err: err}
			}
			return executor.Outcome{}
		}
		out, errw, _ := runOn(f, strings.NewReader(in), "enqueue", "q", "--lines", "--format", "{{.status}}")
		if strings.Count(out, "\n") != 20*batchJobs {
			t.Errorf("%s: %d records", c.name, strings.Count(out, "\n"))
		}
		if c.gives != strings.Contains(errw, "given up") || c.gives && (len(f.batches) != c.most || strings.Count(errw, "\n") != 1) || !c.gives && len(f.batches) < 15 {
			t.Errorf("%s: %d batches, stderr %q", c.name, len(f.batches), errw)
		}
	}
}

// TestProgressEnds: what is said after an interrupt does not stand behind the
// rest of a progress line.
func TestProgressEnds(t *testing.T) {
	for _, clear := range []bool{false, true} {
		var b bytes.Buffer
		e := newEnv(strings.NewReader(""), &b, &b, nil)
		now := testClock
		e.now = func() time.Time { return now }
		p := &progress{env: e, start: now}
		for i := range 3 {
			now = now.Add(2 * time.Second)
			p.show(1000 - 400*i)
		}
		p.end(clear)
		line := b.String()[strings.LastIndex(strings.TrimSuffix(b.String(), "\r"), "\r")+1:]
		if want := "\n"; !clear && !strings.HasSuffix(line, want) {
			t.Errorf("ended: %q", line)
		}
		if clear && strings.Trim(line, " ") != "\r" {
			t.Errorf("cleared: %q", line)
		}
		if want := fmt.Sprintf("\r%d jobs, %.0f a second", 1000, 500.0); !strings.HasPrefix(b.String(), want) {
			t.Errorf("%q, want it to begin %q", b.String(), want)
		}
	}
	var none *progress
	none.end(true)
}
