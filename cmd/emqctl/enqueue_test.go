package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/valkey"
)

// fakeServer is a store that keeps ids, and fails as it is told.
type fakeServer struct {
	mu      sync.Mutex     // held by Run
	rows    map[string]int // how often each was written
	calls   int            // that reached it
	batches [][]executor.Call

	fence   valkey.Fence
	native  bool
	taken   int // the next so many ids exist already
	claims  int
	closed  bool
	offline error // it cannot be reached at all

	// outcome is asked about the nth call; a zero State lets it run.
	outcome func(n int, call executor.Call) executor.Outcome
	delay   time.Duration // of a batch, until two were there at a time

	running, most atomic.Int32 // batches at a time
}

func (f *fakeServer) Run(ctx context.Context, calls []executor.Call) []executor.Outcome {
	if now := f.running.Add(1); now > f.most.Load() {
		f.most.Store(now)
	}
	defer f.running.Add(-1)
	for end := time.Now().Add(f.delay); f.most.Load() < 2 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, calls)
	outcomes := make([]executor.Outcome, len(calls))
	for i, c := range calls {
		f.calls++
		var o executor.Outcome
		if f.outcome != nil {
			o = f.outcome(f.calls, c)
		}
		if o.State == "" || o.State == executor.Unknown && f.calls%2 == 0 {
			// Half of the calls whose reply is lost have run.
			reply := f.row(c)
			if o.State == "" {
				o = executor.Outcome{State: executor.Replied, Reply: reply}
			}
		}
		outcomes[i] = o
	}
	return outcomes
}

func (f *fakeServer) row(c executor.Call) int64 {
	if f.taken > 0 {
		f.taken--
		return 0
	}
	if f.rows[c.Keys[0]] > 0 {
		return 0
	}
	f.rows[c.Keys[0]]++
	return 1
}

func (f *fakeServer) Engine() string { return "fake 1.0" }
func (f *fakeServer) Fence(context.Context) (valkey.Fence, error) {
	return f.fence, nil
}

func (f *fakeServer) ClaimFence(_ context.Context, version string) (valkey.Fence, error) {
	f.claims++
	if f.fence.State == valkey.FenceAbsent {
		f.fence = valkey.Fence{State: valkey.FencePresent, Value: version}
	}
	return f.fence, nil
}

func (f *fakeServer) HasCommand(context.Context, string) (bool, error) { return f.native, nil }
func (f *fakeServer) Close()                                           { f.closed = true }

func newFakeServer() *fakeServer {
	return &fakeServer{rows: map[string]int{}, fence: valkey.Fence{State: valkey.FenceAbsent}}
}

// runOn runs the program with a store in the place of a server.
func runOn(f *fakeServer, in io.Reader, args ...string) (out, errw string, code int) {
	var outBuf, errBuf bytes.Buffer
	e := newEnv(in, &outBuf, &errBuf, nil)
	e.now = func() time.Time { return testClock }
	e.random = func(int) int { return 7 }
	e.open = func(context.Context) (store, error) {
		if f.offline != nil {
			return nil, f.offline
		}
		return f, nil
	}
	code = e.run(args)
	return outBuf.String(), errBuf.String(), code
}

