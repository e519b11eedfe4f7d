package valkey

import (
	"bytes"
	"strconv"
)

// frames counts the replies in what a server sends. The library panics, in a
// goroutine of its own, on a reply that nothing asked for, and makes room for
// whatever length it is told; so neither is let through to it.
type frames struct {
	done int   // whole replies
	open []int // elements still to come, of each array that is open
	skip int   // bytes of a bulk string still to come, with its line end
	line []byte
}

const (
	maxBulk  = 1 << 30 // twice what a server takes unless told otherwise
	maxArray = 1 << 24
	maxLine  = 64 << 10
)

// feed takes the next bytes and returns how many of them belong to the first
// want replies, and whether what follows those is no reply at all.
func (f *frames) feed(b []byte, want int) (n int, bad bool) {
	for n < len(b) && f.done < want {
		if f.skip > 0 {
			k := min(f.skip, len(b)-n)
			f.skip -= k
			n += k
			if f.skip == 0 {
				f.value()
			}
			continue
		}
		i := bytes.IndexByte(b[n:], '\n')
		if i < 0 {
			f.line = append(f.line, b[n:]...)
			return len(b), len(f.line) > maxLine || !isReplyType(f.line[0])
		}
		f.line = append(f.line, b[n:n+i]...)
		ok := f.header(string(bytes.TrimSuffix(f.line, []byte("\r"))))
		f.line = f.line[:0]
		if !ok {
			return n, true
		}
		n += i + 1
	}
	return n, false
}

func isReplyType(b byte) bool { return bytes.IndexByte([]byte("+-:$*"), b) >= 0 }

// header takes a line: a whole reply, or the head of one.
func (f *frames) header(line string) bool {
	if line == "" || !isReplyType(line[0]) {
		return false
	}
	if line[0] != '$' && line[0] != '*' {
		f.value()
		return true
	}
	n, err := strconv.Atoi(line[1:])
	switch {
	case err != nil, n < -1, line[0] == '$' && n > maxBulk, n > maxArray && line[0] == '*':
		return false
	case line[0] == '$' && n >= 0:
		f.skip = n + len("\r\n")
	case line[0] == '*' && n > 0:
		f.open = append(f.open, n)
	default:
		f.value()
	}
	return true
}

// value notes the end of a value, and of every array that it was the last of.
func (f *frames) value() {
	for i := len(f.open) - 1; i >= 0; i-- {
		if f.open[i]--; f.open[i] > 0 {
			f.open = f.open[:i+1]
			return
		}
	}
	f.open = f.open[:0]
	f.done++
}
