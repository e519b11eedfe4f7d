package trace

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/echomq/emqctl/internal/scripts"
)

// call walks a call and returns its results.
func (w *walker) call(e *ast.FuncCallExpr) []value {
	if w.dead || !w.spend(e, 1) {
		return []value{unknownV{"not followed"}}
	}
	w.depth++
	defer func() { w.depth-- }()
	if w.depth > maxDepth {
		w.tooDeep(e)
		return []value{unknownV{"nested too deep"}}
	}
	var f value
	var args []value
	if e.Receiver != nil {
		self := w.eval(e.Receiver)
		for _, s := range alternatives(self) {
			f = join(f, w.method(s, e.Method, e))
		}
		args = append(args, self)
	} else {
		f = w.eval(e.Func)
	}
	args = append(args, w.list(e.Args)...)
	if w.dead || w.over {
		return []value{unknownV{"not followed"}}
	}
	return w.callValue(f, args, e, e)
}

// callValue calls whatever f is; e is the call as written, nil when it is
// made by the language or by pcall.
func (w *walker) callValue(f value, args []value, e *ast.FuncCallExpr, n ast.PositionHolder) []value {
	switch f := f.(type) {
	case *funcV:
		return w.callFunc(f, args, n)
	case builtinV:
		return w.builtin(f.name, args, e, n)
	case altV:
		var arms []arm
		var out []value
		first := true
		for _, a := range f.vs {
			switch a.(type) {
			case *funcV, builtinV, unknownV, *tableV, iterV:
				arms = append(arms, arm{"", func() {
					r := w.callValue(a, args, e, n)
					if first {
						out, first = r, false
					} else {
						out = w.joinLists(out, r)
					}
				}})
			}
		}
		if len(arms) == 0 {
			w.notCalled(nilV{}, e, n)
			return []value{unknownV{"a call of no function"}}
		}
		w.branch(w.line(n), arms...)
		return out
	case iterV:
		// What gmatch, pairs and ipairs give may be called as well.
		if f.match {
			v := part(f.over, ":match()")
			return []value{join(v, nilV{}), manyV{elem: join(v, nilV{})}}
		}
		return []value{unknownV{"a key of an iterator"}, unknownV{"an item of an iterator"}}
	case *tableV:
		if c, ok := f.c.v.(*content); ok {
			w.depth += 40
			defer func() { w.depth -= 40 }()
			if h := w.metamethod(c, "__call"); w.depth <= maxDepth && w.spend(n, 8) && !isNil(h) {
				return w.callValue(h, append([]value{f}, args...), e, n)
			}
		}
		w.notCalled(f, e, n)
	default:
		w.notCalled(f, e, n)
	}
	w.callbacks(args, n)
	return []value{unknownV{"the result of a call that is not known"}}
}

// method is what s:name stands for.
func (w *walker) method(s value, name string, n ast.PositionHolder) value {
	switch s.(type) {
	case nilV:
		return nil // that way raises
	case strV, numV:
		if _, ok := isLit(s); ok {
			return w.getIndex(builtinV{"string"}, lit(name), n)
		}
		// A decoded argument may be a table that the script put functions in.
		var out value
		if hasMember("string", name) {
			out = builtinV{"string." + name}
		}
		for _, v := range alternatives(w.getIndex(s, lit(name), n)) {
			if out == nil || isFunc(v) {
				out = join(out, v)
			}
		}
		return out
	}
	return w.getIndex(s, lit(name), n)
}

// isFunc reports whether a value is a function.
func isFunc(v value) bool {
	switch v.(type) {
	case *funcV, builtinV:
		return true
	}
	return false
}

// notCalled notes a call that cannot be followed: of what is not known, of
// nil, or of what is no function. Of a global that no server has, and of what
// the library lacks, a finding speaks.
func (w *walker) notCalled(f value, e *ast.FuncCallExpr, n ast.PositionHolder) {
	name := "what is called"
	if e != nil {
		name = text(&ast.FuncCallExpr{Func: e.Func, Receiver: e.Receiver, Method: e.Method})
		name = strings.TrimSuffix(name, "()")
	}
	switch f := f.(type) {
	case unknownV:
		switch {
		case strings.HasPrefix(f.why, absent), strings.HasPrefix(f.why, "the global "):
		case strings.Contains(f.why, "loaded"):
			w.note(n, "a call of code that is loaded at run time is not followed; the keys it touches are missing")
		default:
			w.note(n, "a call of a function that is not known ("+f.why+") is not followed")
		}
	case nilV, nil:
		w.note(n, "a call is not followed: "+name+" is nil as far as can be told")
	default:
		w.note(n, "a call is not followed: "+name+" is no function as far as can be told")
	}
}

