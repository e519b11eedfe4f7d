package trace

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/valkeytest"
)

func answers(t *testing.T, s Script) map[string]Verdict {
	t.Helper()
	tr, err := Of(s)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Verdict{}
	for _, v := range tr.Engines() {
		out[v.Engine] = v
	}
	return out
}

func TestEngines(t *testing.T) {
	// In the order of the profiles: standalone, cluster, cluster-shebang,
	// dragonfly, kvrocks-strict, upstash-locking, elasticache-serverless,
	// alibaba-proxy.
	for _, tt := range []struct {
		name, text string
		verb       *scripts.Verb
		want       string
	}{
		{"declared", "redis.call('GET', KEYS[1])", contract(), "ok ok ok ok ok ok ok ok"},
		{"declared-in-a-local", "local k = KEYS[1] redis.call('GET', k)", contract(), "ok ok ok ok ok ok ok refused"},
		{"derived", "redis.call('GET', KEYS[1] .. ':logs')", contract(), "ok ok ok refused refused refused ok refused"},
		{"base-argument", "redis.call('GET', ARGV[2] .. 'meta')", contract(), "ok ok ok refused refused refused ok refused"},
		{"dragonfly-flag", "--!df flags=allow-undeclared-keys\nredis.call('GET', KEYS[1] .. ':logs')", contract(), "ok ok ok ok refused refused ok refused"},
		{"other-tag", "redis.call('GET', 'emq:{orders}:meta')", contract(), "ok depends refused refused refused refused refused refused"},
		{"data", "redis.call('DEL', redis.call('GET', KEYS[1]))", contract(), "ok depends depends refused refused refused depends refused"},
		{"computed", "redis.call('GET', string.char(ARGV[1]))", contract(), "ok depends depends depends depends depends depends refused"},
		{"alien", "redis.call('GET', KEYS[1] .. ':x')", nil, "ok depends depends refused refused refused depends refused"},
		{"alien-two-keys", "redis.call('RENAME', KEYS[1], KEYS[2])", nil, "ok depends depends ok ok ok depends ok"},
		{"no-keys", "redis.call('GET', 'x')", nil, "ok depends depends refused refused refused refused refused"},
		{"cross-slot-flag", "#!lua flags=allow-cross-slot-keys\nredis.call('GET', 'x' .. KEYS[1] .. ARGV[1])", contract(), "ok ok ok refused refused refused ok refused"},
		{"no-cluster", "#!lua flags=no-cluster\nredis.call('GET', KEYS[1])", contract(), "ok refused refused ok ok ok ok ok"},
		{"no-writes", "#!lua flags=no-writes\nredis.call('DEL', KEYS[1])", contract(), "refused refused refused refused refused refused refused refused"},
		{"unknown-command", "redis.call('NOSUCH')", contract(), "refused refused refused refused refused refused refused refused"},
		{"other-release", "redis.call('HPEXPIRE', KEYS[1], 5, 'FIELDS', 1, 'f')", contract(), "depends depends depends depends depends depends depends depends"},
	} {
		got := answers(t, Script{Text: tt.text, Verb: tt.verb})
		var words []string
		for _, e := range Engines() {
			words = append(words, string(got[e].Verdict))
			if (got[e].Verdict != OK) != (len(got[e].Reasons) > 0) {
				t.Errorf("%s: %s is %s for the reasons %q", tt.name, e, got[e].Verdict, got[e].Reasons)
			}
			if got[e].Source == "" || got[e].Date != "2026-11" || got[e].Rule == "" {
				t.Errorf("%s: %+v", e, got[e])
			}
		}
		if g := strings.Join(words, " "); g != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, g, tt.want)
		}
	}
	ran := []string{}
	for _, p := range profiles() {
		if p.run {
			ran = append(ran, p.name)
		}
	}
	if !slices.Equal(ran, []string{"standalone", "cluster", "cluster-shebang"}) {
		t.Errorf("profiles that are said to be run: %v", ran)
	}
}

