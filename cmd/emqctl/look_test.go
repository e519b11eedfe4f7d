package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/slot"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// must sends commands, each a line of words with '\x00' spelled %0, %e for an
// escape and %ff for a byte that is not UTF-8.
func must(t *testing.T, c valkeytest.Client, lines ...string) {
	t.Helper()
	for _, line := range lines {
		args := strings.Fields(line)
		for i := range args {
			args[i] = strings.NewReplacer("%0", "\x00", "%e", "\x1b[2J", "%ff", "\xff").Replace(args[i])
		}
		if err := valkeytest.Do(c, args...).Error(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

// everyType is a keyspace with a key of every type, as verbs and hosts leave
// them, and keys that they do not.
var everyType = []string{
	"HSET emq:{q}:job:JOB0KHTOWnGLuC state active attempts 3 payload {%e%0%ff} group PRT0KHTOWnGLuC last_error boom progress 50 stalled 1 extra x",
	"HSET emq:{q}:job:JOB0KHTOWnGLuD state awaiting_children attempts 0 payload y parent JOB0KHTOWnGLuC parent_queue up parent_policy id",
	"HSET emq:{q}:job:JOB0KHTOWnGLuE state pending",
	"RPUSH emq:{q}:job:JOB0KHTOWnGLuC:logs one two three four",
	"SET emq:{q}:job:JOB0KHTOWnGLuC:lock 3 PX 600000",
	"SET emq:{q}:job:JOB0KHTOWnGLuD:dependencies 2",
	"HSET emq:{q}:job:JOB0KHTOWnGLuD:processed JOB0KHTOWnGLuE done",
	"ZADD emq:{q}:pending 0 JOB0KHTOWnGLu1 0 JOB0KHTOWnGLu2 0 JOB0KHTOWnGLu3 0 JOB0KHTOWnGLu4",
	"ZADD emq:{q}:active 1769526727641 JOB0KHTOWnGLuC",
	"ZADD emq:{q}:schedule 1769526727642 JOB0KHTOWnGLuA",
	"SET emq:{q}:dead wrong",
	"HSET emq:{q}:meta paused 1",
	"ZADD emq:{q}:g:PRT0KHTOWnGLuC:pending 0 JOB0KHTOWnGLuC",
	"RPUSH emq:{q}:ring PRT0KHTOWnGLuC",
	"SADD emq:{q}:paused PRT0KHTOWnGLuC PRT0KHTOWnGLuB",
	"HSET emq:{q}:glimit PRT0KHTOWnGLuC 3",
	"HSET emq:{q}:gactive PRT0KHTOWnGLuC 1",
	"SET emq:{q}:de:a JOB0KHTOWnGLuC",
	"ZADD emq:{q}:repeat 1769526727643 nightly",
	"RPUSH emq:{q}:flow:outbox up%0JOB0KHTOWnGLuC%0JOB0KHTOWnGLuD%0ok %0fail%0up%0JOB0KHTOWnGLuC%0JOB0KHTOWnGLuD%0fp%0boom broken",
	"XADD emq:{q}:stream:s 1704117200000-1620567 id EVT000xY9Wvvcd a b",
	"SET {emq}:version echomq:3.0.0",
	"SET emq:{q}:wait stray",
}

// liveRun runs the program at the real time, reads its records, and holds them
// to their schema.
func liveRun(t *testing.T, environ []string, args ...string) (records []map[string]any, out, errw string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(append(args, "-o", "json"), strings.NewReader(""), &o, &e, environ)
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/" + args[0] + ".json")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(o.String()) {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		records = append(records, r)
	}
	return records, o.String(), e.String(), code
}

// at follows a path such as live.first.0.text through a record.
func at(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n >= len(x) {
				return fmt.Sprintf("<no element %s>", name)
			}
			v = x[n]
		default:
			return fmt.Sprintf("<nothing at %s>", name)
		}
	}
	return v
}