// callbacks walks the functions that are handed to something that may call
// them any number of times.
func (w *walker) callbacks(args []value, n ast.PositionHolder) {
	for _, a := range args {
		for _, f := range alternatives(a) {
			switch f := f.(type) {
			case *funcV:
				w.loop("called back", w.line(n), false, false, func() {
					params := make([]value, len(f.fn.ParList.Names))
					for i := range params {
						params[i] = unknownV{"an argument of a function that is called back"}
					}
					w.callFunc(f, params, n)
				})
			case builtinV:
				if isStoreCall(f.name) {
					w.note(n, f.name+" is handed on to something that is not followed; the keys it touches are missing")
				}
			}
		}
	}
}

// mayBeFunc reports whether a value that was given up may have been a function.
func mayBeFunc(u unknownV) bool {
	for _, why := range []string{"one of many", "changed in a loop", "part of a table", "a table that", "an item of", "an index of", "the result of a", "an argument of"} {
		if strings.HasPrefix(u.why, why) {
			return true
		}
	}
	return false
}

func isStoreCall(name string) bool { return name == "redis.call" || name == "redis.pcall" }

// builtin models the functions that a script finds on a server.
func (w *walker) builtin(name string, args []value, e *ast.FuncCallExpr, n ast.PositionHolder) []value {
	arg := func(i int) value { return w.nth(args, i) }
	one := func(v value) []value { return []value{v} }
	argAt := func(i int) ast.PositionHolder {
		if e != nil && i < len(e.Args) {
			return e.Args[i]
		}
		return n
	}
	switch name {
	case "redis.call", "redis.pcall":
		return w.storeCall(name, args, e, n)
	case "redis.error_reply":
		w.refusal(n, arg(0), false)
		return one(errorV{arg(0)})
	case "redis.status_reply":
		if l, ok := isLit(arg(0)); ok {
			return one(statusV{l})
		}
		return one(unknownV{"a status reply"})
	case "redis.register_function":
		w.register(args, n)
		return one(nilV{})
	case "error":
		v := arg(0)
		if t, ok := v.(*tableV); ok {
			if c, ok := t.c.v.(*content); ok && c.fields["err"] != nil {
				w.refusal(n, c.fields["err"], false)
			}
		} else {
			w.refusal(n, v, true)
		}
		w.add(&Block{Kind: BlockRaise, Line: w.line(n)})
		if w.tries == 0 {
			w.dead = true
		}
		return one(unknownV{"an error"})
	case "assert":
		if is, known := truth(arg(0)); !known || !is {
			if msg := arg(1); !isNil(msg) {
				w.branch(w.line(n), arm{"assertion fails", func() {
					w.refusal(n, msg, true)
					w.add(&Block{Kind: BlockRaise, Line: w.line(n)})
					if w.tries == 0 {
						w.dead = true
					}
				}}, arm{"", nil})
			}
		}
		return args
	case "pcall", "xpcall":
		var out []value
		w.tries++
		w.block(&Block{Kind: BlockTry, Line: w.line(n)}, func() {
			rest := w.from(args, 1)
			if name == "xpcall" {
				rest = nil
			}
			out = w.callValue(arg(0), rest, nil, n)
		})
		w.tries--
		if name == "xpcall" {
			w.handed(arg(1), n)
		}
		w.dead = false
		return append([]value{unknownV{"a condition"}}, join2(out, unknownV{"an error"})...)
	case "tostring":
		w.prints(arg(0), argAt(0))
		if isNil(arg(0)) {
			return one(unknownV{"tostring of nil"})
		}
		return one(w.str(arg(0)))
	case "tonumber":
		v := arg(0)
		if base, ok := isLit(arg(1)); len(args) > 1 && (!ok || base != "10") {
			return one(join(numV{text: "tonumber(" + exprOf(pieces(v)) + ", " + exprOf(pieces(arg(1))) + ")"}, nilV{}))
		}
		if x, ok := v.(numV); ok && x.known {
			return one(x)
		}
		if s, ok := isLit(v); ok {
			if x, ok := numberLit(s).(numV); ok && x.known {
				return one(x)
			}
			return one(nilV{})
		}
		if isNil(v) {
			return one(nilV{})
		}
		if a, ok := v.(altV); ok {
			var out value
			for _, x := range a.vs {
				if isNil(x) {
					out = join(out, nilV{})
				} else {
					out = join(out, w.toNum(x))
				}
			}
			return one(out)
		}
		if u, ok := v.(unknownV); ok {
			return one(join(nilV{}, numV{text: "?", ps: []piece{{kind: pUnknown, text: u.why}}}))
		}
		x := w.toNum(v)
		if _, ok := v.(numV); ok || x.known {
			return one(x)
		}
		return one(join(x, nilV{})) // nil when it is not a number
	case "ipairs", "pairs":
		return one(iterV{over: arg(0), pairs: name == "pairs"})
	case "next":
		return []value{w.anyKeyOf(arg(0)), w.getIndex(arg(0), unknownV{"a key"}, nil)}
	case "unpack", "table.unpack":
		return w.unpack(arg(0), arg(1), arg(2), n)
	case "select":
		if l, ok := isLit(arg(0)); ok && l == "#" {
			return one(numV{text: "select('#', ...)"})
		}
		if x := w.toNum(arg(0)); x.known && x.v >= 1 {
			return w.from(args, int(x.v))
		}
		var v value
		for i := 1; i < len(args); i++ {
			v = join(v, arg(i))
		}
		if v == nil {
			v = nilV{}
		}
		return one(manyV{elem: v})
	case "rawget":
		return one(w.getIndex(arg(0), arg(1), n))
	case "rawset":
		w.setIndex(arg(0), arg(1), arg(2), n)
		return one(arg(0))
	case "setmetatable":
		w.metatable(arg(0), arg(1), n)
		return one(arg(0))
	case "loadstring", "load", "dofile", "require":
		w.note(n, "code is loaded at run time by "+name+" and is not followed; the keys it touches are missing")
		return one(unknownV{"loaded code"})
	case "setfenv":
		w.note(n, "setfenv changes what names mean; names are read as if it were not there")
		return one(arg(0))
	case "type":
		return one(unknownV{"a type"})
	}
	switch lib, fn, _ := strings.Cut(name, "."); lib {
	case "string":
		return w.stringFunc(fn, args, n, argAt)
	case "table":
		return w.tableFunc(fn, args, n, argAt)
	case "math":
		return one(w.mathFunc(fn, args, n))
	case "cjson", "cmsgpack", "struct":
		if fn == "encode" || fn == "pack" {
			for i := range args {
				w.prints(arg(i), argAt(i))
			}
			return one(unknownV{"an encoding"})
		}
		if fn == "decode" || fn == "unpack" {
			i := 0
			if lib == "struct" {
				i = 1
			}
			if u, ok := arg(i).(unknownV); ok {
				return one(u)
			}
			if l, ok := isLit(arg(i)); ok {
				return one(unknownV{"decoded from " + quote(clip(l))})
			}
			v := part(arg(i), "")
			return []value{v, manyV{elem: v}}
		}
		return one(unknownV{"the result of " + name})
	case "bit":
		return one(numV{text: name + "(...)", digits: 10})
	case "redis":
		return one(unknownV{"the result of " + name})
	}
	w.callbacks(args, n)
	if name == "collectgarbage" || strings.HasPrefix(name, "os.") {
		return one(numV{text: name + "()"})
	}
	return one(unknownV{"the result of " + name})
}

