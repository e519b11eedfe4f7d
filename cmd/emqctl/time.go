package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const timeHelp = `A TIME is RFC 3339, Unix milliseconds, or an age such as 15m, 36h or 7d. A date
alone, or a time without a zone, is UTC.`

// parseTime reads the TIME of a flag.
func parseTime(flag, s string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		const firstPlausible = 100_000_000_000 // less is seconds, or a mistake
		if ms < firstPlausible {
			u := tooEarly(flag, s, ms)
			if u.hint == "" && ms >= 0 {
				u.hint = "an age takes a unit, as " + s + "s"
			}
			return time.Time{}, u
		}
		return time.UnixMilli(ms).UTC(), nil
	}
	if d, err := parseAge(s); err == nil {
		return now.Add(-d).UTC(), nil
	}
	return time.Time{}, &usageError{msg: fmt.Sprintf("%s is %s, want RFC 3339, Unix milliseconds, or an age such as 15m", flag, quote(s))}
}

// tooEarly refuses milliseconds that nobody can mean.
func tooEarly(flag, s string, ms int64) *usageError {
	when := "before 1970"
	if ms >= 0 {
		when = formatTime(time.UnixMilli(ms))
	}
	u := &usageError{msg: fmt.Sprintf("%s is %s: as Unix milliseconds that is %s, too early to be meant", flag, quote(s), when)}
	if ms >= 1_000_000_000 && ms < 10_000_000_000 {
		u.hint = "as seconds it is " + formatTime(time.Unix(ms, 0)) + ": in milliseconds that is " + s + "000"
	}
	return u
}

// wantDuration says what is wrong with a text that is no duration.
func wantDuration(s string) string {
	digits := strings.TrimLeft(s, "+-0123456789.")
	for _, unit := range []string{"ns", "us", "µs", "ms", "s", "m", "h", "d"} {
		if digits == unit && len(s)-len(digits) > 4 {
			return "which is too big; want a duration such as 90s"
		}
	}
	return "want a duration such as 90s"
}

// parseAge reads a Go duration, or a number of days: 7d.
func parseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = strconv.ErrRange
	}
	return d, err
}

// badWindow is the error of a window of time that no id lies in; given is the
// value of --from.
func badWindow(err error, from, to time.Time, given string, toGiven bool) error {
	u := &usageError{msg: fmt.Sprintf("%s: %s to %s", err, formatTime(from), formatTime(to))}
	_, noAge := parseAge(given)
	switch {
	case !from.After(to):
	case !toGiven:
		u.hint = "--from is in the future, and the window ends now unless --to says otherwise"
	case noAge == nil:
		u.hint = "an age counts back from now: --from 48h --to 24h"
	default:
		u.hint = "--from is the earlier one"
	}
	return u
}