func TestDecodeKeyLive(t *testing.T) {
	s := valkeytest.Start(t)
	c := s.Client()
	must(t, c, everyType...)
	for _, test := range []struct {
		key   string
		want  string // path=value, divided by blanks
		texts []string
	}{
		{"emq:{q}:job:JOB0KHTOWnGLuC", "live.exists=true live.type=hash live.size=8 live.ttl_ms=<nil> live.row.state=active live.row.attempts=3 live.row.payload.text=<nil> live.row.payload.text_base64=extbMkoA/30= live.row.payload.bytes=8 live.row.group=PRT0KHTOWnGLuC live.row.stalled=1 live.row.other_fields=1 live.sets.0.set=active live.sets.0.time=2026-01-27T15:12:07.641Z live.sets.1.set=lane live.blind.0.key=emq:{q}:dead live.blind.0.error.kind=server",
			[]string{`payload    {\x1b[2J\x00\xff}`, "in         active  lease deadline 2026-01-27T15:12:07.641Z", "in         lane  score 0", "attempts   3  the fencing token"}},
		{"emq:{q}:job:JOB0KHTOWnGLuD", "live.row.state=awaiting_children live.row.parent=JOB0KHTOWnGLuC live.row.parent_queue=up live.row.parent_policy=id live.row.faults=[]", []string{"in         not known of emq:{q}:dead: it is no set", "its failure policy is id"}},
		{"emq:{q}:job:JOB0KHTOWnGLuE", "live.row.payload=<nil> live.row.faults.0.field=attempts live.row.faults.1.field=payload", []string{"fault      payload: the row has no payload"}},
		{"emq:{q}:job:JOB0KHTOWnGLuF", "live.exists=false live.type=<nil> live.row=<nil> live.size=<nil>", []string{"live       no such key"}},
		{"emq:{q}:job:JOB0KHTOWnGLuC:logs", "live.size=4 live.first.0.text=one live.last.0.text=four", []string{"list, 4 elements", "last       four"}},
		{"emq:{q}:job:JOB0KHTOWnGLuD:dependencies", "live.type=string live.value.text=2", []string{"value      2"}},
		{"emq:{q}:job:JOB0KHTOWnGLuD:processed", "live.first.0.field=JOB0KHTOWnGLuE live.first.0.text=done live.first.0.id.namespace=JOB", []string{"JOB0KHTOWnGLuE = done"}},
		{"emq:{q}:pending", "live.size=4 live.first.0.score=0 live.first.2.text=JOB0KHTOWnGLu3 live.last.0.text=JOB0KHTOWnGLu4 live.last.0.id.ok=true", []string{"last       JOB0KHTOWnGLu4  score 0  minted"}},
		{"emq:{q}:active", "live.first.0.meaning=lease+deadline live.first.0.time=2026-01-27T15:12:07.641Z", []string{"lease deadline 2026"}},
		{"emq:{q}:schedule", "live.first.0.meaning=due live.first.0.score=1769526727642", []string{"due 2026"}},
		{"emq:{q}:dead", "live.type=string notes.0.kind=store-type live.value.text=wrong", []string{"note       store-type at byte 0: the server holds a string, want a zset"}},
		{"emq:{q}:meta", "live.first.0.field=paused live.sample=true", []string{"some       paused = 1"}},
		{"emq:{q}:g:PRT0KHTOWnGLuC:pending", "live.lane.paused=true live.lane.limit=3 live.lane.active=1 live.lane.weight=<nil> live.lane.in_ring=true live.size=1", []string{"lane       paused, 1 active, limit 3, weight 1, in the ring"}},
		{"emq:{q}:g:PRT0KHTOWnGLuB:pending", "live.exists=false live.lane.paused=true live.lane.in_ring=false", []string{"no such key", "lane       paused, 0 active"}},
		{"emq:{q}:paused", "live.first.0.text=PRT0KHTOWnGLuB live.first.1.text=PRT0KHTOWnGLuC", []string{"set, 2 members"}},
		{"emq:{q}:repeat", "live.first.0.meaning=next+run", []string{"nightly  next run 2026"}},
		{"emq:{q}:flow:outbox", "live.first.0.outcome.kind=completion live.first.0.outcome.parent_queue=up live.first.0.outcome.result.text=ok live.first.1.outcome.kind=failure live.first.1.outcome.policy=fp live.first.2.outcome.kind=<nil>", []string{"completion of JOB0KHTOWnGLuD for JOB0KHTOWnGLuC in up: ok", "failure of", "the entry has 1 parts"}},
		{"emq:{q}:stream:s", "live.size=1 live.first.0.text=1704117200000-1620567 live.first.0.id.id=EVT000xY9Wvvcd live.last=[]", []string{"stream, 1 record"}},
		{"emq:{q}:wait", "live.value.text=stray notes.0.kind=unregistered-type", nil},
		{"{emq}:version", "live.value.text=echomq:3.0.0", nil},
	} {
		records, out, errw, code := liveRun(t, nil, "decode-key", "--url", s.Addr, test.key)
		if code != 0 || errw != "" || len(records) != 1 {
			t.Fatalf("%s: code %d, %s, stderr %q", test.key, code, out, errw)
		}
		for _, want := range strings.Fields(test.want) {
			path, value, _ := strings.Cut(want, "=")
			got := at(records[0], path)
			if f, ok := got.(float64); ok {
				got = strconv.FormatFloat(f, 'f', -1, 64)
			}
			if fmt.Sprint(got) != strings.ReplaceAll(value, "+", " ") {
				t.Errorf("%s: %s is %v, want %s", test.key, path, got, value)
			}
		}
		readBack[keyContract](t, rawRecord(out))
		var text bytes.Buffer
		run([]string{"decode-key", "--url", s.Addr, test.key}, nil, &text, io.Discard, nil)
		for _, want := range test.texts {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", test.key, want, text.String())
			}
		}
		if i := strings.IndexFunc(text.String()+out, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 }); i >= 0 {
			t.Errorf("%s: an unprintable byte in %q", test.key, text.String()+out)
		}
	}

	// A job that no set holds, once all of them can be asked; and a user who may
	// not ask one of them is told which.
	must(t, c, "DEL emq:{q}:dead", "ACL SETUSER part on >pw %R~emq:{q}:job:* %R~emq:{q}:pending +@all -@write")
	var text bytes.Buffer
	if run([]string{"decode-key", "--url", s.Addr, "emq:{q}:job:JOB0KHTOWnGLuD"}, nil, &text, io.Discard, nil); !strings.Contains(text.String(), "in         no set  as a parent that awaits its children") {
		t.Errorf("no word of no set in\n%s", text.String())
	}
	if records, out, _, code := liveRun(t, []string{"EMQCTL_PASSWORD=pw"}, "decode-key", "--url", s.Addr, "--user", "part", "emq:{q}:job:JOB0KHTOWnGLuD"); code != codeFailed || at(records[0], "live.row.state") != "awaiting_children" || at(records[0], "live.row.payload.text") != "y" || at(records[0], "live.sets") != nil || !strings.Contains(out, "the user may not touch the key \\\"emq:{q}:active\\\"") {
		t.Errorf("code %d, %s", code, out)
	}
	if records, out, _, code := liveRun(t, []string{"EMQCTL_PASSWORD=pw"}, "decode-key", "--url", s.Addr, "--user", "part", "emq:{q}:job:JOB0KHTOWnGLuC"); code != codeFailed || at(records[0], "live.row.last_error.text") != "boom" {
		t.Errorf("code %d, %s", code, out)
	}
	// What only tells something whole is not told in part.
	must(t, c, "SET emq:{q}:dead wrong", "ACL SETUSER less on >pw ~* +@all -@write -hstrlen -lpos")
	for _, key := range []string{"emq:{q}:job:JOB0KHTOWnGLuC", "emq:{q}:g:PRT0KHTOWnGLuC:pending"} {
		if records, out, _, code := liveRun(t, []string{"EMQCTL_PASSWORD=pw"}, "decode-key", "--url", s.Addr, "--user", "less", key); code != codeFailed || at(records[0], "live.row") != nil || at(records[0], "live.lane") != nil || at(records[0], "live.exists") != true {
			t.Errorf("code %d, %s", code, out)
		}
	}

	// Cut at --payload, with the whole length; nothing of it for 0.
	for n, want := range map[string]string{"4": `"payload":{"text":"abcd","bytes":10,"cut":true}`, "0": `"payload":{"text":"","bytes":10,"cut":true}`, "10": `"payload":{"text":"abcdefghij","bytes":10,"cut":false}`} {
		must(t, c, "HSET emq:{q}:job:JOB0KHTOWnGLuC payload abcdefghij")
		if _, out, _, code := liveRun(t, nil, "decode-key", "--url", s.Addr, "--payload", n, "emq:{q}:job:JOB0KHTOWnGLuC"); code != 0 || !strings.Contains(out, want) {
			t.Errorf("--payload %s: code %d, want %s in\n%s", n, code, want, out)
		}
	}
	// The address in the environment does not count; a note counts with --strict.
	if _, out, _, _ := liveRun(t, []string{"EMQCTL_URL=" + s.Addr}, "decode-key", "emq:{q}:pending"); !strings.Contains(out, `"live":null`) {
		t.Errorf("EMQCTL_URL was dialed: %s", out)
	}
	if _, _, _, code := liveRun(t, nil, "decode-key", "--url", s.Addr, "--strict", "emq:{q}:dead"); code != 1 {
		t.Errorf("--strict: code %d, want 1", code)
	}
}

