package trace

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// eval is the value of an expression, the first where it has several.
func (w *walker) eval(e ast.Expr) value {
	w.depth++
	defer func() { w.depth-- }()
	if w.depth > maxDepth {
		w.tooDeep(e)
		return unknownV{"nested too deep"}
	}
	if w.dead || !w.spend(e, 1) {
		return unknownV{"not followed"}
	}
	switch e := e.(type) {
	case *ast.NilExpr:
		return nilV{}
	case *ast.TrueExpr:
		return boolV{true}
	case *ast.FalseExpr:
		return boolV{false}
	case *ast.NumberExpr:
		return numberLit(e.Value)
	case *ast.StringExpr:
		return lit(e.Value)
	case *ast.Comma3Expr:
		return w.nth(w.varargs(), 0)
	case *ast.IdentExpr:
		return w.name(e)
	case *ast.AttrGetExpr:
		return w.getIndex(w.eval(e.Object), w.eval(e.Key), e)
	case *ast.TableExpr:
		return w.table(e)
	case *ast.FuncCallExpr:
		return w.nth(w.call(e), 0)
	case *ast.LogicalOpExpr:
		return w.logical(e)
	case *ast.RelationalOpExpr:
		return w.compare(e)
	case *ast.StringConcatOpExpr:
		l, r := w.eval(e.Lhs), w.eval(e.Rhs)
		w.prints(l, e.Lhs)
		w.prints(r, e.Rhs)
		return concat(l, r)
	case *ast.ArithmeticOpExpr:
		return w.arith(e)
	case *ast.UnaryMinusOpExpr:
		n := w.toNum(w.eval(e.Expr))
		if n.known {
			return numV{known: true, v: -n.v, soft: n.soft}
		}
		return numV{text: "-" + n.text, digits: n.digits, frac: n.frac}
	case *ast.UnaryNotOpExpr:
		if is, known := truth(w.asked(e.Expr)); known {
			return boolV{!is}
		}
		return unknownV{"a condition"}
	case *ast.UnaryLenOpExpr:
		return w.length(e)
	case *ast.FunctionExpr:
		return &funcV{e, "function", w.scope}
	}
	return unknownV{"an expression of no known kind"}
}

func numberLit(s string) value {
	if f, ok := luaNumber(s); ok {
		return numV{known: true, v: f}
	}
	return numV{text: s}
}

// standard holds the global names that a script finds on a server.
var standard = map[string]bool{
	"redis": true, "server": true, "string": true, "table": true, "math": true, "cjson": true, "cmsgpack": true,
	"struct": true, "bit": true, "os": true, "coroutine": true, "debug": true, "assert": true, "collectgarbage": true, "error": true,
	"getfenv": true, "getmetatable": true, "ipairs": true, "load": true, "loadstring": true, "next": true, "pairs": true, "pcall": true,
	"rawequal": true, "rawget": true, "rawset": true, "select": true, "setfenv": true, "setmetatable": true, "tonumber": true,
	"tostring": true, "type": true, "unpack": true, "xpcall": true, "_VERSION": true, "_G": true, "gcinfo": true, "newproxy": true,
}

func (w *walker) name(e *ast.IdentExpr) value {
	if c := w.scope.lookup(e.Value); c != nil {
		if c.v == nil {
			return nilV{}
		}
		return c.v
	}
	if c := w.globals[e.Value]; c != nil {
		return c.v
	}
	if standard[e.Value] {
		return builtinV{strings.Replace(e.Value, "server", "redis", 1)}
	}
	w.find(FindGlobalVariable, e, "reads the global "+e.Value+", which a server does not have")
	return unknownV{"the global " + e.Value}
}

