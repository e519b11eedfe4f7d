package scripts

import "slices"

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
