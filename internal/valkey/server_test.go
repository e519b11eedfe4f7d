package valkey_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/valkey"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// do sends a command that has to succeed.
func do(t *testing.T, c valkeytest.Client, command string) valkeytest.Result {
	t.Helper()
	r := valkeytest.Do(c, strings.Fields(command)...)
	if err := r.NonRedisError(); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	if err := r.Error(); err != nil && err.Error() != "redis nil message" {
		t.Fatalf("%s: %v", command, err)
	}
	return r
}

// rights are those that one verb and the connection need.
const rights = "~emq:{q}:* %R~{emq}:version resetchannels +evalsha +script|load +exists +hset +zadd +get"

// TestLeastRights runs as a user who may do what is needed and nothing else,
// and shows everything that was sent.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	s := valkeytest.Start(t)
	raw := s.Client()
	do(t, raw, "ACL SETUSER emq reset on >pw "+rights)
	m := s.Monitor()
	c := open(t, valkey.Options{URL: s.Addr, User: "emq", Password: "pw", DB: -1})
	if got := c.Run(context.Background(), []executor.Call{enqueueCall(verb(t, "enqueue"), "q", jobID(1), "x")}); got[0] != (executor.Outcome{State: executor.Replied, Reply: int64(1)}) {
		t.Errorf("Run: %+v", got[0])
	}
	if f, err := c.Fence(context.Background()); err != nil || f.State != valkey.FenceAbsent {
		t.Errorf("Fence = %+v, %v", f, err)
	}
	c.Close()
	time.Sleep(20 * time.Millisecond) // for what a client may send when it closes
	do(t, raw, "PING end-of-test")
	lines, err := m.Until("end-of-test")
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	for _, line := range lines {
		_, command, _ := strings.Cut(line, "] ")
		if strings.Contains(line, " lua] ") {
			continue
		}
		words := strings.Fields(strings.ToUpper(strings.ReplaceAll(command, `"`, "")))
		if words[0] == "SCRIPT" {
			words[0] += " " + words[1]
		}
		sent = append(sent, words[0])
	}
	if diff := cmp.Diff([]string{"AUTH", "HELLO", "HELLO", "EVALSHA", "SCRIPT LOAD", "EVALSHA", "GET"}, sent); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if log, err := do(t, raw, "ACL LOG").ToArray(); err != nil || len(log) != 0 {
		t.Errorf("ACL LOG has %d entries, %v, want none", len(log), err)
	}
}

