package trace

import (
	"strconv"
	"strings"

	"github.com/echomq/emqctl/internal/escape"
	"github.com/echomq/emqctl/internal/scripts"
)

// How the origin of a key is decided, from the pieces it is made of:
//
//   - one piece, KEYS[n] as it is: declared;
//   - one piece, a whole reply or an item of one: data;
//   - only literal bytes: literal;
//   - no piece says anything (a value that could not be followed): unknown;
//   - everything else, also an argument alone: derived. From names the pieces
//     it is made of, the root first: a declared key, an argument that the
//     header declares as a base, any other argument, a reply.
//
// A derived key that begins with neither a declared key nor a declared base
// is a finding of the law, not another origin.

// keysOf is a value in a key's place: one Key for each alternative.
func (w *walker) keysOf(v value, source string) []Key {
	var out []Key
	alts := alternatives(v)
	for _, a := range alts {
		if isNil(a) && len(alts) > 1 {
			continue // that way the command raises
		}
		k := w.t.keyOf(a)
		k.Alternative = false
		if source != "" && source != k.Expr {
			k.Source = source
		}
		if k.Origin == Declared {
			if p := k.pieces[0]; p.n > 0 {
				w.t.keysSeen[p.n] = true
			} else {
				w.t.seeRange(p)
			}
		}
		for _, p := range k.pieces {
			if p.kind == pKeys && p.n > 0 {
				w.t.keysSeen[p.n] = true
			} else if p.kind == pKeys {
				w.t.seeRange(p)
			}
		}
		out = append(out, k)
	}
	if len(out) == 0 {
		out = append(out, Key{Origin: Unknown, Expr: "nil", Pattern: "<?>", Reason: "it is nil as far as can be told", pieces: []piece{{kind: pUnknown, text: "nil"}}})
	}
	if len(out) > 1 {
		for i := range out {
			out[i].Alternative = true
		}
	}
	return out
}

// seeRange marks the keys that an index which is not fixed may reach.
func (t *Trace) seeRange(p piece) {
	if p.to == 0 {
		if p.from <= 1 {
			t.keysAll = true
		}
		for n := max(p.from, 1); n <= 64; n++ {
			t.keysSeen[n] = true
		}
		return
	}
	for n := max(p.from, 1); n <= p.to && n < 1000; n++ {
		t.keysSeen[n] = true
	}
}

func (t *Trace) keyOf(v value) Key {
	ps := pieces(v)
	k := Key{Expr: exprOf(ps), Pattern: t.pattern(ps), pieces: ps}
	if n, ok := v.(numV); ok && !n.known && n.ps == nil {
		k.From = []string{"a number: " + n.text}
		k.Origin = Derived
		return k
	}
	allLit, allLost := true, true
	for _, p := range ps {
		allLit = allLit && p.kind == pLit
		allLost = allLost && (p.kind == pUnknown)
	}
	switch {
	case allLit:
		k.Origin = Literal
	case len(ps) == 1 && ps[0].kind == pKeys && ps[0].path == "":
		k.Origin, k.N = Declared, ps[0].n
	case len(ps) == 1 && ps[0].kind == pReply && !strings.HasPrefix(ps[0].path, ":"):
		k.Origin = Data
		k.From = []string{t.sourceOf(ps[0])}
	case allLost:
		k.Origin, k.Reason = Unknown, ps[0].text
		if k.Reason == "nil" {
			k.Reason = "it is nil as far as can be told"
		}
	case rootless(ps):
		k.Origin, k.Reason = Unknown, "it begins with "+firstUnknown(ps)
		k.From = t.sources(ps)
	default:
		k.Origin = Derived
		k.From = t.sources(ps)
	}
	return k
}

// rootless reports whether a key begins with something that is not known and
// has no declared key or argument in it.
func rootless(ps []piece) bool {
	if ps[0].kind != pUnknown {
		return false
	}
	for _, p := range ps {
		if p.kind == pKeys || p.kind == pArgv {
			return false
		}
	}
	return true
}

func firstUnknown(ps []piece) string {
	for _, p := range ps {
		if p.kind == pUnknown {
			return p.text
		}
	}
	return "something that is not known"
}

// root is the piece that decides where a derived key belongs: the first that
// is no literal.
func root(ps []piece) (piece, bool) {
	for _, p := range ps {
		if p.kind != pLit {
			return p, true
		}
	}
	return piece{}, false
}