// records reads NDJSON into contracts, and refuses fields that they do not have.
func records(t *testing.T, out string) []enqueueContract {
	t.Helper()
	var all []enqueueContract
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	for {
		var c enqueueContract
		if err := dec.Decode(&c); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
}

func statuses(all []enqueueContract) string {
	var words []string
	for _, c := range all {
		words = append(words, c.Status)
	}
	return strings.Join(words, " ")
}

var errCut = &valkey.Error{Kind: valkey.KindCut, Msg: "127.0.0.1:6379: the connection ended"}

// TestEnqueueStatus holds every outcome to its status, its host's word, what
// is said of its execution, and the code.
func TestEnqueueStatus(t *testing.T) {
	const id = "JOB0KHTOWnGLuC"
	yes, no := true, false
	for _, c := range []struct {
		name     string
		args     []string
		outcome  executor.Outcome
		status   status
		host     string
		executed *bool
		kind     string
		code     int
	}{
		{"enqueued", nil, executor.Outcome{State: executor.Replied, Reply: int64(1)}, statusEnqueued, "ok", &yes, "", 0},
		{"scheduled", []string{"--in", "1s"}, executor.Outcome{State: executor.Replied, Reply: int64(1)}, statusScheduled, "ok", &yes, "", 0},
		{"lane", []string{"--group", "PRT0KHTOWnGLuC"}, executor.Outcome{State: executor.Replied, Reply: int64(1)}, statusEnqueued, "ok", &yes, "", 0},
		{"duplicate", nil, executor.Outcome{State: executor.Replied, Reply: int64(0)}, statusDuplicate, "duplicate", &yes, "", 0},
		{"refused", nil, executor.Outcome{State: executor.Refused, Text: brandedid.WireRefusal}, statusRefused, "kind", &yes, "kind", 1},
		{"refused-otherwise", nil, executor.Outcome{State: executor.Refused, Text: "EMQNEW of a later wire"}, statusRefused, "", &yes, "new", 1},
		{"failed", nil, executor.Outcome{State: executor.Failed, Err: errCut}, statusFailed, "", &no, "cut", 2},
		{"unknown", nil, executor.Outcome{State: executor.Unknown, Err: errCut}, statusUnknown, "", nil, "cut", 2},
		{"another-error", nil, executor.Outcome{State: executor.Unknown, Err: errors.New("odd")}, statusUnknown, "", nil, "failed", 2},
		{"another-reply", nil, executor.Outcome{State: executor.Replied, Reply: "OK"}, statusUnknown, "", &yes, "reply", 2},
		{"no-reply-known", nil, executor.Outcome{State: executor.Replied, Reply: nil}, statusUnknown, "", &yes, "reply", 2},
	} {
		for _, mode := range []string{"text", "json", "tsv"} {
			f := newFakeServer()
			f.outcome = func(int, executor.Call) executor.Outcome { return c.outcome }
			out, errw, code := runOn(f, strings.NewReader(""), append([]string{"enqueue", "quotes", "x", "--id", id, "-o", mode}, c.args...)...)
			if code != c.code || errw != "" || !f.closed {
				t.Errorf("%s -o %s: code %d, want %d; stderr %q, closed %v", c.name, mode, code, c.code, errw, f.closed)
			}
			if mode != "json" {
				if !strings.Contains(out, string(c.status)) {
					t.Errorf("%s -o %s: %q, want it %s", c.name, mode, out, c.status)
				}
				continue
			}
			got := records(t, out)[0]
			host, kind := "", ""
			if got.Host != nil {
				host = *got.Host
			}
			if got.Error != nil {
				kind = got.Error.Kind
			}
			if got.Status != string(c.status) || host != c.host || kind != c.kind || !cmp.Equal(got.Executed, c.executed) || got.Store != nil || got.Observed != nil || *got.Engine != "fake 1.0" {
				t.Errorf("%s: %s", c.name, out)
			}
		}
	}
}

// TestEnqueueBulkCut loads jobs through a server that cuts, refuses and fails
// in the middle: every line has its record, in order, no row is written twice,
// and the same input with ids completes it.
func TestEnqueueBulkCut(t *testing.T) {
	const n = 9000
	m, err := brandedid.NewMinter(func() time.Time { return testClock }, 1)
	if err != nil {
		t.Fatal(err)
	}
	var in strings.Builder
	ids := make([]string, n)
	for i := range ids {
		id, err := m.Mint("JOB")
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = id.String()
		fmt.Fprintf(&in, "{\"id\":%q,\"payload\":\"p%d\"}\n", ids[i], i)
		if i%1000 == 500 {
			in.WriteString("no job\n")
		}
	}
	f := newFakeServer()
	f.delay = time.Millisecond
	f.outcome = func(n int, c executor.Call) executor.Outcome {
		switch {
		case n > 2500 && n <= 4000: // cut after it was sent
			return executor.Outcome{State: executor.Unknown, Err: errCut}
		case n > 4000 && n <= 5500: // nobody listens any more
			return executor.Outcome{State: executor.Failed, Err: errCut}
		case n%997 == 0:
			return executor.Outcome{State: executor.Refused, Text: brandedid.WireRefusal}
		}
		return executor.Outcome{}
	}
	out, errw, code := runOn(f, strings.NewReader(in.String()), "enqueue", "quotes", "--ndjson", "-o", "json")
	if code != codeFailed || errw != "" {
		t.Fatalf("code %d, stderr %q", code, errw)
	}
	count := map[string]int{}
	check := func(got []enqueueContract) {
		t.Helper()
		if len(got) != n+9 {
			t.Fatalf("%d records, want %d", len(got), n+9)
		}
		i := 0
		for _, c := range got {
			if c.Error != nil && c.Error.Kind == "json" {
				count["json"]++
				continue
			}
			if *c.ID != ids[i] {
				t.Fatalf("record %d is of %s, want %s", i, *c.ID, ids[i])
			}
			written := f.rows["emq:{quotes}:job:"+ids[i]]
			if c.Status == "enqueued" && written != 1 || c.Status == "failed" && written != 0 || c.Status == "refused" && written != 0 || written > 1 {
				t.Fatalf("%s is %s, and its row was written %d times", ids[i], c.Status, written)
			}
			count[c.Status]++
			i++
		}
	}
	check(records(t, out))
	if count["unknown"] != 1500 || count["failed"] != 1500 || count["json"] != 9 || count["refused"] < 5 || count["enqueued"]+count["refused"] != n-3000 {
		t.Errorf("%v", count)
	}
	for _, b := range f.batches {
		if len(b) >= batchJobs+chunkJobs {
			t.Errorf("a batch has %d calls, want at most %d", len(b), batchJobs+chunkJobs)
		}
	}

	f.outcome = nil
	clear(count)
	out, _, code = runOn(f, strings.NewReader(in.String()), "enqueue", "quotes", "--ndjson", "-o", "json")
	check(records(t, out))
	if code != codeNo || count["enqueued"]+count["duplicate"] != n || len(f.rows) != n {
		t.Errorf("again: code %d, %v, %d rows", code, count, len(f.rows))
	}
}

// TestEnqueueCollision: an id that emqctl minted and that exists is never a
// success.
func TestEnqueueCollision(t *testing.T) {
	f := newFakeServer()
	f.taken = 5
	out, _, code := runOn(f, strings.NewReader("a\nb\nc\n"), "enqueue", "quotes", "--lines", "-o", "json")
	got := records(t, out)
	if code != 0 || statuses(got) != "enqueued enqueued enqueued" || len(f.rows) != 3 || f.calls != 8 {
		t.Errorf("code %d, %d calls, %d rows: %s", code, f.calls, len(f.rows), out)
	}
	for i, payload := range []string{"a", "b", "c"} {
		if *got[i].Argv[1].Text != payload || *got[i].Argv[0].Text != *got[i].ID || got[i].Keys[0] != "emq:{quotes}:job:"+*got[i].ID {
			t.Errorf("record %d: %+v", i, got[i])
		}
	}

	f = newFakeServer()
	f.taken = 100
	out, _, code = runOn(f, strings.NewReader(""), "enqueue", "quotes", "a", "-o", "json")
	got = records(t, out)
	if code != codeFailed || statuses(got) != "failed" || got[0].Error.Kind != "collision" || f.calls != maxMints {
		t.Errorf("code %d, %d calls: %s", code, f.calls, out)
	}
}

// TestEnqueueFence: a fence that is not the one wanted stops every job before
// it is sent.
func TestEnqueueFence(t *testing.T) {
	const v = "echomq:4.0.0"
	present := func(value string) valkey.Fence { return valkey.Fence{State: valkey.FencePresent, Value: value} }
	unreadable := valkey.Fence{State: valkey.FenceUnreadable, Reason: &valkey.Error{Msg: "NOPERM"}}
	for _, c := range []struct {
		name   string
		fence  valkey.Fence
		args   []string
		status string // of the fence
		code   int
		calls  int
		claims int
	}{
		{"match", present(v), []string{"--fence", v}, "match", 0, 1, 0},
		{"differs", present("echomq:3.0.0"), []string{"--fence", v}, "differs", 1, 0, 0},
		{"differs-claim", present("echomq:3.0.0"), []string{"--fence", v, "--claim-fence"}, "differs", 1, 0, 0},
		{"absent", valkey.Fence{State: valkey.FenceAbsent}, []string{"--fence", v}, "absent", 1, 0, 0},
		{"absent-claim", valkey.Fence{State: valkey.FenceAbsent}, []string{"--fence", v, "--claim-fence"}, "match", 0, 1, 1},
		{"unreadable", unreadable, []string{"--fence", v}, "unreadable", 0, 1, 0},
		{"reported", present(v), nil, "present", 0, 1, 0},
		{"absent-reported", valkey.Fence{State: valkey.FenceAbsent}, nil, "absent", 0, 1, 0},
	} {
		f := newFakeServer()
		f.fence = c.fence
		out, _, code := runOn(f, strings.NewReader(""), append([]string{"enqueue", "quotes", "x", "-o", "json"}, c.args...)...)
		got := records(t, out)[0]
		if code != c.code || f.calls != c.calls || f.claims != c.claims || got.Fence.Status != c.status {
			t.Errorf("%s: code %d, %d calls, %d claims: %s", c.name, code, f.calls, f.claims, out)
		}
	}
}

// TestEnqueueVia: auto asks the server.
func TestEnqueueVia(t *testing.T) {
	for _, c := range []struct {
		args   []string
		native bool
		want   string
	}{
		{[]string{"--via", "auto"}, true, "native"},
		{[]string{"--via", "auto"}, false, "script"},
		{[]string{"--via", "auto", "--in", "1s"}, true, "script"},
		{[]string{"--via", "native"}, false, "native"},
		{nil, true, "script"},
	} {
		f := newFakeServer()
		f.native = c.native
		out, _, _ := runOn(f, strings.NewReader(""), append([]string{"enqueue", "quotes", "x", "-o", "json"}, c.args...)...)
		got := records(t, out)[0]
		if got.Via != c.want || (got.SHA1 == nil) != (c.want == "native") || f.batches[0][0].Native != (c.want == "native") {
			t.Errorf("%q, native %v: %s", c.args, c.native, out)
		}
	}
}

// TestEnqueueOffline gives every job its record also when there is no server.
func TestEnqueueOffline(t *testing.T) {
	f := newFakeServer()
	f.offline = &valkey.Error{Kind: valkey.KindRefused, Msg: "127.0.0.1:1: nothing listens", Hint: "start it"}
	out, errw, code := runOn(f, strings.NewReader(""), "enqueue", "quotes", "a", "b", "-o", "json")
	got := records(t, out)
	if code != codeFailed || errw != "" || statuses(got) != "failed failed" || got[0].Error.Kind != "refused" || *got[0].Error.Hint != "start it" || got[0].Engine != nil {
		t.Errorf("code %d, stderr %q: %s", code, errw, out)
	}
	// What the host refuses needs no server.
	out, _, code = runOn(f, strings.NewReader(""), "enqueue", "quotes", "a", "--id", "JOB-42", "-o", "json")
	if code != codeNo || statuses(records(t, out)) != "refused" {
		t.Errorf("code %d: %s", code, out)
	}
}

// TestEnqueueStreams: a job is sent and answered while the input pauses.
func TestEnqueueStreams(t *testing.T) {
	r, w := io.Pipe()
	answers, answered := io.Pipe()
	f := newFakeServer()
	e := newEnv(r, answered, io.Discard, nil)
	e.open = func(context.Context) (store, error) { return f, nil }
	done := make(chan int)
	go func() { done <- e.run([]string{"enqueue", "quotes", "--lines", "-o", "tsv"}) }()
	for i := range 3 {
		fmt.Fprintf(w, "payload %d\n", i)
		b := make([]byte, 4096)
		n, err := answers.Read(b)
		if err != nil || !strings.HasPrefix(string(b[:n]), "enqueued\tquotes\tJOB") {
			t.Fatalf("%q, %v", b[:n], err)
		}
	}
	w.Close()
	if code := <-done; code != 0 {
		t.Errorf("code %d", code)
	}
}

// TestEnqueueRecords holds what is written by hand to what encoding/json reads
// from it: the same fields, the same values.
func TestEnqueueRecords(t *testing.T) {
	for _, args := range [][]string{
		{"quotes", "x"},
		{"quotes", "\x00\xff\"\\\u2028"},
		{"q\xff", "x", "--group", "\xfe", "--no-host-gate"},
		{"quotes", "x", "--id", "\xfe", "--no-host-gate", "--fence", "\xfd", "--via", "native"},
		{"quotes", "x", "--id", "\xfe"},
		{"a}b", "x"},
		{"quotes", "x", "--group", "PRT0KHTOWnGLuC"},
		{"quotes", "x", "--in", "1m"},
	} {
		out, _, _ := runAt(testClock, append([]string{"enqueue", "-o", "json", "--rehearse"}, args...), strings.NewReader(""), nil)
		got := records(t, out)
		if len(got) != 1 {
			t.Fatalf("%q: %d records", args, len(got))
		}
		var want, have any
		again, _ := json.Marshal(got[0])
		if err := errors.Join(json.Unmarshal([]byte(out), &want), json.Unmarshal(again, &have)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%q (-written +read):\n%s", args, diff)
		}
	}
}

// TestParseJob reads what may stand in a line of --ndjson, to the byte.
func TestParseJob(t *testing.T) {
	for _, c := range []struct {
		line, payload string
		off           int // of the error, or -1
	}{
		{`{"payload":"a\u0000\n\"\\\/\b\f\r\t"}`, "a\x00\n\"\\/\b\f\r\t", -1},
		{`{"payload":"\ud83d\ude00é"}`, "😀é", -1},
		{` { "payload" : [1, {"a":"]}"} , 2.50 ] , "id" : "x" } `, `[1, {"a":"]}"} , 2.50 ]`, -1},
		{`{"payload":1e400}`, "1e400", -1},
		{`{"payload":-0}`, "-0", -1},
		{`{"payload":true}`, "true", -1},
		{`{"payload":null}`, "null", -1},
		{`{"payload":"\\u0041\u0041"}`, `\u0041A`, -1},
		{`{"pa\u0079load":"x"}`, "x", -1},
		{`{"payload_base64":"AP8="}`, "\x00\xff", -1},
		{`{"payload_base64":""}`, "", -1},
		{`{"payload":"\ud83d"}`, "", 12},
		{`{"payload":"a\ude00\ud83d"}`, "", 13},
		{`{"payload":"\ud83d\u0041"}`, "", 12},
		{"{\"payload\":\"\xff\"}", "", 12},
		{"{\"payload\":\"\ufffd\xff\"}", "", 15},
		{`{"payload":"x"`, "", 14},
		{`{"payload":"x"}}`, "", 15},
		{`{"payload":"x","payload":"y"}`, "", 15},
		{`{"payload_base64":"A"}`, "", 19},
		{`{"payload_base64":"AA"}`, "", 19},
		{`{"id":null,"payload":"x"}`, "", 6},
		{`{"queue":["q"],"payload":"x"}`, "", 9},
		{`{"extra":1,"payload":"x"}`, "", 1},
		{`"x"`, "", 0},
		{`  `, "", 2},
		{"\ufeff{\"payload\":1}", "", 0},
		{`{}`, "", 2},
	} {
		f, err := parseJob(c.line)
		switch {
		case c.off < 0 && (err != nil || f.payload != c.payload):
			t.Errorf("%s: %q, %+v, want %q", c.line, f.payload, err, c.payload)
		case c.off >= 0 && (err == nil || err.off != c.off):
			t.Errorf("%s: %q, %+v, want an error at %d", c.line, f.payload, err, c.off)
		}
	}
}

func FuzzParseJob(f *testing.F) {
	f.Add(`{"id":"a","queue":"b","payload":"\ud83d\ude00"}`)
	f.Add(`{"payload":[1,{"a":"]"}]}`)
	f.Fuzz(func(t *testing.T, line string) {
		got, err := parseJob(line)
		if err != nil {
			if err.off < 0 || err.off > len(line) || err.msg == "" {
				t.Errorf("%q: offset %d of %d", line, err.off, len(line))
			}
			return
		}
		// encoding/json agrees wherever it is exact.
		var want struct {
			ID      *string         `json:"id"`
			Queue   *string         `json:"queue"`
			Payload json.RawMessage `json:"payload"`
			Base64  []byte          `json:"payload_base64"`
		}
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		payload := string(want.Payload)
		if want.Payload == nil {
			payload = string(want.Base64)
		} else if payload[0] == '"' {
			json.Unmarshal(want.Payload, &payload)
		}
		if got.payload != payload || !cmp.Equal(got.id, want.ID) || !cmp.Equal(got.queue, want.Queue) {
			t.Errorf("%q: %q, encoding/json reads %q", line, got.payload, payload)
		}
	})
}
