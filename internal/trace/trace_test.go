package trace

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// show writes a trace's steps in one line: command, origin and pattern of
// each key, ? for a possible key, * for any number, | between alternatives.
func show(tr *Trace) string {
	var out []string
	for _, s := range tr.Steps {
		b := s.Command
		for i, k := range s.Keys {
			sep := " "
			if i > 0 && k.Alternative && s.Keys[i-1].Arg == k.Arg {
				sep = "|"
			}
			b += sep + string(k.Origin[:3]) + ":" + k.Pattern
			if k.Many {
				b += "*"
			}
			if k.Maybe {
				b += "?"
			}
		}
		out = append(out, b)
	}
	return strings.Join(out, "; ")
}

func TestOrigins(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"declared", "redis.call('GET', KEYS[1])", "GET dec:<KEYS[1]>"},
		{"server-call", "server.call('GET', KEYS[1]) server.pcall('TTL', KEYS[2])", "GET dec:<KEYS[1]>; TTL dec:<KEYS[2]>"},
		{"shebang", "#!lua flags=no-writes\nredis.call('GET', KEYS[1])", "GET dec:<KEYS[1]>"},
		{"alias", "local r = redis local c = r.call c('GET', KEYS[1]) r['pcall']('TTL', KEYS[1])", "GET dec:<KEYS[1]>; TTL dec:<KEYS[1]>"},
		{"literal", "redis.call('GET', 'a' .. 'b')", "GET lit:ab"},
		{"argument", "redis.call('GET', ARGV[1])", "GET der:<ARGV[1]>"},
		{"prefix", "local p = ARGV[1] redis.call('GET', p .. ':' .. ARGV[2])", "GET der:<ARGV[1]>:<ARGV[2]>"},
		{"data", "redis.call('DEL', redis.call('GET', KEYS[1]))", "GET dec:<KEYS[1]>; DEL dat:<value>"},
		{"scan", "for _, k in ipairs(redis.call('SCAN', 0)[2]) do redis.call('DEL', k) end", "SCAN; DEL dat:<key>"},
		{"hmget", "local r = redis.call('HMGET', KEYS[1], 'parent', 'queue') redis.call('GET', KEYS[2] .. r[2])", "HMGET dec:<KEYS[1]>; GET der:<KEYS[2]><queue>"},
		{"helper", "local function k(p, id) return p .. ':' .. id end redis.call('GET', k(KEYS[1], ARGV[1]))", "GET der:<KEYS[1]>:<ARGV[1]>"},
		{"helper-twice", "local function del(k) redis.call('DEL', k) end del(KEYS[1]) del(KEYS[2] .. 'x')", "DEL dec:<KEYS[1]>; DEL der:<KEYS[2]>x"},
		{"helper-early-return", "local function k() if ARGV[1] then return KEYS[1] end return KEYS[2] end redis.call('GET', k())", "GET dec:<KEYS[1]>|dec:<KEYS[2]>"},
		{"branch", "local k = KEYS[1] if ARGV[1] then k = KEYS[2] elseif ARGV[2] then k = 'x' end redis.call('GET', k)", "GET dec:<KEYS[2]>|lit:x|dec:<KEYS[1]>"},
		{"branch-that-returns", "local k = KEYS[1] if ARGV[1] then k = KEYS[2] return k end redis.call('GET', k)", "GET dec:<KEYS[1]>"},
		{"or", "redis.call('GET', KEYS[2] or ARGV[1])", "GET dec:<KEYS[2]>|der:<ARGV[1]>"},
		{"and-or", "redis.call('GET', ARGV[1] == 'x' and KEYS[1] or KEYS[2])", "GET dec:<KEYS[1]>|dec:<KEYS[2]>"},
		{"unpack", "redis.call('DEL', unpack(KEYS))", "DEL dec:<KEYS[...]>*"},
		{"unpack-from", "redis.call('DEL', unpack(KEYS, 2, 3))", "DEL dec:<KEYS[2]> dec:<KEYS[3]>"},
		{"table", "local t = { KEYS[1] } table.insert(t, 'x') t[#t + 1] = KEYS[2] .. 'y' redis.call('DEL', unpack(t))", "DEL dec:<KEYS[1]> lit:x der:<KEYS[2]>y"},
		{"table-in-a-loop", "local t = {} for i = 1, #KEYS do t[i] = KEYS[i] .. ':x' end redis.call('DEL', unpack(t))", "DEL der:<KEYS[i]>:x*"},
		{"whole-call-unpacked", "local t = { 'ZADD', KEYS[1] } for i = 1, #ARGV do t[#t + 1] = ARGV[i] end redis.call(unpack(t))", "ZADD dec:<KEYS[1]>"},
		{"varargs", "local function f(...) redis.call('DEL', ...) end f(KEYS[1], 'x')", "DEL dec:<KEYS[1]> lit:x"},
		{"varargs-table", "local function f(...) for _, k in ipairs({...}) do redis.call('DEL', k) end end f(unpack(KEYS))", "DEL dec:<KEYS[i]>"},
		{"select", "local function f(...) redis.call('DEL', (select(2, ...))) end f('a', KEYS[3])", "DEL dec:<KEYS[3]>"},
		{"ipairs-keys", "for i, k in ipairs(KEYS) do redis.call('GET', k) end", "GET dec:<KEYS[i]>"},
		{"next", "for _, k in next, KEYS do redis.call('GET', k) end", "GET dec:<KEYS[i]>"},
		{"format", "redis.call('GET', string.format('%s:%d:%%', KEYS[1], ARGV[1]))", "GET der:<KEYS[1]>:<ARGV[1]>:%"},
		{"method-format", "redis.call('GET', ('%s:x'):format(KEYS[1]))", "GET der:<KEYS[1]>:x"},
		{"concat", "redis.call('GET', table.concat({ KEYS[1], 'a' }, ':'))", "GET der:<KEYS[1]>:a"},
		{"sub", "redis.call('GET', KEYS[1]:sub(1, -3) .. 'x')", "GET der:<part of KEYS[1]>x"},
		{"match", "local b = string.match(KEYS[1], '^(.-):') redis.call('GET', b .. ':x')", "GET der:<part of KEYS[1]>:x"},
		{"json", "local a = cjson.decode(ARGV[1]) redis.call('GET', a.prefix .. a['id'])", "GET der:<ARGV[1].prefix><ARGV[1].id>"},
		{"msgpack", "local a = cmsgpack.unpack(ARGV[1]) redis.call('GET', a[1])", "GET der:<ARGV[1][1]>"},
		{"number", "redis.call('GET', KEYS[1] .. (redis.call('INCR', KEYS[2]) + 1))", "INCR dec:<KEYS[2]>; GET der:<KEYS[1]><incr() + 1>"},
		{"pcall", "local ok, k = pcall(function() return redis.call('GET', KEYS[1]) end) redis.call('DEL', k)", "GET dec:<KEYS[1]>; DEL dat:<value>|unk:<?>"},
		{"pcall-of-call", "pcall(redis.call, 'GET', KEYS[1])", "GET dec:<KEYS[1]>"},
		{"command-alternatives", "redis.call(ARGV[1] and 'LPUSH' or 'RPUSH', KEYS[1], 1)", "LPUSH dec:<KEYS[1]>; RPUSH dec:<KEYS[1]>"},
		{"table-of-functions", "local t = { a = function() redis.call('GET', KEYS[1]) end } t[ARGV[1]]()", "GET dec:<KEYS[1]>"},
		{"put-into-a-reply", "local r = redis.call('LRANGE', KEYS[1], 0, -1) r[#r + 1] = KEYS[2] for _, k in ipairs(r) do redis.call('DEL', k) end", "LRANGE dec:<KEYS[1]>; DEL dat:<element>|dec:<KEYS[2]>"},
		{"upvalue", "local k = KEYS[1] local function f() k = KEYS[2] end f() redis.call('GET', k)", "GET dec:<KEYS[2]>"},
		{"grows-in-a-loop", "local k = KEYS[1] while redis.call('EXISTS', k) == 1 do k = k .. ':x' end redis.call('DEL', k)", "EXISTS der:<KEYS[1]><?>; DEL der:<KEYS[1]><?>"},
		{"tonumber-or", "local n = tonumber(ARGV[1]) if n then redis.call('GET', KEYS[1]) else redis.call('GET', KEYS[2]) end", "GET dec:<KEYS[1]>; GET dec:<KEYS[2]>"},
		{"tonumber-in-a-key", "redis.call('GET', KEYS[1] .. tonumber(ARGV[1]))", "GET der:<KEYS[1]><ARGV[1]>"},
		{"closures", "local function mk(k) return function() redis.call('GET', k) end end local a, b = mk(KEYS[1]), mk(KEYS[2]) local f = ARGV[1] and a or b f()", "GET dec:<KEYS[1]>; GET dec:<KEYS[2]>"},
		{"overwritten-place", "local t = { KEYS[1] } t[ARGV[1]] = KEYS[2] t[tonumber(ARGV[2])] = 'x' redis.call('GET', t[1])", "GET dec:<KEYS[1]>|dec:<KEYS[2]>|lit:x"},
		{"break", "local k = KEYS[1] for i = 1, 99 do if ARGV[i] then k = KEYS[2] break end k = 'x' end redis.call('GET', k)", "GET dec:<KEYS[2]>|dec:<KEYS[1]>|lit:x"},
		{"shadowed", "local k = KEYS[1] do local k = KEYS[2] redis.call('GET', k) end redis.call('GET', k)", "GET dec:<KEYS[2]>; GET dec:<KEYS[1]>"},
		{"arg-table", "local function f(...) redis.call('DEL', unpack(arg)) end f(KEYS[1], 'x')", "DEL dec:<KEYS[1]> lit:x"},
		{"removed-argument", "local cmd = table.remove(ARGV, 1) redis.call('GET', ARGV[1])", "GET der:<ARGV[i]>"},
		{"filled-before-it-is-returned", "local function f() if ARGV[1] then return {} end local t = {} for i = 1, #KEYS do t[#t + 1] = KEYS[i] end return t end for _, k in ipairs(f()) do redis.call('GET', k) end", "GET dec:<KEYS[i]>"},
		{"two-tables", "local a, b = {}, {} local t = ARGV[1] and a or b b[1] = KEYS[1] redis.call('DEL', t[1])", "DEL dec:<KEYS[1]>"},
		{"table-made-in-a-loop", "local t for i = 1, 9 do t = { KEYS[2] } t[#t + 1] = KEYS[1] end if t then redis.call('DEL', unpack(t)) end", "DEL dec:<KEYS[2]> dec:<KEYS[1]>"},
		{"unpacked-into-locals", "local a, b = unpack(KEYS) redis.call('RENAME', b, a)", "RENAME dec:<KEYS[2]> dec:<KEYS[1]>"},
		{"chunks", "local ks = redis.call('KEYS', ARGV[1]) for i = 1, #ks, 9 do redis.call('DEL', unpack(ks, i, math.min(i + 8, #ks))) end", "KEYS; DEL dat:<key>*"},
		{"struct", "local a, b = struct.unpack('dLc0', redis.call('LPOP', KEYS[1])) redis.call('DEL', b)", "LPOP dec:<KEYS[1]>; DEL dat:<element>"},
		{"dead-code", "do return 1 end redis.call('GET', KEYS[1])", ""},
		{"after-error", "error('x') redis.call('GET', KEYS[1])", ""},
		{"always-true", "local f = false if not f then redis.call('GET', KEYS[1]) else redis.call('GET', KEYS[2]) end", "GET dec:<KEYS[1]>"},
		{"sort", "redis.call('SORT', KEYS[1], 'BY', 'w_*', 'STORE', KEYS[2])", "SORT dec:<KEYS[1]> lit:w_* dec:<KEYS[2]>"},
		{"numkeys-unknown", "redis.call('ZUNIONSTORE', KEYS[1], #KEYS - 1, unpack(KEYS, 2))", "ZUNIONSTORE dec:<KEYS[1]> dec:<KEYS[...]>*?"},
		{"streams", "redis.call('XREAD', 'COUNT', 1, 'STREAMS', KEYS[1], '0')", "XREAD dec:<KEYS[1]>"},
		{"unknown-function", "redis.call('GET', nosuch(KEYS[1]))", "GET unk:<?>"},
		{"library", "#!lua name=lib\nredis.register_function('f', function(keys, args) redis.call('GET', keys[1] .. args[1]) end)", "GET der:<KEYS[1]><ARGV[1]>"},
		{"keys-assigned", "KEYS[1] = 'x' redis.call('GET', KEYS[1])", "GET lit:x|dec:<KEYS[1]>"},
		{"global-function", "function f(k) redis.call('GET', k) end f(KEYS[1])", "GET dec:<KEYS[1]>"},
		{"sort-callback", "table.sort(KEYS, function(a, b) return redis.call('GET', KEYS[1]) end)", "GET dec:<KEYS[1]>"},
		{"goto-is-a-name", "local goto = KEYS[1] redis.call('GET', goto)", "GET dec:<KEYS[1]>"},
		{"method-call", "local o = { k = KEYS[1] } function o:get() return redis.call('GET', self.k) end o:get()", "GET dec:<KEYS[1]>"},
		{"metatable", "local C = {} C.__index = C function C:get() return redis.call('GET', self.k) end local o = setmetatable({ k = KEYS[1] }, C) o:get()", "GET dec:<KEYS[1]>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr, err := Of(Script{Text: tt.text})
			if err != nil {
				t.Fatal(err)
			}
			if got := show(tr); got != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.text, got, tt.want)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	tr, err := Of(Script{Text: `local n = redis.call('EXISTS', KEYS[1])
if n == 0 then
  return 0
elseif ARGV[1] then
  for _, v in ipairs({ 'a', 'b' }) do redis.call('SADD', KEYS[1], v) end
else
  while redis.call('LLEN', KEYS[2]) > 0 do redis.call('LPOP', KEYS[2]) end
end
redis.call('DEL', KEYS[1])
return 1`})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range tr.Steps {
		got = append(got, fmt.Sprintf("%d %d:%d %s when %q loop %q guards %q", s.N, s.Line, s.Col, s.Command, s.When, s.Loop, s.Guards))
	}
	want := []string{
		`1 1:11 EXISTS when [] loop [] guards []`,
		`2 5:39 SADD when ["n ~= 0" "ARGV[1]"] loop ["for v = 'a'"] guards []`,
		`3 5:39 SADD when ["n ~= 0" "ARGV[1]"] loop ["for v = 'b'"] guards []`,
		`4 7:9 LLEN when ["n ~= 0" "not ARGV[1]"] loop ["while redis.call('LLEN', KEYS[2]) > 0"] guards []`,
		`5 7:44 LPOP when ["n ~= 0" "not ARGV[1]"] loop ["while redis.call('LLEN', KEYS[2]) > 0"] guards []`,
		`6 9:1 DEL when [] loop [] guards ["n ~= 0"]`,
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

// TestErrors holds whole messages.
func TestErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unclosed-if", "if ARGV[1] then\n  return 1\n", `s.lua:2:11: found the end of the file, want "end" to close "if" of 1:1`},
		{"unclosed-call", "redis.call('GET', KEYS[1]", `s.lua:1:26: found the end of the file, want ")" to close "(" of 1:11`},
		{"wrong-bracket", "redis.call('GET', KEYS[1)]", `s.lua:1:25: found ")", want "]" to close "[" of 1:23`},
		{"no-close-before-statement", "redis.call('GET', KEYS[1]\nreturn 1", `s.lua:2:1: found "return" after "]", want ")" to close "(" of 1:11`},
		{"no-close-before-local", "local x = (1 + 2\nlocal y", `s.lua:2:1: found "local" after "2", want ")" to close "(" of 1:11`},
		{"no-close-of-table", "local t = {1, 2\nreturn t", `s.lua:2:1: found "return" after "2", want "}" to close "{" of 1:11`},
		{"no-close-of-index", "if KEYS[1 == 'x' then return 1 end", `s.lua:1:18: found "then" after "'x'", want "]" to close "[" of 1:8`},
		{"no-close-before-call", "f(a, b\ng(c)", `s.lua:2:1: found "g" after "b", want "," or ")" to close "(" of 1:2`},
		{"no-close-in-function", "f(function()\n  g(1\n  return 1\nend)", `s.lua:3:3: found "return" after "1", want ")" to close "(" of 2:4`},
		{"no-comma", "redis.call('GET' KEYS[1])", `s.lua:1:18: found "KEYS" after "'GET'", want "," or ")" to close "(" of 1:11`},
		{"no-comma-in-table", "t = {a = 1 b = 2}", `s.lua:1:12: found "b" after "1", want "," or "}" to close "{" of 1:5`},
		{"no-right-operand", "x = (1 +) 2", `s.lua:1:9: found ")" after "+", want a value`},
		{"extra-end", "local a = 1\nend", `s.lua:2:1: found "end", which closes nothing`},
		{"string", "local a = 'x\nlocal b", `s.lua:1:11: found the end of the line in a string, want "'"`},
		{"long-comment", "--[[ x", `s.lua:1:1: found the end of the file in a comment, want "]]"`},
		{"goto", "goto done", `s.lua:1:1: found goto, and Lua 5.1 has none`},
		{"label", "::done::", `s.lua:1:1: found a label, and Lua 5.1 has none`},
		{"two-names", "local a = 1\nlocla b = 2", `s.lua:2:7: found "b" after "locla", want "=", a call or an operator`},
		{"no-value", "local a = 1 +\n\nend", `s.lua:3:1: found "end", which closes nothing`},
		{"token", "local a = 1 // 2", `s.lua:1:14: found "/" after "/"`},
		{"foreign-byte", "local é = 1", `s.lua:1:7: found "\xc3", which begins nothing in Lua 5.1`},
		{"number", "local a = 3x", `s.lua:1:11: found "3x", want a number`},
		{"escape", `local a = '\300'`, `s.lua:1:12: found the escape \300, want at most \255`},
		{"ambiguous", "local f = (g)\n(h)()", `s.lua:2:1: ambiguous syntax (function call x new statement)`},
		{"byte-order-mark", "\xef\xbb\xbfreturn 1", `s.lua:1:1: found a byte order mark, and a server does not compile that: save the file without it`},
		{"goto-before-its-label", "for i = 1, 2 do\n  goto next\n  ::next::\nend", `s.lua:2:3: found goto, and Lua 5.1 has none`},
		{"no-then", "if x\n  return 1\nend", `s.lua:2:3: found "return" after "x", want "then"`},
		{"no-then-in-elseif", "if x then\nelseif y == 2\n  z = 1\nend", `s.lua:3:3: found "z" after "2", want "then"`},
		{"no-do", "while f(x) x = 1 end", `s.lua:1:12: found "x" after ")", want "do"`},
		{"no-do-in-for", "for i = 1, 2 f() end", `s.lua:1:14: found "f" after "2", want "do"`},
		{"no-range-in-for", "for i do end", `s.lua:1:7: found "do" after "i", want "=" or "in"`},
		{"no-name", "local 1 = 2", `s.lua:1:7: found "1" after "local", want a name`},
		{"no-member", "x = a.1", `s.lua:1:6: found ".1" after "a"`},
		{"no-method", "a:(1)", `s.lua:1:3: found "(" after ":", want a name`},
		{"no-condition", "if then return 1 end", `s.lua:1:4: found "then" after "if", want a value`},
		{"nested-bracket", "local s = [[\n a [[ b ]]", `s.lua:2:4: found [[ in [[ ]], and a server refuses that: write [=[ ]=]`},
		{"empty-item", "return {1,, 2}", `s.lua:1:11: found "," after ",", want a value`},
		{"break", "break", `s.lua:1:1: found break outside a loop`},
		{"vararg", "local function f() return ... end", `s.lua:1:27: found "..." in a function without it`},
		{"locals", many(201, "local a%d\n"), `s.lua:201:1: found more than 200 local variables in one function, and a server does not compile that`},
		{"nesting", strings.Repeat("(", 191), `s.lua:1:191: nested deeper than 190 levels, and a server refuses at 200`},
		{"concat-chain", "local a = ''" + strings.Repeat("..''", 191), `s.lua:1:773: nested deeper than 190 levels, and a server refuses at 200`},
		{"size", strings.Repeat(" ", MaxSource+1), `s.lua:1:1: script is 2097153 bytes, at most 2097152 are read`},
	} {
		_, err := Of(Script{Path: "s.lua", Text: tt.text})
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v", tt.name, err)
			continue
		}
		if e.Error() != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, e, tt.want)
		}
		if e.Off < 0 || e.Off > len(tt.text) {
			t.Errorf("%s: offset %d of %d bytes", tt.name, e.Off, len(tt.text))
		}
	}
}