// TestClusterRules tries the rules of the cluster rows on a real server, one
// node that owns all slots.
func TestClusterRules(t *testing.T) {
	c := valkeytest.Start(t, "--cluster-enabled", "yes").Client()
	if r, err := do(c, "CLUSTER", "ADDSLOTSRANGE", "0", "16383"); err != nil {
		t.Fatal(r, err)
	}
	for range 500 {
		if info, _ := do(c, "CLUSTER", "INFO"); strings.Contains(info, "cluster_state:ok") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, tt := range []struct {
		name, text string
		keys       []string
		refused    string // a part of the error; "" when the call succeeds
		engine     string
		verdict    Answer
		verb       *scripts.Verb
	}{
		{"same-tag", "return redis.call('SET', KEYS[1] .. ':logs', 1)", []string{"emq:{q}:job:1"}, "", "cluster", OK, contract()},
		{"undeclared-other-slot", "return redis.call('SET', 'emq:{orders}:x', 1)", []string{"emq:{q}:job:1"}, "", "cluster", Depends, contract()},
		{"declared-in-two-slots", "return redis.call('GET', KEYS[1])", []string{"a", "b"}, "CROSSSLOT", "cluster", OK, nil},
		{"shebang-same-tag", "#!lua\nreturn redis.call('SET', KEYS[1] .. ':logs', 1)", []string{"emq:{q}:job:1"}, "", "cluster-shebang", OK, contract()},
		{"shebang-other-slot", "#!lua\nreturn redis.call('SET', 'emq:{orders}:x', 1)", []string{"emq:{q}:job:1"}, "do not hash to the same slot", "cluster-shebang", Refused, contract()},
		{"shebang-lifted", "#!lua flags=allow-cross-slot-keys\nreturn redis.call('SET', 'emq:{orders}:x', 1)", []string{"emq:{q}:job:1"}, "", "cluster-shebang", Depends, contract()},
		{"shebang-no-cluster", "#!lua flags=no-cluster\nreturn redis.call('GET', KEYS[1])", []string{"emq:{q}:job:1"}, "cluster", "cluster-shebang", Refused, contract()},
		{"shebang-no-writes", "#!lua flags=no-writes\nreturn redis.call('DEL', KEYS[1])", []string{"emq:{q}:job:1"}, "Write commands are not allowed", "cluster-shebang", Refused, contract()},
		{"shebang-engine", "#!python\nreturn 1", []string{"a"}, "Unexpected engine", "cluster-shebang", Refused, nil},
		{"two-keys-one-touched", "redis.call('GET', KEYS[1]) return KEYS[2]", []string{"a", "b"}, "CROSSSLOT", "cluster", Depends, nil},
		{"select", "redis.call('SELECT', 1)", nil, "not allowed in cluster mode", "cluster", Refused, nil},
		{"select-0", "redis.call('SELECT', 0)", nil, "", "cluster", OK, nil},
		{"swapdb", "redis.call('SWAPDB', 0, 1)", nil, "not allowed in cluster mode", "cluster", Refused, nil},
		{"move", "redis.call('MOVE', KEYS[1], 1)", []string{"a"}, "not allowed in cluster mode", "cluster", Refused, nil},
		{"copy", "redis.call('COPY', KEYS[1], KEYS[2], 'DB', 1)", []string{"a", "{a}b"}, "out of range", "cluster", Refused, nil},
		{"copy-0", "redis.call('COPY', KEYS[1], KEYS[2], 'DB', 0)", []string{"a", "{a}b"}, "", "cluster", Depends, nil},
		{"sort-by", "redis.call('SORT', KEYS[1], 'BY', 'w*')", []string{"a"}, "denied in Cluster mode", "cluster", Refused, nil},
		{"sort-by-tag", "redis.call('SORT', KEYS[1], 'BY', '{a}w*')", []string{"a"}, "", "cluster", Depends, nil},
		{"sort-by-other-tag", "redis.call('SORT', 'a', 'BY', '{b}w*')", nil, "denied in Cluster mode", "cluster", Refused, nil},
		{"sort-by-nothing", "redis.call('SORT', KEYS[1], 'BY', 'nosort')", []string{"a"}, "", "cluster", OK, nil},
		{"sort-get", "redis.call('SORT_RO', KEYS[1], 'GET', '#')", []string{"a"}, "denied in Cluster mode", "cluster", Refused, nil},
		{"shard-channel", "#!lua\nredis.call('SPUBLISH', 'c', 1)", []string{"a"}, "do not hash to the same slot", "cluster-shebang", Depends, nil},
		{"channel", "#!lua\nredis.call('PUBLISH', 'c', 1)", []string{"a"}, "", "cluster-shebang", OK, nil},
		{"one-command-two-slots", "redis.call('MSET', 'a', 1, 'b', 2)", nil, "hash to the same slot", "cluster", Refused, nil},
		{"one-command-one-slot", "redis.call('MSET', '{a}', 1, '{a}b', 2)", nil, "", "cluster", Depends, nil},
		{"shebang-one-command-two-slots", "#!lua flags=allow-cross-slot-keys\nredis.call('MSET', 'a', 1, 'b', 2)", nil, "hash to the same slot", "cluster-shebang", Refused, nil},
		{"shebang-two-literals", "#!lua\nredis.call('SET', 'a', 1) redis.call('SET', 'b', 2)", nil, "do not hash to the same slot", "cluster-shebang", Refused, nil},
		{"two-literals", "redis.call('SET', 'a', 1) redis.call('SET', 'b', 2)", nil, "", "cluster", Depends, nil},
		{"global", "x = 1", []string{"a"}, "readonly table", "cluster", Refused, nil},
		{"noscript", "return redis.call('WATCH', KEYS[1])", []string{"a"}, "not allowed from script", "cluster", Refused, nil},
	} {
		args := append([]string{"EVAL", tt.text, strconv.Itoa(len(tt.keys))}, tt.keys...)
		_, err := do(c, args...)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if tt.refused == "" && err != nil && !strings.Contains(got, "nil") || !strings.Contains(strings.ToLower(got), strings.ToLower(tt.refused)) {
			t.Errorf("%s: the server says %q, want %q", tt.name, got, tt.refused)
		}
		if v := answers(t, Script{Text: tt.text, Verb: tt.verb})[tt.engine]; v.Verdict != tt.verdict {
			t.Errorf("%s: %s is %s %q, want %s", tt.name, tt.engine, v.Verdict, v.Reasons, tt.verdict)
		}
	}
}

// aclVerb is a script with its contract, and a call that takes it through
// all its commands.
func aclVerb() (string, *scripts.Verb) {
	text := `
local base = ARGV[1]
redis.call('EXISTS', KEYS[1])
local popped = redis.call('ZPOPMIN', KEYS[2])
local row = base .. 'job:' .. popped[1]
redis.call('HINCRBY', row, 'attempts', 1)
local g = redis.call('HGET', row, 'group')
redis.call('ZADD', base .. 'g:' .. g .. ':pending', 0, popped[1])
redis.call('ZCARD', base .. 'active')
redis.call('OBJECT', 'ENCODING', base .. 'meta')
redis.call('DEL', row .. ':logs')
redis.call('PUBLISH', base .. 'events', 'x')
redis.call('TIME')
return 1`
	return text, &scripts.Verb{
		Keys:    []scripts.Key{{N: 1, Name: "row", Pattern: "emq:{q}:job:<id>"}, {N: 2, Name: "pending", Pattern: "emq:{q}:pending"}},
		Args:    []scripts.Arg{{N: 1, Name: "base", Base: "queue"}},
		Returns: []scripts.Return{{Value: "1"}},
	}
}

// TestACL gives a user just the rights that the trace says, and no less: the
// call succeeds with all of them and fails without any one.
func TestACL(t *testing.T) {
	text, verb := aclVerb()
	tr, err := Of(Script{Text: text, Verb: verb})
	if err != nil {
		t.Fatal(err)
	}
	acl := tr.ACL("quotes")
	want := "+evalsha +script|load +del +exists +hget +hincrby +object|encoding +publish +time +zadd +zcard +zpopmin " +
		"~emq:{quotes}:job:* ~emq:{quotes}:pending %W~emq:{quotes}:g:*:pending %R~emq:{quotes}:active %R~emq:{quotes}:meta &emq:{quotes}:events"
	if got := acl.Verb.Rules(); got != want {
		t.Errorf("rules\n got %s\nwant %s", got, want)
	}
	if got := tr.ACL("").Verb.Keys[0]; got != "~emq:{q}:job:*" {
		t.Errorf("without a queue: %s", got)
	}
	if got, want := acl.Connection.Rules(), "+ping +get +cluster|shards %R~{emq}:version"; got != want {
		t.Errorf("connection %s, want %s", got, want)
	}
	srv := valkeytest.Start(t)
	admin := srv.Client()
	sha, err := do(admin, "SCRIPT", "LOAD", text)
	if err != nil {
		t.Fatal(err)
	}
	user := srv.Client()
	try := func(rules []string) error {
		for _, cmd := range [][]string{
			{"FLUSHALL"},
			{"HSET", "emq:{quotes}:job:1", "group", "g"},
			{"ZADD", "emq:{quotes}:pending", "0", "1"},
			append([]string{"ACL", "SETUSER", "worker", "reset", "on", "nopass", "-@all"}, rules...),
		} {
			if r, err := do(admin, cmd...); err != nil {
				t.Fatalf("%v: %s, %v", cmd, r, err)
			}
		}
		if _, err := do(user, "AUTH", "worker", ""); err != nil {
			t.Fatal(err)
		}
		_, err := do(user, "EVALSHA", sha, "2", "emq:{quotes}:job:1", "emq:{quotes}:pending", "emq:{quotes}:")
		return err
	}
	rules := slices.Concat(acl.Verb.Commands, acl.Verb.Keys, acl.Verb.Channels)
	if err := try(rules); err != nil {
		t.Errorf("with all rights: %v", err)
	}
	for i, r := range rules {
		// Not needed for this call: the script is loaded.
		if r == "+script|load" {
			continue
		}
		if err := try(slices.Delete(slices.Clone(rules), i, i+1)); err == nil {
			t.Errorf("without %s the call succeeds", r)
		}
	}
	if err := try(append(slices.Clone(acl.Connection.Commands), "~*")); err == nil {
		t.Error("the connection's rights alone run the script")
	}
}

// TestACLIsTaken gives a real server the rules for scripts that make them
// hard, in one line as they are shown, and runs the script with them.
func TestACLIsTaken(t *testing.T) {
	srv := valkeytest.Start(t)
	admin, user := srv.Client(), srv.Client()
	for _, tt := range []struct {
		name, text string
		keys       []string
		want       string // the rules of keys and channels
	}{
		{"base-only", "redis.call('SET', KEYS[1] .. ':x', 1)", []string{"a"}, "~*"},
		{"all-and-more", "redis.call('SET', KEYS[1], 1) redis.call('GET', 'lit') redis.call('GET', ARGV[1])", []string{"a"}, "~*"},
		{"wider", "redis.call('APPEND', 'a:' .. #KEYS, 1) redis.call('GET', 'a:b') redis.call('GET', 'b:a')", nil, "%W~a:* %R~a:b %R~b:a"},
		{"wider-covers", "redis.call('GETSET', 'a:' .. #ARGV, 1) redis.call('GET', 'a:b') redis.call('GET', 'b:a')", nil, "~a:* %R~b:a"},
		{"read-all", "redis.call('GET', #ARGV .. '') redis.call('GET', 'a') redis.call('APPEND', 'b', 1)", nil, "%R~* %W~b"},
		{"blank", "redis.call('APPEND', 'a b', 1) redis.call('APPEND', 'x\\ny~', 1) redis.call('APPEND', 'e\\27', 1)", nil, "%W~a?b %W~x?y~ %W~e?"},
		{"empty", "redis.call('APPEND', '', 1)", nil, "%W~"},
		{"glob", "redis.call('APPEND', 'a*[b]?', 1)", nil, `%W~a\*\[b\]\?`},
		{"channels", "redis.call('PUBLISH', ARGV[1], 1) redis.call('PUBLISH', 'c', 1)", nil, "&*"},
		{"none", "return 1", nil, ""},
	} {
		tr, err := Of(Script{Text: tt.text})
		if err != nil {
			t.Fatal(err)
		}
		acl := tr.ACL("").Verb
		if got := strings.Join(slices.Concat(acl.Keys, acl.Channels), " "); got != tt.want {
			t.Errorf("%s: rules %s, want %s", tt.name, got, tt.want)
		}
		set := append([]string{"ACL", "SETUSER", "worker", "reset", "on", "nopass", "+auth"}, strings.Fields(acl.Rules())...)
		if _, err := do(admin, set...); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		sha, _ := do(admin, "SCRIPT", "LOAD", tt.text)
		if _, err := do(user, "AUTH", "worker", ""); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"EVALSHA", sha, strconv.Itoa(len(tt.keys))}, tt.keys...)
		if _, err := do(user, append(args, "x")...); err != nil && !strings.Contains(err.Error(), "nil") {
			t.Errorf("%s: with %s: %v", tt.name, acl.Rules(), err)
		}
	}
}

