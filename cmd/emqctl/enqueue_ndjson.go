package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// parse reads a line of --ndjson into the job, or refuses it.
func (j *job) parse(line string) {
	fields, err := parseJob(line)
	if fields.id != nil {
		j.id, j.given = *fields.id, true
	}
	if err != nil {
		j.payload = ""
		j.refuse("line", "json", err.off, fmt.Sprintf("line %d: %s", j.line, err.msg), err.hint)
		return
	}
	j.payload = fields.payload
	if fields.queue != nil {
		j.queue = *fields.queue
	}
}

// bytesOf is a string as bytes, not copied: to be read only.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

type jobFields struct {
	id, queue *string
	payload   string
}

// jsonError says why a line is no job, and at which byte.
type jsonError struct {
	off       int
	msg, hint string
}

// parseJob reads {"id", "queue", "payload" or "payload_base64"}.
//
// encoding/json would take half of a surrogate pair, and bytes that are not
// UTF-8, and store something else in their place; it would take "ID" for
// "id". So it only says whether the line is JSON, and the fields are cut out
// here, to the byte.
func parseJob(line string) (f jobFields, _ *jsonError) {
	at := func(off int, format string, args ...any) *jsonError {
		return &jsonError{off: off, msg: fmt.Sprintf(format, args...)}
	}
	if !utf8.ValidString(line) {
		off := strings.IndexFunc(line, func(r rune) bool { return r == utf8.RuneError })
		for off < len(line) {
			if r, n := utf8.DecodeRuneInString(line[off:]); r == utf8.RuneError && n < 2 {
				break
			} else {
				off += n
			}
		}
		return f, &jsonError{off, "found bytes that are not UTF-8, want JSON", "payload_base64 holds any bytes"}
	}
	if strings.HasPrefix(line, "\ufeff") {
		return f, &jsonError{0, "found a byte order mark, want an object", "it is no part of JSON: cut the first three bytes off the file"}
	}
	if !json.Valid(bytesOf(line)) {
		return f, invalidJSON(line)
	}
	s := scanner{line: line}
	s.blanks()
	if line[s.i] != '{' {
		return f, at(s.i, "found %s, want an object", s.kind())
	}
	s.i++
	seen := map[string]bool{}
	for s.blanks(); line[s.i] != '}'; s.blanks() {
		start := s.i
		name, bad := unquoteJSON(s.value(), s.i)
		if bad != nil {
			return f, bad
		}
		s.blanks()
		s.i++ // the colon
		s.blanks()
		off, kind := s.i, s.kind()
		raw := s.value()
		if seen[name] {
			return f, at(start, "found %s again, want it once", quote(name))
		}
		seen[name] = true
		switch name {
		case "id", "queue", "payload_base64":
			if kind != "a string" {
				return f, at(off, "found %s as %s, want a string", kind, name)
			}
			text, bad := unquoteJSON(raw, off)
			if bad != nil {
				return f, bad
			}
			switch name {
			case "id":
				f.id = &text
			case "queue":
				f.queue = &text
			default:
				b, err := base64.StdEncoding.Strict().DecodeString(text)
				if err != nil {
					var corrupt base64.CorruptInputError
					errors.As(err, &corrupt)
					return f, at(off+1+int(corrupt), "found no base64 in payload_base64 at its byte %d", int64(corrupt))
				}
				f.payload = string(b)
			}
		case "payload":
			f.payload = raw
			if kind == "a string" {
				if f.payload, bad = unquoteJSON(raw, off); bad != nil {
					return f, bad
				}
			}
		default:
			return f, at(start, "found the field %s, want id, queue, payload or payload_base64", quote(name))
		}
		s.blanks()
		if line[s.i] == ',' {
			s.i++
		}
	}
	switch {
	case seen["payload"] && seen["payload_base64"]:
		return f, at(0, "found payload and payload_base64, want one of them")
	case !seen["payload"] && !seen["payload_base64"]:
		return f, at(len(line), "found no payload, want payload or payload_base64")
	}
	return f, nil
}

func invalidJSON(line string) *jsonError {
	if strings.Trim(line, " \t\r") == "" {
		return &jsonError{off: len(line), msg: "found an empty line, want an object"}
	}
	var syntax *json.SyntaxError
	var v json.RawMessage
	if err := json.Unmarshal(bytesOf(line), &v); errors.As(err, &syntax) {
		// The offset is of the byte after the wrong one.
		off := min(max(int(syntax.Offset)-1, 0), len(line))
		if strings.HasPrefix(syntax.Error(), "unexpected end") {
			off = len(line)
		}
		return &jsonError{off: off, msg: "found no JSON: " + syntax.Error()}
	}
	return &jsonError{msg: "found no JSON, want an object"}
}

// scanner walks over JSON that is known to be valid.
type scanner struct {
	line string
	i    int
}

func (s *scanner) blanks() {
	for s.i < len(s.line) && strings.IndexByte(" \t\r\n", s.line[s.i]) >= 0 {
		s.i++
	}
}

// kind says what value begins here.
func (s *scanner) kind() string {
	switch s.line[s.i] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// value passes over a value and returns its text.
func (s *scanner) value() string {
	start := s.i
	for depth := 0; s.i < len(s.line); {
		switch s.line[s.i] {
		case '"':
			for s.i++; s.line[s.i] != '"'; s.i++ {
				if s.line[s.i] == '\\' {
					s.i++
				}
			}
			s.i++
			if depth == 0 {
				return s.line[start:s.i]
			}
		case '{', '[':
			depth++
			s.i++
		case '}', ']':
			if depth == 0 {
				return s.line[start:s.i]
			}
			s.i++
			if depth--; depth == 0 {
				return s.line[start:s.i]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return s.line[start:s.i]
			}
			s.i++
		default:
			s.i++
		}
	}
	return s.line[start:s.i]
}

// unquoteJSON reads a JSON string that is known to be valid and stands at off.
func unquoteJSON(raw string, off int) (string, *jsonError) {
	s := raw[1 : len(raw)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b = append(b, s[i])
			i++
			continue
		}
		i += 2
		switch c := s[i-1]; c {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r := hex4(s[i:])
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if strings.HasPrefix(s[i:], `\u`) {
					low = hex4(s[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					return "", &jsonError{off + 1 + i - 6, "found half of a surrogate pair, which is no character", "payload_base64 holds any bytes"}
				}
				i += 6
			}
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, c)
		}
	}
	return string(b), nil
}

func hex4(s string) rune {
	n, _ := strconv.ParseUint(s[:4], 16, 32)
	return rune(n)
}