func (w *walker) table(e *ast.TableExpr) value {
	c := &content{fields: map[string]value{}}
	for i, f := range e.Fields {
		if f.Key != nil {
			k := w.eval(f.Key)
			c = c.with(k, w.eval(f.Value), nil)
			continue
		}
		if i == len(e.Fields)-1 {
			vs := w.list([]ast.Expr{f.Value})
			// {unpack(KEYS)}, {...}: a copy of the list it came from.
			if m, ok := w.onlyMany(vs); ok && m.t != nil && m.from == 1 && len(e.Fields) == 1 {
				if src, ok := m.t.c.v.(*content); ok {
					c = &content{base: src.base, arr: src.arr, tail: src.tail, rest: src.rest, fields: map[string]value{}}
					continue
				}
			}
			c = c.fill(w, vs)
			continue
		}
		c.arr = append(c.arr, w.eval(f.Value))
	}
	if len(c.arr) > maxItems {
		for _, v := range c.arr[maxItems:] {
			c.tail = join(c.tail, v)
		}
		c.arr = c.arr[:maxItems]
	}
	return &tableV{c: w.cell(c), site: e}
}

func (w *walker) onlyMany(vs []value) (manyV, bool) {
	if len(vs) != 1 {
		return manyV{}, false
	}
	m, ok := vs[0].(manyV)
	return m, ok
}

// fill appends a list of values to a table that is being made.
func (c *content) fill(w *walker, vs []value) *content {
	for _, v := range vs {
		if m, ok := v.(manyV); ok {
			c.tail = join(c.tail, w.elemOf(m))
			continue
		}
		if c.tail != nil {
			c.tail = join(c.tail, v)
			continue
		}
		c.arr = append(c.arr, v)
	}
	return c
}

// closed reports whether the items of a list are just those of arr.
func (c *content) closed() bool { return c.base == pLit && c.tail == nil && c.rest == nil }

// with is the content with one item set. An index that is the length of the
// table itself and one more appends.
func (c *content) with(k, v value, self *tableV) *content {
	out := *c
	if n, ok := k.(numV); ok {
		i := 0
		appends := n.lenOf != nil && n.lenOf == self && n.plus == 1
		switch {
		case n.known && n.v == math.Trunc(n.v):
			i = int(n.v)
		case appends && c.closed():
			i = len(c.arr) + 1
		}
		_, cleared := v.(nilV)
		switch {
		case i == len(c.arr) && i >= 1 && c.closed() && cleared:
			out.arr = trimNil(c.arr[:i-1]) // popped
		case i >= 1 && i <= len(c.arr):
			out.arr = slices.Clone(c.arr)
			out.arr[i-1] = v
		case i == len(c.arr)+1 && c.closed() && cleared:
		case appends && c.closed() && slices.ContainsFunc(c.arr, holds):
			// Nothing says where such a list ends.
			out.rest = join(c.rest, v)
		case i == len(c.arr)+1 && c.closed() && len(c.arr) < maxItems:
			out.arr = append(slices.Clone(c.arr), v)
		case appends && c.base == pLit, i > len(c.arr) && c.base == pLit:
			out.tail = join(c.tail, v)
		default:
			out.rest = join(c.rest, v)
		}
		return &out
	}
	if l, ok := isLit(k); ok {
		out.fields = make(map[string]value, len(c.fields)+1)
		for f, x := range c.fields {
			out.fields[f] = x
		}
		out.fields[l] = v
		if len(out.fields) <= maxItems {
			return &out
		}
		out.fields = c.fields
	}
	if a, ok := k.(altV); ok {
		r := c
		for _, x := range a.vs {
			if _, ok := isLit(x); !ok {
				r = nil
				break
			}
		}
		if r != nil {
			for _, x := range a.vs {
				old := r.get(x)
				r = r.with(x, join(old, v), self)
			}
			return r
		}
	}
	out.rest = join(c.rest, v)
	out.keys = join(c.keys, k)
	return &out
}

// trimNil cuts nil off the end of a list.
func trimNil(arr []value) []value {
	for n := len(arr); n > 0; n-- {
		if _, ok := arr[n-1].(nilV); !ok {
			return arr[:n:n]
		}
	}
	return nil
}