func (t *Trace) sources(ps []piece) []string {
	var out []string
	for _, p := range ps {
		if p.kind == pLit {
			continue
		}
		s := t.sourceOf(p)
		dup := false
		for _, o := range out {
			dup = dup || o == s
		}
		if !dup {
			out = append(out, s)
		}
	}
	return out
}

// sourceOf says in words where a piece comes from.
func (t *Trace) sourceOf(p piece) string {
	switch p.kind {
	case pKeys, pArgv:
		s := "KEYS"
		if p.kind == pArgv {
			s = "ARGV"
		}
		s += "[" + p.index() + "]"
		if p.path != "" {
			s = "part of " + s
		}
		if p.kind == pArgv {
			if a := t.arg(p); a != nil {
				if a.Base != "" {
					return s + " (" + a.Base + " base)"
				}
				return s + " (" + a.Name + ")"
			}
		} else if k := t.key(p); k != nil {
			return s + " (" + k.Name + ")"
		}
		return s
	case pReply:
		of := ""
		if p.of != "" {
			of = " " + p.of
		}
		return t.replyWord(p) + " of " + p.cmd + of
	case pNum:
		return "a number: " + p.text
	}
	return "not known: " + p.text
}

// replyWord names what a reply's piece is: a popped member, a row's field.
func (t *Trace) replyWord(p piece) string {
	if f := p.fieldName(); f != "" {
		return "field " + f
	}
	switch cmd, _, _ := strings.Cut(p.cmd, " "); cmd {
	case "ZPOPMIN", "ZPOPMAX", "BZPOPMIN", "BZPOPMAX", "ZMPOP", "BZMPOP", "SPOP":
		return "popped member"
	case "ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZRANGEBYLEX", "ZREVRANGEBYLEX", "ZRANDMEMBER",
		"SMEMBERS", "SRANDMEMBER", "SINTER", "SUNION", "SDIFF", "ZINTER", "ZUNION", "ZDIFF", "GEORADIUS", "GEOSEARCH":
		return "member"
	case "LPOP", "RPOP", "BLPOP", "BRPOP", "LMPOP", "BLMPOP", "RPOPLPUSH", "BRPOPLPUSH", "LMOVE", "BLMOVE":
		return "popped element"
	case "LRANGE", "LINDEX":
		return "element"
	case "SCAN", "KEYS", "RANDOMKEY":
		return "key"
	case "HGET", "HMGET", "HGETALL", "HVALS", "HKEYS", "HSCAN":
		return "field"
	case "GET", "GETDEL", "GETSET", "MGET":
		return "value"
	case "TIME":
		return "clock"
	case "XREAD", "XREADGROUP", "XRANGE", "XREVRANGE", "XAUTOCLAIM", "XCLAIM", "XPENDING":
		return "entry"
	}
	return "reply"
}

// fieldName is the field of a row that HGET or HMGET asked for.
func (p piece) fieldName() string {
	if p.kind != pReply || p.field == "" {
		return ""
	}
	fs := strings.Split(p.field, "\x00")
	if p.cmd == "HGET" {
		return strings.Trim(fs[0], "?")
	}
	if n, err := strconv.Atoi(strings.Trim(p.path, "[]")); err == nil && n >= 1 && n <= len(fs) {
		return strings.Trim(fs[n-1], "?")
	}
	return ""
}

func (p piece) index() string {
	if p.n > 0 {
		return strconv.Itoa(p.n)
	}
	if p.idx == "" {
		return "i"
	}
	return p.idx
}

// shown is text that may hold bytes of a script, so that it can be put on a
// terminal: what is not printable is escaped.
func shown(s string) string { return escape.Visible(s) }

// exprOf writes pieces as a Lua expression.
func exprOf(ps []piece) string {
	if len(ps) == 0 {
		return "''"
	}
	var out []string
	for _, p := range ps {
		switch p.kind {
		case pLit:
			out = append(out, quote(p.text))
		case pKeys:
			out = append(out, "KEYS["+p.index()+"]"+p.path)
		case pArgv:
			out = append(out, "ARGV["+p.index()+"]"+p.path)
		case pReply:
			switch {
			case p.name != "":
				out = append(out, p.name)
			case p.fieldName() != "":
				out = append(out, p.fieldName())
			default:
				out = append(out, strings.ToLower(p.cmd)+"()"+p.path)
			}
		case pNum:
			out = append(out, "("+p.text+")")
		default:
			out = append(out, "?")
		}
	}
	return strings.Join(out, " .. ")
}

