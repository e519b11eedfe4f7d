// Package escape writes bytes so that a person can read them and a program
// can have them back, in the notation of valkey-cli.
//
// A backslash and a double quote get a backslash before them; newline,
// carriage return, tab, bell and backspace are \n \r \t \a \b; any other byte
// that is not part of a printable UTF-8 character is \xHH, two hex digits.
// Printable characters beyond ASCII stand for themselves, which valkey-cli
// reads as well. No escaped text holds a byte that ends a line, divides a
// column or moves a terminal's cursor.
package escape

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// plain marks the bytes that stand for themselves: printable ASCII but for
// the backslash and the double quote.
var plain = func() (t [256]bool) {
	for b := ' '; b <= '~'; b++ {
		t[b] = b != '\\' && b != '"'
	}
	return t
}()

// Plain reports whether a byte stands for itself, here and in a JSON string:
// printable ASCII but for the backslash and the double quote.
func Plain(b byte) bool { return plain[b] }

// IsPlain reports whether all of s is [Plain].
func IsPlain(s string) bool {
	for len(s) >= 8 {
		if !isPlain8(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56) {
			return false
		}
		s = s[8:]
	}
	for i := 0; i < len(s); i++ {
		if !plain[s[i]] {
			return false
		}
	}
	return true
}

// isPlain8 is IsPlain of eight bytes at once. Of a byte below 0x80, adding
// 1 sets the high bit of 0x7f alone, subtracting 0x20 borrows below a blank,
// and a XOR makes zero of the one byte sought, from which subtracting 1 then
// borrows. A borrow can only come from a byte that is refused anyway.
func isPlain8(w uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, backslash := w^'"'*ones, w^'\\'*ones
	return (w|(w+ones)|(w-' '*ones)|(quote-ones)|(backslash-ones))&highs == 0
}

const hex = "0123456789abcdef"

// Append appends s, escaped, to dst.
func Append(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if plain[b] {
			i++
			continue
		}
		if b >= utf8.RuneSelf {
			if r, n := utf8.DecodeRuneInString(s[i:]); (r != utf8.RuneError || n > 1) && strconv.IsPrint(r) {
				i += n
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		switch b {
		case '\\', '"':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\a':
			dst = append(dst, `\a`...)
		case '\b':
			dst = append(dst, `\b`...)
		default:
			dst = append(dst, '\\', 'x', hex[b>>4], hex[b&15])
		}
		i++
		start = i
	}
	return append(dst, s[start:]...)
}

// String returns s, escaped.
func String(s string) string { return string(Append(nil, s)) }

// Quote returns s, escaped, between double quotes.
func Quote(s string) string { return `"` + String(s) + `"` }

// Visible returns text with what is not printable escaped. Unlike [String] it
// leaves backslashes and double quotes as they are, and cannot be read back.
func Visible(s string) string {
	if IsPlain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if strconv.IsPrint(r) && (r != utf8.RuneError || n > 1) {
			b.WriteString(s[i : i+n])
		} else {
			b.WriteString(String(s[i : i+n]))
		}
		i += n
	}
	return b.String()
}

// Byte returns a byte as messages show it: 'a', '"', '\x1b'.
func Byte(b byte) string {
	if b == '"' {
		return `'"'`
	}
	return "'" + String(string([]byte{b})) + "'"
}

// Error says where an escaped text goes wrong.
type Error struct {
	Off int // of the backslash, or of the quote that is missing or misplaced
	Msg string
}

func (e *Error) Error() string { return e.Msg }

// Unescape returns the bytes that an escaped text stands for, with or without
// double quotes around it. Its error is an [*Error].
func Unescape(s string) (string, error) {
	end := len(s)
	i := 0
	quoted := len(s) > 0 && s[0] == '"'
	if quoted {
		i = 1
	}
	var dst []byte
	for i < end {
		b := s[i]
		if quoted && b == '"' {
			if i != end-1 {
				return "", &Error{i, "found more after the closing quote"}
			}
			return string(dst), nil
		}
		if b != '\\' {
			dst = append(dst, b)
			i++
			continue
		}
		if i+1 == end {
			return "", &Error{i, `found a backslash at the end, want \\ for a backslash`}
		}
		switch c := s[i+1]; c {
		case '\\', '"':
			dst = append(dst, c)
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'a':
			dst = append(dst, '\a')
		case 'b':
			dst = append(dst, '\b')
		case 'x':
			if i+3 >= end {
				return "", &Error{i, `found \x at the end, want two hex digits after it`}
			}
			n, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
			if err != nil {
				return "", &Error{i, fmt.Sprintf(`found \x%s, want two hex digits after \x`, String(s[i+2:i+4]))}
			}
			dst = append(dst, byte(n))
			i += 2
		default:
			_, n := utf8.DecodeRuneInString(s[i+1:])
			return "", &Error{i, fmt.Sprintf(`found \%s, want one of \xHH \n \r \t \a \b \\ \"`, String(s[i+1:i+1+n]))}
		}
		i += 2
	}
	if quoted {
		return "", &Error{0, "found an opening quote, want a closing one at the end"}
	}
	return string(dst), nil
}
