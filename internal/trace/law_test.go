package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/echomq/emqctl/internal/scripts"
)

// contract is a verb's header as the registry would give it.
func contract() *scripts.Verb {
	return &scripts.Verb{
		Name: "planted",
		Keys: []scripts.Key{
			{N: 1, Name: "row", Pattern: "emq:{q}:job:<id>", Store: "hash", Role: "the row", Line: 1},
			{N: 2, Name: "base", Pattern: "emq:{q}:", Role: "base", Line: 2},
		},
		Args: []scripts.Arg{
			{N: 1, Name: "id", About: "the job"}, {N: 2, Name: "base", Base: "queue"}, {N: 3, Name: "now", About: "when, Unix ms"},
		},
		Returns:  []scripts.Return{{Value: "1", Line: 5}},
		Refusals: []scripts.Refusal{{Class: "EMQKIND", Text: "EMQKIND no", Line: 6}},
	}
}

const refusal = "\nif ARGV[1] == '' then return redis.error_reply('EMQKIND no') end"

// Each kind has a script that has it and a near one that has not. body stands
// behind a touch of the declared row.
func TestFindings(t *testing.T) {
	touch := refusal + "\nredis.call('HGET', KEYS[1], 'state')\n"
	for _, tt := range []struct {
		kind      FindingKind
		name      string
		bad, good string
		want      string // a part of the message
	}{
		{FindUndeclaredKey, "literal", touch + "redis.call('GET', 'emq:{q}:meta') return 1", touch + "redis.call('GET', KEYS[2] .. 'meta') return 1", `key "emq:{q}:meta" of GET is spelled out`},
		{FindUndeclaredKey, "argument", touch + "redis.call('GET', ARGV[1] .. ':logs') return 1", touch + "redis.call('GET', ARGV[2] .. 'meta') return 1", "made from ARGV[1], which is no declared base"},
		{FindUndeclaredKey, "argument-after-a-literal", touch + "redis.call('GET', 'job:' .. ARGV[1]) return 1", touch + "redis.call('GET', KEYS[1] .. ':lock') return 1", "made from ARGV[1]"},
		{FindUndeclaredKey, "data", touch + "local k = redis.call('HGET', KEYS[1], 'parent') redis.call('DEL', k) return 1", touch + "local k = redis.call('HGET', KEYS[1], 'parent') redis.call('DEL', ARGV[2] .. 'job:' .. k) return 1", "a whole key out of a reply (field parent of HGET emq:{q}:job:<id>)"},
		{FindUndeclaredKey, "data-in-the-middle", touch + "local k = redis.call('HGET', KEYS[1], 'p') redis.call('DEL', 'x:' .. k) return 1", touch + "local k = redis.call('HGET', KEYS[1], 'p') redis.call('SADD', KEYS[1], 'x:' .. k) return 1", "made from a reply"},
		{FindUnknownKey, "computed", touch + "redis.call('GET', string.char(ARGV[1])) return 1", touch + "redis.call('GET', KEYS[1] .. ':lock') return 1", "nothing can be told of the key of GET: bytes made by string.char"},
		{FindUnregisteredKey, "suffix", touch + "redis.call('GET', KEYS[2] .. 'penting') return 1", touch + "redis.call('GET', KEYS[2] .. 'pending') return 1", "emq:{q}:penting of GET is of no registered type"},
		{FindKeysIndex, "beyond", touch + "redis.call('GET', KEYS[3]) return 1", touch + "redis.call('GET', KEYS[1]) return 1", "KEYS[3] is read, and the header declares 2"},
		{FindUnusedKey, "row", refusal + "\nredis.call('GET', KEYS[2] .. 'meta') return 1", touch + "return 1", "KEYS[1] (row) is declared, and no command touches it"},
		{FindHashTag, "braces-before", touch + "redis.call('GET', '{x}' .. KEYS[1]) return 1", touch + "redis.call('GET', 'x' .. KEYS[1]) return 1", "has a brace before KEYS[1]"},
		{FindHashTag, "another-tag", touch + "redis.call('GET', 'emq:{orders}:pending') return 1", touch + "redis.call('GET', 'emq:{q}:pending') return 1", `has the hash tag "orders", the declared keys have {q}`},
		{FindReplyMismatch, "not-in-the-header", touch + "if ARGV[1] then return 0 end return 1", touch + "if ARGV[1] then return 1 end return 1", "the body returns 0"},
		{FindReplyMismatch, "not-in-the-body", touch + "return 2", touch + "return 1", "the header says the reply 1, and the body never returns it"},
		{FindRefusalMismatch, "not-in-the-header", touch + "if ARGV[1] then return {err = 'EMQKIND yes'} end return 1", touch + "if ARGV[1] then return {err = 'EMQKIND no'} end return 1", `the body refuses with "EMQKIND yes"`},
		{FindRefusalMismatch, "not-in-the-body", "redis.call('DEL', KEYS[1]) return 1", touch + "return 1", `the header says the refusal "EMQKIND no"`},
		{FindRefusalClass, "no-class", touch + "if ARGV[1] then return redis.error_reply('no such job') end return 1", touch + "return 1", `refusal "no such job" does not open with a class word`},
		{FindWriteBeforeRefusal, "straight", "redis.call('DEL', KEYS[1])" + refusal + " return 1", refusal + " redis.call('DEL', KEYS[1]) return 1", `refusal "EMQKIND no" comes after DEL of line 1`},
		{FindWriteBeforeRefusal, "other-arm", "if ARGV[1] then redis.call('DEL', KEYS[1]) end" + refusal + " return 1", "if ARGV[1] then redis.call('DEL', KEYS[1]) return 1 end" + refusal + " return 1", "comes after DEL"},
		{FindWriteBeforeRefusal, "rethrown", "local ok, e = pcall(function() redis.call('DEL', KEYS[1]) error('x') end) if not ok then return redis.error_reply('EMQKIND no') end return 1", "local ok, e = pcall(function() redis.call('DEL', KEYS[1]) error('EMQKIND no') end) return 1", "comes after DEL"},
		{FindWriteBeforeRefusal, "caught-assertion", "redis.call('DEL', KEYS[1]) assert(ARGV[1], 'EMQKIND no') return 1", "xpcall(function() redis.call('DEL', KEYS[1]) assert(ARGV[1], 'EMQKIND no') end, function(e) return e end) return 1", "comes after DEL"},
		{FindHashTag, "wrapped", touch + "redis.call('GET', '{' .. KEYS[1] .. '}:last') return 1", touch + "redis.call('GET', 'x' .. KEYS[1]) return 1", "has a brace before KEYS[1]"},
		{FindStoreMismatch, "zset", touch + "redis.call('ZCARD', KEYS[1]) return 1", touch + "redis.call('EXPIRE', KEYS[1], 1) return 1", "ZCARD of KEYS[1] wants a zset, and the header declares a hash"},
		{FindArgvIndex, "beyond", touch + "redis.call('HSET', KEYS[1], 'f', ARGV[4]) return 1", touch + "redis.call('HSET', KEYS[1], 'f', ARGV[3]) return 1", "ARGV[4] is read, and the header declares 3"},
		{FindWriteBeforeRefusal, "loop", "for i = 1, 99 do" + refusal + " redis.call('DEL', KEYS[1]) end return 1", "for i = 1, 99 do" + refusal + " redis.call('TTL', KEYS[1]) end return 1", "comes after DEL"},
		{FindUnknownCommand, "misspelt", touch + "redis.call('ZADDD', KEYS[1], 1) return 1", touch + "redis.call('zadd', KEYS[1], 1, 2) return 1", "no server has the command ZADDD, did you mean ZADD?"},
		{FindUnknownFunction, "misspelt", touch + "redis.cal('SET', KEYS[1], 1) return 1", touch + "if redis.nosuch then redis.call('TTL', KEYS[1]) end return 1", "a server's redis has no 'cal', did you mean call?"},
		{FindUnknownFunction, "capitals", touch + "redis.Call('SET', KEYS[1], 1) return 1", touch + "local r = redis r.call('TTL', KEYS[1]) return 1", "did you mean call?"},
		{FindUnknownFunction, "string", touch + "local s = ('x'):trim() return 1", touch + "local s = ('x'):upper() return 1", "a server's string has no 'trim'"},
		{FindNotFollowed, "nil", touch + "local t = {} t.put(KEYS[1]) return 1", touch + "local t = {put = tostring} t.put(KEYS[1]) return 1", "t.put is nil as far as can be told"},
		{FindNotFollowed, "no-function", touch + "local t = {} t(KEYS[1]) return 1", touch + "local t = setmetatable({}, {__call = function() end}) t(KEYS[1]) return 1", "t is no function as far as can be told"},
		{FindNoScript, "watch", touch + "redis.call('WATCH', KEYS[1]) return 1", touch + "redis.call('TOUCH', KEYS[1]) return 1", "a server refuses WATCH inside a script"},
		{FindNumberFormat, "microseconds", touch + "local t = redis.call('TIME') local us = t[1] * 1000000 + t[2] redis.call('HSET', KEYS[1], 'at', 'v' .. us) return 1", touch + "local t = redis.call('TIME') local ms = t[1] * 1000 + math.floor(t[2] / 1000) redis.call('HSET', KEYS[1], 'at', 'v' .. ms) return 1", "is printed with 14"},
		{FindNumberFormat, "fraction", touch + "local t = redis.call('TIME') local ms = t[1] * 1000 + t[2] / 1000 redis.call('HSET', KEYS[1], 'at', tostring(ms)) return 1", touch + "local t = redis.call('TIME') local ms = t[1] * 1000 + t[2] / 1000 redis.call('HSET', KEYS[1], 'at', ms) return 1", "a fractional number"},
		{FindNumberFormat, "literal", touch + "redis.call('HSET', KEYS[1], 'at', 'v' .. 1721000000000000) return 1", touch + "redis.call('HSET', KEYS[1], 'at', 'v' .. 1721000000000) return 1", "as 1.721e+15"},
		{FindNumberFormat, "argument-in-ms", touch + "redis.call('HSET', KEYS[1], 'at', 'v' .. ARGV[3] * 1000) return 1", touch + "redis.call('HSET', KEYS[1], 'at', 'v' .. ARGV[3] * 10) return 1", "about 16 digits"},
		{FindNumberFormat, "fifteen-digits", touch + "redis.call('HSET', KEYS[1], 'at', 100000000000000 .. '') return 1", touch + "redis.call('HSET', KEYS[1], 'at', 100000000000000) return 1", "the number 100000000000000 as 1e+14; use string.format('%.0f', n)"},
		{FindNumberFormat, "third", touch + "redis.call('HSET', KEYS[1], 'at', 'v' .. 1/3) return 1", touch + "redis.call('HSET', KEYS[1], 'at', 1/3) return 1", "with 14 digits, as 0.33333333333333; use string.format('%.17g', n)"},
		{FindGlobalVariable, "assigned", touch + "n = 1 return 1", touch + "local n = 1 return 1", "assigns the global n"},
		{FindGlobalVariable, "read", touch + "if nosuch then return 1 end return 1", touch + "if cjson then return 1 end return 1", "reads the global nosuch"},
		{FindNotFollowed, "loadstring", touch + "loadstring(ARGV[1])() return 1", touch + "tostring(ARGV[1]) return 1", "code is loaded at run time by loadstring"},
		{FindNotFollowed, "command", touch + "redis.call(ARGV[1], KEYS[1]) return 1", touch + "redis.call(ARGV[1] and 'GET' or 'TTL', KEYS[1]) return 1", "the command is ARGV[1]"},
	} {
		t.Run(string(tt.kind)+"/"+tt.name, func(t *testing.T) {
			bad := findings(t, tt.bad, contract(), Law{})
			if !strings.Contains(strings.Join(bad[tt.kind], "\n"), tt.want) {
				t.Errorf("planted: %v, want %s with %q", bad, tt.kind, tt.want)
			}
			if good := findings(t, tt.good, contract(), Law{}); len(good[tt.kind]) > 0 {
				t.Errorf("near: %v", good[tt.kind])
			}
		})
	}
}