// holds reports whether an item of a list may be nil by what the script does.
func holds(v value) bool {
	switch v := v.(type) {
	case nilV, unknownV:
		return true
	case altV:
		return slices.ContainsFunc(v.vs, holds)
	}
	return false
}

// maybeNil reports whether an item of a list may be nil: also what a call may
// leave out, or a decoded argument or a reply may lack.
func maybeNil(v value) bool {
	switch v := v.(type) {
	case altV:
		return slices.ContainsFunc(v.vs, maybeNil)
	case strV:
		return len(v.ps) == 1 && v.ps[0].kind != pLit && (v.ps[0].kind != pReply || v.ps[0].path != "")
	}
	return holds(v)
}

// get is the item at a key that is known, nil when there is none for sure.
func (c *content) get(k value) value {
	if n, ok := k.(numV); ok && n.known {
		i := int(n.v)
		if i >= 1 && i <= len(c.arr) {
			return join(c.arr[i-1], c.rest)
		}
		if c.base != pLit && i >= 1 {
			return join(c.rest, item(c.base, i))
		}
		return join(join(c.tail, c.rest), nilV{})
	}
	if l, ok := isLit(k); ok {
		if v, ok := c.fields[l]; ok {
			if c.keys != nil {
				return join(v, c.rest)
			}
			return v
		}
		if c.keys != nil {
			return join(c.rest, nilV{})
		}
		return nilV{}
	}
	return nil
}

// anyItem is any item of a table.
func (w *walker) anyItem(c *content, idx numV) value {
	var out value
	if c.base != pLit {
		out = strV{[]piece{{kind: c.base, idx: idx.text, from: max(idx.from, 1), to: idx.to}}}
	}
	for _, v := range c.arr {
		out = join(out, v)
	}
	for _, k := range sortedKeys(c.fields) {
		out = join(out, c.fields[k])
	}
	out = join(join(out, c.tail), c.rest)
	if out == nil {
		return nilV{}
	}
	return out
}

// anyKey is any key of a table.
func (c *content) anyKey(idx numV) value {
	if c.keys == nil && len(c.fields) == 0 {
		return idx
	}
	k := c.keys
	for _, name := range sortedKeys(c.fields) {
		k = join(k, lit(name))
	}
	if len(c.arr) > 0 || c.base != pLit || c.tail != nil {
		k = join(k, idx)
	}
	return k
}

func sortedKeys(m map[string]value) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (w *walker) getIndex(obj, key value, n ast.PositionHolder) value {
	if a, ok := obj.(altV); ok {
		var out value
		for _, o := range a.vs {
			if !isNil(o) {
				out = join(out, w.getIndex(o, key, n))
			}
		}
		if out == nil {
			return unknownV{"an index of nil"}
		}
		return out
	}
	if a, ok := key.(altV); ok {
		var out value
		for _, k := range a.vs {
			if !isNil(k) {
				out = join(out, w.getIndex(obj, k, n))
			}
		}
		if out == nil {
			return nilV{}
		}
		return out
	}
	switch o := obj.(type) {
	case *tableV:
		c, ok := o.c.v.(*content)
		if !ok {
			return unknownV{"a table that is not followed"}
		}
		if c.meta != nil {
			return w.inherited(o, c, key, n)
		}
		if v := c.get(key); v != nil {
			if c.base != pLit && n != nil {
				w.useKey(v, n)
			}
			return v
		}
		idx := w.toNum(key)
		if l := idx; l.lenOf == o && l.plus == 0 && c.closed() && len(c.arr) > 0 {
			return c.arr[len(c.arr)-1]
		}
		v := w.anyItem(c, idx)
		if c.base == pKeys && n != nil {
			w.useKey(v, n)
		}
		if c.base == pLit {
			v = join(v, nilV{})
		}
		return v
	case builtinV:
		if l, ok := isLit(key); ok {
			if o.name == "_G" {
				return w.name(&ast.IdentExpr{Value: l})
			}
			if !hasMember(o.name, l) {
				w.unknownMember(o.name, l, n)
				return unknownV{absent + o.name + "." + l}
			}
			return builtinV{o.name + "." + l}
		}
		return unknownV{"an index of " + o.name}
	case strV, numV:
		if len(pieces(o)) == 1 && pieces(o)[0].kind == pLit {
			if l, ok := isLit(key); ok {
				return w.getIndex(builtinV{"string"}, lit(l), n)
			}
		}
		if l, ok := isLit(key); ok {
			if _, isNum := key.(numV); isNum || !isName(l) {
				return w.plus(o, part(o, "["+l+"]"))
			}
			return w.plus(o, part(o, "."+l))
		}
		return w.plus(o, element(o, w.toNum(key)))
	case errorV:
		return o.msg
	case statusV:
		return lit(o.text)
	case unknownV:
		return unknownV{o.why}
	}
	return unknownV{"an index of a value that has none"}
}