// rawRecord is a record that is there already.
type rawRecord string

func (r rawRecord) verdict() verdict             { return 0 }
func (r rawRecord) appendJSON(dst []byte) []byte { return append(dst, strings.TrimSpace(string(r))...) }
func (r rawRecord) appendText(*page)             {}
func (r rawRecord) contract() any                { return nil }

// TestDecodeKeyServerDies kills the server in the middle of a stream.
func TestDecodeKeyServerDies(t *testing.T) {
	s := valkeytest.Start(t)
	must(t, s.Client(), "ZADD emq:{q}:pending 0 JOB0KHTOWnGLuC")
	in, keys := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan int)
	var errw bytes.Buffer
	go func() {
		done <- run([]string{"decode-key", "--url", s.Addr, "--timeout", "1s", "-o", "json"}, in, out, &errw, nil)
		out.Close()
	}()
	const total = 700
	lines := bufio.NewReader(answers)
	for n := range total {
		if n == 1 {
			s.Kill()
			go func() {
				for i := 1; i < total; i++ {
					fmt.Fprintf(keys, "emq:{q%d}:pending\n", i)
				}
				keys.Close()
			}()
		}
		if n == 0 {
			fmt.Fprintln(keys, "emq:{q}:pending")
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("record %d: %v", n, err)
		}
		queue, live := "q", `"exists":true`
		if n > 0 {
			queue, live = fmt.Sprintf("q%d", n), `"exists":null`
		}
		if !strings.Contains(line, `"queue":"`+queue+`",`) || !strings.Contains(line, live) || (n > 0) != strings.Contains(line, `"error":{"kind":"`) {
			t.Fatalf("record %d: %s", n, line)
		}
	}
	if code := <-done; code != codeFailed {
		t.Errorf("code %d, want 2; stderr %q", code, errw.String())
	}

	// Nobody there from the beginning, and an address that cannot be meant.
	records, _, _, code := liveRun(t, nil, "decode-key", "--url", s.Addr, "emq:{q}:pending", "emq:q")
	if code != codeFailed || len(records) != 2 || at(records[0], "live.error.kind") != "refused" || at(records[1], "ok") != false {
		t.Errorf("code %d, %v", code, records)
	}
	if records, _, errw, code := liveRun(t, nil, "decode-key", "--url", "http://x", "emq:{q}:pending"); code != codeFailed || len(records) != 0 || !strings.Contains(errw, `"kind":"address"`) {
		t.Errorf("code %d, %v, %s", code, records, errw)
	}
}

