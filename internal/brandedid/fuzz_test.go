package brandedid

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"
)

// reference reads an id by the rules as they are written, with numbers that
// do not overflow.
func reference(s string) (namespace string, snowflake *big.Int, kind Kind, off int) {
	if len(s) != 14 {
		return "", nil, Length, min(len(s), 14)
	}
	for i := range 3 {
		if !strings.Contains("ABCDEFGHIJKLMNOPQRSTUVWXYZ", s[i:i+1]) {
			return "", nil, Namespace, i
		}
	}
	n := new(big.Int)
	for i := 3; i < 14; i++ {
		d := strings.Index("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", s[i:i+1])
		if d < 0 {
			return "", nil, Charset, i
		}
		n.Mul(n, big.NewInt(62)).Add(n, big.NewInt(int64(d)))
	}
	if n.BitLen() > 63 {
		return "", nil, Range, 3
	}
	return s[:3], n, "", 0
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Input)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := Parse(s)
		namespace, n, kind, off := reference(s)
		if kind != "" {
			var e *Error
			if !errors.As(err, &e) || e.Kind != kind || e.Off != off {
				t.Fatalf("Parse(%q) = %v, %v, want %s at %d", s, id, err, kind, off)
			}
			if id != (ID{}) {
				t.Fatalf("Parse(%q) = %v beside its error", s, id)
			}
			if e.Off < 0 || e.Off > len(s) || e.Error() == "" {
				t.Fatalf("Parse(%q): offset %d, message %q", s, e.Off, e)
			}
			Hint(s, time.UnixMilli(EpochMilli*2))
			return
		}
		if err != nil || id.Namespace() != namespace || id.Snowflake() != n.Uint64() {
			t.Fatalf("Parse(%q) = %s %d, %v, want %s %d", s, id.Namespace(), id.Snowflake(), err, namespace, n)
		}
		if got := id.String(); got != s {
			t.Fatalf("Parse(%q).String() = %q", s, got)
		}
	})
}