// absent opens the reason of what the library does not have.
const absent = "no such function: "

// unknownMember finds a name that a table of the library lacks. A condition
// may ask for one; anything else is a mistake.
func (w *walker) unknownMember(lib, name string, n ast.PositionHolder) {
	if n == nil || w.asking > 0 {
		return
	}
	msg := "a server's " + lib + " has no " + quote(name)
	if near := nearestMember(lib, name); near != "" {
		msg += ", did you mean " + near + "?"
	}
	w.find(FindUnknownFunction, n, msg)
}

// asked evaluates what is only looked at: whether it is there, what it equals.
func (w *walker) asked(e ast.Expr) value {
	if _, ok := e.(*ast.AttrGetExpr); !ok {
		return w.eval(e)
	}
	w.asking++
	v := w.eval(e)
	w.asking--
	return v
}

// inherited is an item of a table that has a metatable: its own, and where it
// may have none what __index gives.
func (w *walker) inherited(t *tableV, c *content, key value, n ast.PositionHolder) value {
	bare := *c
	bare.meta = nil
	own := w.getIndex(&tableV{c: &cell{v: &bare}}, key, n)
	lacks := false
	var out value
	for _, v := range alternatives(own) {
		if _, ok := v.(nilV); ok {
			lacks = true
			continue
		}
		out = join(out, v)
	}
	if !lacks {
		return own
	}
	w.depth += 40 // a chain of metatables may lead back to its start
	defer func() { w.depth -= 40 }()
	if w.work -= 8; w.work < 0 || w.depth > maxDepth {
		return join(out, unknownV{"a metatable that is not followed"})
	}
	for _, h := range alternatives(w.metamethod(c, "__index")) {
		switch h := h.(type) {
		case nilV:
			out = join(out, nilV{})
		case *tableV, builtinV:
			out = join(out, w.getIndex(h, key, n))
		case *funcV:
			if n == nil {
				out = join(out, unknownV{"what __index gives"})
				continue
			}
			out = join(out, w.nth(w.callFunc(h, []value{t, key}, n), 0))
		default:
			out = join(out, unknownV{"what __index gives"})
		}
	}
	return out
}

// metamethod is what a table's metatable has under a name.
func (w *walker) metamethod(c *content, name string) value {
	if c.meta == nil {
		return nilV{}
	}
	var out value
	for _, m := range alternatives(c.meta) {
		switch m := m.(type) {
		case nilV:
			out = join(out, nilV{})
		case *tableV:
			mc, ok := m.c.v.(*content)
			if !ok {
				out = join(out, unknownV{"a metatable that is not followed"})
				continue
			}
			out = join(out, mc.get(lit(name)))
		default:
			out = join(out, unknownV{"a metatable that is not known"})
		}
	}
	return out
}