func findings(t *testing.T, text string, v *scripts.Verb, law Law) map[FindingKind][]string {
	t.Helper()
	tr, err := Of(Script{Path: "planted.lua", Text: text, Verb: v})
	if err != nil {
		t.Fatal(err)
	}
	out := map[FindingKind][]string{}
	for _, f := range tr.Findings(law) {
		out[f.Kind] = append(out[f.Kind], fmt.Sprintf("%d:%d: %s", f.Line, f.Col, f.Message))
	}
	return out
}

func TestStrictLaw(t *testing.T) {
	text := refusal + "\nredis.call('HGET', KEYS[1], 'x') redis.call('DEL', KEYS[2] .. 'meta') return 1"
	if got := findings(t, text, contract(), Law{}); len(got) > 0 {
		t.Errorf("full law: %v", got)
	}
	got := findings(t, text, contract(), Law{Strict: true})
	want := "[3:34: key emq:{q}:meta of DEL is derived from KEYS[2] (base) and not passed in KEYS]"
	if g := fmt.Sprint(got[FindDerivedKey]); g != want || len(got) != 1 {
		t.Errorf("strict law: %v, want %s", got, want)
	}
}

func TestFileNameDeclares(t *testing.T) {
	for path, want := range map[string]string{"a/job-1.lua": "[KEYS[2]]", "job-2.lua": "[]", "job-3.lua": "[KEYS[3] unused]", "job.lua": "[]"} {
		tr, err := Of(Script{Path: path, Text: "redis.call('RENAME', KEYS[1], KEYS[2])"})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, f := range tr.Findings(Law{}) {
			if f.Kind == FindKeysIndex {
				got = append(got, "KEYS[2]")
			} else if f.Kind == FindUnusedKey {
				got = append(got, "KEYS[3] unused")
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
}

func TestAllow(t *testing.T) {
	line := "redis.call('GET', 'x')"
	for _, tt := range []struct {
		text string
		want int
	}{
		{line, 1},
		{line + " -- emqctl:allow undeclared-key", 0},
		{"-- emqctl:allow hash-tag, undeclared-key because it is shared\n" + line, 0},
		{"-- emqctl:allow hash-tag undeclared-key: both\n" + line, 0},
		{"-- emqctl:allow hash-tag undeclared-key both\n" + line, 0},
		{"-- emqctl:allow nope\n" + line, 2},
		{"-- emqctl:allow undeclared-kye\n" + line, 2},
		{"-- emqctl:allow undeclared-key, because of the fence\n" + line, 0},
		{"-- emqctl:allow undeclared-key\n\n" + line, 1},
		{"-- emqctl:allow hash-tag\n" + line, 1},
		{line + "\n-- emqctl:allow undeclared-key", 1},
		{"local function get(k)\nredis.call('GET', k)\nend\n\nget('x') -- emqctl:allow undeclared-key\nget('y')", 1},
		{"local s = '-- emqctl:allow undeclared-key'\n" + line, 1},
	} {
		tr, err := Of(Script{Text: tt.text})
		if err != nil {
			t.Fatal(err)
		}
		if got := tr.Findings(Law{}); len(got) != tt.want {
			t.Errorf("%q: %v, want %d findings", tt.text, got, tt.want)
		}
	}
	// What is said of a whole script stands in its first line.
	for text, want := range map[string]int{"return 1": 1, "-- emqctl:allow engine\nreturn 1": 0, "-- emqctl:allow hash-tag\nreturn 1": 1} {
		tr, err := Of(Script{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if got := tr.Findings(Law{Engines: []string{"elasticache-serverless"}}); len(got) != want {
			t.Errorf("%q: %v, want %d findings", text, got, want)
		}
	}
	tr, _ := Of(Script{Text: line})
	if got := tr.Findings(Law{Allow: []FindingKind{FindUndeclaredKey}}); len(got) != 0 {
		t.Errorf("allowed by option: %v", got)
	}
}

// TestEngineFindings: what an engine says against a script is a finding where
// the step stands, when the engine was asked for.
func TestEngineFindings(t *testing.T) {
	const script = "redis.call('GET', KEYS[1])\nredis.call('DEL', KEYS[1] .. ':logs')\nreturn 1"
	tr, err := Of(Script{Text: script})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		law  Law
		want string
	}{
		{Law{}, "[]"},
		{Law{Engines: []string{"standalone"}}, "[]"},
		{Law{Engines: []string{"dragonfly"}, Allow: []FindingKind{FindEngine}}, "[]"},
		{Law{Engines: []string{"dragonfly"}}, "[{engine  2 1 dragonfly: refused: key <KEYS[1]>:logs is derived and not declared 0}]"},
	} {
		if got := fmt.Sprint(tr.Findings(tt.law)); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.law, got, tt.want)
		}
	}
}

func TestKindsAreDocumented(t *testing.T) {
	seen := map[FindingKind]bool{}
	for _, k := range Kinds() {
		if seen[k.Kind] || k.About == "" {
			t.Errorf("kind %q: %q", k.Kind, k.About)
		}
		seen[k.Kind] = true
	}
	if len(seen) != 26 {
		t.Errorf("%d kinds are documented", len(seen))
	}
}

// TestPossibleKeys: what may be a key by the call is a finding when it is not
// declared, and none when a declared key stands there or an option.
func TestPossibleKeys(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"redis.call('MGET', unpack(ARGV))", "1:1: key ARGV[...] of MGET is made from ARGV[...], which is no declared base"},
		{"redis.call('MSET', unpack(ARGV))", "1:1: key ARGV[...] of MSET is made from ARGV[...], which is no declared base"},
		{"redis.call('MSET', unpack(KEYS))", ""},
		{"local t = {} for i = 1, #KEYS do t[#t + 1] = KEYS[i] t[#t + 1] = ARGV[i] end redis.call('MSET', unpack(t))", ""},
		{"redis.call('XREAD', 'STREAMS', unpack(ARGV))", "1:1: key ARGV[...] of XREAD is made from ARGV[...], which is no declared base"},
		{"redis.call('XREAD', 'COUNT', ARGV[1], 'STREAMS', KEYS[1], ARGV[2])", ""},
		{"redis.call('ZUNIONSTORE', KEYS[1], #ARGV, unpack(ARGV))", "1:1: key ARGV[...] of ZUNIONSTORE is made from ARGV[...], which is no declared base"},
		{"redis.call('ZUNIONSTORE', KEYS[1], #KEYS - 1, unpack(KEYS, 2))", ""},
		{"local a = {'ZUNIONSTORE', KEYS[1], #ARGV} for i = 1, #ARGV do a[#a + 1] = ARGV[i] end redis.call(unpack(a))", "1:87: key ARGV[i] of ZUNIONSTORE is made from ARGV[i], which is no declared base"},
		{"redis.call('ZINTER', tonumber(ARGV[1]), 'one', 'WEIGHTS', 1)", `1:1: key "one" of ZINTER is spelled out in the script, want it in KEYS`},
		{"redis.call('SORT', KEYS[1], unpack(ARGV))", "1:1: possible key ARGV[...] of SORT is made from ARGV[...], which is no declared base"},
		{"redis.call('SORT', KEYS[1], ARGV[1], ARGV[2])", "1:1: possible key ARGV[2] of SORT is made from ARGV[2], which is no declared base"},
		{"redis.call('SORT', KEYS[1], ARGV[1], 'ALPHA')", ""},
		{"redis.call('SORT', KEYS[1], 'LIMIT', ARGV[1], ARGV[2])", ""},
		{"redis.call('SORT', KEYS[1], ARGV[1] and 'STORE' or 'LIMIT', 'dest')", `1:1: key "dest" of SORT is spelled out in the script, want it in KEYS`},
		{"local a = {'SORT', KEYS[1]} if ARGV[1] then a[#a + 1] = 'STORE' a[#a + 1] = 'dest' end redis.call(unpack(a))", `1:88: possible key "dest" of SORT is spelled out in the script, want it in KEYS`},
		{"local a = {'SORT', KEYS[1]} if ARGV[1] then a[#a + 1] = 'STORE' a[#a + 1] = KEYS[2] end redis.call(unpack(a))", ""},
		{"redis.call('GEORADIUS', KEYS[1], 1, 1, 1, 'km', 'COUNT', ARGV[1], 'ASC')", ""},
		{"redis.call('HSET', KEYS[1], unpack(ARGV))", ""},
		{"redis.pcall('MIGRATE', 'h', 1, '', 0, 10, 'KEYS', KEYS[1], KEYS[2])", ""},
	} {
		got := findings(t, tt.text, nil, Law{})
		if g := strings.Join(got[FindUndeclaredKey], "; "); g != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.text, g, tt.want)
		}
	}
}

