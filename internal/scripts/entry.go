package scripts

import (
	"slices"
	"strconv"
	"strings"
)

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

// entry reads one entry into the verb.
func (p *parser) entry(e []cell) error {
	name := e[0].text
	if array, _, ok := numbered(name); ok {
		name = array
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
		at, apart := e[min(n, rules[i].max+1)-1], ""
		if words := strings.Fields(at.text); n < rules[i].min && n+len(words)-1 >= rules[i].min {
			apart = ", and columns stand two blanks apart"
		}
		return p.errorf(at, KindColumns, "found %d columns, want %q%s", n, rules[i].shape, apart)
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
		if !isWord(c.text, "-") || c.text == "repeated" || c.text == "optional" {
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
	if !isPattern(k.Pattern) {
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
	class := classOf(e[1].text)
	if class == "" {
		return p.errorf(e[1], KindClass, "found the refusal %q, want its class first: EMQ and upper-case letters", clip(e[1].text))
	}
	p.verb.Refusals = append(p.verb.Refusals, Refusal{
		Class: class, Text: e[1].text, Host: hostWord(e[2]), Meaning: e[3].text, Line: e[0].line,
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
	s = slot{name: e[1], at: e[0]}
	s.array, s.n, _ = numbered(e[0].text)
	if !isWord(s.name.text, "") {
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