func (w *walker) setIndex(obj, key, v value, n ast.PositionHolder) {
	objs := alternatives(obj)
	for _, o := range objs {
		switch t := o.(type) {
		case *tableV:
			c, ok := t.c.v.(*content)
			if !ok {
				continue
			}
			w.spend(n, 1+len(c.arr)/16+len(c.fields)/4)
			if l, ok := isLit(key); ok && strings.HasPrefix(l, "__") && w.metas[t.c] {
				w.event(l, v, n)
			}
			nc := c.with(key, v, t)
			if len(objs) > 1 {
				nc = joinContent(c, nc)
			}
			w.set(t.c, nc)
		case builtinV:
			if t.name == "_G" {
				if l, ok := isLit(key); ok {
					w.assignName(identAt(l, n), v)
				}
				continue
			}
			w.find(FindGlobalVariable, n, "changes the table "+t.name+", which a server refuses")
		case strV, numV:
			w.put(t, v)
		case unknownV:
			if slices.ContainsFunc(alternatives(v), isFunc) {
				w.note(n, "a function is stored in a value that is not known; calls of it are not followed")
			}
		}
	}
}

// put remembers what is put into a table that is a reply or a decoded
// argument, whoever holds it.
func (w *walker) put(t, v value) {
	p, ok := whole(t)
	if !ok || isNil(v) {
		return
	}
	if nv := join(w.added[p], v); !equal(nv, w.added[p]) {
		if len(alternatives(nv)) > maxAlts {
			nv = unknownV{"one of many values"}
		}
		w.added[p] = nv
		w.grew = true
	}
}

// plus is an item read from such a table: its own, or one that was put there.
func (w *walker) plus(t, v value) value {
	if len(w.added) == 0 {
		return v
	}
	if p, ok := whole(t); ok {
		return join(v, w.added[p])
	}
	return v
}

func whole(t value) (piece, bool) {
	ps := pieces(t)
	if len(ps) != 1 || ps[0].kind == pLit || ps[0].kind == pUnknown {
		return piece{}, false
	}
	p := ps[0]
	p.name = ""
	return p, true
}

func identAt(name string, n ast.PositionHolder) *ast.IdentExpr {
	id := &ast.IdentExpr{Value: name}
	id.SetLine(n.Line())
	return id
}

// useKey records that the script reads KEYS[n].
func (w *walker) useKey(v value, n ast.PositionHolder) {
	p := w.src.pos(n)
	for _, a := range alternatives(v) {
		s, ok := a.(strV)
		if ok && len(s.ps) == 1 && s.ps[0].kind == pArgv && s.ps[0].n > 0 && s.ps[0].path == "" {
			w.t.argUses = append(w.t.argUses, keyUse{s.ps[0].n, int(p.line), int(p.col)})
		}
		if !ok || len(s.ps) != 1 || s.ps[0].kind != pKeys {
			continue
		}
		k := s.ps[0]
		if k.n > 0 {
			w.t.keyUses = append(w.t.keyUses, keyUse{k.n, int(p.line), int(p.col)})
		} else if k.to > 0 {
			w.t.keyUses = append(w.t.keyUses, keyUse{k.to, int(p.line), int(p.col)})
		}
	}
}

func (w *walker) logical(e *ast.LogicalOpExpr) value {
	l := w.asked(e.Lhs)
	if w.dead || w.over {
		return unknownV{"not followed"}
	}
	isAnd := e.Operator == "and"
	if is, known := truth(l); known {
		if is == isAnd {
			return w.eval(e.Rhs)
		}
		return l
	}
	cond := text(e.Lhs)
	if !isAnd {
		cond = negation(e.Lhs)
	}
	var r value
	w.branch(w.line(e), arm{cond, func() { r = w.eval(e.Rhs) }}, arm{"", nil})
	var out value
	for _, v := range alternatives(l) {
		is, known := truth(v)
		switch {
		case isAnd && known && is, !isAnd && known && !is:
			continue
		case isAnd && !known:
			v = nilV{}
		case !isAnd && !known:
			if u, ok := v.(unknownV); ok && u.why == "a condition" {
				v = boolV{true}
			}
		}
		out = join(out, v)
	}
	return join(out, r)
}