// lookCommands is all that looking may send.
var lookCommands = strings.Fields(`hello auth select type pttl memory|usage strlen getrange hlen hmget hstrlen hget zscore hscan llen
	lrange scard sscan zcard zrange zmscore zscan xlen xrange xrevrange sismember lpos get ping info command|info
	script|exists module|list time config|get acl|whoami acl|dryrun cluster|shards cluster|keyslot`)

var monitored = regexp.MustCompile(`^[0-9.]+ \[[^\]]*\] "([^"]*)"(?: "([^"]*)")?`)

// TestLookOnlyReads looks at everything as a user without any write command.
func TestLookOnlyReads(t *testing.T) {
	s := valkeytest.Start(t)
	c := s.Client()
	must(t, c, everyType...)
	must(t, c, "ACL SETUSER looker on >pw ~* &* +@all -@write")
	keys, err := valkeytest.Do(c, "KEYS", "*").AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	counters := func() (out []string) {
		for _, section := range []string{"stats", "persistence"} {
			text, _ := valkeytest.Do(c, "INFO", section).ToString()
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "acl_access_denied") || strings.HasPrefix(line, "rdb_changes_since_last_save") {
					out = append(out, strings.TrimSpace(line))
				}
			}
		}
		return out
	}
	must(t, c, "CONFIG RESETSTAT")
	before := counters()
	if len(before) < 4 {
		t.Fatalf("counters %q", before)
	}
	monitor := s.Monitor()
	environ := []string{"EMQCTL_PASSWORD=pw"}
	server := []string{"--url", s.Addr, "--user", "looker"}
	for _, args := range [][]string{
		append([]string{"decode-key"}, keys...),
		{"browse", "q"}, {"browse", "q", "--newest", "--from", "2026-01-01"}, {"browse", "q", "--set", "active"},
		{"browse", "q", "--set", "schedule", "--to", "2027-01-01"}, {"browse", "q", "--group", "PRT0KHTOWnGLuC"},
		{"doctor"},
	} {
		records, out, errw, code := liveRun(t, environ, append(args, server...)...)
		if code != 0 || errw != "" || len(records) == 0 {
			t.Errorf("%.40q: code %d, stderr %q", args, code, errw)
		}
		if strings.Contains(out, `"status":"unknown"`) {
			t.Errorf("%.40q: something is unknown: %s", args, out)
		}
	}
	if after := counters(); !slices.Equal(before, after) {
		t.Errorf("counters moved:\n%q\n%q", before, after)
	}
	must(t, c, "ECHO the-end")
	lines, err := monitor.Until("the-end")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, line := range lines {
		m := monitored.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("monitor shows %q", line)
		}
		name := strings.ToLower(m[1])
		if slices.Contains([]string{"memory", "command", "script", "module", "config", "acl", "cluster"}, name) {
			name += "|" + strings.ToLower(m[2])
		}
		if seen[name] = true; !slices.Contains(lookCommands, name) {
			t.Errorf("sent %s", line)
		}
	}
	// A monitor does not show what an administrator may do; the statistics do.
	stats, err := valkeytest.Do(c, "INFO", "commandstats").ToString()
	if err != nil {
		t.Fatal(err)
	}
	own := []string{"config|resetstat", "monitor", "echo"}
	for _, m := range regexp.MustCompile(`(?m)^cmdstat_([^:]+):`).FindAllStringSubmatch(stats, -1) {
		if seen[m[1]] = true; !slices.Contains(lookCommands, m[1]) && !slices.Contains(own, m[1]) {
			t.Errorf("sent %s", m[1])
		}
	}
	for _, name := range []string{"type", "hmget", "zrange", "zscan", "acl|dryrun", "script|exists", "config|get"} {
		if !seen[name] {
			t.Errorf("%s was not sent: %v", name, seen)
		}
	}
}