func join2(vs []value, v value) []value {
	if len(vs) == 0 {
		return []value{v}
	}
	out := slices.Clone(vs)
	if _, ok := out[0].(manyV); !ok {
		out[0] = join(out[0], v)
	}
	return out
}

// str is a value as a string.
func (w *walker) str(v value) value {
	switch v := v.(type) {
	case altV:
		var out value
		for _, a := range v.vs {
			if isNil(a) {
				out = join(out, unknownV{"tostring of nil"})
				continue
			}
			out = join(out, w.str(a))
		}
		return out
	case unknownV:
		return v
	case boolV:
		if v.v {
			return lit("true")
		}
		return lit("false")
	}
	return strV{pieces(v)}
}

// register walks the functions of a library (#!lua name=...), which get KEYS
// and ARGV as their parameters.
func (w *walker) register(args []value, n ast.PositionHolder) {
	w.t.library = true
	f := w.nth(args, 1)
	if t, ok := w.nth(args, 0).(*tableV); ok {
		if c, ok := t.c.v.(*content); ok {
			f = c.fields["callback"]
		}
	}
	if fn, ok := f.(*funcV); ok {
		w.branch(w.line(n), arm{"", func() { w.callFunc(fn, []value{w.tables, w.argv}, n) }}, arm{"", nil})
		return
	}
	w.note(n, "the registered function is not known; the keys it touches are missing")
}

// metatable is setmetatable. What __index and __call name is looked up where
// it is used; the other events may happen anywhere.
func (w *walker) metatable(t, m value, n ast.PositionHolder) {
	targets := alternatives(t)
	for _, a := range targets {
		tab, ok := a.(*tableV)
		if !ok {
			if _, isTable := m.(*tableV); isTable && !isNil(a) {
				w.note(n, "a metatable is set on a value that is not known; what it leads to is missing")
			}
			continue
		}
		if c, ok := tab.c.v.(*content); ok {
			nc := *c
			nc.meta = m
			if len(targets) > 1 {
				nc.meta = join(c.meta, m)
			} else if _, gone := m.(nilV); gone {
				nc.meta = nil
			}
			w.set(tab.c, &nc)
		}
	}
	for _, a := range alternatives(m) {
		mt, ok := a.(*tableV)
		if !ok {
			continue
		}
		w.metas[mt.c] = true
		if c, ok := mt.c.v.(*content); ok {
			for _, k := range sortedKeys(c.fields) {
				w.event(k, c.fields[k], n)
			}
		}
	}
}

