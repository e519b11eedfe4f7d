package scripts

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
)

// Parse reads the header of one script. Every error is an [*Error].
func Parse(path, source string) (*Verb, error) {
	p := &parser{path: path}
	entries, body, err := p.split(source)
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(source))
	p.verb = Verb{Path: path, Source: source, SHA1: hex.EncodeToString(sum[:]), Body: body}
	if err := p.opening(entries[0]); err != nil {
		return nil, err
	}
	for _, e := range entries[1:] {
		if err := p.entry(e); err != nil {
			return nil, err
		}
	}
	if err := p.whole(); err != nil {
		return nil, err
	}
	return &p.verb, nil
}

// rules are the entries of a header, in the order in which they come, with the
// number of their columns, marks aside.
var rules = []struct {
	word     string
	min, max int
	shape    string
}{
	{"host", 3, 3, "host  MODULE  FUNCTIONS"},
	{"forms", 2, 99, "forms  NAME  NAME ..."},
	{"reads", 3, 3, "reads  COMMAND  WHY"},
	{"KEYS", 4, 5, "KEYS[n]  NAME  TYPE  PATTERN  ROLE"},
	{"ARGV", 3, 3, "ARGV[n]  NAME  MEANING"},
	{"returns", 4, 4, "returns  VALUE  HOST  MEANING"},
	{"refuses", 4, 4, "refuses  TEXT  HOST  MEANING"},
}

var stores = []string{"hash", "zset", "list", "set", "string", "stream"}

type parser struct {
	path string
	verb Verb
	rule int // of the last entry
	keys []slot
	args []slot
	seen map[string]cell // what may be said once
	last cell            // where the header ends
}

// A cell is one column of an entry.
type cell struct {
	text      string
	line, col int
}

func (p *parser) errorf(at cell, kind Kind, format string, args ...any) error {
	return &Error{Path: p.path, Line: at.line, Col: at.col, Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// split cuts the header into entries and those into cells, and tells on which
// line the body begins.
func (p *parser) split(source string) (entries [][]cell, body int, err error) {
	line := 0
	for text := range strings.Lines(source) {
		line++
		at := cell{strings.TrimRight(text, "\r\n"), line, 1}
		switch {
		case line == 1 && !isOpening(at.text):
			return nil, 0, p.errorf(at, KindMissing, "the file opens with %q, %s", clip(at.text), wantHeader)
		case !strings.HasPrefix(at.text, "--"):
			return entries, line, nil
		}
		if entries, err = p.add(entries, at); err != nil {
			return nil, 0, err
		}
		p.last = at
	}
	if line == 0 {
		return nil, 0, p.errorf(cell{line: 1, col: 1}, KindMissing, "the file is empty, %s", wantHeader)
	}
	return entries, line + 1, nil
}

// LooksLikeHeader reports whether the comment that opens a script has a line
// as only a header has it, although the first is none: an entry in columns.
func LooksLikeHeader(source string) bool {
	for text := range strings.Lines(source) {
		text = strings.TrimRight(strings.TrimPrefix(text, "\ufeff"), " \t\r\n")
		if text == "" || strings.HasPrefix(text, "#!") {
			continue
		}
		text, ok := strings.CutPrefix(text, "--")
		if !ok {
			return false
		}
		cells := columns(strings.Trim(text, " \t"), 0, 0)
		word, _, _ := strings.Cut(cells[0].text, "[")
		for _, r := range rules {
			if r.word == word && len(cells) >= r.min && r.min >= 3 && (word == cells[0].text || strings.HasSuffix(cells[0].text, "]")) {
				return true
			}
		}
	}
	return false
}

const wantHeader = `want a header: "-- verb: what it does."`

// add reads one line: an entry, more of the one before, or nothing.
func (p *parser) add(entries [][]cell, at cell) ([][]cell, error) {
	if i := strings.IndexByte(at.text, '\t'); i >= 0 {
		at.col = i + 1
		return nil, p.errorf(at, KindSyntax, "found a tab, want blanks")
	}
	words := strings.Trim(at.text[2:], " ")
	switch {
	case words == "":
		return entries, nil
	case at.text[2] != ' ':
		at.col = 3
		return nil, p.errorf(at, KindSyntax, "found %q after \"--\", want a blank", clip(words))
	case at.line == 1:
		return [][]cell{{{words, at.line, 4}}}, nil
	case at.text[3] != ' ':
		return append(entries, columns(words, at.line, 4)), nil
	}
	more := columns(words, at.line, len(at.text)-len(strings.TrimLeft(at.text[2:], " "))+1)
	last := entries[len(entries)-1]
	last[len(last)-1].text += " " + more[0].text
	entries[len(entries)-1] = append(last, more[1:]...)
	return entries, nil
}

// columns cuts a line at its gaps.
func columns(text string, line, col int) []cell {
	cells := make([]cell, 0, 6)
	start := 0
	for {
		gap := strings.Index(text[start:], "  ")
		if gap < 0 {
			return append(cells, cell{text[start:], line, col + start})
		}
		cells = append(cells, cell{text[start : start+gap], line, col + start})
		for start += gap; start < len(text) && text[start] == ' '; start++ {
		}
	}
}

// isWord reports whether s is a lower-case letter, then lower-case letters,
// digits, "_" and what more there is.
func isWord(s, more string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '_' || strings.IndexByte(more, c) >= 0)) {
			return false
		}
	}
	return s != ""
}

