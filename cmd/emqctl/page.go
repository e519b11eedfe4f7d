package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"

	"github.com/echomq/emqctl/internal/escape"
)

// page is a record's text as it is written: a label and a value a line.
type page struct {
	buf   []byte
	paint *palette
}

const labelWidth = 11

// divide puts a blank line before a record of several lines. The first record
// of an answer goes without: whoever writes the answer cuts it off.
func (p *page) divide() { p.end() }

// label opens a line.
func (p *page) label(word string) *page {
	p.ink(p.paint.label, word)
	p.pad(labelWidth - len(word))
	return p
}

// ink writes text in a style. Whatever bytes it quotes, none reaches a
// terminal that is not printable.
func (p *page) ink(i ink, s string) *page {
	p.buf = append(p.buf, i.on...)
	p.buf = append(p.buf, clean(s)...)
	p.buf = append(p.buf, i.off...)
	return p
}

// bytes writes foreign bytes, escaped, in a style.
func (p *page) bytes(i ink, s string) *page {
	p.buf = append(p.buf, i.on...)
	if len(s) <= clipLen {
		p.buf = escape.Append(p.buf, s)
	} else {
		shown, _ := clipAround(s, 0)
		p.buf = append(p.buf, shown...)
	}
	p.buf = append(p.buf, i.off...)
	return p
}

// value is bytes, with "" for none, where what follows could be read as them.
func (p *page) value(i ink, s string) *page {
	if s == "" {
		return p.ink(i, `""`)
	}
	return p.bytes(i, s)
}

// str writes text without a style.
func (p *page) str(s string) *page {
	p.buf = append(p.buf, clean(s)...)
	return p
}

// about writes an explanation after a value, two blanks away.
func (p *page) about(format string, args ...any) *page {
	p.str("  ")
	return p.ink(p.paint.dim, fmt.Sprintf(format, args...))
}

func (p *page) pad(n int) *page {
	for range max(n, 1) {
		p.buf = append(p.buf, ' ')
	}
	return p
}

func (p *page) end() *page {
	p.buf = append(p.buf, '\n')
	return p
}

// problem writes what is wrong with s: s with a caret under the byte, the
// message, and the hint.
func (p *page) problem(label, s string, pr *problem) {
	shown, col := clipAround(s, pr.Offset)
	p.label(label).str(shown).end()
	p.str(strings.Repeat(" ", labelWidth+col)).ink(p.paint.bad, "^").end()
	p.problemLine(pr)
}

// problemLine writes the message and the hint alone.
func (p *page) problemLine(pr *problem) {
	p.label("error").ink(p.paint.bad, pr.Kind).str(fmt.Sprintf(" at byte %d: %s", pr.Offset, pr.Message)).end()
	if pr.Hint != nil {
		p.label("hint").str(*pr.Hint).end()
	}
}

func (p *page) notes(notes []note) {
	for _, n := range notes {
		p.label("note").ink(p.paint.note, string(n.Kind)).str(fmt.Sprintf(" at byte %d: %s", n.Offset, n.Message)).end()
	}
}

// clipLen is how many bytes of a value text shows; JSON has them all.
const clipLen = 512

// clipAround returns s escaped, cut to some bytes about off when it is long,
// and the column of off in it.
func clipAround(s string, off int) (shown string, col int) {
	off = min(off, len(s))
	for off > 0 && off < len(s) && !utf8.RuneStart(s[off]) && utf8.ValidString(s) {
		off--
	}
	start, end := 0, len(s)
	if len(s) > clipLen {
		start = max(0, min(off-clipLen/2, len(s)-clipLen))
		end = start + clipLen
	}
	before, after := "", ""
	if start > 0 {
		before = "..."
	}
	if end < len(s) {
		after = "..."
	}
	if start > 0 || end < len(s) {
		after += fmt.Sprintf(" (%d bytes)", len(s))
	}
	head := before + escape.String(s[start:off])
	return head + escape.String(s[off:end]) + after, lipgloss.Width(head)
}
