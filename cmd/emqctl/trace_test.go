package main

import (
	"strings"
	"testing"
	"unicode"
)

// FuzzTraceText gives any bytes as a script: nothing that its texts quote of
// it moves a terminal's cursor.
func FuzzTraceText(f *testing.F) {
	for _, s := range []string{
		"redis.call('SET', 'a\\27[31mb\\nc', 1)", "redis.call('GET', KEYS[1] .. '\\27]0;x\\7')", "redis.call('\\27[2J', 1)", "return '\\r\\n'",
		"return redis.error_reply('E \\27[1m')", "return {err = 'E\\n'}", "local s = '\x1b[1m' redis.call('GET', s)", "redis.call('PUBLISH', '\\0', 1)",
		"redis.call('GET', redis.call('GET', '\\27') .. 'x')", "redis['\\27']('x')", "x['\\27'].y()", "#!lua \x1b[1m\nreturn 1", "-- emqctl:allow \x1b[1m\nreturn 1", "\x1b", "if x == '\\9' then redis.call('GET', 'x') end",
		"-- a: b.\n--\n-- host  \x1b  x/1\n-- returns  1  -  \x9b\nreturn 1", "--- @include \"\x1b\"", "error('\\27')", "redis.call('SORT', KEYS[1], 'BY', '\xff*')",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<12 {
			return
		}
		for _, args := range [][]string{{"trace", "--file", "-"}, {"lint", "--law", "strict", "--engine", "cluster,dragonfly", "-"}} {
			out, errw, _ := runAt(testClock, args, strings.NewReader(s), nil)
			for _, r := range strings.ReplaceAll(out+errw, "\n", "") {
				if !unicode.IsPrint(r) || r == unicode.ReplacementChar && !strings.ContainsRune(s, r) {
					t.Fatalf("%q in the text of %v", r, args)
				}
			}
		}
	})
}
