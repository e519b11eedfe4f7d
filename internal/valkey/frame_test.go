package valkey

import (
	"bytes"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     int
		n        int
		done     int
		bad      bool
	}{
		{"simple", "+OK\r\n", 1, 5, 1, false},
		{"error", "-ERR x\r\n:1\r\n", 2, 12, 2, false},
		{"bulk", "$3\r\n\r\n:\r\n", 1, 9, 1, false},
		{"bulk-empty", "$0\r\n\r\n", 1, 6, 1, false},
		{"null", "$-1\r\n*-1\r\n", 2, 10, 2, false},
		{"array", "*2\r\n*1\r\n:1\r\n*0\r\n", 1, 16, 1, false},
		{"array-open", "*2\r\n:1\r\n", 1, 8, 0, false},
		{"unasked", "+OK\r\n+OK\r\n", 1, 5, 1, false},
		{"nothing-owed", "+OK\r\n", 0, 0, 0, false},
		{"web", "HTTP/1.1 400\r\n", 1, 0, 0, true},
		{"banner-without-end", "SSH-2.0", 1, 7, 0, true},
		{"push", ">1\r\n+x\r\n", 1, 0, 0, true},
		{"too-long", "$9999999999\r\n", 1, 0, 0, true},
		{"too-many", "*99999999\r\n", 1, 0, 0, true},
		{"no-number", "+OK\r\n$x\r\n", 2, 5, 1, true},
		{"line-without-end", "+" + strings.Repeat("x", maxLine+1), 1, maxLine + 2, 0, true},
	} {
		var f frames
		n, bad := f.feed([]byte(c.in), c.want)
		if n != c.n || bad != c.bad || f.done != c.done {
			t.Errorf("%s: feed = %d, %t, done %d, want %d, %t, %d", c.name, n, bad, f.done, c.n, c.bad, c.done)
		}
	}
}

// FuzzFrames holds the count to be the same however the bytes are cut.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nabc\r\n*1\r\n:1\r\n+OK\r\n"), byte(3))
	f.Add([]byte("-ERR\r\n$-1\r\n"), byte(1))
	f.Fuzz(func(t *testing.T, in []byte, step byte) {
		const want = 5
		var whole, parts frames
		n, bad := whole.feed(bytes.Clone(in), want)
		fed, spoilt := 0, false
		for fed < len(in) && !spoilt {
			end := min(len(in), fed+int(step)+1)
			k, b := parts.feed(bytes.Clone(in[fed:end]), want)
			spoilt = b || k < end-fed
			fed += k
		}
		if whole.done != parts.done && !bad {
			t.Fatalf("%q: %d replies at once, %d in steps", in, whole.done, parts.done)
		}
		if n > len(in) || fed > len(in) {
			t.Fatalf("%q: %d, %d", in, n, fed)
		}
	})
}