// TestDeclarations judges headers by themselves.
func TestDeclarations(t *testing.T) {
	for _, tt := range []struct {
		keys []scripts.Key
		want string
	}{
		{[]scripts.Key{{N: 1, Pattern: "emq:{q}:job:<id>", Store: "hash", Line: 4}, {N: 2, Pattern: "emq:{q}:", Role: "base", Line: 5}}, ""},
		{[]scripts.Key{{N: 1, Pattern: "emq:q:job:<id>", Store: "hash", Line: 4}}, "header 4:1: KEYS[1] is declared as emq:q:job:<id>, want the queue in braces: emq:{q}:"},
		{[]scripts.Key{{N: 1, Pattern: "emq:{q}:jbo", Store: "hash", Line: 4}}, "unregistered-key 4:1: KEYS[1] is declared as emq:{q}:jbo, which is of no registered type"},
		{[]scripts.Key{{N: 1, Pattern: "emq:{q}:meta", Store: "hash", Line: 4}, {N: 2, Pattern: "emq:{p}:pending", Store: "zset", Line: 5}}, "hash-tag 5:1: KEYS[2] is declared as emq:{p}:pending, and the keys before it have the hash tag {q}"},
	} {
		got := ""
		for kind, list := range findings(t, "redis.call('DEL', unpack(KEYS)) return 1", &scripts.Verb{Keys: tt.keys, Returns: []scripts.Return{{Value: "1"}}}, Law{}) {
			got += string(kind) + " " + strings.Join(list, "; ")
		}
		if got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.keys, got, tt.want)
		}
	}
	// A limiter's {KEYS[1]} is no finding, and depends on the key in a cluster.
	const limiter = "redis.call('SET', '{' .. KEYS[1] .. '}:last', 1)"
	if got := findings(t, limiter, nil, Law{}); len(got) > 0 {
		t.Errorf("a wrapped key: %v", got)
	}
	if v := answers(t, Script{Text: limiter})["cluster-shebang"]; v.Verdict != Depends {
		t.Errorf("a wrapped key in a cluster: %+v", v)
	}
}
