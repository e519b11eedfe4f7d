package trace

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/echomq/emqctl/internal/valkeytest"
)

// monitor collects what a server says of the commands it runs.
type monitor struct {
	conn net.Conn
	r    *bufio.Reader
	n    int
}

func startMonitor(t *testing.T, addr string) *monitor {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprint(conn, "MONITOR\r\n")
	m := &monitor{conn: conn, r: bufio.NewReader(conn)}
	if line, err := m.r.ReadString('\n'); err != nil || line != "+OK\r\n" {
		t.Fatalf("MONITOR: %q, %v", line, err)
	}
	return m
}

// lua runs f and returns the commands that scripts ran meanwhile.
func (m *monitor) lua(t *testing.T, c rueidis.Client, f func()) []Observed {
	t.Helper()
	m.n++
	mark := "end-of-call-" + strconv.Itoa(m.n)
	f()
	valkeytest.Do(c, "ECHO", mark)
	var out []Observed
	for {
		line, err := m.r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, mark) {
			return out
		}
		_, rest, ok := strings.Cut(line, " lua] ")
		if !ok {
			continue
		}
		words := unquoteAll(t, strings.TrimSpace(rest))
		out = append(out, Observed{words[0], words[1:]})
	}
}

func unquoteAll(t *testing.T, s string) []string {
	var out []string
	for s != "" {
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			t.Fatalf("MONITOR line %q: %v", s, err)
		}
		w, err := strconv.Unquote(q)
		if err != nil {
			t.Fatalf("MONITOR word %q: %v", q, err)
		}
		out = append(out, w)
		s = strings.TrimSpace(s[len(q):])
	}
	return out
}

func do(c rueidis.Client, args ...string) (string, error) {
	v, err := c.Do(context.Background(), c.B().Arbitrary(args...).Build()).ToAny()
	return fmt.Sprint(v), err
}

// call is one EVAL of a script, after some commands that set the store up.
type call struct {
	setup []string
	keys  []string
	argv  []string
	fails bool
}

// packed is what cmsgpack.unpack reads as a table of these strings.
func packed(items ...string) string {
	s := string([]byte{byte(0x90 + len(items))})
	for _, i := range items {
		s += string([]byte{byte(0xa0 + len(i))}) + i
	}
	return s
}

// TestRecall runs scripts in the styles of the big queue libraries on a real
// server, and holds their traces to what MONITOR shows: every command is
// predicted, in an order the trace allows, and no key is missing.
func TestRecall(t *testing.T) {
	cases := []struct {
		file  string
		calls []call
	}{
		{"add_job-4.lua", []call{
			{keys: []string{"b:wait", "b:paused", "b:meta", "b:id"}, argv: []string{packed("b:", "", "n"), "data"}},
			{keys: []string{"b:wait", "b:paused", "b:meta", "b:id"}, argv: []string{packed("b:", "j7", "n", "b:p1"), "data"}},
			{keys: []string{"b:wait", "b:paused", "b:meta", "b:id"}, argv: []string{packed("b:", "j7", "n", "b:p1"), "data"}},
			{setup: []string{"HSET b:meta paused 1"}, keys: []string{"b:wait", "b:paused", "b:meta", "b:id"}, argv: []string{packed("b:", "j8", "n"), "data"}},
		}},
		{"fetch_due.lua", []call{
			{keys: []string{"sched"}, argv: []string{"9"}},
			{setup: []string{`ZADD sched 1 {"queue":"low"} 2 {"queue":"high"}`}, keys: []string{"sched"}, argv: []string{"9"}},
		}},
		{"dequeue.lua", []call{
			{keys: []string{"a:p", "a:paused", "a:act", "a:lease"}, argv: []string{"5", "a:t:"}},
			{setup: []string{"LPUSH a:p id1"}, keys: []string{"a:p", "a:paused", "a:act", "a:lease"}, argv: []string{"5", "a:t:"}},
			{setup: []string{"SET a:paused 1"}, keys: []string{"a:p", "a:paused", "a:act", "a:lease"}, argv: []string{"5", "a:t:"}},
		}},
		{"obliterate.lua", []call{
			{setup: []string{"RPUSH x:wait 1 2 3 4 5", "ZADD x:delayed 1 7", "HSET x:1 a b", "SET x:other 1"}, keys: []string{"x"}, argv: []string{"100"}},
			{keys: []string{"x"}, argv: []string{"1"}},
		}},
		{"release_locks.lua", []call{
			{keys: []string{"l1", "l2", "l3"}, argv: []string{"me"}, fails: true},
			{setup: []string{"MSET l1 me l2 me l3 me"}, keys: []string{"l1", "l2", "l3"}, argv: []string{"me"}},
		}},
		{"dispatch.lua", []call{
			{keys: []string{"x"}, argv: []string{"push", "1", "z"}},
			{keys: []string{"x", "other"}, argv: []string{"push", "2", "z", "opt"}},
			{keys: []string{"d"}, argv: []string{"drop", "3", "z", ""}},
			{setup: []string{"SET d named"}, keys: []string{"d"}, argv: []string{"drop", "3", "z", ""}},
			{keys: []string{"x"}, argv: []string{"nosuch", "1"}, fails: true},
		}},
		{"remove_tree.lua", []call{
			{setup: []string{"SADD t:1:children 2 3", "SADD t:2:children 4", "SADD t:4:children 5", "HSET t:3 extra 6"}, keys: []string{"index"}, argv: []string{"t:", "1"}},
		}},
		{"limiter.lua", []call{
			{setup: []string{"XGROUP CREATE s g $ MKSTREAM", "ZADD r:one 1 a"}, keys: []string{"lim", "r:zset", "s"}, argv: []string{"100000000", "1"}},
			{keys: []string{"lim", "r:zset", "s"}, argv: []string{"100000000", "1"}},
		}},
	}
	srv := valkeytest.Start(t)
	c := srv.Client()
	m := startMonitor(t, srv.Addr)
	ran, seen := 0, 0
	for _, tt := range cases {
		t.Run(tt.file, func(t *testing.T) {
			in, err := Include(os.DirFS("testdata"), tt.file)
			if err != nil {
				t.Fatal(err)
			}
			tr, err := Of(Script{Path: tt.file, Text: in.Text, Included: in})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range tr.Notes {
				t.Errorf("not followed: line %d: %s", n.Line, n.Message)
			}
			if _, err := do(c, "FLUSHALL"); err != nil {
				t.Fatal(err)
			}
			met := map[int]bool{}
			for i, call := range tt.calls {
				for _, s := range call.setup {
					if r, err := do(c, strings.Fields(s)...); err != nil {
						t.Fatalf("%s: %v, %v", s, r, err)
					}
				}
				var evalErr error
				observed := m.lua(t, c, func() {
					args := append([]string{"EVAL", in.Text, strconv.Itoa(len(call.keys))}, call.keys...)
					_, evalErr = do(c, append(args, call.argv...)...)
				})
				if failed := evalErr != nil && !rueidis.IsRedisNil(evalErr); failed != call.fails {
					t.Errorf("call %d: error %v, want one: %v", i+1, evalErr, call.fails)
				}
				ran++
				seen += len(observed)
				if err := tr.Allows(observed, call.keys, call.argv); err != nil {
					t.Errorf("call %d: %v\nobserved %v", i+1, err, observed)
				}
				for _, o := range observed {
					if !predicted(tr, o, call.keys, call.argv, met) {
						t.Errorf("call %d: %s: a key is missing from the trace", i+1, o)
					}
				}
			}
			t.Logf("%d of %d steps met", len(met), len(tr.Steps))
		})
	}
	t.Logf("%d calls, %d commands of scripts, all predicted", ran, seen)
}