// event walks a function that a metatable has for an event.
func (w *walker) event(name string, v value, n ast.PositionHolder) {
	if !strings.HasPrefix(name, "__") || name == "__index" || name == "__call" {
		return
	}
	w.handed(v, n)
}

// handed walks a function that something else is going to call.
func (w *walker) handed(v value, n ast.PositionHolder) {
	for _, a := range alternatives(v) {
		if u, ok := a.(unknownV); ok {
			w.notCalled(u, nil, n)
		}
	}
	w.callbacks([]value{v}, n)
}

// anyKeyOf is any key of a table, reply or decoded argument.
func (w *walker) anyKeyOf(t value) value {
	var out value
	for _, a := range alternatives(t) {
		if tab, ok := a.(*tableV); ok {
			if c, ok := tab.c.v.(*content); ok {
				out = join(out, c.anyKey(numV{text: "i", from: 1}))
				continue
			}
		}
		if !isNil(a) {
			out = join(out, part(a, "[key]"))
		}
	}
	return join(out, nilV{})
}

func (w *walker) unpack(t, from, to value, n ast.PositionHolder) []value {
	start := 1
	if f, ok := from.(numV); ok {
		if !f.known {
			if tab, ok := t.(*tableV); ok {
				return []value{manyV{t: tab}}
			}
		}
		start = max(int(f.v), 1)
	}
	switch t := t.(type) {
	case *tableV:
		c, ok := t.c.v.(*content)
		if !ok {
			return []value{manyV{elem: unknownV{"a table that is not followed"}}}
		}
		end, isNum := to.(numV)
		if c.base == pLit && c.rest == nil && !(isNum && !end.known) {
			hi := len(c.arr)
			if isNum {
				hi = min(hi, int(end.v))
			}
			var out []value
			if start <= hi {
				out = slices.Clone(c.arr[start-1 : hi])
			}
			if c.tail != nil {
				out = append(out, manyV{elem: c.tail})
			}
			return out
		}
		if isNum && end.known && c.base != pLit && end.v < 64 {
			var out []value
			for i := start; i <= int(end.v); i++ {
				v := c.get(numV{known: true, v: float64(i)})
				w.useKey(v, n)
				out = append(out, v)
			}
			return out
		}
		if c.base == pKeys {
			w.t.keysAll = true
		}
		return []value{manyV{t: &tableV{c: w.cell(c)}, from: start}}
	case altV:
		var out []value
		first := true
		for _, a := range t.vs {
			if isNil(a) {
				continue
			}
			vs := w.unpack(a, from, to, n)
			if first {
				out, first = vs, false
				continue
			}
			var elem value
			for _, l := range [][]value{out, vs} {
				for _, v := range l {
					if m, ok := v.(manyV); ok {
						v = w.elemOf(m)
					}
					elem = join(elem, v)
				}
			}
			if elem != nil {
				out = []value{manyV{elem: elem}}
			}
		}
		return out
	case unknownV:
		return []value{manyV{elem: t}}
	}
	return []value{manyV{elem: w.plus(t, part(t, "[i]"))}}
}

