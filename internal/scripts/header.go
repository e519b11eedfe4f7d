package scripts

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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

var (
	openingLine = regexp.MustCompile(`^-- ([a-z][a-z0-9_]*): (.*)$`)
	wordName    = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	formName    = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	numbered    = regexp.MustCompile(`^(KEYS|ARGV)\[([1-9][0-9]{0,3})\]$`)
	keyPattern  = regexp.MustCompile(`^(?:[^<>\s]|<[a-z][a-z0-9_]*>)+$`)
	classWord   = regexp.MustCompile(`^(EMQ[A-Z]+) \S`)
	columnGap   = regexp.MustCompile(` {2,}`)
)

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

// A slot is what KEYS[n] and ARGV[n] have in common.
type slot struct {
	array    string
	n        int
	name     cell
	at       cell
	optional bool
	repeated bool
	forms    []string
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
		case line == 1 && !openingLine.MatchString(at.text):
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
	for _, gap := range columnGap.FindAllStringIndex(text, -1) {
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

func (p *parser) entry(e []cell) error {
	name := e[0].text
	if m := numbered.FindStringSubmatch(name); m != nil {
		name = m[1]
	} else if strings.HasPrefix(name, "KEYS") || strings.HasPrefix(name, "ARGV") {
		return p.errorf(e[0], KindNumber, "found %q, want a number from 1 in brackets: %s[1]", clip(name), name[:4])
	}
	i := 0
	for i < len(rules) && rules[i].word != name {
		i++
	}
	if i == len(rules) {
		return p.errorf(e[0], KindEntry, "found %q, want %s", clip(name), "host, forms, reads, KEYS[n], ARGV[n], returns or refuses")
	}
	if i < p.rule {
		return p.errorf(e[0], KindOrder, "found %s after %s, want it before", name, rules[p.rule].word)
	}
	p.rule = i
	var marks cell
	if name == "KEYS" || name == "ARGV" {
		e, marks = cutMarks(e)
	}
	if n := len(e); n < rules[i].min || n > rules[i].max {
		return p.errorf(e[min(n, rules[i].max+1)-1], KindColumns, "found %d columns, want %q", n, rules[i].shape)
	}
	switch name {
	case "host":
		return p.host(e)
	case "forms":
		return p.forms(e)
	case "reads":
		p.verb.HostReads = append(p.verb.HostReads, HostRead{Command: e[1].text, About: e[2].text, Line: e[0].line})
		return nil
	case "KEYS":
		return p.key(e, marks)
	case "ARGV":
		return p.arg(e, marks)
	case "returns":
		return p.returns(e)
	default:
		return p.refuses(e)
	}
}

// once refuses what has been said before.
func (p *parser) once(what string, at cell) error {
	if p.seen == nil {
		p.seen = map[string]cell{}
	}
	if was, ok := p.seen[what]; ok {
		return p.errorf(at, KindDuplicate, "found %s again, it is on line %d", what, was.line)
	}
	p.seen[what] = at
	return nil
}

func (p *parser) host(e []cell) error {
	p.verb.Module, p.verb.Function = e[1].text, e[2].text
	return p.once("host", e[0])
}

func (p *parser) forms(e []cell) error {
	for _, c := range e[1:] {
		if !formName.MatchString(c.text) || c.text == "repeated" || c.text == "optional" {
			return p.errorf(c, KindName, "found the form %q, want a word in lower case", clip(c.text))
		}
		if slices.Contains(p.verb.Forms, c.text) {
			return p.errorf(c, KindDuplicate, "found the form %s again", c.text)
		}
		p.verb.Forms = append(p.verb.Forms, c.text)
	}
	return p.once("forms", e[0])
}

func (p *parser) key(e []cell, marks cell) error {
	k := Key{Name: e[1].text, Store: e[2].text, Pattern: e[3].text, Line: e[0].line}
	switch {
	case k.Store == "base":
		k.Store, k.Role = "", "base"
		if len(e) > 4 {
			return p.errorf(e[4], KindColumns, "found %d columns, want %q", len(e), "KEYS[n]  NAME  base  PATTERN")
		}
		if !strings.HasSuffix(k.Pattern, ":") {
			return p.errorf(e[3], KindPattern, "found the base %q, want one that ends in a colon", clip(k.Pattern))
		}
	case !slices.Contains(stores, k.Store):
		return p.errorf(e[2], KindStore, "found the type %q, want base or one of %s", clip(k.Store), strings.Join(stores, ", "))
	case len(e) < 5:
		return p.errorf(e[3], KindColumns, "found 4 columns, want %q", "KEYS[n]  NAME  TYPE  PATTERN  ROLE")
	default:
		k.Role = e[4].text
	}
	if !keyPattern.MatchString(k.Pattern) {
		return p.errorf(e[3], KindPattern, "found the pattern %q, want a key with <name> for what varies", clip(k.Pattern))
	}
	s, base, err := p.slot(e, marks)
	if err != nil {
		return err
	}
	if base != "" {
		return p.errorf(marks, KindMark, "found the mark of a base on a key, want the type base")
	}
	k.N, k.Optional, k.Repeated, k.Forms = s.n, s.optional, s.repeated, s.forms
	p.keys = append(p.keys, s)
	p.verb.Keys = append(p.verb.Keys, k)
	return nil
}

func (p *parser) arg(e []cell, marks cell) error {
	s, base, err := p.slot(e, marks)
	if err != nil {
		return err
	}
	p.args = append(p.args, s)
	p.verb.Args = append(p.verb.Args, Arg{
		N: s.n, Name: e[1].text, About: e[2].text, Base: base,
		Optional: s.optional, Repeated: s.repeated, Forms: s.forms, Line: e[0].line,
	})
	return nil
}

func (p *parser) returns(e []cell) error {
	p.verb.Returns = append(p.verb.Returns, Return{Value: e[1].text, Host: hostWord(e[2]), Meaning: e[3].text, Line: e[0].line})
	return p.once("the reply "+strconv.Quote(e[1].text), e[1])
}

func (p *parser) refuses(e []cell) error {
	m := classWord.FindStringSubmatch(e[1].text)
	if m == nil {
		return p.errorf(e[1], KindClass, "found the refusal %q, want its class first: EMQ and upper-case letters", clip(e[1].text))
	}
	p.verb.Refusals = append(p.verb.Refusals, Refusal{
		Class: m[1], Text: e[1].text, Host: hostWord(e[2]), Meaning: e[3].text, Line: e[0].line,
	})
	return p.once("the refusal "+strconv.Quote(e[1].text), e[1])
}

func hostWord(c cell) string {
	if c.text == "-" {
		return ""
	}
	return c.text
}

// cutMarks takes the column of marks off an entry.
func cutMarks(e []cell) ([]cell, cell) {
	last := e[len(e)-1]
	if len(e) > 1 && strings.HasPrefix(last.text, "[") && strings.HasSuffix(last.text, "]") {
		return e[:len(e)-1], last
	}
	return e, cell{}
}

func (p *parser) slot(e []cell, marks cell) (s slot, base string, err error) {
	m := numbered.FindStringSubmatch(e[0].text)
	s = slot{array: m[1], name: e[1], at: e[0]}
	s.n, _ = strconv.Atoi(m[2])
	if !wordName.MatchString(s.name.text) {
		return s, "", p.errorf(s.name, KindName, "found the name %q, want a word in lower case", clip(s.name.text))
	}
	if marks.text == "" {
		return s, "", nil
	}
	for _, mark := range strings.Split(marks.text[1:len(marks.text)-1], ",") {
		switch mark = strings.TrimSpace(mark); {
		case mark == "repeated":
			s.repeated = true
		case mark == "optional":
			s.optional = true
		case mark == "queue base" || mark == "job base":
			base = strings.TrimSuffix(mark, " base")
		case slices.Contains(s.forms, mark):
			return s, "", p.errorf(marks, KindDuplicate, "found the form %s again", mark)
		case slices.Contains(p.verb.Forms, mark):
			s.forms, s.optional = append(s.forms, mark), true
		default:
			return s, "", p.errorf(marks, KindMark, "found the mark %q, want repeated, optional, a base or a form", clip(mark))
		}
	}
	return s, base, nil
}

// whole checks what no entry can tell alone.
func (p *parser) whole() error {
	if p.verb.Module == "" {
		return p.errorf(p.last, KindEntry, "found no host, want one: %s", rules[0].shape)
	}
	if len(p.verb.Returns) == 0 {
		return p.errorf(p.last, KindEntry, "found no reply, want one at least: %s", rules[5].shape)
	}
	forms := p.verb.Forms
	if forms == nil {
		forms = []string{""}
	}
	for _, form := range forms {
		for _, slots := range [][]slot{p.keys, p.args} {
			if err := p.sequence(form, slots); err != nil {
				return err
			}
		}
	}
	return nil
}

// sequence checks the keys or the arguments of one form of the call.
func (p *parser) sequence(form string, slots []slot) error {
	names := map[string]bool{}
	var last slot
	for _, s := range slots {
		if s.forms != nil && !slices.Contains(s.forms, form) {
			continue
		}
		switch {
		case s.n == last.n:
			return p.errorf(s.at, KindDuplicate, "found %s[%d] again, it is on line %d", s.array, s.n, last.at.line)
		case s.n != last.n+1:
			return p.errorf(s.at, KindNumber, "found %s[%d], want %s[%d]%s", s.array, s.n, s.array, last.n+1, inForm(form))
		case names[s.name.text]:
			return p.errorf(s.name, KindDuplicate, "found the name %s again", s.name.text)
		case last.repeated && !s.repeated:
			return p.errorf(s.at, KindOrder, "%s[%d] follows what is repeated, want it before", s.array, s.n)
		case last.optional && last.forms == nil && !s.optional && !s.repeated:
			return p.errorf(s.at, KindOrder, "%s[%d] follows what is optional, want it before", s.array, s.n)
		}
		names[s.name.text] = true
		last = s
	}
	return nil
}

func inForm(form string) string {
	if form == "" {
		return ""
	}
	return " in the form " + form
}

// clip keeps a quoted text short enough for a message.
func clip(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}
