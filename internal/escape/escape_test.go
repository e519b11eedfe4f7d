package escape

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestString(t *testing.T) {
	tests := []struct{ in, want string }{
		{"emq:{quotes}:pending", "emq:{quotes}:pending"},
		{"a\x00b", `a\x00b`},
		{"\n\r\t\a\b", `\n\r\t\a\b`},
		{`say "a\b"`, `say \"a\\b\"`},
		{"\xff\xfe", `\xff\xfe`},
		{"\x1b[31m", `\x1b[31m`},
		{"é日", "é日"},
		{"\u009b31m", `\xc2\x9b31m`}, // the one-byte CSI, in UTF-8
		{"\u202e", `\xe2\x80\xae`},   // turns the reading direction
		{"\u200b", `\xe2\x80\x8b`},   // has no width
		{"\ufffd", "\ufffd"},         // the character itself, not an error
		{"\u2028", `\xe2\x80\xa8`},   // ends a line for some readers
		{"a\xe6\x97", `a\xe6\x97`},   // a character cut short
		{"", ""},
	}
	for _, tt := range tests {
		if got := String(tt.in); got != tt.want {
			t.Errorf("String(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestUnescape(t *testing.T) {
	tests := []struct {
		in, want string
		off      int
		msg      string
	}{
		{in: `emq:{q}:x`, want: "emq:{q}:x"},
		{in: `"emq:{q}:x"`, want: "emq:{q}:x"},
		{in: `\x00\xFF\xff\n\r\t\a\b\\\"`, want: "\x00\xff\xff\n\r\t\a\b\\\""},
		{in: `"\x41"`, want: "A"},
		{in: `a"b`, want: `a"b`},
		{in: ``, want: ""},
		{in: `""`, want: ""},
		{in: `é`, want: "é"},
		{in: `ab\q`, off: 2, msg: `found \q, want one of \xHH \n \r \t \a \b \\ \"`},
		{in: `ab\`, off: 2, msg: `found a backslash at the end, want \\ for a backslash`},
		{in: `\x4`, off: 0, msg: `found \x at the end, want two hex digits after it`},
		{in: `\xg0`, off: 0, msg: `found \xg0, want two hex digits after \x`},
		{in: `\x+1`, off: 0, msg: `found \x+1, want two hex digits after \x`},
		{in: `"ab`, off: 0, msg: "found an opening quote, want a closing one at the end"},
		{in: `"a"b`, off: 2, msg: "found more after the closing quote"},
		{in: `"`, off: 0, msg: "found an opening quote, want a closing one at the end"},
	}
	for _, tt := range tests {
		got, err := Unescape(tt.in)
		if tt.msg == "" {
			if err != nil || got != tt.want {
				t.Errorf("Unescape(%s) = %q, %v, want %q", tt.in, got, err, tt.want)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Off != tt.off || e.Msg != tt.msg || got != "" {
			t.Errorf("Unescape(%s) = %q, %v, want an error at %d: %s", tt.in, got, err, tt.off, tt.msg)
		}
	}
}

// TestIsPlain tries every byte at every place of a word, beside others.
func TestIsPlain(t *testing.T) {
	for b := range 256 {
		for at := range 9 {
			s := []byte("emq:{q}:~")
			s[at] = byte(b)
			if got, want := IsPlain(string(s)), plain[b]; got != want {
				t.Fatalf("IsPlain(%q) = %v, want %v", s, got, want)
			}
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{"", "\"", "\\", "\"a\"", "\x00\xff", "é\u202e", "emq:{q}:x", `\x41`, "a\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		esc := String(s)
		for _, in := range []string{esc, Quote(s)} {
			got, err := Unescape(in)
			if err != nil || got != s {
				t.Fatalf("Unescape(%s) = %q, %v, want %q", in, got, err, s)
			}
		}
		if !utf8.ValidString(esc) || strings.ContainsFunc(esc, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("String(%q) = %q holds a control character", s, esc)
		}
		// Any bytes are an escaped text, or are refused within their length.
		if got, err := Unescape(s); err != nil {
			if off := err.(*Error).Off; off < 0 || off > len(s) || got != "" {
				t.Fatalf("Unescape(%q) = %q, offset %d", s, got, off)
			}
		}
	})
}

func TestVisible(t *testing.T) {
	for s, want := range map[string]string{
		`plain "quoted" C:\dir`:     `plain "quoted" C:\dir`,
		"a\x1b[31m\n\x00b":          `a\x1b[31m\n\x00b`,
		"\xff \u202e \u00e9 \ufffd": "\\xff \\xe2\\x80\\xae \u00e9 \ufffd",
	} {
		if got := Visible(s); got != want {
			t.Errorf("Visible(%q) = %q, want %q", s, got, want)
		}
	}
}