// TestServerRefuses brings a server into every state in which it does not run
// a verb, and reads the words for it.
func TestServerRefuses(t *testing.T) {
	t.Parallel()
	s := valkeytest.Start(t)
	raw := s.Client()
	v := verb(t, "enqueue")
	slow, err := scripts.Parse("slow.lua", slowScript)
	if err != nil {
		t.Fatal(err)
	}
	user := func(t *testing.T, rights string) *valkey.Client {
		do(t, raw, "ACL SETUSER emq reset on >pw "+rights)
		return open(t, valkey.Options{URL: s.Addr, User: "emq", Password: "pw", DB: -1})
	}
	for _, c := range []struct {
		name   string
		rights string // of the user, "" for the default one
		given  string // a command before
		after  string
		state  executor.State
		kind   valkey.Kind
		msg    string
		rows   int // emq:{q}:job:... that are there afterwards
	}{
		{"no-evalsha", "~emq:{q}:* +script|load +exists +hset +zadd", "", "", executor.Failed, valkey.KindPermission, "the user may not run EVALSHA", 0},
		{"no-script-load", "~emq:{q}:* +evalsha +exists +hset +zadd", "SCRIPT FLUSH", "", executor.Failed, valkey.KindPermission, "the user may not run SCRIPT LOAD", 0},
		{"no-key", "~emq:{r}:* +evalsha +script|load +exists +hset +zadd", "", "", executor.Failed, valkey.KindPermission, `the user may not touch one of the keys "emq:{q}:job:` + jobID(1) + `", "emq:{q}:pending"`, 0},
		{"no-exists", "~emq:{q}:* +evalsha +script|load +hset +zadd", "", "", executor.Failed, valkey.KindPermission, "the user may not run EXISTS", 0},
		{"no-hset", "~emq:{q}:* +evalsha +script|load +exists +zadd", "", "", executor.Failed, valkey.KindPermission, "the user may not run HSET", 0},
		{"no-zadd", "~emq:{q}:* +evalsha +script|load +exists +hset", "", "", executor.Unknown, valkey.KindPartial, "the user may not run ZADD; the script had begun, and what it had written stays", 1},
		{"row-of-another-type", "", "SET emq:{q}:job:" + jobID(1) + " x", "", executor.Replied, "", "", 1},
		{"set-of-another-type", "", "SET emq:{q}:pending x", "", executor.Unknown, valkey.KindPartial, "WRONGTYPE", 1},
		{"out-of-memory", "", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", executor.Failed, valkey.KindMemory, "the server is out of memory", 0},
		{"replica", "", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", executor.Failed, valkey.KindReadOnly, "the server is a replica, which refuses writes", 0},
		{"too-few-replicas", "", "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", executor.Failed, valkey.KindMisconf, "too few replicas", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			do(t, raw, "FLUSHALL")
			client := open(t, valkey.Options{URL: s.Addr, DB: -1})
			if c.rights != "" {
				client = user(t, c.rights)
			}
			if err := valkeytest.Do(raw, "SCRIPT", "LOAD", v.Source).Error(); err != nil {
				t.Fatal(err)
			}
			if c.given != "" {
				do(t, raw, c.given)
			}
			o := client.Run(context.Background(), []executor.Call{enqueueCall(v, "q", jobID(1), "x")})[0]
			if c.after != "" {
				do(t, raw, c.after)
			}
			if o.State != c.state {
				t.Fatalf("%+v, want %s", o, c.state)
			}
			if c.state != executor.Replied {
				var e *valkey.Error
				if !errors.As(o.Err, &e) || e.Kind != c.kind || !strings.Contains(e.Msg, c.msg) {
					t.Errorf("%v, want %s, %q", o.Err, c.kind, c.msg)
				}
			}
			if n, _ := do(t, raw, "EXISTS emq:{q}:job:"+jobID(1)).AsInt64(); int(n) != c.rows {
				t.Errorf("%d rows, want %d", n, c.rows)
			}
		})
	}

	t.Run("busy", func(t *testing.T) {
		do(t, raw, "FLUSHALL")
		do(t, raw, "CONFIG SET busy-reply-threshold 20")
		c, busy := open(t, valkey.Options{URL: s.Addr, DB: -1}), open(t, valkey.Options{URL: s.Addr, DB: -1})
		done := make(chan executor.Outcome)
		go func() {
			done <- busy.Run(context.Background(), []executor.Call{{Verb: slow, Keys: []string{"emq:{q}:pending"}}})[0]
		}()
		time.Sleep(100 * time.Millisecond)
		o := c.Run(context.Background(), []executor.Call{enqueueCall(v, "q", jobID(1), "x")})[0]
		_, err := valkey.Open(context.Background(), valkey.Options{URL: s.Addr})
		do(t, raw, "SCRIPT KILL")
		var e *valkey.Error
		if o.State != executor.Failed || !errors.As(o.Err, &e) || e.Kind != valkey.KindBusy {
			t.Errorf("%+v, want failed, busy", o)
		}
		if err != nil && !errors.As(err, &e) || e.Kind != valkey.KindBusy {
			t.Errorf("Open = %v, want busy or nothing", err)
		}
		if o := <-done; o.State == executor.Replied || o.State == executor.Refused {
			t.Errorf("the killed script: %+v", o)
		}
	})
}

const slowScript = `-- slow: keeps the server busy.
--
-- host     Jobs  slow/1
--
-- KEYS[1]  pending  zset  emq:{q}:pending  the flat queue
--
-- returns  1  :ok  never

while true do
  redis.call('EXISTS', KEYS[1])
end
`

func TestFence(t *testing.T) {
	t.Parallel()
	s := valkeytest.Start(t)
	raw := s.Client()
	ctx := context.Background()
	c, other := open(t, valkey.Options{URL: s.Addr + "/1", DB: -1}), open(t, valkey.Options{URL: s.Addr, DB: 2})
	if f, err := c.Fence(ctx); err != nil || f.State != valkey.FenceAbsent {
		t.Errorf("Fence = %+v, %v, want absent", f, err)
	}
	if n, _ := do(t, raw, "DBSIZE").AsInt64(); n != 0 {
		t.Errorf("looking has written %d keys", n)
	}
	for _, claim := range []string{"echomq:3.0.0", "echomq:4.0.0"} {
		if f, err := c.ClaimFence(ctx, claim); err != nil || f != (valkey.Fence{State: valkey.FencePresent, Value: "echomq:3.0.0"}) {
			t.Errorf("ClaimFence(%s) = %+v, %v, want the first claim", claim, f, err)
		}
	}
	if f, err := other.Fence(ctx); err != nil || f.State != valkey.FenceAbsent {
		t.Errorf("Fence of another database = %+v, %v, want absent", f, err)
	}
	do(t, raw, "LPUSH {emq}:version x")
	c = open(t, valkey.Options{URL: s.Addr, DB: -1})
	if f, err := c.Fence(ctx); err != nil || f.State != valkey.FenceUnreadable || !strings.Contains(f.Reason.Msg, "WRONGTYPE") {
		t.Errorf("Fence of a list = %+v, %v, want unreadable", f, err)
	}
	if _, err := c.ClaimFence(ctx, "x"); err != nil {
		t.Errorf("ClaimFence over a list: %v", err)
	}
	for rights, want := range map[string]string{
		"~emq:* +get":        `the user may not touch the key "{emq}:version"`,
		"~* +evalsha":        "the user may not run GET",
		"~emq:{q}:* +ping":   "the user may not run GET",
		"%W~{emq}:* +@write": "the user may not run GET",
	} {
		do(t, raw, "ACL SETUSER emq reset on >pw "+rights)
		c := open(t, valkey.Options{URL: s.Addr, User: "emq", Password: "pw", DB: -1})
		f, err := c.Fence(ctx)
		if err != nil || f.State != valkey.FenceUnreadable || f.Reason.Kind != valkey.KindPermission || !strings.HasSuffix(f.Reason.Msg, want) {
			t.Errorf("%s: Fence = %+v, %v, want unreadable: %s", rights, f, err, want)
		}
	}
	s.Kill()
	if f, err := other.Fence(ctx); err == nil {
		t.Errorf("Fence of a dead server = %+v, want an error", f)
	}
}

// TestNative runs the server's own command, in its order of checks.
func TestNative(t *testing.T) {
	t.Parallel()
	module := valkeytest.Module(t, "echomq:3.0.0")
	s := valkeytest.Start(t, module...)
	raw := s.Client()
	ctx := context.Background()
	c, v := open(t, valkey.Options{URL: s.Addr, DB: -1}), verb(t, "enqueue")
	for name, want := range map[string]bool{valkey.NativeEnqueue: true, "EMQ.SCHEDULE": false, "GET": true} {
		if got, err := c.HasCommand(ctx, name); err != nil || got != want {
			t.Errorf("HasCommand(%s) = %t, %v, want %t", name, got, err, want)
		}
	}
	native := func(call executor.Call) executor.Call {
		call.Native = true
		return call
	}
	wrongRow := native(enqueueCall(v, "q", jobID(1), "x"))
	wrongRow.Keys[0] += "x"
	shape := native(enqueueCall(v, "q", jobID(1), "x"))
	shape.Args = shape.Args[:1]
	good, kind := native(enqueueCall(v, "q", jobID(1), "\x00\xff")), native(enqueueCall(v, "q", "USR0KHTOWnGLuC", "x"))
	for _, step := range []struct {
		fence string
		want  []executor.Outcome // of shape, wrongRow, kind, good, good
	}{
		{"", refused("ERR test module: shape", "ERR test module: row", "ERR test module: fence", "ERR test module: fence", "ERR test module: fence")},
		{"echomq:2.0.0", refused("ERR test module: shape", "ERR test module: row", "ERR test module: fence", "ERR test module: fence", "ERR test module: fence")},
		{"echomq:3.0.0", append(refused("ERR test module: shape", "ERR test module: row", "EMQKIND job id must be JOB-namespaced"), executor.Outcome{State: executor.Replied, Reply: int64(1)}, executor.Outcome{State: executor.Replied, Reply: int64(0)})},
	} {
		if step.fence != "" {
			do(t, raw, "SET {emq}:version "+step.fence)
		}
		if diff := cmp.Diff(step.want, c.Run(ctx, []executor.Call{shape, wrongRow, kind, good, good})); diff != "" {
			t.Errorf("fence %q (-want +got):\n%s", step.fence, diff)
		}
	}
	row, err := do(t, raw, "HGETALL "+good.Keys[0]).AsStrMap()
	if diff := cmp.Diff(map[string]string{"state": "pending", "attempts": "0", "payload": "\x00\xff"}, row); err != nil || diff != "" {
		t.Errorf("row: %v\n%s", err, diff)
	}
	// The script takes the wrong row for what it is, another job's.
	wrongRow.Native = false
	if o := c.Run(ctx, []executor.Call{wrongRow})[0]; o.State != executor.Replied {
		t.Errorf("the script with the wrong row: %+v", o)
	}
	// Where there is no such command it did not run.
	plain := open(t, valkey.Options{URL: valkeytest.Start(t).Addr, DB: -1})
	o := plain.Run(ctx, []executor.Call{good})[0]
	if o.State != executor.Failed || !strings.Contains(o.Err.Error(), "unknown command 'EMQ.ENQUEUE'") {
		t.Errorf("without the command: %+v", o)
	}
}

func refused(texts ...string) (outcomes []executor.Outcome) {
	for _, text := range texts {
		outcomes = append(outcomes, executor.Outcome{State: executor.Refused, Text: text})
	}
	return outcomes
}

// startScripted is a server of one connection that answers each request with
// what reply returns.
func startScripted(t *testing.T, reply func(request string) string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			fmt.Fprint(c, reply(string(buf[:n])))
		}
	}()
	return l.Addr().String()
}