// TestBounds traces scripts that are made to be hard: each ends soon, and what
// was given up is said.
func TestBounds(t *testing.T) {
	var doubling strings.Builder
	doubling.WriteString("local f0 = function(k) redis.call('GET', k) end\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&doubling, "local f%d = function(k) f%d(k .. 'a') f%d(k .. 'b') end\n", i, i-1, i-1)
	}
	doubling.WriteString("f39(KEYS[1])")
	for _, tt := range []struct {
		name, text string
		noted      bool
	}{
		{"doubling-calls", doubling.String(), true},
		{"nested-loops", strings.Repeat("while redis.call('GET', x) do x = x .. ARGV[1] ", 60) + strings.Repeat("end ", 60), true},
		{"recursion", "local function f(k) redis.call('GET', k) f(k .. 'x') end f(KEYS[1])", false},
		{"mutual-recursion", "local g local function f(k) redis.call('GET', k) g(k, 1) end g = function(k) f(k .. 'x') end f(KEYS[1])", false},
		{"long-sum", "local x = 1" + strings.Repeat(" + 1", 100_000), true},
		{"mebibyte-of-calls", strings.Repeat("redis.call('GET', KEYS[1])\n", (1<<20)/27), true},
		{"mebibyte-of-comment", "--" + strings.Repeat("x", 1<<20) + "\nredis.call('GET', KEYS[1])", false},
		{"mebibyte-of-string", "redis.call('GET', '" + strings.Repeat("x", 1<<20) + "')", false},
		{"metatables-in-a-circle", "local a, b = {}, {} if ARGV[1] then a, b = b, a end setmetatable(a, {__index = ARGV[2] and a or b, __call = ARGV[2] and a or b}) setmetatable(b, {__index = ARGV[3] and b or a, __call = ARGV[3] and a or b}) a.x('GET') a('GET') redis.call('GET', a.y)", true},
		{"elseifs", "if a then" + strings.Repeat("\nelseif a then", 50_000) + "\nend", true},
	} {
		start := time.Now()
		tr, err := Of(Script{Text: tt.text})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		tr.Findings(Law{})
		t.Logf("%s: %v, %d steps", tt.name, time.Since(start), len(tr.Steps))
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s took %v", tt.name, d)
		}
		if (len(tr.Notes) > 0) != tt.noted {
			t.Errorf("%s: notes %v, want some: %v", tt.name, tr.Notes, tt.noted)
		}
	}
	deep := strings.Repeat("(", 100_000)
	if _, err := Of(Script{Text: "x = " + deep}); err == nil {
		t.Error("100,000 parentheses were parsed")
	}
}