func (w *walker) tableFunc(fn string, args []value, n ast.PositionHolder, argAt func(int) ast.PositionHolder) []value {
	arg := func(i int) value { return w.nth(args, i) }
	switch fn {
	case "insert":
		many := false
		if len(args) > 0 {
			_, many = args[len(args)-1].(manyV)
		}
		for _, t := range alternatives(arg(0)) {
			tab, ok := t.(*tableV)
			if !ok {
				w.put(t, arg(1))
				if len(args) > 2 {
					w.put(t, arg(2))
				}
				continue
			}
			if len(args) > 2 || many {
				// In the middle: places move.
				c, _ := tab.c.v.(*content)
				if c != nil {
					nc := *c
					w.shift(&nc)
					nc.rest = join(nc.rest, arg(len(args)-1))
					if many {
						nc.rest = join(nc.rest, arg(1))
					}
					w.spend(n, 1+len(c.arr)/8)
					w.set(tab.c, &nc)
				}
				continue
			}
			w.setIndex(tab, numV{lenOf: tab, plus: 1, text: "#t + 1"}, arg(1), n)
		}
		return nil
	case "remove":
		var out value
		for _, t := range alternatives(arg(0)) {
			if tab, ok := t.(*tableV); ok {
				if c, ok := tab.c.v.(*content); ok {
					nc := *c
					w.shift(&nc)
					w.set(tab.c, &nc)
					out = join(out, w.anyItem(c, numV{text: "#t"}))
				}
			} else {
				out = join(out, w.plus(t, part(t, "[#]")))
			}
		}
		return []value{join(out, nilV{})}
	case "concat":
		sep := arg(1)
		if isNil(sep) {
			sep = lit("")
		}
		t, ok := arg(0).(*tableV)
		if !ok {
			return []value{part(arg(0), ":concat()")}
		}
		c, ok := t.c.v.(*content)
		if !ok || !c.closed() || len(c.arr) > 32 {
			return []value{unknownV{"the items of a table joined"}}
		}
		var out value = lit("")
		for i, v := range c.arr {
			w.prints(v, argAt(0))
			if i > 0 {
				out = concat(out, sep)
			}
			out = concat(out, v)
		}
		return []value{out}
	case "getn", "maxn":
		return []value{numV{text: "#t", digits: 4}}
	case "sort":
		w.handed(arg(1), n)
		return nil
	case "foreach", "foreachi":
		w.handed(arg(1), n)
		return []value{unknownV{"the result of table." + fn}}
	}
	w.callbacks(args, n)
	return []value{unknownV{"the result of table." + fn}}
}

// shift forgets the places of a list whose items have moved. Of KEYS and ARGV
// the numbers no longer say which is which.
func (w *walker) shift(c *content) {
	fields := c.fields
	c.fields = nil
	c.rest = w.anyItem(c, numV{text: "i"})
	if isNil(c.rest) {
		c.rest = nil
	}
	c.arr, c.tail, c.base, c.fields = nil, nil, pLit, fields
}

func (w *walker) mathFunc(fn string, args []value, n ast.PositionHolder) value {
	var xs []numV
	var texts []string
	for i := range args {
		x := w.toNum(w.nth(args, i))
		t := x.text
		if x.known {
			t = formatNumber(x.v)
		}
		xs, texts = append(xs, x), append(texts, t)
	}
	out := numV{text: clipText("math." + fn + "(" + strings.Join(texts, ", ") + ")")}
	for _, x := range xs {
		out.digits = max(out.digits, x.digits)
		out.frac = out.frac || x.frac
	}
	switch fn {
	case "floor", "ceil":
		out.frac = false
	case "min", "max", "abs", "fmod", "modf":
	case "huge":
	default:
		out.digits, out.frac = 0, false
	}
	return out
}

func (w *walker) stringFunc(fn string, args []value, n ast.PositionHolder, argAt func(int) ast.PositionHolder) []value {
	arg := func(i int) value { return w.nth(args, i) }
	one := func(v value) []value { return []value{v} }
	s, isLiteral := isLit(arg(0))
	var texts []string
	for i := 1; i < len(args); i++ {
		if m, ok := args[i].(manyV); ok {
			_ = m
			texts = append(texts, "...")
			continue
		}
		texts = append(texts, exprOf(pieces(arg(i))))
	}
	path := clipText(":" + fn + "(" + strings.Join(texts, ", ") + ")")
	switch fn {
	case "format":
		return one(w.format(args, argAt))
	case "len":
		if isLiteral {
			return one(numV{known: true, v: float64(len(s))})
		}
		return one(numV{text: "#s", digits: 4})
	case "sub":
		return one(w.sub(arg(0), arg(1), arg(2), path))
	case "lower", "upper":
		if isLiteral {
			if fn == "lower" {
				return one(lit(strings.ToLower(s)))
			}
			return one(lit(strings.ToUpper(s)))
		}
		return one(part(arg(0), path))
	case "rep":
		if x := w.toNum(arg(1)); isLiteral && x.known && x.v >= 0 && x.v*float64(len(s)) < 4096 {
			return one(lit(strings.Repeat(s, int(x.v))))
		}
		return one(part(arg(0), path))
	case "gmatch", "gfind":
		return one(iterV{over: arg(0), match: true})
	case "byte":
		return one(manyV{elem: numV{text: "a byte", digits: 3}})
	case "char":
		return one(unknownV{"bytes made by string.char"})
	case "find":
		v := part(arg(0), path)
		return []value{join(nilV{}, numV{text: "a position", digits: 4}), numV{text: "a position", digits: 4}, manyV{elem: v}}
	case "match":
		v := join(part(arg(0), path), nilV{})
		return []value{v, manyV{elem: v}}
	case "gsub":
		w.callbacks(args[min(2, len(args)):], n)
		if t, ok := arg(2).(*tableV); ok {
			// A table gives the words; its __index may be a function.
			if c, ok := t.c.v.(*content); ok && c.meta != nil {
				w.getIndex(t, unknownV{"a part of a string"}, n)
			}
		} else if u, ok := arg(2).(unknownV); ok && mayBeFunc(u) {
			w.notCalled(u, nil, n)
		}
		pat, okP := isLit(arg(1))
		rep, okR := isLit(arg(2))
		if isLiteral && okP && okR && !strings.ContainsAny(pat, "^$()%.[]*+-?") && !strings.Contains(rep, "%") {
			return []value{lit(strings.ReplaceAll(s, pat, rep)), numV{text: "a count", digits: 4}}
		}
		return []value{part(arg(0), path), numV{text: "a count", digits: 4}}
	case "dump":
		return one(unknownV{"a function's code"})
	}
	return one(part(arg(0), path))
}

