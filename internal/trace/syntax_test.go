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

// TestNumbersAsServer holds how numbers are printed and read to a real
// server, over many of them.
func TestNumbersAsServer(t *testing.T) {
	c := valkeytest.Start(t).Client()
	texts := []string{"0", "-0", "1/3", "2^53", "2^63", "-(2^63)", "1e14", "1e15", "1e16", "123456789012345", "0.1", "5e-324", "1.7e308", "1e21", "1e22", "12345678901234567890123", "0.1+0.2", "1/0", "-1/0"}
	for e := -25; e < 30; e++ {
		for _, m := range []string{"1", "1.5", "-2.25", "1.2345678901", "9.87654321012345678"} {
			if n := fmt.Sprintf("%se%d", m, e); n != "1e23" { // where fpconv does not find the shortest
				texts = append(texts, n)
			}
		}
	}
	for _, text := range texts {
		tr, err := Of(Script{Text: "redis.call('GET', " + text + ") redis.call('GET', " + text + " .. '') redis.call('GET', string.format('%.17g|%.3f|%e', " + text + ", " + text + ", " + text + "))"})
		if err != nil {
			t.Fatal(err)
		}
		for i, print := range []string{"redis.call('ECHO', " + text + ")", text + " .. ''"} {
			want, err := do(c, "EVAL", "return "+print, "0")
			if err != nil {
				t.Fatal(err)
			}
			if got := tr.Steps[i].Keys[0].Pattern; got != want {
				t.Errorf("%s: %q, a server has %q", print, got, want)
			}
		}
		want, _ := do(c, "EVAL", "return string.format('%.17g|%.3f|%e', "+text+", "+text+", "+text+")", "0")
		if k := tr.Steps[2].Keys[0]; k.Origin == Literal && k.Pattern != want {
			t.Errorf("%s formatted: %q, a server has %q", text, k.Pattern, want)
		}
	}
	for _, s := range []string{"10", "010", "0x10", "0X1f", " 5 ", "5 5", "", " ", "0b1", "0o7", "1_0", "nan", "NaN", "inf", "-inf", "infinity", "+5", "--5", "+-5", "0x", "0x1p4", "0x.8", "0x1.8p1", "1e5", "1e", "e5", ".5", "5.", ".", "1e400", "-1e400", "0x1e+1", "1e+5", "1d5", "\t7\n", "7\v"} {
		got, known := luaNumber(s)
		want, err := do(c, "EVAL", "local n = tonumber(ARGV[1]) if n == nil then return 'nil' end return string.format('%.17g', n)", "0", s)
		if err != nil {
			t.Fatal(err)
		}
		g := "nil"
		if known {
			if g = fmt.Sprintf("%.17g", got); strings.Contains(g, "Inf") {
				g = strings.TrimPrefix(strings.ToLower(g), "+")
			}
		}
		if !strings.EqualFold(strings.TrimPrefix(want, "-"), strings.TrimPrefix(g, "-")) || strings.HasPrefix(g, "-") != strings.HasPrefix(want, "-") && g != "NaN" {
			t.Errorf("tonumber(%q): %s, a server says %s", s, g, want)
		}
	}
}
