package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/embedded"
	"github.com/echomq/emqctl/internal/slot"
)

// ink is the colour of a status.
func (r *enqueueRecord) ink(p *palette) ink {
	switch r.status {
	case statusRefused, statusFailed, statusUnknown:
		return p.bad
	case statusDuplicate:
		return p.note
	}
	return p.good
}

func (r *enqueueRecord) appendText(p *page) {
	if r.short {
		p.ink(r.ink(p.paint), string(r.status)).pad(labelWidth - len(r.status))
		p.bytes(ink{}, r.id).pad(brandedid.Len+2-shownWidth(r.id)).bytes(p.paint.dim, r.queue)
		if r.err != nil {
			p.str("  " + r.err.Kind + ": " + r.err.Message)
		}
		p.end()
		return
	}
	p.divide()
	r.textOperand(p, "queue", r.queue, ink{}).end()
	if !r.lost() {
		r.textOperand(p, "id", r.id, p.paint.main)
		if !r.given {
			p.about("minted")
		}
		p.end()
	}
	if r.in == "group" {
		r.textOperand(p, "group", r.group, ink{}).end()
	}
	if len(r.keys) > 0 {
		r.textHandle(p)
		r.textRun(p)
	}
	r.textStatus(p)
	p.notes(r.notes)
	r.textRehearsal(p)
}

// textOperand writes a part of the job, with a caret where the host refuses it.
func (r *enqueueRecord) textOperand(p *page, label, value string, i ink) *page {
	if r.in != label {
		return p.label(label).bytes(i, value)
	}
	shown, col := clipAround(value, r.err.Offset)
	p.label(label).str(shown).end()
	return p.str(strings.Repeat(" ", labelWidth+col)).ink(p.paint.bad, "^")
}

// textHandle is the first beat: the named handle and what it declares.
func (r *enqueueRecord) textHandle(p *page) {
	p.label("handle").ink(p.paint.main, r.verb).about("%s.%s", r.script.Module, r.script.Function).end()
	width := 0
	for _, key := range r.keys {
		width = max(width, shownWidth(key))
	}
	for i, key := range r.keys {
		p.label("KEYS["+strconv.Itoa(i+1)+"]").bytes(p.paint.id, key)
		if width <= clipLen {
			p.pad(width-shownWidth(key)+2).ink(p.paint.dim, r.script.Keys[i].Store+", "+r.script.Keys[i].Role)
		}
		p.end()
	}
	p.label("slot").str(strconv.Itoa(int(slot.Of(r.keys[0])))).about("of all keys: they share the tag {%s}", textBytes(r.queue)).end()
	for i, arg := range r.args {
		p.label("ARGV["+strconv.Itoa(i+1)+"]").value(ink{}, arg).about("%s", r.script.Args[i].Name).end()
	}
}

// textRun is the second beat: what ran, and where.
func (r *enqueueRecord) textRun(p *page) {
	what := "EVALSHA " + r.script.SHA1
	if r.via == viaNative {
		what = embedded.Native
	}
	word, where := "ran", "on "+r.engine
	switch {
	case r.rehearsal && r.observed != nil:
		word, where = "rehearsed", "in the embedded store: nothing is stored"
	case r.executed == nil:
		word = "sent"
	case !*r.executed:
		word, where = "not run", ""
	}
	p.label(word).str(what)
	if where != "" {
		p.about("%s", where)
	}
	p.end()
	if f := r.fence; f != nil && (!r.rehearsal || f.want != "") {
		p.label("fence").str(f.status)
		if f.Value != "" {
			p.str("  ").bytes(ink{}, f.Value)
		}
		switch {
		case r.rehearsal:
			p.about("the embedded store was given it")
		case f.Reason != nil:
			p.about("%s", clean(f.Reason.Msg))
		case f.want == "":
			p.about("reported only: no --fence is given")
		}
		p.end()
	}
}

func (r *enqueueRecord) textStatus(p *page) {
	p.label("status").ink(r.ink(p.paint), string(r.status))
	switch {
	case r.host == "ok":
		p.about("the reply is 1: the host says %s", r.replyWord("1"))
	case r.host == "duplicate":
		p.about("the reply is 0: the host says %s; nothing is changed", r.replyWord("0"))
	case r.host != "":
		p.about("the host says {:error, :%s}", r.host)
	case r.keys == nil && r.status == statusRefused:
		p.about("by the host, before any wire")
	}
	p.end()
	if r.err != nil {
		p.label("error").ink(p.paint.bad, r.err.Kind)
		if r.in != "" {
			p.str(" at byte " + strconv.Itoa(r.err.Offset))
		}
		p.str(": " + r.err.Message).end()
		if r.err.Hint != nil {
			p.label("hint").str(*r.err.Hint).end()
		}
	}
}

// replyWord is what the host makes of a reply.
func (r *enqueueRecord) replyWord(value string) string {
	for _, ret := range r.script.Returns {
		if ret.Value == value {
			return ret.Host
		}
	}
	return ""
}

// textRehearsal tells what was touched, in order, and what the store holds.
func (r *enqueueRecord) textRehearsal(p *page) {
	if r.observed == nil {
		return
	}
	word := "touched"
	for i, c := range r.observed.Commands {
		p.label(word).str(c.Name)
		for k, key := range c.Keys {
			p.pad((10-len(c.Name))*(1-min(k, 1))).bytes(p.paint.id, key)
		}
		switch {
		case r.lines[i] > 0:
			p.about("as traced in line %d", r.lines[i])
		case r.via != viaNative:
			p.str("  ").ink(p.paint.note, "not in the trace")
		}
		p.end()
		word = ""
	}
	if len(r.observed.Commands) == 0 {
		p.label(word).str("nothing").end()
	}
	word = "store"
	for _, k := range r.observed.Holds {
		p.label(word).bytes(p.paint.id, k.Key).about("%s, %d", k.Type, k.Size).end()
		for _, entry := range k.Entries {
			p.label("").str("  ")
			if entry.Named {
				p.bytes(ink{}, entry.Name).pad(10 - shownWidth(entry.Name))
			}
			p.value(ink{}, entry.Value).end()
		}
		if n := k.Size - len(k.Entries); n > 0 {
			p.label("").ink(p.paint.dim, fmt.Sprintf("  and %d more", n)).end()
		}
		word = ""
	}
	if len(r.observed.Holds) == 0 {
		p.label(word).str("empty").end()
	}
}

// shownWidth is how many columns foreign bytes take.
func shownWidth(s string) int { return lipgloss.Width(textBytes(s)) }