// arg is what the header says of an argument, nil when nothing.
func (t *Trace) arg(p piece) *scripts.Arg {
	if t.Verb == nil || p.kind != pArgv {
		return nil
	}
	n := p.n
	if n == 0 {
		n = p.from
	}
	var tuple []*scripts.Arg
	for i := range t.Verb.Args {
		a := &t.Verb.Args[i]
		if a.N == n && n > 0 {
			return a
		}
		if a.Repeated {
			tuple = append(tuple, a)
		}
	}
	if len(tuple) > 0 && n > tuple[0].N {
		return tuple[(n-tuple[0].N)%len(tuple)]
	}
	return nil
}

// key is what the header says of a key, nil when nothing.
func (t *Trace) key(p piece) *scripts.Key {
	if t.Verb == nil || p.kind != pKeys {
		return nil
	}
	n := p.n
	if n == 0 {
		n = p.from
	}
	for i := range t.Verb.Keys {
		k := &t.Verb.Keys[i]
		if k.N == n || k.Repeated && n >= k.N {
			return k
		}
	}
	return nil
}

// keyPatterns are the patterns a header gives KEYS[n], one for each form.
func (t *Trace) keyPatterns(p piece) []string {
	k := t.key(p)
	if k == nil {
		return nil
	}
	out := []string{k.Pattern}
	for i := range t.Verb.Keys {
		o := &t.Verb.Keys[i]
		if o != k && (o.N == k.N) && o.Pattern != k.Pattern {
			out = append(out, o.Pattern)
		}
	}
	return out
}

// pattern writes pieces with placeholders for what is not spelled out.
func (t *Trace) pattern(ps []piece) string {
	if len(ps) == 1 && ps[0].kind == pKeys && ps[0].path == "" {
		if alts := t.keyPatterns(ps[0]); len(alts) > 0 {
			return strings.Join(alts, " | ")
		}
	}
	var b strings.Builder
	for i, p := range ps {
		switch p.kind {
		case pLit:
			b.WriteString(p.text)
		case pKeys:
			if pats := t.keyPatterns(p); len(pats) > 0 && p.path == "" {
				b.WriteString(pats[0])
				continue
			}
			if p.path != "" {
				b.WriteString("<part of KEYS[" + p.index() + "]>")
			} else {
				b.WriteString("<KEYS[" + p.index() + "]>")
			}
		case pArgv:
			if a := t.arg(p); a != nil && p.path == "" {
				switch a.Base {
				case "queue":
					b.WriteString("emq:{q}:")
				case "job":
					b.WriteString("emq:{q}:job:")
				default:
					b.WriteString("<" + a.Name + ">")
				}
				continue
			}
			b.WriteString("<ARGV[" + p.index() + "]" + p.path + ">")
		case pReply:
			b.WriteString("<" + t.placeholder(p, b.String(), ps, i) + ">")
		case pNum:
			b.WriteString("<" + p.text + ">")
		default:
			b.WriteString("<?>")
		}
	}
	return b.String()
}

// placeholder names a piece of a reply: by the row field it is, by the place
// in a key of the protocol, by the local it was put in, by what it is.
func (t *Trace) placeholder(p piece, before string, ps []piece, i int) string {
	if f := p.fieldName(); f != "" {
		return f
	}
	if strings.HasPrefix(before, "emq:{") {
		switch {
		case strings.HasSuffix(before, "}:job:"):
			return "id"
		case strings.HasSuffix(before, "}:g:"):
			return "group"
		case strings.HasSuffix(before, "}:repeat:"), strings.HasSuffix(before, "}:stream:"):
			return "name"
		}
	}
	if p.name != "" {
		return p.name
	}
	w := t.replyWord(p)
	return w[strings.LastIndexByte(w, ' ')+1:]
}

// spelled replaces a declared key or base by its pattern's pieces when the
// pattern's end is literal, so that string.sub can cut there.
func (t *Trace) spelled(ps []piece) []piece {
	if len(ps) == 0 {
		return []piece{{kind: pLit}}
	}
	return ps
}