// TestDigest is a server, or something before it, that hashes otherwise.
func TestDigest(t *testing.T) {
	t.Parallel()
	addr := startScripted(t, func(request string) string {
		switch {
		case strings.Contains(request, "EVALSHA"):
			return "-NOSCRIPT there is none of that name here\r\n"
		case strings.Contains(request, "SCRIPT"):
			return "$4\r\n1234\r\n"
		}
		return "*0\r\n"
	})
	c, v := open(t, valkey.Options{URL: addr, DB: -1}), verb(t, "enqueue")
	o := c.Run(context.Background(), []executor.Call{enqueueCall(v, "q", jobID(1), "x")})[0]
	want := addr + ": the server's digest of enqueue is 1234, ours " + v.SHA1
	if o.State != executor.Failed || o.Err.Error() != want {
		t.Errorf("%+v, want failed: %s", o, want)
	}
}

// TestFlushedAgain is a server whose script cache is flushed after every load,
// some times: what it answers with NOSCRIPT surely did not run, so it is sent
// again, but not for ever.
func TestFlushedAgain(t *testing.T) {
	t.Parallel()
	v := verb(t, "enqueue")
	for flushes, want := range map[int]executor.State{1: executor.Replied, 3: executor.Replied, 8: executor.Replied, 9: executor.Failed} {
		calls := 0
		addr := startScripted(t, func(request string) string {
			switch {
			case strings.Contains(request, "EVALSHA"):
				if calls++; calls <= flushes {
					return "-NOSCRIPT No matching script.\r\n"
				}
				return ":1\r\n"
			case strings.Contains(request, "SCRIPT"):
				return "$40\r\n" + v.SHA1 + "\r\n"
			}
			return "*0\r\n"
		})
		c := open(t, valkey.Options{URL: addr, DB: -1})
		o := c.Run(context.Background(), []executor.Call{enqueueCall(v, "q", jobID(1), "x")})[0]
		if o.State != want {
			t.Errorf("%d flushes: %+v, want %s", flushes, o, want)
		}
	}
}