// sub keeps what is sure of string.sub: a prefix taken from literal bytes, or
// bytes cut off a literal end.
func (w *walker) sub(v, from, to value, path string) value {
	f, t := w.toNum(from), numV{known: true, v: -1}
	if !isNil(to) {
		t = w.toNum(to)
	}
	var out value
	for _, a := range alternatives(v) {
		s, ok := a.(strV)
		if !ok || !f.known || !t.known {
			out = join(out, part(a, path))
			continue
		}
		ps := w.t.spelled(s.ps)
		i, j := int(f.v), int(t.v)
		switch {
		case len(ps) == 1 && ps[0].kind == pLit:
			out = join(out, lit(luaSub(ps[0].text, i, j)))
		case i == 1 && j < 0 && ps[len(ps)-1].kind == pLit && len(ps[len(ps)-1].text) >= -j-1:
			last := ps[len(ps)-1]
			last.text = last.text[:len(last.text)+j+1]
			cut := append(slices.Clone(ps[:len(ps)-1]), last)
			if last.text == "" {
				cut = cut[:len(cut)-1]
			}
			out = join(out, strV{cut})
		case i == 1 && j > 0 && ps[0].kind == pLit && len(ps[0].text) >= j:
			out = join(out, lit(ps[0].text[:j]))
		default:
			out = join(out, part(a, path))
		}
	}
	return out
}

func luaSub(s string, i, j int) string {
	n := len(s)
	if i < 0 {
		i = max(n+i+1, 1)
	} else if i == 0 {
		i = 1
	}
	if j < 0 {
		j = n + j + 1
	}
	j = min(j, n)
	if i > j {
		return ""
	}
	return s[i-1 : j]
}

// printf is one conversion of string.format, when its value is known and C
// and Go print it alike.
func (w *walker) printf(flags string, verb byte, v value) (string, bool) {
	if strings.Trim(flags, "-.0123456789") != "" || len(flags) > 6 {
		return "", false
	}
	spec := "%" + flags + string(verb)
	switch verb {
	case 's', 'q':
		l, ok := isLit(v)
		if verb == 's' && flags == "" || !ok || len(l) > 4096 || strings.ContainsFunc(l, func(r rune) bool { return r < ' ' || r > '~' || verb == 'q' && (r == '"' || r == '\\') }) {
			return "", false
		}
		return fmt.Sprintf(spec, l), true
	}
	n, ok := v.(numV)
	if _, isLiteral := isLit(v); isLiteral && !ok {
		n = w.toNum(v)
	}
	if !n.known || n.v != n.v || math.Abs(n.v) >= 1<<63 {
		return "", false
	}
	switch verb {
	case 'd', 'i':
		return fmt.Sprintf("%"+flags+"d", int64(n.v)), true
	case 'u', 'x', 'X', 'o':
		if n.v < 0 || n.v != math.Trunc(n.v) {
			return "", false
		}
		return fmt.Sprintf(strings.Replace(spec, "u", "d", 1), uint64(n.v)), true
	case 'c':
		if flags == "" && n.v >= 1 && n.v < 256 {
			return string([]byte{byte(n.v)}), true
		}
	case 'f', 'e', 'E':
		if !strings.Contains(flags, ".") {
			spec = "%" + flags + ".6" + string(verb)
		}
		return fmt.Sprintf(spec, n.v), true
	case 'g':
		if p, err := strconv.Atoi(strings.TrimPrefix(flags, ".")); err == nil && strings.HasPrefix(flags, ".") && p > 0 && p < 20 {
			return strconv.FormatFloat(n.v, 'g', p, 64), true
		}
	}
	return "", false
}