func (w *walker) compare(e *ast.RelationalOpExpr) value {
	l, r := w.asked(e.Lhs), w.asked(e.Rhs)
	if e.Operator != "==" && e.Operator != "~=" {
		return unknownV{"a condition"}
	}
	eq, known := false, false
	a, okA := isLit(l)
	b, okB := isLit(r)
	na, isA := l.(numV)
	nb, isB := r.(numV)
	switch {
	case isA && isB:
		eq, known = na.v == nb.v, na.known && nb.known && !na.soft && !nb.soft
	case okA && okB:
		eq, known = isA == isB && a == b, true
	}
	_, nilA := l.(nilV)
	_, nilB := r.(nilV)
	switch {
	case nilA && nilB:
		eq, known = true, true
	case nilA && okB, nilB && okA:
		eq, known = false, true
	}
	if !known {
		return unknownV{"a condition"}
	}
	return boolV{eq == (e.Operator == "==")}
}

func (w *walker) length(e *ast.UnaryLenOpExpr) value {
	v := w.eval(e.Expr)
	n := numV{text: "#" + text(e.Expr), digits: 4}
	switch v := v.(type) {
	case *tableV:
		if c, ok := v.c.v.(*content); ok {
			if c.closed() {
				return numV{known: true, v: float64(len(c.arr)), lenOf: v, soft: slices.ContainsFunc(c.arr, maybeNil)}
			}
			n.lenOf = v
		}
	case strV:
		if l, ok := isLit(v); ok {
			return numV{known: true, v: float64(len(l))}
		}
	}
	return n
}

// toNum is a value in arithmetic.
func (w *walker) toNum(v value) numV {
	switch v := v.(type) {
	case numV:
		return v
	case strV:
		if l, ok := isLit(v); ok {
			if n, ok := numberLit(l).(numV); ok && n.known {
				return n
			}
			return numV{text: quote(l)}
		}
		return numV{text: exprOf(v.ps), ps: v.ps, digits: w.digitsOf(v.ps)}
	case altV:
		var texts []string
		n := numV{}
		var sure []value
		for _, a := range v.vs {
			if !isNil(a) {
				sure = append(sure, a)
			}
		}
		if len(sure) == 1 {
			return w.toNum(sure[0])
		}
		for _, a := range sure {
			x := w.toNum(a)
			n.digits, n.frac = max(n.digits, x.digits), n.frac || x.frac
			if x.known {
				x.text = formatNumber(x.v)
			}
			texts = append(texts, x.text)
		}
		n.text = strings.Join(texts, " or ")
		return n
	case unknownV:
		return numV{text: "?"}
	}
	return numV{text: "?"}
}

// digitsOf estimates how many whole digits a number out of a reply or an
// argument has: only the server's clock is known, and what a header says to
// be Unix milliseconds.
func (w *walker) digitsOf(ps []piece) int {
	if len(ps) != 1 {
		return 0
	}
	p := ps[0]
	if p.kind == pReply && p.cmd == "TIME" {
		switch p.path {
		case "[1]":
			return 10
		case "[2]":
			return 6
		}
	}
	if a := w.t.arg(p); a != nil && p.path == "" && strings.Contains(strings.ToLower(a.About), "unix ms") {
		return 13
	}
	return 0
}

