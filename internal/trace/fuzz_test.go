package trace

import (
	"errors"
	"os"
	"testing"
)

// FuzzOf gives any bytes as a script: no panic, no endless work, and every
// position lies in the script.
func FuzzOf(f *testing.F) {
	for _, s := range lua(f, os.DirFS("testdata")) {
		f.Add(s)
	}
	for _, s := range []string{
		"", "#!", "#!lua\n", "\xff", "goto", "--[==[ ]==]", "return ...", "local a <const> = 1", "f'x'", "f{1}[2].x:y()",
		"repeat local x = redis.call('GET', KEYS[1]) until x", "for i = 1, 8 do break end", "local t = {} t[t] = t redis.call(unpack(t))",
		"local function f(...) return f(...) end f(unpack(KEYS))", "KEYS = nil redis.call(KEYS[1])", "redis.call()", "return {err = {}}",
		"redis.call('SORT', unpack(ARGV))", "local t = setmetatable({}, {}) getmetatable(t).__index = t t.x()", "local t = {} t.__index = t setmetatable(t, t) t.a.b() t()",
		"local s = {1, 2} s[#s] = nil s[#s] = nil s[#s] = nil redis.call('GET', #s)", "for k, v in pairs(redis) do _G[k] = v end", "redis.call('MSET', unpack(ARGV)) redis.call('SORT', ARGV[1] or 'STORE', ARGV[2] and 'BY' or 1/3)", "error({err = redis.call('TIME')})", "\"\\\r\n\\065\"", "x = 0x", "x = 1e", "x = 'a\\",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tr, err := Of(Script{Path: "fuzz-2.lua", Text: s})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Off < 0 || e.Off > len(s) || e.Line < 1 || e.Col < 1 || e.Msg == "" {
				t.Fatalf("error %#v", err)
			}
			if tr != nil {
				t.Fatal("a trace beside an error")
			}
			return
		}
		in := func(what string, line, col int) {
			if line < 1 || col < 1 || line > len(s)+1 || col > len(s)+1 {
				t.Fatalf("%s at %d:%d of %d bytes", what, line, col, len(s))
			}
		}
		for _, st := range tr.Steps {
			in(st.Command, st.Line, st.Col)
			for _, k := range st.Keys {
				if k.Origin == "" || k.Pattern == "" && k.Origin != Literal {
					t.Fatalf("key %#v", k)
				}
			}
		}
		for _, fd := range tr.Findings(Law{Strict: true}) {
			in(string(fd.Kind), fd.Line, fd.Col)
		}
		tr.Engines()
		tr.ACL("q")
		tr.AllowsPrefix([]Observed{{"GET", []string{"a"}}}, []string{"a"}, nil)
	})
}