// format is string.format with a format that is known.
func (w *walker) format(args []value, argAt func(int) ast.PositionHolder) value {
	f, ok := isLit(w.nth(args, 0))
	if !ok {
		return unknownV{"string.format with a format that is not known"}
	}
	var out value = lit("")
	next := 1
	for f != "" {
		i := strings.IndexByte(f, '%')
		if i < 0 || i+1 >= len(f) {
			return concat(out, lit(f))
		}
		out = concat(out, lit(f[:i]))
		f = f[i+1:]
		j := strings.IndexFunc(f, func(r rune) bool { return r == '%' || r|0x20 >= 'a' && r|0x20 <= 'z' })
		if j < 0 {
			return concat(out, lit("%"+f))
		}
		verb, flags := f[j], f[:j]
		f = f[j+1:]
		if verb == '%' {
			out = concat(out, lit("%"))
			continue
		}
		v := w.nth(args, next)
		if made, ok := w.printf(flags, verb, v); ok {
			out = concat(out, lit(made))
			next++
			continue
		}
		switch {
		case verb == 's' && flags == "":
			w.prints(v, argAt(next))
			out = concat(out, w.str(v))
		case verb == 'd' && flags == "":
			if n := w.toNum(v); n.ps != nil {
				out = concat(out, strV{n.ps})
			} else {
				out = concat(out, strV{[]piece{{kind: pNum, text: n.text}}})
			}
		default:
			p := piece{kind: pNum, text: exprOf(pieces(v))}
			if ps := pieces(v); len(ps) == 1 && ps[0].kind != pLit && ps[0].kind != pUnknown && ps[0].kind != pNum {
				p = ps[0]
				p.path += ":format('%" + flags + string(verb) + "')"
			}
			out = concat(out, strV{[]piece{p}})
		}
		next++
	}
	return out
}

// storeCall is redis.call or redis.pcall.
func (w *walker) storeCall(name string, args []value, e *ast.FuncCallExpr, n ast.PositionHolder) []value {
	var sources []ast.Expr
	if e != nil && e.Receiver == nil {
		sources = e.Args
	}
	cmd := w.nth(args, 0)
	rest := w.from(args, 1)
	if len(args) == 0 {
		w.find(FindUnknownCommand, n, name+" without a command")
		return []value{unknownV{"a call without a command"}}
	}
	if len(sources) > 0 {
		sources = sources[1:]
	}
	pcall := name == "redis.pcall"
	alts := alternatives(cmd)
	if len(alts) == 1 {
		return []value{w.emit(alts[0], rest, sources, pcall, n)}
	}
	var arms []arm
	var out value
	for _, c := range alts {
		if isNil(c) {
			continue
		}
		label := ""
		if l, ok := isLit(c); ok {
			label = "the command is " + strings.ToUpper(l)
		}
		arms = append(arms, arm{label, func() { out = join(out, w.emit(c, rest, sources, pcall, n)) }})
	}
	if len(arms) == 0 {
		return []value{unknownV{"a call without a command"}}
	}
	w.branch(w.line(n), arms...)
	if out == nil {
		out = unknownV{"a reply"}
	}
	return []value{out}
}

// emit adds a step, and returns its reply.
func (w *walker) emit(cmd value, args []value, sources []ast.Expr, pcall bool, n ast.PositionHolder) value {
	w.steps++
	p := w.src.pos(n)
	s := &Step{at: int(p.line), Line: int(p.line), Col: int(p.col), Pcall: pcall, Keys: []Key{}}
	name, known := isLit(cmd)
	ops := make([]scripts.Operand, len(args))
	s.literal = make([]string, len(args))
	ways := 1
	var choices [][]scripts.Operand // of an operand that is one of several
	for i, a := range args {
		a = asArgument(a)
		switch v := a.(type) {
		case manyV:
			ops[i] = scripts.Operand{Many: true}
			continue
		case altV:
			if c := choicesOf(v); c != nil && ways*len(c) <= maxWays {
				if choices == nil {
					choices = make([][]scripts.Operand, len(args))
					args = slices.Clone(args)
				}
				ways *= len(c)
				choices[i] = c
			}
			if choices != nil {
				args[i] = a
			}
			continue
		case numV:
			if v.lenOf != nil && v.plus == 0 && i+1 < len(args) {
				m, ok := args[i+1].(manyV)
				ops[i].Counts = ok && m.t != nil && m.from == 1 && m.t.c.v == v.lenOf.c.v
			}
		}
		if l, ok := isLit(a); ok {
			ops[i] = scripts.Operand{Text: l, Known: true}
			s.literal[i] = l
			if _, isNum := args[i].(numV); isNum {
				args = slices.Clone(args)
				args[i] = a
			}
		}
	}
	source := func(i int) string {
		if i < len(sources) {
			return text(sources[i])
		}
		return ""
	}
	var uses []scripts.KeyArg
	switch c := scripts.LookupCommand(name, ops); {
	case !known:
		s.Command, s.Unknown = "?", "the command is "+exprOf(pieces(cmd))
		s.Write = true
		uses = anyKeys(ops)
	case c == nil:
		s.Command, s.Unknown = strings.ToUpper(name), "no such command"
		s.Write = true
		uses = anyKeys(ops)
	default:
		s.spec = c
		s.Command = strings.ToUpper(strings.ReplaceAll(c.Name, "|", " "))
		s.Write = c.Writes()
		uses = keyArgs(name, ops, choices, ways)
		if len(uses) == 0 && len(args) == 0 && len(c.Specs) > 0 {
			s.Unknown = "called without its keys"
		}
	}
	for _, u := range uses {
		v := args[u.Arg]
		many := false
		if m, ok := v.(manyV); ok {
			v, many = w.elemOf(m), true
		}
		keys := w.keysOf(v, source(u.Arg))
		for i := range keys {
			k := &keys[i]
			k.Arg, k.Many, k.Maybe, k.Channel, k.SortPattern, k.Access = u.Arg+1, many, u.Maybe, u.Channel, u.Pattern, u.Access
			k.sometimes = u.Some
			s.access |= u.Access
			w.work -= 2 + len(k.pieces)
			s.Keys = append(s.Keys, *k)
		}
	}
	w.add(&Block{Kind: BlockStep, Line: s.Line, Step: s})
	return w.result(s, args)
}

