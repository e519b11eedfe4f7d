package scripts

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
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

// grammar is the words of a header, compiled when the first one is read.
var grammar = sync.OnceValue(func() (g struct {
	openingLine, wordName, formName, numbered, keyPattern, classWord, columnGap *regexp.Regexp
}) {
	g.openingLine = regexp.MustCompile(`^-- ([a-z][a-z0-9_]*): (.*)$`)
	g.wordName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	g.formName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	g.numbered = regexp.MustCompile(`^(KEYS|ARGV)\[([1-9][0-9]{0,3})\]$`)
	g.keyPattern = regexp.MustCompile(`^(?:[^<>\s]|<[a-z][a-z0-9_]*>)+$`)
	g.classWord = regexp.MustCompile(`^(EMQ[A-Z]+) \S`)
	g.columnGap = regexp.MustCompile(` {2,}`)
	return g
})

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
		case line == 1 && !grammar().openingLine.MatchString(at.text):
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
	var cells []cell
	start := 0
	for _, gap := range grammar().columnGap.FindAllStringIndex(text, -1) {
		cells = append(cells, cell{text[start:gap[0]], line, col + start})
		start = gap[1]
	}
	return append(cells, cell{text[start:], line, col + start})
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