// isPattern reports whether s is a key, with <name> for what varies.
func isPattern(s string) bool {
	for rest := s; rest != ""; {
		switch rest[0] {
		case '<':
			name, after, ok := strings.Cut(rest[1:], ">")
			if !ok || !isWord(name, "") {
				return false
			}
			rest = after
			continue
		case '>', ' ', '\t', '\n', '\f', '\r':
			return false
		}
		rest = rest[1:]
	}
	return s != ""
}

// classOf is the class that opens a refusal: EMQ, capitals and a blank, with
// text behind it. It is "" when there is none.
func classOf(s string) string {
	class, text, ok := strings.Cut(s, " ")
	if !ok || len(class) < 4 || !strings.HasPrefix(class, "EMQ") || text == "" || strings.IndexByte(" \t\n\f\r", text[0]) >= 0 {
		return ""
	}
	for i := 3; i < len(class); i++ {
		if class[i] < 'A' || class[i] > 'Z' {
			return ""
		}
	}
	return class
}

// isOpening reports whether a line is "-- verb: " and a summary.
func isOpening(line string) bool {
	verb, _, ok := strings.Cut(strings.TrimPrefix(line, "-- "), ": ")
	return ok && strings.HasPrefix(line, "-- ") && isWord(verb, "") && !strings.Contains(line, "\n")
}

// numbered cuts KEYS[n] or ARGV[n], n from 1 to 9999.
func numbered(s string) (array string, n int, ok bool) {
	if len(s) < 7 || s[4] != '[' || s[len(s)-1] != ']' || s[5] == '0' || len(s) > 10 {
		return "", 0, false
	}
	if array = s[:4]; array != "KEYS" && array != "ARGV" {
		return "", 0, false
	}
	for _, c := range []byte(s[5 : len(s)-1]) {
		if c < '0' || c > '9' {
			return "", 0, false
		}
		n = n*10 + int(c-'0')
	}
	return array, n, true
}

func (p *parser) opening(e []cell) error {
	p.verb.Name, p.verb.Summary, _ = strings.Cut(e[0].text, ": ")
	if len(p.verb.Summary) < 2 || !strings.HasSuffix(p.verb.Summary, ".") {
		return p.errorf(e[0], KindSummary, "the summary is %q, want a sentence with its full stop", clip(p.verb.Summary))
	}
	return nil
}

// clip keeps a quoted text short enough for a message.
func clip(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}