func TestRecursionIsCovered(t *testing.T) {
	tr, err := Of(Script{Text: "local function f(k) redis.call('GET', k) f(k .. 'x') end f(KEYS[1])"})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"a", "ax", "axx", "axxxxxxx"} {
		if !predicted(tr, Observed{"GET", []string{k}}, []string{"a"}, nil, map[int]bool{}) {
			t.Errorf("%s: key %q is missing", show(tr), k)
		}
	}
}

func TestInclude(t *testing.T) {
	fsys := fstest.MapFS{
		"a.lua":       {Data: []byte("local x = 1\n--- @include \"lib/b\"\nredis.call('GET', 'one')\n")},
		"lib/b.lua":   {Data: []byte("--- @include \"c\"\nredis.call('GET', 'two')")},
		"lib/c.lua":   {Data: []byte("-- nothing\n")},
		"circle.lua":  {Data: []byte("--- @include \"lib/d\"\n")},
		"lib/d.lua":   {Data: []byte("\n--- @include \"../circle\"\n")},
		"missing.lua": {Data: []byte("--- @include \"nowhere\"\n")},
		"out.lua":     {Data: []byte("--- @include \"../x\"\n")},
	}
	in, err := Include(fsys, "a.lua")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Of(Script{Path: "a.lua", Text: in.Text, Included: in})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range tr.Steps {
		got = append(got, fmt.Sprintf("%s:%d", s.File, s.Line))
	}
	for _, f := range tr.Findings(Law{}) {
		got = append(got, fmt.Sprintf("%s:%d:%s", f.File, f.Line, f.Kind))
	}
	if want := "[lib/b.lua:2 :3 lib/b.lua:2:undeclared-key :3:undeclared-key]"; fmt.Sprint(got) != want {
		t.Errorf("positions %v, want %s", got, want)
	}
	for name, want := range map[string]string{
		"circle.lua":  `lib/d.lua:2:1: include "../circle" goes in a circle: circle.lua -> lib/d.lua -> circle.lua`,
		"missing.lua": `missing.lua:1:1: include "nowhere" is not there: file does not exist`,
		"out.lua":     `out.lua:1:1: include "../x" is not there: it lies outside the folder`,
	} {
		if _, err := Include(fsys, name); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

func TestMatches(t *testing.T) {
	tr, err := Of(Script{Text: "local id = redis.call('LPOP', KEYS[1]) redis.call('DEL', KEYS[1] .. ':' .. id .. ':' .. ARGV[1])"})
	if err != nil {
		t.Fatal(err)
	}
	k := tr.Steps[1].Keys[0]
	for actual, want := range map[string]bool{"q:7:x": true, "q::x": true, "q:7:y": false, "p:7:x": false, "q:a:b:x": true, "q:x": false} {
		if got := k.Matches(actual, []string{"q"}, []string{"x"}); got != want {
			t.Errorf("Matches(%q) = %v, want %v", actual, got, want)
		}
	}
}
