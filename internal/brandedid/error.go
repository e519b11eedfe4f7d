package brandedid

import (
	"fmt"
	"strconv"
)

// Kind names the gate at which an id was refused.
type Kind string

// The gates, in the order in which they are tried.
const (
	Length    Kind = "length"    // not 14 bytes
	Namespace Kind = "namespace" // a byte of the namespace outside A-Z
	Charset   Kind = "charset"   // a byte of the payload outside the alphabet
	Range     Kind = "range"     // a payload above 2^63-1
)

// Error says at which gate, and at which byte, an id was refused.
type Error struct {
	Kind Kind
	// Off is the offset of the first byte that breaks the gate: the shorter
	// of the input's length and 14 for length, where the payload begins for
	// range.
	Off int

	input string
}

// Error returns what was found and what was wanted.
func (e *Error) Error() string {
	switch e.Kind {
	case Length:
		return fmt.Sprintf("id is %s, want %d", byteCount(len(e.input)), Len)
	case Namespace:
		if e.Off == len(e.input) || e.Off == NamespaceLen {
			return fmt.Sprintf("namespace is %s, want %d letters A-Z", byteCount(len(e.input)), NamespaceLen)
		}
		return fmt.Sprintf("namespace has %s, want a letter A-Z", quoteByte(e.input[e.Off]))
	case Charset:
		return fmt.Sprintf("payload has %s, want a base62 digit: 0-9, A-Z or a-z", quoteByte(e.input[e.Off]))
	case Range:
		if len(e.input) == NamespaceLen {
			return "snowflake is beyond 2^63-1"
		}
		return fmt.Sprintf("payload %s is beyond %s, which is 2^63-1", e.input[NamespaceLen:], maxPayload)
	}
	return string(e.Kind)
}

func byteCount(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.Itoa(n) + " bytes"
}

// quoteByte prints a byte so that it cannot move a cursor.
func quoteByte(b byte) string {
	if b < 0x80 && strconv.IsPrint(rune(b)) {
		return "'" + string(rune(b)) + "'"
	}
	return fmt.Sprintf(`byte \x%02x`, b)
}

// Input returns what was parsed.
func (e *Error) Input() string { return e.input }
