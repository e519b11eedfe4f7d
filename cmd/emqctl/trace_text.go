package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/emqctl/internal/escape"
	"github.com/echomq/emqctl/internal/trace"
)

func (r *traceRecord) appendText(p *page) {
	if r.broken {
		r.textFindings(p)
		return
	}
	if r.Verb != nil {
		p.label("verb").ink(p.paint.main, *r.Verb).str("  " + *r.Summary).end()
		p.label("host").str(*r.Module + " " + *r.Functions).end()
		for _, h := range r.HostReads {
			p.label("").str("reads "+h.Command).about("%s", h.About).end()
		}
	}
	p.label("source").str(r.Source).end()
	p.label("sha1").str(r.SHA1).end()
	r.textDeclared(p)

	p.end().ink(p.paint.label, "steps").end()
	w := stepWriter{page: p, record: r, replies: r.replies()}
	w.block(r.body, 0)
	if len(r.Steps) == 0 {
		p.str("  none").end()
	}
	r.textReplies(p)
	r.textJudged(p)
}

// textDeclared writes what a call passes: the first beat.
func (r *traceRecord) textDeclared(p *page) {
	if len(r.Keys) > 0 {
		p.end().ink(p.paint.label, "KEYS").end()
	}
	for _, k := range r.Keys {
		store := "base"
		if k.Store != nil {
			store = *k.Store
		}
		p.str(fmt.Sprintf("  %-3d %-14s %-7s ", k.N, k.Name, store)).ink(p.paint.id, k.Pattern)
		if k.Store != nil {
			p.about("%s", k.Role)
		}
		r.textCarried(p, k.Forms, k.Optional, k.Repeated)
		p.end()
		textBound(p, 29, k.Key, k.Slot)
	}
	if len(r.Argv) > 0 {
		p.end().ink(p.paint.label, "ARGV").end()
	}
	for _, a := range r.Argv {
		p.str(fmt.Sprintf("  %-3d %-14s ", a.N, a.Name)).str(a.About)
		r.textCarried(p, a.Forms, a.Optional, a.Repeated)
		p.end()
		if a.Value != nil {
			p.pad(21).ink(p.paint.main, escape.String(*a.Value)).end()
		}
	}
}

func (r *traceRecord) textCarried(p *page, forms []string, optional, repeated bool) {
	switch {
	case len(forms) > 0:
		p.about("(only in %s)", orList(forms))
	case repeated:
		p.about("(and so on)")
	case optional:
		p.about("(optional)")
	}
}

// textBound writes a real key below its pattern.
func textBound(p *page, indent int, key *string, slot *uint16) {
	if key != nil {
		p.pad(indent).bytes(p.paint.main, *key).about("slot %d", *slot).end()
	}
}

// stepWriter writes the steps as the tree of branches and loops they stand in.
type stepWriter struct {
	*page
	record  *traceRecord
	replies map[int]string // what is returned, by line
}

func (r *traceRecord) replies() map[int]string {
	out := map[int]string{}
	for _, reply := range r.bodyReplies {
		out[reply.Line] = reply.Value
	}
	return out
}

// line opens a line without a number.
func (w *stepWriter) line(depth int, word, text string) {
	w.pad(9 + 2*depth)
	w.ink(w.paint.note, word)
	if text != "" {
		w.str(" " + text)
	}
	w.end()
}

func (w *stepWriter) block(b *trace.Block, depth int) {
	switch b.Kind {
	case trace.BlockStep:
		w.step(b.Step, depth)
		return
	case trace.BlockBranch:
		w.branch(b, depth)
		return
	case trace.BlockLoop, trace.BlockOnce:
		w.line(depth, "loop", strings.TrimSuffix(b.Text, " do"))
		depth++
	case trace.BlockCall:
		if len(b.Blocks) == 0 {
			return
		}
		w.line(depth, "call", b.Text)
		depth++
	case trace.BlockTry:
		w.line(depth, "pcall", b.Text)
		depth++
	case trace.BlockRefusal:
		w.line(depth, "refuse", b.Text)
		return
	case trace.BlockReturn:
		w.line(depth, "return", w.replies[b.Line])
		return
	case trace.BlockBreak:
		w.line(depth, "break", "")
		return
	case trace.BlockRaise:
		w.line(depth, "raise", b.Text)
		return
	case trace.BlockAgain:
		w.line(depth, "again", b.Text)
		return
	}
	w.sequence(b.Blocks, depth)
}

// sequence writes blocks in order; a refusal that is returned is one line.
func (w *stepWriter) sequence(blocks []*trace.Block, depth int) {
	for i, b := range blocks {
		if b.Kind == trace.BlockReturn && i > 0 && blocks[i-1].Kind == trace.BlockRefusal {
			continue
		}
		w.block(b, depth)
	}
}

// branch writes the arms that have something in them. The second of two is
// the first one's negation.
func (w *stepWriter) branch(b *trace.Block, depth int) {
	word := "if"
	for i, arm := range b.Blocks {
		if !hasContent(arm) {
			continue
		}
		if word != "if" && i == 1 && len(b.Blocks) == 2 {
			w.line(depth, "else", "")
		} else {
			w.line(depth, word, arm.Text)
		}
		w.sequence(arm.Blocks, depth+1)
		word = "or if"
	}
}

