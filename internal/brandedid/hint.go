package brandedid

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Hint guesses what somebody meant by s, which is no id or one minted after
// now, and returns a phrase to show beside the error, or "". It is a hint and
// never a value: nothing is decoded by it.
func Hint(s string, now time.Time) string {
	id, err := Parse(s)
	if err == nil {
		if id.UnixMilli() > now.UnixMilli() {
			return foreignHint(s, now)
		}
		return ""
	}
	if n, err := strconv.ParseUint(s, 10, 63); err == nil && len(s) != Len {
		id, _ := New(JobNamespace, n)
		return fmt.Sprintf("a bare snowflake: under the namespace JOB it is %s", id)
	}
	if t := strings.Trim(s, " \t\r\n'\"`"); t != s {
		if _, err := Parse(t); err == nil {
			return fmt.Sprintf("a quote or blank was pasted with %s", t)
		}
	}
	if len(s) == Len {
		if id, err := Parse(strings.ToUpper(s[:NamespaceLen]) + s[NamespaceLen:]); err == nil {
			return fmt.Sprintf("namespaces are upper case: %s", id)
		}
	}
	if len(s) == digits62 && badDigit(s) < 0 && s <= maxPayload {
		return fmt.Sprintf("the namespace is missing: a job's id would be %s%s", JobNamespace, s)
	}
	if err.(*Error).Kind == Range {
		return foreignHint(s, now)
	}
	return ""
}

// foreignHint looks for another alphabet, or another epoch, that alone would
// put an id's mint time between the epoch and now.
func foreignHint(s string, now time.Time) string {
	plausible := func(ms int64) bool { return ms >= EpochMilli && ms <= now.UnixMilli() }
	for _, alphabet := range []string{
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
	} {
		if n, ok := decodeWith(alphabet, s[NamespaceLen:]); ok {
			if ms := int64(n>>timeShift) + EpochMilli; plausible(ms) {
				return fmt.Sprintf("encoded with the alphabet %s...%s? Read so, it was minted %s",
					alphabet[:12], alphabet[60:], formatMilli(ms))
			}
		}
	}
	id, err := Parse(s)
	if err != nil {
		return ""
	}
	for _, e := range []struct {
		name  string
		milli int64
	}{
		{"Unix", 0},
		{"Twitter", 1288834974657},
		{"Discord", 1420070400000},
	} {
		if ms := id.UnixMilli() - EpochMilli + e.milli; plausible(ms) {
			return fmt.Sprintf("counted from the %s epoch? Read so, it was minted %s", e.name, formatMilli(ms))
		}
	}
	return ""
}

// decodeWith reads 11 digits of another alphabet, without wrapping.
func decodeWith(alphabet, s string) (uint64, bool) {
	var n uint64
	for i := 0; i < len(s); i++ {
		d := strings.IndexByte(alphabet, s[i])
		if d < 0 || n > (MaxSnowflake-uint64(d))/62 {
			return 0, false
		}
		n = n*62 + uint64(d)
	}
	return n, true
}

func formatMilli(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
