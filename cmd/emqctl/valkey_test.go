package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/slot"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// TestSlotsOnValkey asks a real server for the slots of 100,000 random binary
// keys, and of every vector of the slot and key tests.
func TestSlotsOnValkey(t *testing.T) {
	c := valkeytest.Start(t, "--cluster-enabled", "yes").Client()
	rnd := rand.New(rand.NewPCG(2026, 11))
	pieces := []string{"{", "}", "{}", "emq:{", "}:", "{emq}:", "\x00", "é", "日", "\xff", "job:", "JOB0KHTOWnGLuC", "a", " ", "\r\n", "quotes"}
	key := func() string {
		var b strings.Builder
		switch rnd.IntN(3) {
		case 0: // braces and what stands about them
			for range rnd.IntN(12) {
				b.WriteString(pieces[rnd.IntN(len(pieces))])
			}
		case 1: // short, any bytes
			for range rnd.IntN(40) {
				b.WriteByte(byte(rnd.IntN(256)))
			}
		case 2: // up to 4 KiB, a brace now and then
			for range rnd.IntN(4097) {
				if rnd.IntN(200) == 0 {
					b.WriteByte("{}"[rnd.IntN(2)])
				} else {
					b.WriteByte(byte(rnd.IntN(256)))
				}
			}
		}
		return b.String()
	}
	const total, batch = 100_000, 1000
	rules := map[slot.Rule]int{}
	for range total / batch {
		keys := make([]string, batch)
		cmds := make(rueidis.Commands, batch)
		for i := range keys {
			keys[i] = key()
			cmds[i] = c.B().Arbitrary("CLUSTER", "KEYSLOT", keys[i]).Build()
		}
		for i, reply := range c.DoMulti(context.Background(), cmds...) {
			want, err := reply.AsInt64()
			if err != nil {
				t.Fatal(err)
			}
			if got := slot.Of(keys[i]); int64(got) != want {
				t.Errorf("slot.Of(%q) = %d, the server says %d", keys[i], got, want)
			}
			_, rule := slot.Tag(keys[i])
			rules[rule]++
		}
	}
	for rule := slot.RuleTag; rule <= slot.RuleEmptyTag; rule++ {
		if rules[rule] < 100 {
			t.Errorf("%d keys of rule %s, want at least 100: %v", rules[rule], rule, rules)
		}
	}
}

// TestStoreOnValkey writes one key of every type as the protocol's verbs and
// hosts do, and compares the server's TYPE with what decode-key says that the
// store holds.
func TestStoreOnValkey(t *testing.T) {
	c := valkeytest.Start(t).Client()
	writes := map[decode.Type][]string{
		decode.Job:             {"HSET", "@", "state", "pending", "attempts", "0", "payload", "x"},
		decode.JobLogs:         {"RPUSH", "@", "line"},
		decode.JobLock:         {"SET", "@", "1", "PX", "60000"},
		decode.JobDependencies: {"SET", "@", "2"},
		decode.JobProcessed:    {"HSET", "@", "JOB0KHTOWnGLuD", "result"},
		decode.JobFailed:       {"HSETNX", "@", "JOB0KHTOWnGLuD", "error"},
		decode.JobUnsuccessful: {"HSETNX", "@", "JOB0KHTOWnGLuD", "error"},
		decode.Pending:         {"ZADD", "@", "0", "JOB0KHTOWnGLuC"},
		decode.Active:          {"ZADD", "@", "1769526727641", "JOB0KHTOWnGLuC"},
		decode.Schedule:        {"ZADD", "@", "1769526727641", "JOB0KHTOWnGLuC"},
		decode.Dead:            {"ZADD", "@", "0", "JOB0KHTOWnGLuC"},
		decode.Meta:            {"HSET", "@", "paused", "1"},
		decode.Lane:            {"ZADD", "@", "0", "JOB0KHTOWnGLuC"},
		decode.Ring:            {"RPUSH", "@", "PRT0KHTOWnGLuC"},
		decode.Wake:            {"LPUSH", "@", "1"},
		decode.Paused:          {"SADD", "@", "PRT0KHTOWnGLuC"},
		decode.GLimit:          {"HSET", "@", "PRT0KHTOWnGLuC", "3"},
		decode.GActive:         {"HINCRBY", "@", "PRT0KHTOWnGLuC", "1"},
		decode.GWeight:         {"HSET", "@", "PRT0KHTOWnGLuC", "2"},
		decode.De:              {"SET", "@", "JOB0KHTOWnGLuC"},
		decode.Metrics:         {"HINCRBY", "@", "count", "1"},
		decode.MetricsData:     {"RPUSH", "@", "1"},
		decode.Limiter:         {"SET", "@", "1", "PX", "60000"},
		decode.Repeat:          {"ZADD", "@", "1769526727641", "nightly"},
		decode.RepeatRecord:    {"HSET", "@", "every_ms", "60000", "template", "x"},
		decode.FlowOutbox:      {"RPUSH", "@", "q\x00JOB0KHTOWnGLuC\x00JOB0KHTOWnGLuD\x00ok"},
		decode.Stream:          {"XADD", "@", "1704117200000-1620567", "id", "EVT000xY9Wvvcd"},
		decode.StreamArchived:  {"SET", "@", "EVT000xY9Wvvcd"},
		decode.Version:         {"SET", "@", "echomq:3.0.0", "NX"},
	}
	for _, info := range decode.Types() {
		name := map[string]string{"": "", "id": "JOB0KHTOWnGLuC", "metric": "completed", "group": "PRT0KHTOWnGLuC"}
		n, ok := name[info.Placeholder()]
		if !ok {
			n = "nightly"
		}
		key, err := decode.Build("quotes", info.Type, n)
		if err != nil {
			t.Fatal(err)
		}
		write, ok := writes[info.Type]
		if !ok {
			if info.Store != "" && info.Store != "channel" {
				t.Errorf("no write for a key of type %s, which the store holds as a %s", info.Word, info.Store)
			}
			continue
		}
		cmd := append([]string(nil), write...)
		cmd[1] = key
		if err := valkeytest.Do(c, cmd...).Error(); err != nil {
			t.Fatalf("%q: %v", cmd, err)
		}
		typ, err := valkeytest.Do(c, "TYPE", key).ToString()
		if err != nil || typ != info.Store {
			t.Errorf("TYPE %s = %s, %v, want %s", key, typ, err, info.Store)
		}
	}

	// A keyspace as SCAN gives it, through the program: nothing malformed,
	// nothing unregistered, and the same TYPE again.
	keys, err := valkeytest.Do(c, "KEYS", "*").AsStrSlice()
	if err != nil || len(keys) != len(writes) {
		t.Fatalf("%d keys, %v, want %d", len(keys), err, len(writes))
	}
	out, errw, code := runAt(testClock, []string{"decode-key", "-0", "--format", "{{.ok}} {{.store}} {{.key}}"}, strings.NewReader(strings.Join(keys, "\x00")), nil)
	if code != 0 || errw != "" {
		t.Fatalf("code %d, stderr %q", code, errw)
	}
	for i, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		typ, err := valkeytest.Do(c, "TYPE", keys[i]).ToString()
		if want := fmt.Sprintf("true %s %s", typ, keys[i]); err != nil || line != want {
			t.Errorf("decode-key says %q, want %q (%v)", line, want, err)
		}
	}
}