// TestLookWithoutRights looks as users who may do next to nothing.
func TestLookWithoutRights(t *testing.T) {
	const secret = "s3cr3t-of-the-test"
	s := valkeytest.Start(t)
	c := s.Client()
	must(t, c, everyType...)
	must(t, c, "ACL SETUSER nobody on >"+secret+" +hello", "ACL SETUSER typist on >"+secret+" +hello +type +pttl ~*",
		"ACL SETUSER half on >"+secret+" ~emq:{q}:* &* +@all -zadd", "ACL SETUSER tenant on >"+secret+" ~emq:{other}:* &* +@all",
		"ACL SETUSER reader on >"+secret+" ~emq:{q}:* +hello +@read")
	environ := []string{"EMQCTL_PASSWORD=" + secret}
	as := func(user string, args ...string) ([]map[string]any, string, string, int) {
		t.Helper()
		records, out, errw, code := liveRun(t, environ, append(args, "--url", s.Addr, "--user", user)...)
		if strings.Contains(out+errw, secret) {
			t.Errorf("%s: %q shows the password", user, args)
		}
		return records, out, errw, code
	}
	records, out, _, code := as("nobody", "decode-key", "emq:{q}:pending", "emq:{q}:ring")
	if code != codeFailed || len(records) != 2 || at(records[1], "live.error.message") != s.Addr+": the user may not run TYPE" {
		t.Errorf("nobody: code %d, %s", code, out)
	}
	records, out, _, code = as("typist", "decode-key", "emq:{q}:pending")
	if code != codeFailed || at(records[0], "live.type") != "zset" || at(records[0], "live.error.kind") != "permission" {
		t.Errorf("typist: code %d, %s", code, out)
	}
	records, out, errw, code := as("reader", "decode-key", "emq:{q}:job:JOB0KHTOWnGLuC", "emq:{q}:g:PRT0KHTOWnGLuC:pending")
	if code != 0 || at(records[1], "live.lane.active") != "1" {
		t.Errorf("reader: code %d, %s%s", code, out, errw)
	}
	if _, _, errw, code = as("nobody", "browse", "q"); code != codeFailed || !strings.Contains(errw, "the user may not run ZRANGE") {
		t.Errorf("nobody: code %d, %s", code, errw)
	}
	records, out, errw, code = as("nobody", "doctor")
	if code != 0 || errw != "" {
		t.Errorf("nobody: code %d, %s", code, errw)
	}
	for _, r := range records {
		if name := r["check"]; (r["status"] == "unknown") != (name != "server") || name != "server" && !strings.Contains(fmt.Sprint(r["detail"]), "the user may not run") {
			t.Errorf("nobody: %v", r)
		}
	}
	if _, _, _, code = as("nobody", "doctor", "--require", "module"); code != codeNo {
		t.Errorf("nobody, --require module: code %d, want 1", code)
	}
	verb := func(records []map[string]any, name string) map[string]any {
		for _, r := range records {
			if r["check"] == "rights" {
				for _, v := range r["verbs"].([]any) {
					if v := v.(map[string]any); v["verb"] == name {
						v["status"] = r["status"]
						return v
					}
				}
			}
		}
		t.Fatalf("no rights of %s in %s", name, out)
		return nil
	}
	records, out, _, _ = as("half", "doctor", "--queue", "q")
	if v := verb(records, "enqueue"); v["may"] != "part" || at(v, "missing.0") != "ZADD emq:{q}:pending" || v["status"] != "warning" {
		t.Errorf("half: %v", v)
	}
	if v := verb(records, "remove_job"); v["may"] != "all" {
		t.Errorf("half: %v", v)
	}
	records, out, _, _ = as("tenant", "doctor")
	if v := verb(records, "enqueue"); v["may"] != "none" || v["status"] != "unknown" {
		t.Errorf("tenant: %v", v)
	}
	records, out, _, _ = as("tenant", "doctor", "--queue", "other")
	if v := verb(records, "enqueue"); v["may"] != "all" || v["status"] != "ok" {
		t.Errorf("tenant of other: %v", v)
	}
}

