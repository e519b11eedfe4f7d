package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echomq/emqctl/internal/executor"
)

// TestTwoFly: two batches are with a server at a time, but not where they have
// an id in common, and not while there is trouble.
func TestTwoFly(t *testing.T) {
	const n = 5 * batchJobs
	text := func(number func(i int) int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+"\n", number(i))
		}
		return b.String()
	}
	trouble := func(int, executor.Call) executor.Outcome {
		return executor.Outcome{State: executor.Failed, Err: errCut}
	}
	for _, c := range []struct {
		name    string
		number  func(i int) int // of the ith id
		outcome func(int, executor.Call) executor.Outcome
		want    int
		status  string
	}{
		{"ascending", func(i int) int { return i }, nil, 2, "enqueued"},
		{"descending", func(i int) int { return n - i }, nil, 2, "enqueued"},
		{"mixed", func(i int) int { return i * 7919 % n }, nil, 2, "enqueued"},
		{"repeated", func(i int) int { return i % (batchJobs / 2) }, nil, 1, "duplicate"},
		{"trouble", func(i int) int { return i }, trouble, 1, "failed"},
	} {
		f := newFakeServer()
		f.outcome, f.delay = c.outcome, 200*time.Millisecond
		in := text(c.number, `{"id":"JOB%011d","payload":"x"}`)
		out, _, _ := runOn(f, strings.NewReader(in), "enqueue", "q", "--ndjson", "--format", "{{.id}} {{.status}}")
		want := text(c.number, "JOB%011d "+c.status)
		if c.status == "duplicate" { // of the first there are none
			first := len(want) / n * batchJobs / 2
			want = strings.ReplaceAll(want[:first], "duplicate", "enqueued") + want[first:]
		}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if got := int(f.most.Load()); got != c.want {
			t.Errorf("%s: %d batches at a time, want %d", c.name, got, c.want)
		}
	}
}