// predicted reports whether some step stands for the command and its keys.
func predicted(tr *Trace, o Observed, keys, argv []string, met map[int]bool) bool {
	ok := false
	for i := range tr.Steps {
		if missed, same := tr.Steps[i].Covers(o, keys, argv); same && len(missed) == 0 {
			met[tr.Steps[i].N] = true
			ok = true
		}
	}
	return ok
}

// TestAllowsRefuses shows that the check can fail: a command out of order, a
// key of no step, both arms of a branch, an end too early.
func TestAllowsRefuses(t *testing.T) {
	tr, err := Of(Script{Text: `
redis.call('GET', KEYS[1])
if ARGV[1] == 'a' then redis.call('SET', KEYS[2], 1) else redis.call('DEL', KEYS[2]) end
for i = 1, #ARGV do redis.call('SADD', KEYS[1] .. ':s', ARGV[i]) end
return 1`})
	if err != nil {
		t.Fatal(err)
	}
	get, set, del := Observed{"get", []string{"k"}}, Observed{"set", []string{"l", "1"}}, Observed{"DEL", []string{"l"}}
	sadd := Observed{"sadd", []string{"k:s", "x"}}
	for _, tt := range []struct {
		name string
		cmds []Observed
		want string
	}{
		{"one-arm", []Observed{get, set}, ""},
		{"other-arm-and-loop", []Observed{get, del, sadd, sadd, sadd}, ""},
		{"both-arms", []Observed{get, set, del}, `command 3, "DEL l", is not predicted there: want SADD of line 4`},
		{"order", []Observed{set, get}, `command 1, "set l 1", is not predicted there: want GET of line 2`},
		{"early-end", []Observed{get}, "after command 1 the script cannot end: want DEL of line 3, SET of line 3"},
		{"other-key", []Observed{{"get", []string{"z"}}}, `command 1, "get z", is not predicted there: want line 2 has no key for ["z"]`},
		{"past-the-end", []Observed{get, del, sadd, get}, `command 4, "get k", is not predicted there: want SADD of line 4`},
	} {
		got := ""
		if err := tr.Allows(tt.cmds, []string{"k", "l"}, []string{"a"}); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if err := tr.AllowsPrefix([]Observed{get}, []string{"k", "l"}, nil); err != nil {
		t.Errorf("AllowsPrefix: %v", err)
	}
}
