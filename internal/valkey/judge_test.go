package valkey

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/scripts"
	lua "github.com/echomq/emqctl/scripts"
)

func TestMayHaveWritten(t *testing.T) {
	source := strings.Join([]string{
		`-- a comment of redis.call('SET', 'x')`, // 1
		`local n = redis.call("EXISTS", KEYS[1])`,
		`if n == 1 then return redis.error_reply('EMQ') end`,
		`redis.call('HSET', KEYS[1], 'a', 1)`, // 4
		`redis.call('ZADD', KEYS[2], 0, 'a')`,
	}, "\n")
	for line, want := range map[int]bool{1: false, 2: false, 3: false, 4: false, 5: true, 9: true} {
		if got := mayHaveWritten(source, line); got != want {
			t.Errorf("line %d: %t, want %t", line, got, want)
		}
	}
	for _, source := range []string{
		"local call = redis.call\ncall('SET', KEYS[1], 1)\nredis.call('GET', KEYS[1])",
		"redis.call(ARGV[1], KEYS[1])\nx()\nx()",
		"for i = 1, 2 do redis.call('GET', KEYS[i])\nredis.call('SET', KEYS[i], 1)\nend",
		"local function f() redis.call('SET', KEYS[1], 1) end\nf()\nredis.call('GET', KEYS[1])",
		"redis['call']('SET', KEYS[1], 1)\nx()\nx()",
		"server.call('DEL', KEYS[1])\nx()\nx()",
	} {
		if !mayHaveWritten(source, 3) {
			t.Errorf("%q: line 3 is said to come before any write", source)
		}
	}
}

func TestJudge(t *testing.T) {
	r, err := scripts.Load(lua.FS)
	if err != nil {
		t.Fatal(err)
	}
	enqueue, _ := r.Lookup("enqueue")
	const older = "ERR Error running script (call to f_59afee3af2b87744c70d31ae5c6306caff00e3ce): "
	const at = " script: 59afee3af2b87744c70d31ae5c6306caff00e3ce, on @user_script:"
	for text, want := range map[string][2]executor.State{ // by script, by the native command
		"EMQKIND job id must be JOB-namespaced":                         {executor.Refused, executor.Refused},
		"EMQNEW a class of tomorrow":                                    {executor.Refused, executor.Refused},
		"NOPERM User u has no permissions to run the 'evalsha' command": {executor.Failed, executor.Failed},
		"READONLY You can't write against a read only replica.":         {executor.Failed, executor.Failed},
		"READONLY You can't write" + at + "27.":                         {executor.Failed, executor.Failed},
		"OOM command not allowed" + at + "29.":                          {executor.Failed, executor.Failed},
		"BUSY Valkey is busy running a script.":                         {executor.Failed, executor.Failed},
		"LOADING Valkey is loading the dataset in memory":               {executor.Failed, executor.Failed},
		"CLUSTERDOWN The cluster is down":                               {executor.Failed, executor.Failed},
		"MOVED 1 h:1":                                                   {executor.Failed, executor.Failed},
		"ERR unknown command 'EVALSHA', with args beginning with: ":     {executor.Failed, executor.Failed},
		"ERR the native command's own":                                  {executor.Failed, executor.Refused},
		"WRONGTYPE Operation against a key" + at + "24.":                {executor.Failed, executor.Refused},
		"WRONGTYPE Operation against a key" + at + "29.":                {executor.Unknown, executor.Refused},
		"WRONGTYPE Operation against a key holding the wrong kind":      {executor.Unknown, executor.Refused},
		"ERR Error running script" + at + "1000.":                       {executor.Unknown, executor.Unknown},
		"ERR Error running script":                                      {executor.Unknown, executor.Unknown},
		older + "@user_script:29: WRONGTYPE Operation":                  {executor.Unknown, executor.Unknown},
		older + "@user_script:29: @user_script: 29: -NOPERM no":         {executor.Unknown, executor.Unknown},
		older + "@user_script:29: -OOM command not allowed":             {executor.Unknown, executor.Unknown},
		older + "@user_script:24: WRONGTYPE Operation":                  {executor.Failed, executor.Unknown},
		older + "@user_script:27: @user_script: 27: -READONLY no":       {executor.Failed, executor.Unknown},
		older + "@enable_strict_lua:8: user_script:29: Script accessed": {executor.Unknown, executor.Unknown},
		older + "@enable_strict_lua:8: user_script:20: Script accessed": {executor.Failed, executor.Unknown},
		older + "Script killed by user with SCRIPT KILL":                {executor.Unknown, executor.Unknown},
		"NEWCLASS of a script":                                          {executor.Refused, executor.Refused},
	} {
		for i, verb := range []*scripts.Verb{enqueue, nil} {
			if got := judge(&request{verb: verb, answer: answer{text: text}}); got != want[i] {
				t.Errorf("%q, by %s: %s, want %s", text, []string{"script", "native command"}[i], got, want[i])
			}
		}
	}
}

