package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/echomq/emqctl/internal/escape"
)

// quote shows an argument in a message.
func quote(s string) string { return escape.Quote(s) }

// clean shows a message that may quote bytes from outside as they came, such
// as one of a library's: what is not printable is escaped.
func clean(s string) string { return escape.Visible(s) }

// orList joins words as in "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// plural returns "1 key" or "3 keys".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// age says how long ago an instant was, in the largest unit that fits.
func age(t, now time.Time) string {
	d, before, after := now.Sub(t), "", " ago"
	if d < 0 {
		d, before, after = -d, "in ", ""
	}
	for _, u := range []struct {
		d    time.Duration
		word string
	}{
		{24 * time.Hour, "day"},
		{time.Hour, "hour"},
		{time.Minute, "minute"},
		{time.Second, "second"},
	} {
		if d >= u.d {
			return before + plural(int(d/u.d), u.word) + after
		}
	}
	return "now"
}

// textBytes shows foreign bytes in a message, without quotes.
func textBytes(s string) string { return escape.String(s) }