func (w *walker) arith(e *ast.ArithmeticOpExpr) value {
	l, r := w.toNum(w.eval(e.Lhs)), w.toNum(w.eval(e.Rhs))
	if l.known && r.known {
		n := numV{known: true, soft: l.soft || r.soft}
		switch e.Operator {
		case "+":
			n.v, n.lenOf, n.plus = l.v+r.v, l.lenOf, l.plus+int(r.v)
		case "-":
			n.v = l.v - r.v
		case "*":
			n.v = l.v * r.v
		case "/":
			n.v = l.v / r.v
		case "%":
			n.v = l.v - float64(math.Floor(l.v/r.v)*r.v)
		case "^":
			n.v = math.Pow(l.v, r.v)
		}
		return n
	}
	digits := func(n numV) int {
		if n.known {
			return len(strconv.FormatFloat(math.Abs(math.Trunc(n.v)), 'f', -1, 64))
		}
		return n.digits
	}
	dl, dr := digits(l), digits(r)
	n := numV{frac: l.frac || r.frac}
	txt := func(n numV) string {
		if n.known {
			return formatNumber(n.v)
		}
		return n.text
	}
	n.text = clipText(txt(l) + " " + e.Operator + " " + txt(r))
	switch e.Operator {
	case "+", "-":
		n.digits = max(dl, dr)
		if dl == 0 && !l.known || dr == 0 && !r.known {
			// One side says nothing: the sum is at least about as long.
			n.digits = max(l.digits, r.digits)
		}
		if r.known && r.v == math.Trunc(r.v) && math.Abs(r.v) < 1e6 {
			d := int(r.v)
			if e.Operator == "-" {
				d = -d
			}
			n.lenOf, n.plus = l.lenOf, l.plus+d
			if l.from > 0 {
				n.from = max(l.from+d, 1)
			}
			if l.to > 0 {
				n.to = l.to + d
			}
		}
	case "*":
		if l.digits > 0 || r.digits > 0 {
			n.digits = dl + dr
			if l.known {
				n.digits = dr + int(math.Round(math.Log10(math.Max(math.Abs(l.v), 1))))
			}
			if r.known {
				n.digits = dl + int(math.Round(math.Log10(math.Max(math.Abs(r.v), 1))))
			}
		}
	case "/":
		n.frac = true
		n.digits = dl
		if r.known && r.v != 0 {
			n.digits = max(dl-int(math.Round(math.Log10(math.Abs(r.v)))), 0)
		}
	case "%":
		n.digits = dr
	}
	return n
}

func clipText(s string) string {
	if len(s) > maxText {
		return s[:maxText] + "..."
	}
	return s
}

// prints says when a number loses digits by being made a string.
func (w *walker) prints(v value, at ast.PositionHolder) {
	for _, a := range alternatives(v) {
		n, ok := a.(numV)
		if !ok || n.ps != nil {
			continue
		}
		switch {
		case n.known:
			if math.IsInf(n.v, 0) || math.IsNaN(n.v) {
				continue
			}
			shown, whole := formatNumber(n.v), n.v == math.Trunc(n.v)
			f, err := strconv.ParseFloat(shown, 64)
			exact := err == nil && f == n.v
			if exact && !(whole && strings.Contains(shown, "e")) {
				continue
			}
			full, advice := strconv.FormatFloat(n.v, 'g', -1, 64), "string.format('%.17g', n)"
			if whole && math.Abs(n.v) < 1e21 {
				full, advice = strconv.FormatFloat(n.v, 'f', -1, 64), "string.format('%.0f', n)"
			}
			if !exact {
				shown = "with 14 digits, as " + shown
			} else {
				shown = "as " + shown
			}
			w.find(FindNumberFormat, at, "a server's Lua prints the number "+full+" "+shown+"; use "+advice)
		case n.digits > 14:
			w.find(FindNumberFormat, at, "a number of about "+strconv.Itoa(n.digits)+" digits ("+n.text+") is printed with 14; use string.format("+map[bool]string{false: "'%.0f'", true: "'%.17g'"}[n.frac]+", n)")
		case n.frac && n.digits >= 10:
			w.find(FindNumberFormat, at, "a fractional number ("+n.text+") is printed with 14 digits; use math.floor or string.format")
		}
	}
}