// TestDoctorRights holds what doctor says of a user to what the user can do:
// with all rights of a trace, and with any of its commands taken away.
func TestDoctorRights(t *testing.T) {
	s := valkeytest.Start(t)
	c := s.Client()
	reg, err := loadScripts("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"enqueue", "claim", "promote", "complete"} {
		v, _ := reg.Lookup(name)
		r, err := newTraceRecord(traceOptions{}.script(v), &binding{values: map[string]string{"q": "q"}, used: map[string]bool{}})
		if err != nil {
			t.Fatal(err)
		}
		may := func(without string) string {
			must(t, c, "ACL SETUSER u reset on nopass +hello +acl|whoami +acl|dryrun "+r.ACL.Verb.Rules()+" "+without)
			records, out, errw, _ := liveRun(t, nil, "doctor", "--url", "redis://u:x@"+s.Addr, "--queue", "q")
			for _, rec := range records {
				if rec["check"] != "rights" {
					continue
				}
				for _, x := range rec["verbs"].([]any) {
					if x := x.(map[string]any); x["verb"] == name {
						return fmt.Sprint(x["may"])
					}
				}
			}
			t.Fatalf("no rights in %s%s", out, errw)
			return ""
		}
		if got := may(""); got != "all" {
			t.Errorf("%s with the rights of its trace: %s, want all", name, got)
		}
		for _, command := range r.ACL.Verb.Commands {
			if command == "+script|load" {
				continue
			}
			if got := may("-" + command[1:]); got == "all" {
				t.Errorf("%s without %s: all, want less", name, command)
			}
		}
	}
}

func TestDoctor(t *testing.T) {
	s := valkeytest.Start(t)
	c := s.Client()
	reg, err := loadScripts("")
	if err != nil {
		t.Fatal(err)
	}
	enqueue, _ := reg.Lookup("enqueue")
	checks := func(code int, args ...string) map[string]string {
		t.Helper()
		records, out, errw, got := liveRun(t, nil, append([]string{"doctor", "--url", s.Addr}, args...)...)
		if got != code || errw != "" {
			t.Errorf("%q: code %d, want %d; %s%s", args, got, code, out, errw)
		}
		all := map[string]string{}
		for _, r := range records {
			all[fmt.Sprint(r["check"])] = fmt.Sprint(r["status"], " ", r["detail"])
		}
		return all
	}
	expect := func(all map[string]string, check, want string) {
		t.Helper()
		if !strings.HasPrefix(all[check], want) {
			t.Errorf("%s: %q, want %q", check, all[check], want)
		}
	}
	all := checks(0)
	for _, check := range []string{"server", "commands", "module", "scripts", "clock", "latency", "memory", "replication", "fence", "rights"} {
		expect(all, check, "ok ")
	}
	expect(all, "fence", "ok absent in database 0")
	expect(all, "persistence", "warning append-only file off, no snapshots")

	// What is required, and is not; and then is.
	require := []string{"--require", "fence=echomq:3.0.0,script=enqueue"}
	all = checks(1, require...)
	expect(all, "fence", `failure absent in database 0, want "echomq:3.0.0"`)
	expect(all, "script", "failure enqueue is required, and is not cached")
	if n, err := valkeytest.Do(c, "SCRIPT", "EXISTS", enqueue.SHA1).AsIntSlice(); err != nil || n[0] != 0 {
		t.Errorf("looking has loaded the script: %v, %v", n, err)
	}
	if err := valkeytest.Do(c, "SCRIPT", "LOAD", enqueue.Source).Error(); err != nil {
		t.Fatal(err)
	}
	must(t, c, "SET {emq}:version echomq:3.0.0")
	all = checks(0, require...)
	expect(all, "fence", `ok "echomq:3.0.0"`)
	expect(all, "script", "ok enqueue is required, and is cached")
	expect(all, "scripts", "ok 1 of our 45 scripts is cached: enqueue")
	expect(checks(1, "--require", "fence=echomq:3.0"), "fence", "failure ")
	expect(checks(1, "--require", "module"), "module", "failure no EMQ.ENQUEUE")

	// A policy that deletes keys, once there is a limit.
	must(t, c, "CONFIG SET maxmemory-policy allkeys-lru")
	expect(checks(0), "memory", "ok ")
	must(t, c, "CONFIG SET maxmemory 100mb")
	if all = checks(0); !strings.Contains(all["memory"], "loses jobs") {
		t.Errorf("memory: %q", all["memory"])
	}
	expect(all, "memory", "warning ")
	must(t, c, "CONFIG SET maxmemory-policy volatile-ttl")
	expect(checks(0), "memory", "warning ")
	must(t, c, "CONFIG SET maxmemory-policy noeviction", "CONFIG SET appendonly yes")
	all = checks(0)
	expect(all, "memory", "ok ")
	expect(all, "persistence", "ok append-only file on")

	// Another database with another fence.
	must(t, c, "SELECT 3", "SET {emq}:version echomq:2.0.0", "SELECT 0")
	expect(checks(0), "fence", `warning database 3 has keys, and its fence is "echomq:2.0.0": it differs`)

	for _, bad := range []string{"fence", "fence=", "modul", "script=enqeue", "script"} {
		if _, _, errw, code := liveRun(t, nil, "doctor", "--url", s.Addr, "--require", bad); code != codeFailed || !strings.Contains(errw, `"kind":"usage"`) {
			t.Errorf("--require %s: code %d, %s", bad, code, errw)
		}
	}
}