func hasContent(b *trace.Block) bool {
	switch b.Kind {
	case trace.BlockSeq, trace.BlockArm, trace.BlockBranch, trace.BlockLoop, trace.BlockOnce, trace.BlockPass, trace.BlockCall, trace.BlockTry:
		return slices.ContainsFunc(b.Blocks, hasContent)
	}
	return true
}

func (w *stepWriter) step(s *trace.Step, depth int) {
	access := "r"
	if s.Write {
		access = "w"
	}
	w.str(fmt.Sprintf("%5d ", s.N)).ink(w.paint.dim, access).pad(2 + 2*depth)
	w.ink(w.paint.main, s.Command)
	at := 9 + 2*depth + len(s.Command)
	keys := w.record.Steps[s.N-1].Keys
	for i, k := range keys {
		if i > 0 {
			// Nothing is known of several arguments: that is said once.
			if last := keys[i-1]; k.Origin == trace.Unknown && last.Origin == trace.Unknown && k.Reason == last.Reason && k.Maybe == last.Maybe && k.Many == last.Many {
				continue
			}
			w.end()
			w.pad(at)
		}
		w.str("  ")
		w.key(k)
		if k.Bound != nil {
			w.end()
			w.pad(at+2).bytes(w.paint.main, *k.Bound).about("slot %d", *k.Slot)
		}
	}
	w.end()
}

// key writes a key with its origin.
func (w *stepWriter) key(k traceStepKey) {
	switch k.Origin {
	case trace.Declared:
		w.ink(w.paint.good, k.Expr)
		if k.Pattern != "" && k.Pattern != "<"+k.Expr+">" {
			w.str(" ").ink(w.paint.id, k.Pattern)
		}
	case trace.Unknown:
		w.ink(w.paint.bad, "unknown").str(" " + k.Reason)
	default:
		w.ink(w.paint.note, string(k.Origin)).str(" ").ink(w.paint.id, k.Pattern)
		if len(k.From) > 0 {
			w.about("from %s", strings.Join(k.From, ", "))
		}
	}
	switch {
	case k.Channel:
		w.about("a channel")
	case k.Maybe:
		w.about("or no key")
	case k.Alternative:
		w.about("one of these")
	case k.Many:
		w.about("any number")
	}
}

// textReplies writes what the script answers.
func (r *traceRecord) textReplies(p *page) {
	value := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	if len(r.Returns) > 0 {
		p.end().ink(p.paint.label, "returns").end()
	}
	for _, ret := range r.Returns {
		p.str("  ").ink(p.paint.good, ret.Value)
		if ret.Host != nil {
			p.str("  " + *ret.Host)
		}
		if ret.Meaning != nil {
			p.about("%s", value(ret.Meaning))
		}
		p.end()
	}
	if len(r.Refusals) > 0 {
		p.end().ink(p.paint.label, "refuses").end()
	}
	for _, ref := range r.Refusals {
		p.str("  ").ink(p.paint.bad, ref.Text)
		if ref.Host != nil {
			p.str("  " + *ref.Host)
		}
		if ref.Meaning != nil {
			p.about("%s", value(ref.Meaning))
		}
		p.end()
	}
}

// textJudged writes what the law, the engines and an ACL say of the script.
func (r *traceRecord) textJudged(p *page) {
	if len(r.Notes) > 0 {
		p.end().ink(p.paint.label, "not followed").end()
	}
	for _, n := range r.Notes {
		p.str(fmt.Sprintf("  line %d: %s", n.Line, n.Message)).end()
	}
	if len(r.Findings) > 0 {
		p.end().ink(p.paint.label, "findings").end()
	}
	r.textFindings(p)
	p.end().ink(p.paint.label, "engines").end()
	for _, v := range r.Engines {
		mark := p.paint.good
		switch v.Verdict {
		case trace.Refused:
			mark = p.paint.bad
		case trace.Depends:
			mark = p.paint.note
		}
		p.str(fmt.Sprintf("  %-23s ", v.Engine)).ink(mark, string(v.Verdict)).pad(9 - len(v.Verdict))
		if v.Run {
			p.ink(p.paint.dim, "run on "+v.Source)
		} else {
			p.ink(p.paint.dim, "documented, not run, "+v.Date)
		}
		p.end()
		for i, reason := range v.Reasons {
			if i == 2 && len(v.Reasons) > 3 {
				p.pad(26).ink(p.paint.dim, "and "+strconv.Itoa(len(v.Reasons)-i)+" more").end()
				break
			}
			p.pad(26).str(reason).end()
		}
	}
	p.end().ink(p.paint.label, "acl").end()
	p.str("  verb       " + r.ACL.Verb.Rules()).end()
	p.str("  connection " + r.ACL.Connection.Rules()).end()
}

func (r *traceRecord) textFindings(p *page) {
	for _, f := range newFindings(r.Source, r.Findings) {
		f.appendText(p)
	}
}
