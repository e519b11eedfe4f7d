package trace

import (
	"math"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// The bounds on what is kept of one value. Past them a value is unknown, and
// says so.
const (
	maxAlts   = 12  // alternatives of one value
	maxPieces = 48  // pieces of one string
	maxItems  = 256 // items of one table
	maxUnroll = 8   // items of a literal list, one pass each
)

// A value is what the walk knows of a Lua value. Values are never changed in
// place; what changes is the cell that holds them.
type value interface{}

type (
	nilV     struct{}
	boolV    struct{ v bool }
	unknownV struct{ why string }
	// strV is a string as a run of pieces, or one reply or argument as a whole.
	strV struct{ ps []piece }
	// numV is a number.
	numV struct {
		known    bool
		v        float64
		text     string  // as an expression, when not known
		ps       []piece // the pieces it prints as, when it is the number in a string
		from, to int     // bounds of a loop index, 0 when not known
		digits   int     // an estimate of its whole digits, 0 when not known
		frac     bool    // it may have a fraction
		lenOf    *tableV // it is #t
		soft     bool    // known, unless an item of the table it counts is nil
		plus     int     // and this much more
	}
	// tableV is a table the script made, or KEYS or ARGV.
	tableV struct {
		c    *cell
		site ast.Expr // where it is made
	}
	funcV struct {
		fn    *ast.FunctionExpr
		name  string
		scope *scope
	}
	builtinV struct{ name string }
	// altV is one of several.
	altV struct{ vs []value }
	// manyV is any number of values, as unpack(t) and ... give; only in lists.
	manyV struct {
		t    *tableV
		from int
		elem value // when t is nil
	}
)

// content is what a table holds. It is replaced, never changed.
type content struct {
	base   pieceKind        // pKeys or pArgv: items beyond arr are KEYS[n] or ARGV[n]
	fields map[string]value // by string keys, and by odd numbers
	arr    []value          // items 1..n
	tail   value            // joined items behind arr, nil when none
	rest   value            // joined items at positions that are not known, nil when none
	keys   value            // joined keys that are not known, nil when none
	meta   value            // the metatable, nil when none
}

type cell struct {
	v    value
	born int // the pass of a loop that made it
}

type scope struct {
	names   []string
	cells   []*cell
	parent  *scope
	varargs []value
	isFunc  bool
}

func (s *scope) declare(name string, c *cell) {
	s.names = append(s.names, name)
	s.cells = append(s.cells, c)
}

func (s *scope) lookup(name string) *cell {
	for ; s != nil; s = s.parent {
		for i := len(s.names) - 1; i >= 0; i-- {
			if s.names[i] == name {
				return s.cells[i]
			}
		}
	}
	return nil
}

type pieceKind uint8

const (
	pLit pieceKind = iota
	pKeys
	pArgv
	pReply
	pNum
	pUnknown
)

// piece is a part of a string that comes from one place.
type piece struct {
	kind     pieceKind
	text     string // pLit: the bytes; pNum: the expression; pUnknown: the reason
	n        int    // KEYS[n], ARGV[n]; 0 when the index is not fixed
	idx      string // the index as an expression, when not fixed
	from, to int    // the range of such an index; to is 0 when open
	path     string // the way from there: ".queue", "[2]", ":sub(1, 3)"
	cmd      string // pReply: the command
	of       string // pReply: its first key
	field    string // pReply: the field asked for
	name     string // the local it was put in
}

func lit(s string) strV { return strV{[]piece{{kind: pLit, text: s}}} }

// changing is the text of a number that differs from pass to pass.
const changing = "a changing number"

// isLit reports whether v is a string or number known byte for byte.
func isLit(v value) (string, bool) {
	switch v := v.(type) {
	case strV:
		if len(v.ps) == 0 {
			return "", true
		}
		if len(v.ps) == 1 && v.ps[0].kind == pLit {
			return v.ps[0].text, true
		}
	case numV:
		if v.known && !math.IsNaN(v.v) { // a server may print it as -nan
			return formatNumber(v.v), true
		}
	}
	return "", false
}

func equal(a, b value) bool { return same(a, b, 4) }

func same(a, b value, depth int) bool {
	if depth == 0 {
		return true
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case nilV:
		_, ok := b.(nilV)
		return ok
	case boolV:
		b, ok := b.(boolV)
		return ok && a == b
	case unknownV:
		_, ok := b.(unknownV)
		return ok
	case strV:
		b, ok := b.(strV)
		return ok && slices.Equal(a.ps, b.ps)
	case numV:
		b, ok := b.(numV)
		return ok && a.known == b.known && math.Float64bits(a.v) == math.Float64bits(b.v) && a.soft == b.soft && a.text == b.text && a.from == b.from && a.to == b.to && slices.Equal(a.ps, b.ps)
	case *funcV:
		b, ok := b.(*funcV)
		return ok && sameFunc(a.fn, b.fn) && sameScope(a.scope, b.scope, depth-1)
	case builtinV:
		b, ok := b.(builtinV)
		return ok && a == b
	case statusV:
		b, ok := b.(statusV)
		return ok && a == b
	case errorV:
		b, ok := b.(errorV)
		return ok && same(a.msg, b.msg, depth-1)
	case *tableV:
		b, ok := b.(*tableV)
		// Two tables are one value only when the same code made them: what
		// is put into one later is not in the other.
		return ok && (a == b || a.site != nil && a.site == b.site && same(a.c.v, b.c.v, depth-1))
	case altV:
		b, ok := b.(altV)
		if !ok || len(a.vs) != len(b.vs) {
			return false
		}
		for _, v := range a.vs {
			if !contains(b.vs, v, depth-1) {
				return false
			}
		}
		return true
	case manyV:
		b, ok := b.(manyV)
		if !ok || a.from != b.from || (a.t == nil) != (b.t == nil) {
			return false
		}
		return a.t != nil && same(a.t.c.v, b.t.c.v, depth-1) || a.t == nil && same(a.elem, b.elem, depth-1)
	case *content:
		b, ok := b.(*content)
		if !ok || a == b {
			return ok
		}
		if a.base != b.base || len(a.arr) != len(b.arr) || len(a.fields) != len(b.fields) ||
			!same(a.tail, b.tail, depth-1) || !same(a.rest, b.rest, depth-1) || !same(a.keys, b.keys, depth-1) || !same(a.meta, b.meta, depth-1) {
			return false
		}
		for i := range a.arr {
			if !same(a.arr[i], b.arr[i], depth-1) {
				return false
			}
		}
		for k, v := range a.fields {
			if w, ok := b.fields[k]; !ok || !same(v, w, depth-1) {
				return false
			}
		}
		return true
	}
	return false
}

// sameScope compares what two closures of one function hold.
func sameScope(a, b *scope, depth int) bool {
	for ; a != b; a, b = a.parent, b.parent {
		if a == nil || b == nil || len(a.cells) != len(b.cells) {
			return false
		}
		for i := range a.cells {
			if a.cells[i] != b.cells[i] && (a.names[i] != b.names[i] || !same(a.cells[i].v, b.cells[i].v, depth)) {
				return false
			}
		}
	}
	return true
}

func contains(vs []value, v value, depth int) bool {
	for _, w := range vs {
		if same(v, w, depth) {
			return true
		}
	}
	return false
}

// alternatives lists what a value may be.
func alternatives(v value) []value {
	if a, ok := v.(altV); ok {
		return a.vs
	}
	return []value{v}
}

// join is the value that is one or the other.
func join(a, b value) value {
	if a == nil {
		return b
	}
	if b == nil || equal(a, b) {
		return a
	}
	if ca, ok := a.(*content); ok {
		if cb, ok := b.(*content); ok {
			return joinContent(ca, cb)
		}
	}
	vs := slices.Clone(alternatives(a))
	for _, v := range alternatives(b) {
		if !contains(vs, v, 4) {
			vs = append(vs, v)
		}
	}
	if len(vs) == 1 {
		return vs[0]
	}
	if len(vs) > maxAlts {
		return collapse(vs, "one of many values")
	}
	return altV{vs}
}

// collapse gives up on telling values apart, but keeps where strings begin.
func collapse(vs []value, why string) value {
	var common []piece
	for i, v := range vs {
		ps := pieces(v)
		if i == 0 {
			common = ps
			continue
		}
		n := 0
		for n < len(common) && n < len(ps) && common[n] == ps[n] {
			n++
		}
		common = common[:n]
	}
	for len(common) > 0 && common[len(common)-1].kind == pUnknown {
		common = common[:len(common)-1]
	}
	if len(common) == 0 {
		return unknownV{why}
	}
	return strV{append(slices.Clone(common), piece{kind: pUnknown, text: why})}
}

// widen is join for what keeps changing: its end is no longer told.
func widen(a, b value) value {
	if a == nil || b == nil {
		return join(a, b)
	}
	if equal(a, b) {
		return a
	}
	ca, okA := a.(*content)
	cb, okB := b.(*content)
	if okA && okB {
		c := joinContent(ca, cb)
		out := *c
		out.fields = map[string]value{}
		out.arr = slices.Clone(c.arr)
		for i, v := range c.arr {
			if i < len(ca.arr) && !equal(v, ca.arr[i]) {
				out.arr[i] = collapse(alternatives(v), "changed in a loop")
			}
		}
		for k, v := range c.fields {
			if w, ok := ca.fields[k]; ok && equal(v, w) {
				out.fields[k] = v
			} else {
				out.fields[k] = collapse(alternatives(v), "changed in a loop")
			}
		}
		for _, x := range []struct{ to, was *value }{{&out.rest, &ca.rest}, {&out.tail, &ca.tail}, {&out.keys, &ca.keys}} {
			if *x.to != nil && *x.was != nil && !equal(*x.to, *x.was) {
				*x.to = collapse(alternatives(*x.to), "changed in a loop")
			}
		}
		return &out
	}
	if na, ok := a.(numV); ok {
		if nb, ok := b.(numV); ok {
			return numV{text: changing, digits: max(na.digits, nb.digits), frac: na.frac || nb.frac}
		}
	}
	var fns []value
	for _, v := range append(slices.Clone(alternatives(a)), alternatives(b)...) {
		switch v.(type) {
		case *funcV, builtinV, *tableV, nilV, boolV:
			if !contains(fns, v, 3) && len(fns) < maxAlts {
				fns = append(fns, v)
			}
		}
	}
	w := collapse(append(slices.Clone(alternatives(a)), alternatives(b)...), "changed in a loop")
	if len(fns) > 0 {
		return altV{append(fns, w)}
	}
	return w
}

func joinContent(a, b *content) *content {
	out := &content{base: a.base, fields: map[string]value{}, keys: join(a.keys, b.keys), meta: join(a.meta, b.meta)}
	if out.base == pLit {
		out.base = b.base
	}
	out.rest, out.tail = join(a.rest, b.rest), join(a.tail, b.tail)
	n := min(len(a.arr), len(b.arr))
	out.arr = make([]value, n)
	for i := range n {
		out.arr[i] = join(a.arr[i], b.arr[i])
	}
	for _, v := range append(a.arr[n:len(a.arr):len(a.arr)], b.arr[n:]...) {
		out.tail = join(out.tail, v)
	}
	for k, v := range a.fields {
		if w, ok := b.fields[k]; ok {
			out.fields[k] = join(v, w)
		} else {
			out.fields[k] = join(v, nilV{})
		}
	}
	for k, v := range b.fields {
		if _, ok := a.fields[k]; !ok {
			out.fields[k] = join(v, nilV{})
		}
	}
	return out
}

// pieces is a value as a part of a string.
func pieces(v value) []piece {
	switch v := v.(type) {
	case strV:
		return v.ps
	case numV:
		if l, ok := isLit(v); ok {
			return []piece{{kind: pLit, text: l}}
		} else if v.known {
			return []piece{{kind: pNum, text: "nan"}}
		}
		if v.ps != nil {
			return v.ps
		}
		return []piece{{kind: pNum, text: v.text}}
	case unknownV:
		return []piece{{kind: pUnknown, text: v.why}}
	case nilV:
		return []piece{{kind: pUnknown, text: "nil"}}
	case boolV:
		return []piece{{kind: pUnknown, text: "a boolean"}}
	case *tableV:
		return []piece{{kind: pUnknown, text: "a table"}}
	case altV:
		return []piece{{kind: pUnknown, text: "one of several values"}}
	}
	return []piece{{kind: pUnknown, text: "a function"}}
}

// concat is a..b, one result for every pair of alternatives.
func concat(a, b value) value {
	as, bs := alternatives(a), alternatives(b)
	if len(as)*len(bs) > maxAlts {
		if len(as) > 1 {
			as = []value{collapse(as, "one of several values")}
		}
		if len(as)*len(bs) > maxAlts {
			bs = []value{collapse(bs, "one of several values")}
		}
	}
	var out value
	for _, x := range as {
		for _, y := range bs {
			if isNil(x) && len(as) > 1 || isNil(y) && len(bs) > 1 {
				continue // that way raises
			}
			_, tx := x.(*tableV)
			_, ty := y.(*tableV)
			if tx || ty {
				out = join(out, unknownV{"what __concat of a table gives"})
				continue
			}
			out = join(out, strV{glue(pieces(x), pieces(y))})
		}
	}
	if out == nil {
		return unknownV{"nil"}
	}
	return out
}

func glue(a, b []piece) []piece {
	out := make([]piece, 0, len(a)+len(b))
	out = append(out, a...)
	for _, p := range b {
		if n := len(out); n > 0 && p.kind == pLit && out[n-1].kind == pLit {
			out[n-1].text += p.text
			continue
		}
		out = append(out, p)
	}
	if len(out) > maxPieces {
		out = append(out[:maxPieces-1:maxPieces-1], piece{kind: pUnknown, text: "a string of many parts"})
	}
	return out
}

func isNil(v value) bool {
	switch v := v.(type) {
	case nilV:
		return true
	case boolV:
		return !v.v
	}
	return false
}

// truth tells whether a value is surely true or surely false.
func truth(v value) (is, known bool) {
	switch v := v.(type) {
	case nilV:
		return false, true
	case boolV:
		return v.v, true
	case *tableV, *funcV, builtinV, numV, errorV, statusV:
		return true, true
	case strV:
		_, ok := isLit(v)
		return true, ok || len(v.ps) > 1
	case altV:
		first, ok := truth(v.vs[0])
		if !ok {
			return false, false
		}
		for _, w := range v.vs[1:] {
			if t, ok := truth(w); !ok || t != first {
				return false, false
			}
		}
		return first, true
	}
	return false, false
}

// part is a value reached from v by a path, such as a field of a decoded
// argument or the second item of a reply.
func part(v value, path string) value {
	var out value
	for _, a := range alternatives(v) {
		switch a := a.(type) {
		case strV:
			if len(a.ps) == 1 && a.ps[0].kind != pLit && a.ps[0].kind != pUnknown {
				p := a.ps[0]
				if len(p.path) < 64 {
					p.path += path
				}
				p.name = ""
				out = join(out, strV{[]piece{p}})
				continue
			}
			// A part of a composed string: where it begins is still known.
			root := piece{kind: pUnknown, text: "part of a string"}
			for _, p := range a.ps {
				if p.kind == pKeys || p.kind == pArgv || p.kind == pReply {
					root = p
					root.path += path
					root.name = ""
					break
				}
			}
			out = join(out, strV{[]piece{root}})
		case numV:
			out = join(out, strV{[]piece{{kind: pNum, text: a.text + path}}})
		case unknownV:
			out = join(out, a)
		case nilV, boolV:
		default:
			out = join(out, unknownV{"part of a table or function"})
		}
	}
	if out == nil {
		return unknownV{"part of nil"}
	}
	return out
}

// item is KEYS[n] or ARGV[n] with a fixed index.
func item(base pieceKind, n int) value { return strV{[]piece{{kind: base, n: n}}} }

// element is an item of a reply.
func element(v value, i numV) value {
	if i.known {
		return part(v, "["+formatNumber(i.v)+"]")
	}
	return part(v, "["+i.text+"]")
}
