package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExtractKeys(t *testing.T) {
	tests := []struct {
		name, line string
		want       []string
	}{
		{"bare", "claimed emq:{q}:pending now", []string{"emq:{q}:pending"}},
		{"two", "emq:{q}:pending,emq:{q}:active", []string{"emq:{q}:pending", "emq:{q}:active"}},
		{"sentence", "see (emq:{q}:pending), {emq}:version. And emq:{q}:dead!", []string{"emq:{q}:pending", "{emq}:version", "emq:{q}:dead"}},
		{"base", "base emq:{q}: is no key", []string{"emq:{q}:"}},
		{"colon", "emq:{q}:pending: not found", []string{"emq:{q}:pending"}},
		{"tail-of-a-word", "my-emq:{q}:x xemq:{q}:x emq.emq:{q}:x", nil},
		{"malformed", "bad emq:{q}pending here", []string{"emq:{q}pending"}},
		{"queue-emq", "emq:{emq}:pending", []string{"emq:{emq}:pending"}},
		{"monitor", `1.2 [0 127.0.0.1:5] "HGET" "emq:{a\x00b}:de:c\"d\\" "x"`, []string{"emq:{a\x00b}:de:c\"d\\"}},
		{"single-quotes", "'emq:{q}:stream:with blank'", []string{"emq:{q}:stream:with blank"}},
		{"json-value", `{"key":"emq:{j}:active","n":1}`, []string{"emq:{j}:active"}},
		{"json-unquoted-braces", `k={emq:{z}:dead}`, []string{"emq:{z}:dead"}},
		{"json-in-a-message", `{"msg":"no such key emq:{q}:pending"}`, []string{"emq:{q}:pending"}},
		{"json-quoted-in-a-message", `{"msg":"lock lost on \"emq:{q}:job:JOB0KHTOWnGLuC:lock\" after 3s"}`, []string{"emq:{q}:job:JOB0KHTOWnGLuC:lock"}},
		{"json-two-quoted", `{"msg":"on \"emq:{q}:pending\" and \"emq:{q}:active\" ok"}`, []string{"emq:{q}:pending", "emq:{q}:active"}},
		{"json-in-json", `{"a":"{\"b\":\"{\\\"k\\\":\\\"emq:{q}:de:x\\\"}\"}"}`, []string{"emq:{q}:de:x"}},
		{"json-unicode-escape", `{"key":"emq:{a\u0026b}:pending"}`, []string{"emq:{a&b}:pending"}},
		{"json-surrogates", `{"key":"emq:{\ud83d\ude00}:pending"}`, []string{"emq:{\U0001F600}:pending"}},
		{"json-solidus", `["emq:{q}:de:a\/b"]`, []string{"emq:{q}:de:a/b"}},
		{"json-tab-before", `{"msg":"no such key\temq:{q}:pending\n"}`, []string{"emq:{q}:pending"}},
		{"json-newline-before", `{"msg":"keys:\nemq:{q}:pending\nemq:{q}:active"}`, []string{"emq:{q}:pending", "emq:{q}:active"}},
		{"logfmt", `level=info msg="claim \"emq:{q}:pending\" done" key=emq:{q}:active`, []string{"emq:{q}:pending", "emq:{q}:active"}},
		{"colour", "\x1b[1memq:{q}:pending\x1b[0m and \x1b[38;5;4memq:{q}:dead\x1b[0m", []string{"emq:{q}:pending", "emq:{q}:dead"}},
		{"colour-in-json", `{"m":"\u001b[1memq:{q}:pending\u001b[0m"}`, []string{"emq:{q}:pending"}},
		{"windows-path", `C:\temp\temq:{q}:x`, []string{"emq:{q}:x"}},
		{"no-key", "emq: and {emq} and emq:quotes:pending", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			extractKeys(tt.line, func(off int, key string) {
				if !strings.HasPrefix(tt.line[off:], "emq:{") && !strings.HasPrefix(tt.line[off:], "{emq}:") {
					t.Errorf("offset %d of %q is no key", off, tt.line)
				}
				got = append(got, key)
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.line, diff)
			}
		})
	}
}

func TestExtractIDs(t *testing.T) {
	const id = "JOB0KHTOWnGLuC"
	for _, tt := range []struct {
		line string
		want int
	}{
		{"job " + id + " of USR0NgWEfAEJfs,", 2},
		{`{"msg":"scheduled\n` + id + `\t` + id + `"}`, 2},
		{"\x1b[1m" + id + "\x1b[0m", 1},
		{"x" + id, 0},
		{id + "9", 0},
		{"INTERNATIONALLY RECONNECTION12", 0},
		{"JOBzzzzzzzzzzz", 0},
		{"emq:{q}:job:" + id + ":logs", 1},
	} {
		n := 0
		extractIDs(tt.line, func(off int, s string) {
			if tt.line[off:off+len(s)] != s {
				t.Errorf("%q is not at %d of %q", s, off, tt.line)
			}
			n++
		})
		if n != tt.want {
			t.Errorf("%d ids in %q, want %d", n, tt.line, tt.want)
		}
	}
}

// FuzzExtract takes any line: found items lie within it, in order, and long
// lines do not take long.
func FuzzExtract(f *testing.F) {
	f.Add(`{"a":"\"emq:{q}:x\\"} \u001b[1memq:{q}:y "emq:{`)
	f.Add(`\\\"emq:{a}:b\\\" {emq}: JOB0KHTOWnGLuC \ud83d`)
	f.Fuzz(func(t *testing.T, line string) {
		for _, extract := range []func(string, func(int, string)){extractKeys, extractIDs} {
			last := -1
			extract(line, func(off int, s string) {
				if off <= last || off >= len(line) {
					t.Fatalf("offset %d after %d in %q", off, last, line)
				}
				last = off
			})
		}
	})
}

// TestExtractLongLines would take hours if the time grew with the square of
// the length.
func TestExtractLongLines(t *testing.T) {
	for _, piece := range []string{`"emq:{q}:x" `, `\"emq:{q}:x\" `, "emq:{q ", `\\\\"emq:{`, "JOB0KHTOWnGLuC\x1b[1m", "{emq}:", "1m1m\x1b["} {
		line := strings.Repeat(piece, maxLine/len(piece))
		extractKeys(line, func(int, string) {})
		extractIDs(line, func(int, string) {})
	}
}