// TestShebangAsServer: a first line that a server does not load is a finding,
// and refused by every engine; what it loads is neither.
func TestShebangAsServer(t *testing.T) {
	c := valkeytest.Start(t).Client()
	for _, text := range []string{
		"#!lua\nreturn 1", "#!lua flags=bogus\nreturn 1", "#!lua name=x\nreturn 1", "#!lua flags=allow-oom no-writes\nreturn 1", "#!lua flags=\nreturn 1",
		"#!lua  flags=no-writes,\nreturn 1", "#!/usr/bin/lua\nreturn 1", "#!lua flags=no-writes flags=no-writes\nreturn 1", "#!LUA\nreturn 1", "#!js\nreturn 1",
		"#!lua flags=no-writes, allow-oom\nreturn 1", "#!lua ", "#!lua", "#!\nreturn 1", "#! lua\nreturn 1", "#!lua\tflags=no-writes\nreturn 1", "#!lua foo=1\nreturn 1",
		"#!lua flags=,no-writes\nreturn 1", "#!lua FLAGS=no-writes\nreturn 1", "#!lua flags=NO-WRITES\nreturn 1", "#!lua flags=allow-stale,no-cluster,allow-cross-slot-keys,allow-oom,no-writes\nreturn 1",
		"#!lua flags=\"no-writes\"\nreturn 1", "#!lua\r\nreturn 1", "#!lua flags=no-writes \nreturn 1", "#!lua flags=no-writes\nreturn redis.call('PUBLISH', 'c', 1)",
		"#!lua flags=no-writes\nreturn redis.call('PFCOUNT', 'c')", "#!lua flags=no-writes\nreturn redis.call('SET', 'c', 1)", "#!lua flags=no-writes\nreturn redis.call('GET', 'c')",
	} {
		_, serverErr := do(c, "EVAL", text, "0")
		if serverErr != nil && strings.Contains(serverErr.Error(), "nil message") {
			serverErr = nil
		}
		tr, err := Of(Script{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(tr.Findings(Law{}), func(f Finding) bool { return f.Kind == FindShebang })
		if refused := tr.Engines()[0].Verdict == Refused; found != (serverErr != nil) || refused != found {
			t.Errorf("%q: found %v, refused %v, a server says %v", text, found, refused, serverErr)
		}
	}
	lib := "#!lua name=lib\nredis.register_function('f', function(keys) return redis.call('GET', keys[1]) end)"
	if _, err := do(c, "FUNCTION", "LOAD", lib); err != nil {
		t.Fatal(err)
	}
	if tr, err := Of(Script{Text: lib}); err != nil || len(tr.Findings(Law{})) > 0 {
		t.Errorf("a library: %v, %v", err, tr.Findings(Law{}))
	}
}
