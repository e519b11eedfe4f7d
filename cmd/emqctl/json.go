package main

import (
	"encoding/base64"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/echomq/emqctl/internal/escape"
)

// The records of the streaming commands are appended by the functions of this
// file: reflection costs ten times as much. A test reads what they write with
// encoding/json and compares every field.

const hexDigits = "0123456789abcdef"

// appendJSONString appends valid UTF-8 as a JSON string. What is not
// printable goes as \u escapes, so that a record on a terminal cannot move
// its cursor or turn its text around.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if escape.Plain(b) {
			i++
			continue
		}
		r, n := rune(b), 1
		if b >= utf8.RuneSelf {
			if r, n = utf8.DecodeRuneInString(s[i:]); strconv.IsPrint(r) {
				i += n
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		switch r {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			if r > 0xFFFF {
				r -= 0x10000
				dst = appendHex4(dst, 0xD800+r>>10)
				r = 0xDC00 + r&0x3FF
			}
			dst = appendHex4(dst, r)
		}
		i += n
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendHex4(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// appendField appends a field of bytes; name is `,"name":`, or `{"name":` for
// the first field of an object. Bytes that are not UTF-8 become null, with the
// bytes in a field name_base64 beside it. plain says that s is known to need
// no escapes.
func appendField(dst []byte, name, s string, plain bool) []byte {
	dst = append(dst, name...)
	if plain {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	if utf8.ValidString(s) {
		return appendJSONString(dst, s)
	}
	dst = append(dst, `null,`...)
	dst = append(dst, name[1:len(name)-len(`":`)]...)
	dst = append(dst, `_base64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, []byte(s))
	return append(dst, '"')
}

// appendNullable is appendField, or null when the value is absent.
func appendNullable(dst []byte, name, s string, present, plain bool) []byte {
	if !present {
		dst = append(dst, name...)
		return append(dst, `null`...)
	}
	return appendField(dst, name, s, plain)
}

// appendProblem appends an error object, or null.
func appendProblem(dst []byte, p *problem) []byte {
	if p == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"kind":`...)
	dst = appendJSONString(dst, p.Kind)
	dst = append(dst, `,"offset":`...)
	dst = strconv.AppendInt(dst, int64(p.Offset), 10)
	dst = append(dst, `,"message":`...)
	dst = appendJSONString(dst, p.Message)
	if p.Hint == nil {
		return append(dst, `,"hint":null}`...)
	}
	dst = append(dst, `,"hint":`...)
	dst = appendJSONString(dst, *p.Hint)
	return append(dst, '}')
}

// appendNotes appends the list of notes.
func appendNotes(dst []byte, notes []note) []byte {
	dst = append(dst, '[')
	for i, n := range notes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"kind":`...)
		dst = appendJSONString(dst, n.Kind)
		dst = append(dst, `,"offset":`...)
		dst = strconv.AppendInt(dst, int64(n.Offset), 10)
		dst = append(dst, `,"message":`...)
		dst = appendJSONString(dst, n.Message)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendTime appends Unix milliseconds from 1970 to 9999 as RFC 3339 in UTC,
// always with three digits of milliseconds.
func appendTime(dst []byte, ms int64) []byte {
	const dayMs = 86400000
	days, rest := uint64(ms/dayMs), uint32(ms%dayMs)
	// The day number becomes a date by whole years that begin on 1 March, so
	// that the leap day is the last of its year; 719468 days lie between
	// 0000-03-01 and 1970-01-01, and 146097 days are 400 years.
	z := days + 719468
	era, doe := z/146097, z%146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day, month, year := doy-(153*mp+2)/5+1, mp+3, yoe+era*400
	if month > 12 {
		month -= 12
		year++
	}
	dst = append2(dst, uint32(year/100))
	dst = append2(dst, uint32(year%100))
	dst = append2(append(dst, '-'), uint32(month))
	dst = append2(append(dst, '-'), uint32(day))
	dst = append2(append(dst, 'T'), rest/3600000)
	dst = append2(append(dst, ':'), rest/60000%60)
	dst = append2(append(dst, ':'), rest/1000%60)
	milli := rest % 1000
	dst = append(dst, '.', byte('0'+milli/100))
	return append(append2(dst, milli%100), 'Z')
}

// append2 appends two decimal digits.
func append2(dst []byte, n uint32) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}

// appendBinary appends the low width bits of n, highest first.
func appendBinary(dst []byte, n uint64, width int) []byte {
	for n = bits.RotateLeft64(n, 64-width); width > 0; width-- {
		n = bits.RotateLeft64(n, 1)
		dst = append(dst, '0'+byte(n&1))
	}
	return dst
}
