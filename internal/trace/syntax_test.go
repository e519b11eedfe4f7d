package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/echomq/emqctl/internal/valkeytest"
)

// many writes n lines, each with its number in the place of %d.
func many(n int, line string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(line, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// TestSyntaxAsServer: what a server does not compile is an error here, and
// what it compiles is none.
func TestSyntaxAsServer(t *testing.T) {
	c := valkeytest.Start(t).Client()
	up := func(n int) string {
		return "local f = function() local f0 = function() end " + "end " + // two levels, so that names are reached through one
			many(150, "local a%d ") + "local g = function() return function() return " + many(n, "a%d, ") + "1 end end"
	}
	for _, text := range []string{
		// A call on a new line.
		"local f = redis.call\n(f or tostring)('PING')", "return redis.call\n('PING')", "local t = {} t.x\n(1)", "tostring{}\n(1)", "tostring'x'\n(1)",
		"local a = redis\n(a.call)('PING')", "local t = {{}} t[1]\n(2)", "tostring(1)\n(2)", "local a = (1)\n(2)", "f\n(1)",
		"local a = 'x'\n(a):rep(2)", "local a = {}\n('x'):rep(2)", "local a = 1\n(redis.call)('PING')", "local a\n(redis.call)('PING')", "local a, b\n(redis.call)('PING')",
		"local a = nil\n(redis.call)('PING')", "local a = function() end\n(redis.call)('PING')", "local function f\n(a)\nend", "local f = function\n() end\n(f)()",
		"local t = {} function t.a.b\n(x) end", "local f = function(...) return ...\n(1) end", "redis.call\n'PING'", "redis.call('PING')\n{1}", "local t = {\n(1), [1] =\n(2)}",
		"for i = 1, 2 do\n(redis.call)('PING') end", "if true then\n(redis.call)('PING') end", "local x = not\n(1)", "local x = redis.call,\n(1)",
		// Separators.
		"return {KEYS[1], ;}", "return {,}", "return {;}", "return {1;;2}", "return {1;2;}", "return {function() return 1; end, 1}", "return {1,,2}", "tostring(1,,2)", ";", "return 1;;", "local a; local b;", "local a;;", "do ; end", "if true then ; end", "local f = function() ; end", "repeat ; until true", "local a = (1);", "do end;", "; local a",
		// Long brackets.
		"return [[ a [[ b ]]", "return [=[ a [[ b ]=]", "return [=[ a [=[ b ]=]", "return [[ a [=[ b ]]", "--[[ a [[ b ]] return 1", "--[==[ [[ ]==] return 1", "local a = [[x]] local b = [[y]]", "return [[ a [ [ b ]]",
		// Numbers.
		"return 0x1p4", "return 0x.8", "return 0x1P+4", "return 0x", "return 0xg", "return 08", "return 1e", "return 1e+5", "return .5", "return 5.", "return 1..2", "return 3_0", "return 0x1p", "return 1e5p", "return 0X1F",
		// What must stand in something.
		"break", "while true do break end", "while true do local f = function() break end end", "repeat break until true", "if true then break end", "for i = 1, 2 do if i then break end end",
		"return ...", "local function f() return ... end", "local function f(...) return ... end", "local function f(...) return function() return ... end end", "local f = function(a, ...) return {...} end",
		"return 1 return 2", "do return 1 end return 2", "local x <const> = 1", "x = = 1", "local function a.b() end", "a.b:c = 1", "goto = 1", "local goto = 1",
		// Limits.
		many(200, "local a%d "), many(201, "local a%d "), many(100, "local a%d, b%d "), "local function f(" + many(199, "a%d, ") + "z) end", "local function f(" + many(200, "a%d, ") + "z) end",
		many(197, "local a%d ") + "for i = 1, 2 do end", many(196, "local a%d ") + "for i = 1, 2 do end", many(195, "local a%d ") + "for k, v in pairs({}) do end", many(196, "local a%d ") + "for k, v in pairs({}) do end",
		"do " + many(150, "local a%d ") + "end do " + many(150, "local a%d ") + "end",
		up(60), up(61), many(61, "local a%d ") + "return function() local x = a0 x = a0 return " + many(60, "a%d, ") + "1 end",
	} {
		_, serverErr := do(c, "SCRIPT", "LOAD", text)
		_, err := Of(Script{Text: text})
		if (serverErr != nil) != (err != nil) {
			t.Errorf("%s\n  server %v\n  here   %v", text[:min(len(text), 300)], serverErr, err)
		}
	}
}
