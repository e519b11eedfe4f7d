package trace

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/echomq/emqctl/internal/valkeytest"
)

// TestRecallHidden runs scripts that hide what they touch on a real server:
// behind metatables and iterators, on branches that only a wrong reading of
// Lua takes for dead, and at places that options decide. Every command that
// MONITOR shows is predicted, with its keys; only where the case says so a note
// speaks instead.
func TestRecallHidden(t *testing.T) {
	srv := valkeytest.Start(t)
	c := srv.Client()
	m := startMonitor(t, srv.Addr)
	for _, tt := range []struct {
		name, text string
		keys, argv string
		setup      string
		noted      bool // the trace says that something is not followed
	}{
		{name: "index-is-redis", text: "local R = setmetatable({}, {__index = redis}) R.call('SET', 'hidden', 1)"},
		{name: "index-set-late", text: "local mt = {} local R = setmetatable({}, mt) mt.__index = redis R.call('SET', 'hidden', 1)"},
		{name: "index-is-a-function", text: "local db = setmetatable({}, {__index = function(_, cmd) return function(...) return redis.call(cmd, ...) end end}) db.set('hidden', 1) db['get'](KEYS[1])", keys: "a"},
		{name: "index-touches", text: "local m = setmetatable({}, {__index = function(_, k) return redis.call('GET', 'memo:' .. k) end}) local x = m.one", keys: "a"},
		{name: "index-of-a-chain", text: "local A = {} A.__index = A local B = setmetatable({}, A) B.__index = B local o = setmetatable({k = KEYS[1]}, B) function A:get() return redis.call('GET', self.k) end o:get()", keys: "a"},
		{name: "call-set-late", text: "local mt = {} local f = setmetatable({}, mt) mt.__call = function(self, k) redis.call('GET', k) end f('hidden')"},
		{name: "event-set-late", text: "local mt = {} local a = setmetatable({}, mt) mt.__add = function(x, y) redis.call('GET', 'hidden') return 1 end local b = a + 1"},
		{name: "copied-library", text: "local R = {} for k, v in pairs(redis) do R[k] = v end R.call('SET', 'hidden', 1)"},
		{name: "iterated-library", text: "for name, f in pairs(redis) do if name == 'call' then f('EXISTS', 'hidden') end end"},
		{name: "next-of-a-function", text: "next({[redis.call] = 1})('SET', 'hidden', 1)"},
		{name: "method-of-a-decoded-table", text: "local o = cjson.decode(ARGV[1]) o.get = function(self) return redis.call('GET', 'hidden') end o:get()", argv: "{}"},
		{name: "gmatch-called", text: "local it = string.gmatch(ARGV[1], '%a+') redis.call('GET', it()) redis.call('GET', (it()))", argv: "a,b"},
		{name: "coroutine", text: "coroutine.wrap(function(...) return redis.call(...) end)('SET', 'hidden', 1)", noted: true},
		{name: "decoded-name", text: "local t = {[ARGV[1]] = redis.call} t.x('SET', 'hidden', 1)", argv: "x"},

		{name: "command-by-a-name", text: "local o = {} for name in ('incr decr'):gmatch('%a+') do o[name] = function(self, k) return redis.call(name, k) end end o:incr('hidden')"},
		{name: "command-argument", text: "redis.call(ARGV[1], 'hidden')", argv: "incr"},
		{name: "concat-event", text: "local c = setmetatable({}, {__concat = function() return 'hidden' end}) redis.call('GET', c .. 'x')"},
		{name: "popped", text: "local s = {KEYS[1], KEYS[2]} redis.call('DEL', s[#s]) s[#s] = nil if #s == 1 then redis.call('SET', 'left', 1) end", keys: "a b"},
		{name: "popped-to-nothing", text: "local s = {'a'} s[#s] = nil if #s == 0 then redis.call('SET', 'left', 1) else redis.call('GET', 'x') end"},
		{name: "work-list", text: "local todo = {KEYS[1]} while #todo > 0 do local k = todo[#todo] todo[#todo] = nil redis.call('DEL', k) end if #todo == 0 then redis.call('SET', 'drained', 1) end", keys: "a"},
		{name: "work-list-that-grows", text: "local todo, n = {KEYS[1]}, 0 while #todo > 0 do local k = todo[#todo] todo[#todo] = nil n = n + 1 redis.call('DEL', k) if n < 3 then todo[#todo + 1] = k .. ':x' end end", keys: "a"},
		{name: "fewer-keys", text: "local t = {KEYS[1], KEYS[2]} if #t == 1 then redis.call('SET', 'short', 1) end", keys: "a"},
		{name: "nil-appended", text: "local t = {'a'} t[#t + 1] = nil if #t == 1 then redis.call('SET', 'short', 1) end"},
		{name: "appended-behind-nil", text: "local t = {'a', (cjson.decode(ARGV[1])).x} t[#t + 1] = 'b' redis.call('DEL', t[2], t[1])", argv: "{}"},
		{name: "false-removed", text: "local t = {false, 'a'} table.remove(t, 1) if #t == 1 then redis.call('SET', 'one', 1) end"},
		{name: "near-numbers", text: "local max = 100000000000001 if max ~= 100000000000002 then redis.call('SET', 'differ', 1) end"},
		{name: "tenths", text: "if 0.1 + 0.2 ~= 0.3 then redis.call('SET', 'differ', 1) end"},
		{name: "large-sum", text: "if 1e15 + 1 == 1e15 then redis.call('SET', 'same', 1) else redis.call('SET', 'differ', 1) end"},
		{name: "beyond-integers", text: "if 2^53 == 2^53 + 1 then redis.call('SET', 'same', 1) end"},
		{name: "minus-zero", text: "local z = 0 if -z == 0 then redis.call('SET', 'zero', 1) end"},
		{name: "no-number", text: "local n = 0/0 if n ~= n then redis.call('SET', 'nan', 1) end if n == n then else redis.call('SET', 'nan2', 1) end"},
		{name: "no-number-from-text", text: "local n = tonumber('nan') if n ~= n then redis.call('SET', 'nan', 1) end"},
		{name: "binary-text", text: "if tonumber('0b1') == nil then redis.call('SET', 'nil', 1) end"},
		{name: "octal-text", text: "if tonumber('010') == 10 and tonumber('0x10') == 16 and tonumber('1_0') == nil and tonumber(' 5 ') == 5 then redis.call('SET', 'so', 1) end"},
		{name: "other-base", text: "if tonumber('10', 2) == 2 then redis.call('SET', 'two', 1) end"},
		{name: "hex-exponent", text: "if 0x1p4 == 16 then redis.call('SET', 'sixteen', 1) end"},

		{name: "sort-option-by-a-branch", text: "local o = 'LIMIT' if ARGV[1] == 'store' then o = 'STORE' end redis.call('SORT', KEYS[1], o, 'dest')", keys: "a", argv: "store"},
		{name: "sort-option-by-and-or", text: "redis.call('SORT', KEYS[1], ARGV[1] == 'store' and 'STORE' or 'DESC', 'dest')", keys: "a", argv: "store"},
		{name: "sort-option-argument", text: "redis.call('SORT', KEYS[1], ARGV[1], 'dest')", keys: "a", argv: "STORE"},
		{name: "sort-options-argument", text: "redis.call('SORT', KEYS[1], ARGV[1], ARGV[2])", keys: "a", argv: "STORE dest"},
		{name: "sort-unpacked", text: "redis.call('SORT', KEYS[1], unpack(ARGV))", keys: "a", argv: "STORE dest"},
		{name: "sort-built", text: "local args = {'SORT', KEYS[1]} if ARGV[1] then args[#args + 1] = 'STORE' args[#args + 1] = 'dest' end redis.call(unpack(args))", keys: "a", argv: "x"},
		{name: "radius-option", text: "redis.call('GEORADIUS', KEYS[1], 1, 1, 1, 'km', ARGV[1] == 'x' and 'STORE' or 'STOREDIST', 'dest')", keys: "a", argv: "x"},
		{name: "count-by-a-branch", text: "local n = 1 if ARGV[1] then n = 2 end redis.call('ZINTER', n, KEYS[1], 'second')", keys: "a", argv: "x"},
		{name: "subcommand-by-a-branch", text: "redis.pcall('OBJECT', ARGV[1] and 'ENCODING' or 'REFCOUNT', 'hidden')", argv: "x"},
		{name: "count-of-arguments", text: "redis.call('ZUNIONSTORE', KEYS[1], #ARGV, unpack(ARGV))", keys: "a", argv: "x y"},
		{name: "count-unknown", text: "local n = tonumber(ARGV[1]) redis.call('ZINTER', n, 'one', 'two')", argv: "2"},
		{name: "pairs-unpacked", text: "redis.call('MSET', unpack(ARGV))", argv: "x 1 y 2"},
		{name: "streams-unpacked", text: "redis.call('XREAD', 'STREAMS', unpack(ARGV))", argv: "x y 0 0"},
		{name: "number-keys", text: "redis.call('SET', 100000000000000, 1) redis.call('SET', 1e15, 1) redis.call('SET', 1/3, 1) redis.call('SET', -0, 1) redis.call('SET', 1e20, 1) redis.call('SET', 2^63, 1)"},
		{name: "number-keys-of-a-fraction", text: "redis.call('SET', 0.1 + 0.2, 1) redis.call('SET', 1e-5, 1) redis.call('SET', 1e-7, 1) redis.call('SET', 1.234e-5, 1) redis.call('SET', -1/3, 1) redis.call('SET', 1e300, 1) redis.call('SET', 1.5e-10, 1)"},
		{name: "number-keys-as-text", text: "redis.call('SET', 'n' .. 1e14, 1) redis.call('SET', tostring(1/3), 1) redis.call('SET', 1e15 .. '', 1) redis.call('SET', -0 .. '', 1) redis.call('SET', 1e14 .. '', 1)"},
		{name: "number-keys-formatted", text: "redis.call('SET', ('%x'):format(255), 1) redis.call('SET', ('%q'):format('a'), 1) redis.call('SET', ('%05d'):format(42), 1) redis.call('SET', ('%.2f'):format(1/3), 1) redis.call('SET', ('%X:%c'):format(255, 65), 1) redis.call('SET', ('%5s|%-5s|%.1s'):format('a', 'b', 'cd'), 1)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr, err := Of(Script{Text: tt.text})
			if err != nil {
				t.Fatal(err)
			}
			if (len(tr.Notes) > 0) != tt.noted {
				t.Errorf("notes %v, want some: %v", tr.Notes, tt.noted)
			}
			if _, err := do(c, "FLUSHALL"); err != nil {
				t.Fatal(err)
			}
			for _, s := range strings.Split(tt.setup, ";") {
				if s != "" {
					if r, err := do(c, strings.Fields(s)...); err != nil {
						t.Fatalf("%s: %v, %v", s, r, err)
					}
				}
			}
			keys, argv := strings.Fields(tt.keys), strings.Fields(tt.argv)
			var evalErr error
			observed := m.lua(t, c, func() {
				args := append([]string{"EVAL", tt.text, strconv.Itoa(len(keys))}, keys...)
				_, evalErr = do(c, append(args, argv...)...)
			})
			if evalErr != nil && !rueidis.IsRedisNil(evalErr) || len(observed) == 0 {
				t.Errorf("the server says %v, and ran %v", evalErr, observed)
			}
			if tt.noted {
				return
			}
			if err := tr.Allows(observed, keys, argv); err != nil {
				t.Errorf("%v\nobserved %v\ntraced %s", err, observed, show(tr))
			}
		})
	}
}