// TestEncodedLen is held by every batch that goes well; here are the edges.
func TestEncodedLen(t *testing.T) {
	for _, c := range [][]string{{""}, {"GET", "k"}, strings.Split(strings.Repeat("a,", 120), ","), {strings.Repeat("x", 9), strings.Repeat("x", 10), strings.Repeat("x", 100_000)}} {
		var b strings.Builder
		b.WriteString("*" + strconv.Itoa(len(c)) + "\r\n")
		for _, arg := range c {
			b.WriteString("$" + strconv.Itoa(len(arg)) + "\r\n" + arg + "\r\n")
		}
		if got := encodedLen(c); got != int64(b.Len()) {
			t.Errorf("encodedLen of %d args = %d, want %d", len(c), got, b.Len())
		}
	}
}

func TestIsRead(t *testing.T) {
	for command, want := range map[string]bool{
		"get k": true, "CLUSTER SHARDS": true, "COMMAND INFO x": true, "SCAN 0": true,
		"": false, "SET k v": false, "CLUSTER": false, "CLUSTER RESET": false, "ACL SETUSER x": false,
		"SCRIPT LOAD x": false, "EVAL x": false, "MEMORY PURGE": false, "CONFIG SET x": false, "KEYS *": false,
	} {
		if got := isRead(strings.Fields(command)); got != want {
			t.Errorf("isRead(%s) = %t, want %t", command, got, want)
		}
	}
}

func TestShards(t *testing.T) {
	node := func(role, health, endpoint string) any {
		return []any{"id", "x", "port", int64(1), "tls-port", int64(2), "endpoint", endpoint, "role", role, "health", health}
	}
	reply := []any{
		[]any{"slots", []any{int64(0), int64(5), int64(7), int64(7)}, "nodes", []any{node("replica", "online", "a"), node("master", "fail", "b"), node("master", "online", "c")}},
		[]any{"slots", []any{int64(9), int64(16383)}, "nodes", []any{node("master", "online", "")}},
		[]any{"slots", []any{int64(8), int64(99999)}, "nodes", []any{node("master", "online", "d")}},
		[]any{"slots", []any{}, "nodes", []any{node("master", "online", "e")}},
		[]any{"slots", []any{int64(6), int64(6)}, "nodes", []any{node("replica", "online", "f"), node("master", "fail", "g")}},
		"nonsense",
	}
	got := parseShards(reply, "[::1]:9", true)
	want := []owner{{0, 5, "c:2", false}, {7, 7, "c:2", false}, {9, 16383, "[::1]:2", false}, {6, 6, "g:2", true}}
	if !slices.Equal(got, want) {
		t.Errorf("parseShards = %v, want %v", got, want)
	}
	slots := parseSlots([]any{[]any{int64(1), int64(2), []any{"?", int64(7), "id"}, []any{"replica", int64(8)}}, []any{int64(1)}}, "h:9", false)
	if len(slots) != 1 || slots[0] != (owner{1, 2, "h:7", false}) {
		t.Errorf("parseSlots = %v", slots)
	}
	for text, want := range map[string]string{
		"MOVED 3999 127.0.0.1:6381": "127.0.0.1:6381", "ASK 1 ::1:7": "[::1]:7", "MOVED 1 :7": "asked:7", "ASK 1 h.example:7": "h.example:7",
		"MOVED 1": "", "MOVED x h:1": "", "MOVED 1 h": "", "MOVED 16384 h:1": "", "MOVED 1 h:x": "", "ERR MOVED 1": "",
	} {
		if _, _, addr, ok := redirection(text, "asked:1"); addr != want || ok != (want != "") {
			t.Errorf("redirection(%q) = %q, %t, want %q", text, addr, ok, want)
		}
	}
}