func TestDoctorModule(t *testing.T) {
	s := valkeytest.Start(t, valkeytest.Module(t, "echomq:3.0.0")...)
	if _, out, errw, code := liveRun(t, nil, "doctor", "--url", s.Addr, "--require", "module"); code != 0 || !strings.Contains(out, "EMQ.ENQUEUE, modules: ") {
		t.Errorf("code %d, %s%s", code, out, errw)
	}
}

func TestLookCluster(t *testing.T) {
	cluster := valkeytest.StartCluster(t)
	queues := map[int]string{}
	for n := 0; len(queues) < 3; n++ {
		queue := fmt.Sprintf("q%d", n)
		owner := cluster.Owner(slot.OfTag(queue))
		if _, ok := queues[owner]; !ok {
			queues[owner] = queue
		}
	}
	var keys []string
	for owner, queue := range queues {
		c := cluster.Client(owner)
		must(t, c, "ZADD emq:{"+queue+"}:pending 0 JOB0KHTOWnGLuC", "HSET emq:{"+queue+"}:job:JOB0KHTOWnGLuC state pending attempts 0 payload "+queue)
		keys = append(keys, "emq:{"+queue+"}:job:JOB0KHTOWnGLuC")
	}
	url := []string{"--url", cluster.Nodes[0].Addr}
	records, out, errw, code := liveRun(t, nil, append(append([]string{"decode-key"}, keys...), url...)...)
	if code != 0 || len(records) != 3 {
		t.Fatalf("code %d, %s%s", code, out, errw)
	}
	for _, r := range records {
		owner := cluster.Owner(slot.OfTag(r["queue"].(string)))
		if at(r, "live.node") != cluster.Nodes[owner].Addr || at(r, "live.slot_agrees") != true || at(r, "live.row.payload.text") != r["queue"] || at(r, "live.sets.0.set") != "pending" {
			t.Errorf("%v", r)
		}
	}
	for _, queue := range queues {
		if records, out, errw, code := liveRun(t, nil, append([]string{"browse", queue}, url...)...); code != 0 || len(records) != 1 || at(records[0], "row.payload.text") != queue {
			t.Errorf("%s: code %d, %s%s", queue, code, out, errw)
		}
	}
	records, out, errw, code = liveRun(t, nil, append([]string{"doctor"}, url...)...)
	nodes := map[any]int{}
	for _, r := range records {
		if r["check"] == "memory" {
			nodes[r["node"]]++
		}
	}
	if code != 0 || len(nodes) != 3 || !strings.Contains(out, "3 primaries own all slots") {
		t.Errorf("code %d, nodes %v, %s%s", code, nodes, out, errw)
	}

	// A node that is down is said, and the others are looked at all the same.
	cluster.Nodes[2].Kill()
	_, out, errw, code = liveRun(t, nil, append([]string{"doctor"}, url...)...)
	if code != codeFailed || errw != "" || strings.Count(out, `"check":"memory"`) != 2 || !strings.Contains(out, `"check":"server","status":"unknown","node":"`+cluster.Nodes[2].Addr) {
		t.Errorf("code %d, %s%s", code, out, errw)
	}
	records, out, _, code = liveRun(t, nil, append(append([]string{"decode-key"}, keys...), url...)...)
	if code != codeFailed || len(records) != 3 || strings.Count(out, `"exists":null`) != 1 {
		t.Errorf("code %d, %s", code, out)
	}
}