// maxWays bounds how many combinations of alternatives are looked at to tell
// which operands of one call are keys.
const maxWays = 64

// asArgument is a value as the server gets it: a number that is passed to it
// directly is printed otherwise than by tostring.
func asArgument(v value) value {
	switch v := v.(type) {
	case numV:
		if v.known && !math.IsNaN(v.v) {
			return lit(argumentNumber(v.v))
		}
	case altV:
		if !slices.ContainsFunc(v.vs, func(a value) bool { _, ok := a.(numV); return ok }) {
			return v
		}
		out := make([]value, len(v.vs))
		for i, a := range v.vs {
			out[i] = asArgument(a)
		}
		return altV{out}
	}
	return v
}

// choicesOf lists what an operand may be, when a word is among it: each word,
// and once what is not known. It is nil when no word is.
func choicesOf(v altV) []scripts.Operand {
	var out []scripts.Operand
	open := false
	for _, a := range v.vs {
		if l, ok := isLit(a); ok {
			out = append(out, scripts.Operand{Text: l, Known: true})
		} else if !isNil(a) {
			open = true
		}
	}
	if open && out != nil {
		out = append(out, scripts.Operand{})
	}
	return out
}

// keyArgs tells which operands are keys, whichever of its alternatives an
// operand is. What is a key one way and not another is marked as such.
func keyArgs(name string, ops []scripts.Operand, choices [][]scripts.Operand, ways int) []scripts.KeyArg {
	if choices == nil {
		return scripts.LookupCommand(name, ops).Keys(ops)
	}
	now := slices.Clone(ops)
	var out []scripts.KeyArg
	sure := map[int]int{}
	for way := range ways {
		n := way
		for i, c := range choices {
			if c != nil {
				now[i] = c[n%len(c)]
				n /= len(c)
			}
		}
		c := scripts.LookupCommand(name, now)
		if c == nil {
			continue // no such subcommand
		}
		for _, u := range c.Keys(now) {
			if !u.Maybe {
				sure[u.Arg]++
			}
			i := slices.IndexFunc(out, func(o scripts.KeyArg) bool { return o.Arg == u.Arg })
			if i < 0 {
				out = append(out, u)
				continue
			}
			out[i].Access |= u.Access
			out[i].Some = out[i].Some || u.Some
			out[i].Channel = out[i].Channel && u.Channel
			out[i].Pattern = out[i].Pattern && u.Pattern
		}
	}
	for i := range out {
		n := sure[out[i].Arg]
		out[i].Maybe = n < ways
		out[i].Some = out[i].Maybe && (out[i].Some || n > 0)
	}
	slices.SortFunc(out, func(a, b scripts.KeyArg) int { return a.Arg - b.Arg })
	return out
}

// anyKeys takes every operand for a possible key.
func anyKeys(ops []scripts.Operand) []scripts.KeyArg {
	var out []scripts.KeyArg
	for i := range ops {
		out = append(out, scripts.KeyArg{Arg: i, Access: scripts.AccessRead | scripts.AccessWrite, Maybe: true})
	}
	return out
}

// result is the reply of a step as a value.
func (w *walker) result(s *Step, args []value) value {
	p := piece{kind: pReply, cmd: s.Command}
	for _, k := range s.Keys {
		if !k.Channel {
			p.of = k.Pattern
			break
		}
	}
	var fields []string
	switch s.Command {
	case "HGET", "HMGET":
		for i := 1; i < len(s.literal); i++ {
			f := s.literal[i]
			if f == "" {
				f = "?"
			}
			fields = append(fields, f)
		}
		p.field = strings.Join(fields, "\x00")
	}
	return strV{[]piece{p}}
}