func TestBrowse(t *testing.T) {
	s := valkeytest.Start(t)
	c := s.Client()
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var ids []string
	const total = 1100 // some chunks
	for i := range total {
		id, err := brandedid.New("JOB", uint64(from.Add(time.Duration(i)*time.Second).UnixMilli()-brandedid.EpochMilli)<<22)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id.String())
		must(t, c, "HSET emq:{q}:job:"+id.String()+" state pending attempts 0 payload p"+strconv.Itoa(i),
			fmt.Sprintf("ZADD emq:{q}:schedule %d %s", 1800000000000+int64(i*7919%total)*1000, id))
	}
	for i := range ids { // in another order than that of the ids
		must(t, c, "ZADD emq:{q}:pending 0 "+ids[i*7919%total], "ZADD emq:{q}:g:PRT0KHTOWnGLuC:pending 0 "+ids[i])
	}
	must(t, c, "ZADD emq:{q}:pending 0 JOB%0%ff 0 zz 0 AAA", "SET emq:{q}:dead x", "DEL emq:{q}:job:"+ids[7])
	list := func(code int, args ...string) []string {
		t.Helper()
		records, out, errw, got := liveRun(t, nil, append([]string{"browse", "q", "--url", s.Addr}, args...)...)
		if got != code {
			t.Errorf("%q: code %d, want %d; %.300s%s", args, got, code, out, errw)
		}
		var members []string
		for _, r := range records {
			member, _ := r["member"].(string)
			members = append(members, member)
			if i := slices.Index(ids, member); i >= 0 && i != 7 && at(r, "row.payload.text") != fmt.Sprintf("p%d", i) || i == 7 && r["row"] != nil {
				t.Errorf("%q: member %d has row %v", args, i, r["row"])
			}
			if (at(r, "id") != nil) != slices.Contains(ids, member) {
				t.Errorf("%q: member %q has id %v", args, member, r["id"])
			}
		}
		return members
	}
	newest := slices.Clone(ids)
	slices.Reverse(newest)
	second := func(n int) string { return from.Add(time.Duration(n) * time.Second).Format(time.RFC3339) }
	for _, set := range [][]string{{"--set", "schedule"}, {"--group", "PRT0KHTOWnGLuC"}, {"--from", "2026-01-01"}} {
		for _, test := range []struct {
			args string
			want []string
		}{
			{"-n 0", ids}, {"-n 0 --newest", newest}, {"", ids[:20]}, {"--newest -n 250", newest[:250]}, {"-n 500", ids[:500]}, {"-n 501", ids[:501]},
			{"-n 0 --from " + second(100) + " --to " + second(109), ids[100:110]},
			{"-n 3 --newest --from " + second(100) + " --to " + second(109), newest[total-110 : total-107]},
			{"--to " + second(2), ids[:3]}, {"--from " + second(total-2), ids[total-2:]}, {"--from " + second(total), nil},
		} {
			args := append(strings.Fields(test.args), set...)
			if slices.Contains(set, "--from") && strings.Contains(test.args, "--from") {
				args = strings.Fields(test.args)
			}
			if got := list(0, args...); !slices.Equal(got, test.want) {
				t.Errorf("%q: %d members %.200q, want %d", args, len(got), got, len(test.want))
			}
		}
	}
	// Unbounded, whatever is in the set.
	if got := list(0, "-n", "0"); len(got) != total+3 || got[0] != "AAA" || got[total+2] != "zz" {
		t.Errorf("%d members", len(got))
	}
	if got := list(codeFailed, "--set", "dead"); got != nil {
		t.Errorf("%q", got)
	}
	for _, bad := range [][]string{{"q", "--set", "ring"}, {"q", "--set", "g:x:pending"}, {"", "-n", "1"}, {"a}b"}, {"q", "-n", "-1"}, {"q", "--from", "1h", "--to", "2h"}, {"q", "--group", ""}, {"q", "--group", "x", "--set", "dead"}} {
		if _, _, errw, code := liveRun(t, nil, append([]string{"browse", "--url", s.Addr}, bad...)...); code != codeFailed || !strings.Contains(errw, `"kind":"usage"`) {
			t.Errorf("%q: code %d, %s", bad, code, errw)
		}
	}
	var out, errw bytes.Buffer
	if code := run([]string{"browse", "q", "--url", s.Addr, "--set", "schedule", "-n", "1", "-o", "tsv"}, nil, &out, &errw, nil); code != 0 || out.String() != "schedule\t1800000000000\t2027-01-15T08:00:00.000Z\tpending\t0\t2026-03-01T00:00:00.000Z\t"+ids[0]+"\n" {
		t.Errorf("code %d, %q%s", code, out.String(), errw.String())
	}
}
