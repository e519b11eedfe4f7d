package trace

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// The bounds on the walk. What they cut off is said in a note.
const (
	maxWork  = 400_000 // statements and expressions walked, calls inlined
	maxDepth = 2_000   // expressions in expressions
	maxCalls = 60      // local functions called in local functions
	maxSteps = 20_000
)

// walker interprets a script without values: it knows where each value comes
// from. Both arms of a branch are walked from the same state and their ends
// joined; a loop's body is walked until its state no longer changes; a local
// function is walked where it is called.
type walker struct {
	t       *Trace
	src     *source
	scope   *scope
	globals map[string]*cell
	trail   []change
	body    *Block // the whole
	cur     *Block // where blocks are added
	dead    bool
	act     *activation
	loops   *loopCtx
	depth   int
	work    int
	steps   int
	clock   int // counts the passes of loops
	tries   int
	asking  int // whether what is evaluated is only asked for
	over    bool
	noted   map[string]bool
	said    map[Finding]bool
	tables  *tableV // KEYS
	argv    *tableV
	// added holds what the script puts into the tables that replies are. It
	// only grows; grew tells a loop to go round again.
	added map[piece]value
	grew  bool
	// metas are the tables that were made metatables.
	metas map[*cell]bool
}

type change struct {
	c   *cell
	old value
}

type delta struct {
	c *cell
	v value
}

type exit struct {
	vals  []value
	state []delta
}

type activation struct {
	fn     *ast.FunctionExpr
	args   []value
	block  *Block
	mark   int
	exits  []exit
	main   bool
	lost   bool // its arguments are all unknown
	parent *activation
	depth  int
}

type loopCtx struct {
	mark   int
	breaks [][]delta
}

func newWalker(t *Trace, src *source) *walker {
	w := &walker{
		t: t, src: src, scope: &scope{}, globals: map[string]*cell{},
		body: &Block{Kind: BlockSeq}, added: map[piece]value{}, noted: map[string]bool{}, said: map[Finding]bool{}, metas: map[*cell]bool{}, work: maxWork,
	}
	w.cur = w.body
	w.tables = &tableV{c: &cell{v: &content{base: pKeys}}}
	w.argv = &tableV{c: &cell{v: &content{base: pArgv}}}
	w.globals["KEYS"] = &cell{v: w.tables}
	w.globals["ARGV"] = &cell{v: w.argv}
	return w
}

func (w *walker) main(stmts []ast.Stmt) {
	w.act = &activation{main: true, block: w.body}
	w.stmts(stmts)
}

// note says that something could not be followed.
func (w *walker) note(n ast.PositionHolder, msg string) {
	p := w.src.pos(n)
	msg = shown(msg)
	key := strconv.Itoa(int(p.off)) + msg
	if !w.noted[key] {
		w.noted[key] = true
		w.t.Notes = append(w.t.Notes, Note{int(p.line), int(p.col), msg})
	}
}

func (w *walker) find(kind FindingKind, n ast.PositionHolder, msg string) {
	p := w.src.pos(n)
	f := Finding{Kind: kind, Line: int(p.line), Col: int(p.col), Message: shown(msg)}
	if !w.said[f] {
		w.said[f] = true
		w.t.extra = append(w.t.extra, f)
	}
}

// spend takes from the work that is left; it reports whether there is any.
func (w *walker) spend(n ast.PositionHolder, amount int) bool {
	if w.over {
		return false
	}
	w.work -= amount
	if w.work < 0 || w.steps > maxSteps {
		w.over = true
		w.note(n, "gave up here: the script unfolds to more than is followed; the commands after this are missing")
		return false
	}
	return true
}

// cell makes a place for a value.
func (w *walker) cell(v value) *cell { return &cell{v, w.clock} }

func (w *walker) set(c *cell, v value) {
	w.trail = append(w.trail, change{c, c.v})
	c.v = v
}

func (w *walker) undo(mark int) {
	for i := len(w.trail) - 1; i >= mark; i-- {
		w.trail[i].c.v = w.trail[i].old
	}
	w.trail = w.trail[:mark]
}

// state is what has changed since the mark.
func (w *walker) state(mark int) []delta {
	if len(w.trail) == mark {
		return nil
	}
	seen := make(map[*cell]bool, len(w.trail)-mark)
	var out []delta
	for i := mark; i < len(w.trail); i++ {
		if c := w.trail[i].c; !seen[c] {
			seen[c] = true
			out = append(out, delta{c, c.v})
		}
	}
	w.work -= (len(w.trail) - mark) / 4
	return out
}

// merge sets each cell to what it may be at the end of one of the states. A
// state that did not change it left it as it is now.
func (w *walker) merge(states [][]delta) {
	if len(states) == 0 {
		return
	}
	if len(states) == 1 {
		for _, d := range states[0] {
			w.set(d.c, d.v)
		}
		return
	}
	maps := make([]map[*cell]value, len(states))
	for i, st := range states {
		maps[i] = make(map[*cell]value, len(st))
		for _, d := range st {
			maps[i][d.c] = d.v
		}
	}
	done := map[*cell]bool{}
	var all []delta
	for _, st := range states {
		all = append(all, st...)
	}
	for _, d := range tablesFirst(all) {
		if done[d.c] {
			continue
		}
		done[d.c] = true
		var v value
		for _, m := range maps {
			x, ok := m[d.c]
			if !ok {
				x = d.c.v
			}
			v = join(v, x)
		}
		w.set(d.c, v)
	}
}

// tablesFirst puts what tables hold before the variables that hold tables:
// whether two tables are alike shows only when both are filled.
func tablesFirst(ds []delta) []delta {
	out := make([]delta, 0, len(ds))
	for _, d := range ds {
		if _, ok := d.v.(*content); ok {
			out = append(out, d)
		}
	}
	for _, d := range ds {
		if _, ok := d.v.(*content); !ok {
			out = append(out, d)
		}
	}
	return out
}

type arm struct {
	text string
	run  func()
}

// branch walks each arm from the same state and joins their ends.
func (w *walker) branch(line int, arms ...arm) {
	if w.dead || w.over {
		return
	}
	mark := len(w.trail)
	b := &Block{Kind: BlockBranch, Line: line}
	outer := w.cur
	var ends [][]delta
	alive := false
	for _, a := range arms {
		w.cur = &Block{Kind: BlockArm, Text: a.text, Line: line}
		b.Blocks = append(b.Blocks, w.cur)
		if a.run != nil {
			a.run()
		}
		w.cur.Ends = w.dead
		if !w.dead {
			alive = true
			ends = append(ends, w.state(mark))
		}
		w.undo(mark)
		w.dead = false
	}
	w.cur = outer
	for _, a := range b.Blocks {
		if len(a.Blocks) > 0 {
			w.cur.Blocks = append(w.cur.Blocks, b)
			break
		}
	}
	w.merge(ends)
	w.dead = !alive
}

// block walks into a block of its own, which is kept when it is not empty.
func (w *walker) block(b *Block, run func()) {
	outer := w.cur
	w.cur = b
	run()
	w.cur = outer
	if len(b.Blocks) > 0 {
		w.cur.Blocks = append(w.cur.Blocks, b)
	}
}

// loop walks a body until its state settles. With once the body runs at
// least one time; endless loops are left by break or return alone.
func (w *walker) loop(text string, line int, once, endless bool, body func()) {
	if w.dead || w.over {
		return
	}
	outer := w.loops
	for pass := 0; ; pass++ {
		lp := &loopCtx{mark: len(w.trail)}
		w.loops = lp
		b := &Block{Kind: BlockLoop, Text: text, Line: line}
		saved := w.cur
		w.cur = b
		steps, grown := w.steps, w.grew
		w.clock++
		birth := w.clock
		w.grew = false
		body()
		w.cur = saved
		var end []delta
		ended := !w.dead
		if ended {
			end = w.state(lp.mark)
		}
		w.undo(lp.mark)
		w.dead = false
		changed := w.grew
		w.grew = w.grew || grown
		for _, d := range tablesFirst(end) {
			if d.c.born >= birth {
				w.set(d.c, d.v) // made in this pass: it had no other value
				continue
			}
			var nv value
			switch {
			case pass < 2:
				nv = join(d.c.v, d.v)
			case pass < 4:
				nv = widen(d.c.v, d.v)
			default:
				nv = w.lose(d.c.v)
			}
			if !equal(nv, d.c.v) {
				w.set(d.c, nv)
				changed = true
			}
		}
		if changed && pass < 6 && !w.over {
			w.steps = steps
			continue
		}
		if len(b.Blocks) > 0 {
			b.Once = once
			w.cur.Blocks = append(w.cur.Blocks, b)
		}
		states := lp.breaks
		if !endless && !once {
			states = append(states, nil)
		} else if once && ended {
			states = append(states, end)
		}
		if len(states) == 0 {
			w.dead = true
		}
		w.merge(states)
		break
	}
	w.loops = outer
}

// lose is a value that is given up.
func (w *walker) lose(v value) value {
	if c, ok := v.(*content); ok {
		u := unknownV{"changed in a loop"}
		return &content{base: c.base, tail: u, rest: u, keys: u, meta: c.meta}
	}
	return unknownV{"changed in a loop"}
}

// unroll walks the passes of a loop that is known to have just these.
func (w *walker) unroll(line int, texts []string, pass func(i int)) {
	lp := &loopCtx{mark: len(w.trail)}
	outer := w.loops
	w.loops = lp
	w.block(&Block{Kind: BlockOnce, Line: line}, func() {
		for i := range texts {
			if w.dead || w.over {
				break
			}
			w.block(&Block{Kind: BlockPass, Text: texts[i], Line: line}, func() { pass(i) })
		}
	})
	w.loops = outer
	states := lp.breaks
	if !w.dead {
		if len(states) == 0 {
			return
		}
		states = append(states, w.state(lp.mark))
	}
	w.undo(lp.mark)
	w.dead = len(states) == 0
	w.merge(states)
}

func (w *walker) stmts(list []ast.Stmt) {
	for _, s := range list {
		if w.dead || w.over {
			return
		}
		w.stmt(s)
	}
}

// inner walks statements in a scope of their own.
func (w *walker) inner(list []ast.Stmt) {
	outer := w.scope
	w.scope = &scope{parent: outer}
	w.stmts(list)
	w.scope = outer
}

func (w *walker) stmt(s ast.Stmt) {
	if !w.spend(s, 1) {
		return
	}
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		w.local(s)
	case *ast.AssignStmt:
		w.assign(s)
	case *ast.FuncCallStmt:
		if c, ok := s.Expr.(*ast.FuncCallExpr); ok {
			w.call(c)
		}
	case *ast.DoBlockStmt:
		w.inner(s.Stmts)
	case *ast.WhileStmt:
		w.while(s)
	case *ast.RepeatStmt:
		w.loop("repeat until "+text(s.Condition), w.line(s), true, false, func() {
			outer := w.scope
			w.scope = &scope{parent: outer}
			w.stmts(s.Stmts)
			if !w.dead {
				w.eval(s.Condition)
			}
			w.scope = outer
		})
	case *ast.IfStmt:
		w.ifStmt(s)
	case *ast.NumberForStmt:
		w.numberFor(s)
	case *ast.GenericForStmt:
		w.genericFor(s)
	case *ast.FuncDefStmt:
		w.funcDef(s)
	case *ast.ReturnStmt:
		w.ret(s)
	case *ast.BreakStmt:
		if w.loops != nil {
			w.loops.breaks = append(w.loops.breaks, w.state(w.loops.mark))
		}
		w.add(&Block{Kind: BlockBreak, Line: w.line(s)})
		w.dead = true
	}
}

func (w *walker) add(b *Block) { w.cur.Blocks = append(w.cur.Blocks, b) }

func (w *walker) line(n ast.PositionHolder) int { return int(w.src.pos(n).line) }

func (w *walker) local(s *ast.LocalAssignStmt) {
	// local function f: its name is known inside it.
	if len(s.Names) == 1 && len(s.Exprs) == 1 {
		if fn, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
			c := w.cell(nil)
			w.scope.declare(s.Names[0], c)
			c.v = &funcV{fn, s.Names[0], w.scope}
			return
		}
	}
	vs := w.list(s.Exprs)
	for i, name := range s.Names {
		w.scope.declare(name, w.cell(named(w.nth(vs, i), name)))
	}
}

// named remembers the local that a reply was put in.
func named(v value, name string) value {
	if len(name) < 2 && name != "g" && name != "q" {
		return v
	}
	switch v := v.(type) {
	case strV:
		if len(v.ps) == 1 && v.ps[0].name == "" && (v.ps[0].kind == pReply || v.ps[0].kind == pArgv && v.ps[0].path != "") {
			p := v.ps[0]
			p.name = name
			return strV{[]piece{p}}
		}
	case numV:
		if len(v.ps) == 1 && v.ps[0].name == "" && v.ps[0].kind == pReply {
			p := v.ps[0]
			p.name = name
			v.ps = []piece{p}
			return v
		}
	case altV:
		out := make([]value, len(v.vs))
		for i, a := range v.vs {
			out[i] = named(a, name)
		}
		return altV{out}
	}
	return v
}

func (w *walker) assign(s *ast.AssignStmt) {
	// Indexed targets are evaluated before the values, as Lua may.
	vs := w.list(s.Rhs)
	for i, l := range s.Lhs {
		v := w.nth(vs, i)
		switch l := l.(type) {
		case *ast.IdentExpr:
			w.assignName(l, named(v, l.Value))
		case *ast.AttrGetExpr:
			obj, key := w.eval(l.Object), w.eval(l.Key)
			w.setIndex(obj, key, v, l)
		}
	}
}

func (w *walker) assignName(l *ast.IdentExpr, v value) {
	if c := w.scope.lookup(l.Value); c != nil {
		w.set(c, v)
		return
	}
	w.find(FindGlobalVariable, l, "assigns the global "+l.Value+", which a server refuses: make it local")
	c := w.globals[l.Value]
	if c == nil {
		c = w.cell(nilV{})
		w.globals[l.Value] = c
	}
	w.set(c, v)
}

func (w *walker) funcDef(s *ast.FuncDefStmt) {
	f := &funcV{fn: s.Func, scope: w.scope}
	if s.Name.Method != "" {
		f.name = s.Name.Method
		// function t:m() has a first parameter self.
		list := &ast.ParList{HasVargs: s.Func.ParList.HasVargs, Names: append([]string{"self"}, s.Func.ParList.Names...)}
		fn := &ast.FunctionExpr{ParList: list, Stmts: s.Func.Stmts}
		fn.SetLine(s.Func.Line())
		f.fn = fn
		w.setIndex(w.eval(s.Name.Receiver), lit(s.Name.Method), f, s)
		return
	}
	switch l := s.Name.Func.(type) {
	case *ast.IdentExpr:
		f.name = l.Value
		w.assignName(l, f)
	case *ast.AttrGetExpr:
		f.name = text(l)
		w.setIndex(w.eval(l.Object), w.eval(l.Key), f, s)
	}
}

func (w *walker) ifStmt(s *ast.IfStmt) {
	cond := w.asked(s.Condition)
	if w.dead || w.over {
		return
	}
	if is, known := truth(cond); known {
		if is {
			w.inner(s.Then)
		} else {
			w.elseOf(s)
		}
		return
	}
	w.branch(w.line(s),
		arm{text(s.Condition), func() { w.inner(s.Then) }},
		arm{negation(s.Condition), func() { w.elseOf(s) }})
}

func (w *walker) elseOf(s *ast.IfStmt) {
	if len(s.Else) == 0 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	if w.depth > maxDepth {
		w.tooDeep(s)
		return
	}
	w.inner(s.Else)
}

func (w *walker) tooDeep(n ast.PositionHolder) {
	w.note(n, "gave up here: nested too deep to follow; the commands in it are missing")
}

func (w *walker) while(s *ast.WhileStmt) {
	_, endless := s.Condition.(*ast.TrueExpr)
	w.loop("while "+text(s.Condition), w.line(s), false, endless, func() {
		if is, known := truth(w.eval(s.Condition)); known && !is {
			w.dead = true
			return
		}
		w.inner(s.Stmts)
	})
}

func (w *walker) numberFor(s *ast.NumberForStmt) {
	from, to := w.toNum(w.eval(s.Init)), w.toNum(w.eval(s.Limit))
	step := numV{known: true, v: 1}
	head := "for " + s.Name + " = " + text(s.Init) + ", " + text(s.Limit)
	if s.Step != nil {
		step = w.toNum(w.eval(s.Step))
		head += ", " + text(s.Step)
	}
	if from.known && to.known && step.known && step.v > 0 {
		n := int(math.Floor((to.v-from.v)/step.v)) + 1
		if n <= 0 {
			return
		}
		if n <= maxUnroll && w.mentions(s, s.Name) {
			texts := make([]string, n)
			for i := range texts {
				texts[i] = "for " + s.Name + " = " + formatNumber(from.v+float64(i)*step.v)
			}
			w.unroll(w.line(s), texts, func(i int) {
				w.with([]string{s.Name}, []value{numV{known: true, v: from.v + float64(i)*step.v}}, s.Stmts)
			})
			return
		}
	}
	idx := numV{text: s.Name, digits: to.digits}
	if step.known && step.v > 0 {
		if from.known && from.v >= 1 && from.v < 1e6 {
			idx.from = int(from.v)
		}
		if to.known && to.v < 1e6 {
			idx.to = int(to.v)
		}
	} else if step.known && step.v < 0 {
		if to.known && to.v >= 1 && to.v < 1e6 {
			idx.from = int(to.v)
		}
		if from.known && from.v < 1e6 {
			idx.to = int(from.v)
		}
	}
	w.loop(head, w.line(s), false, false, func() { w.with([]string{s.Name}, []value{idx}, s.Stmts) })
}

// mentions reports whether the body of a loop speaks of its variable.
func (w *walker) mentions(s *ast.NumberForStmt, name string) bool {
	lines := w.src.lineTok
	from, to := s.Line()-1, s.LastLine()-1
	if from < 0 || to >= len(lines) {
		return true
	}
	w.work -= (to - from) / 8
	seen := 0
	for i := lines[from]; i < lines[to]; i++ {
		if w.src.tokens[i].kind == tkName && w.src.str(int(i)) == name {
			seen++
		}
	}
	return seen > 1
}

// with walks statements in a scope with these locals.
func (w *walker) with(names []string, vs []value, list []ast.Stmt) {
	outer := w.scope
	w.scope = &scope{parent: outer}
	for i, n := range names {
		v := value(nilV{})
		if i < len(vs) {
			v = vs[i]
		}
		w.scope.declare(n, w.cell(named(v, n)))
	}
	w.stmts(list)
	w.scope = outer
}

// iterV is what ipairs, pairs and string.gmatch give to a loop.
type iterV struct {
	over  value
	pairs bool
	match bool
}

func (w *walker) genericFor(s *ast.GenericForStmt) {
	vs := w.list(s.Exprs)
	if w.dead || w.over {
		return
	}
	heads := make([]string, len(s.Exprs))
	for i, e := range s.Exprs {
		heads[i] = text(e)
	}
	head := "for " + strings.Join(s.Names, ", ") + " in " + strings.Join(heads, ", ")
	it, ok := w.nth(vs, 0).(iterV)
	if b, isB := w.nth(vs, 0).(builtinV); isB && b.name == "next" {
		it, ok = iterV{over: w.nth(vs, 1), pairs: true}, true
	}
	if !ok {
		f := w.nth(vs, 0)
		w.loop(head, w.line(s), false, false, func() {
			got := w.callValue(f, []value{w.nth(vs, 1), unknownV{"the state of an iterator"}}, nil, s)
			w.with(s.Names, got, s.Stmts)
		})
		return
	}
	var arms []value
	for _, v := range alternatives(it.over) {
		if !isNil(v) {
			arms = append(arms, v)
		}
	}
	if len(arms) == 1 {
		w.each(s, head, it, arms[0])
		return
	}
	var list []arm
	for _, v := range arms {
		list = append(list, arm{"", func() { w.each(s, head, it, v) }})
	}
	if len(list) > 0 {
		w.branch(w.line(s), list...)
	}
}

// each walks a loop over one table, reply or argument.
func (w *walker) each(s *ast.GenericForStmt, head string, it iterV, over value) {
	idx := numV{text: strings.Replace(s.Names[0], "_", "i", 1), from: 1}
	t, ok := over.(*tableV)
	if b, isB := over.(builtinV); isB && it.pairs {
		if names, known := members(b.name); known {
			// In any order, so any number of times.
			w.loop(head, w.line(s), false, false, func() {
				var arms []arm
				for _, name := range names {
					arms = append(arms, arm{"", func() { w.with(s.Names, []value{lit(name), builtinV{b.name + "." + name}}, s.Stmts) }})
				}
				w.branch(w.line(s), arms...)
			})
			return
		}
	}
	if !ok {
		v := w.plus(over, element(over, idx))
		k := value(idx)
		if it.pairs {
			k = part(over, "[key]")
		}
		vals := []value{k, v}
		if it.match {
			vals = []value{part(over, ":match()"), part(over, ":match()")}
		}
		w.loop(head, w.line(s), false, false, func() { w.with(s.Names, vals, s.Stmts) })
		return
	}
	c := t.c.v.(*content)
	if c.closed() && c.keys == nil && (!it.pairs || len(c.fields) == 0) && len(c.arr) <= maxUnroll {
		texts := make([]string, len(c.arr))
		for i, v := range c.arr {
			texts[i] = head + ", pass " + strconv.Itoa(i+1)
			switch v.(type) {
			case strV, numV:
				if len(s.Names) < 2 {
					break
				}
				texts[i] = "for " + s.Names[1] + " = " + exprOf(pieces(v))
			}
		}
		if len(texts) > 0 {
			w.unroll(w.line(s), texts, func(i int) {
				w.with(s.Names, []value{numV{known: true, v: float64(i + 1)}, c.arr[i]}, s.Stmts)
			})
		}
		return
	}
	w.loop(head, w.line(s), false, false, func() {
		c := t.c.v.(*content)
		if it.pairs && c.closed() && c.keys == nil && len(c.arr)+len(c.fields) <= maxUnroll {
			var arms []arm
			for i, v := range c.arr {
				arms = append(arms, arm{"", func() {
					w.with(s.Names, []value{numV{known: true, v: float64(i + 1)}, v}, s.Stmts)
				}})
			}
			for _, k := range sortedKeys(c.fields) {
				arms = append(arms, arm{"", func() { w.with(s.Names, []value{lit(k), c.fields[k]}, s.Stmts) }})
			}
			w.branch(w.line(s), arms...)
			return
		}
		var k value = idx
		if it.pairs {
			k = c.anyKey(idx)
		}
		v := w.anyItem(c, idx)
		w.with(s.Names, []value{k, v}, s.Stmts)
	})
}

func (w *walker) ret(s *ast.ReturnStmt) {
	vs := w.list(s.Exprs)
	if w.dead || w.over {
		return
	}
	if w.act.main {
		w.reply(s, vs)
	} else {
		w.act.exits = append(w.act.exits, exit{vs, w.state(w.act.mark)})
	}
	w.add(&Block{Kind: BlockReturn, Line: w.line(s)})
	w.dead = true
}

// reply records what the script returns.
func (w *walker) reply(s *ast.ReturnStmt, vs []value) {
	p := w.src.pos(s)
	if len(s.Exprs) == 0 {
		w.t.Replies = append(w.t.Replies, Reply{"nil", true, int(p.line), int(p.col)})
		return
	}
	alts := alternatives(w.nth(vs, 0))
	if len(alts) == 2 {
		// tonumber gives nil for what is no number; no script means that.
		if n, ok := alts[0].(numV); ok && !n.known && isNil(alts[1]) {
			alts = alts[:1]
		}
	}
	for _, v := range alts {
		r := Reply{Line: int(p.line), Col: int(p.col)}
		switch v := v.(type) {
		case errorV:
			continue // recorded where it was made
		case statusV:
			r.Value, r.Literal = v.text, true
		case nilV:
			r.Value, r.Literal = "nil", true
		case boolV:
			// What a client sees: true is 1, false is nil.
			r.Value, r.Literal = "nil", true
			if v.v {
				r.Value = "1"
			}
		case *tableV:
			c := v.c.v.(*content)
			if msg, ok := c.fields["err"]; ok {
				w.refusal(s, msg, false)
				continue
			}
			if msg, ok := c.fields["ok"]; ok {
				r.Value, r.Literal = isLit(msg)
				if !r.Literal {
					r.Value = text(s.Exprs[0])
				}
				break
			}
			r.Value = text(s.Exprs[0])
			if te, ok := s.Exprs[0].(*ast.TableExpr); ok {
				var items []string
				for _, f := range te.Fields {
					items = append(items, text(f.Value))
				}
				r.Value = "[" + strings.Join(items, ", ") + "]"
				r.Literal = len(items) == 0
			}
		default:
			if l, ok := isLit(v); ok {
				r.Value, r.Literal = l, true
			} else {
				r.Value = text(s.Exprs[0])
			}
		}
		dup := false
		for _, o := range w.t.Replies {
			dup = dup || o == r
		}
		if !dup {
			w.t.Replies = append(w.t.Replies, r)
		}
	}
}

// errorV is what redis.error_reply returns, statusV what status_reply does.
type (
	errorV  struct{ msg value }
	statusV struct{ text string }
)

func (w *walker) refusal(n ast.PositionHolder, msg value, raised bool) {
	p := w.src.pos(n)
	for _, m := range alternatives(msg) {
		r := Refusal{Raised: raised, Line: int(p.line), Col: int(p.col)}
		if l, ok := isLit(m); ok {
			r.Text, r.Literal = strings.TrimPrefix(l, "-"), true
		} else {
			r.Text = exprOf(pieces(m))
			if ps := pieces(m); len(ps) > 0 && ps[0].kind == pLit {
				r.Class = classOf(strings.TrimPrefix(ps[0].text, "-"))
			}
		}
		if r.Literal {
			r.Class = classOf(r.Text)
		}
		dup := false
		for _, o := range w.t.Refusals {
			dup = dup || o == r
		}
		if !dup {
			w.t.Refusals = append(w.t.Refusals, r)
		}
		w.add(&Block{Kind: BlockRefusal, Text: r.Text, Line: r.Line, Col: r.Col})
	}
}

// classOf is the class word that opens a refusal: capitals, then a blank.
func classOf(s string) string {
	word, _, ok := strings.Cut(s, " ")
	if !ok || len(word) < 2 {
		return ""
	}
	for i := 0; i < len(word); i++ {
		if c := word[i]; (c < 'A' || c > 'Z') && c != '_' && !(isDigit(c) && i > 0) {
			return ""
		}
	}
	return word
}

// callFunc walks a local function where it is called.
func (w *walker) callFunc(f *funcV, args []value, n ast.PositionHolder) []value {
	if !w.spend(n, 2) {
		return []value{unknownV{"not followed"}}
	}
	lost := false
	seen := 0
	var prev *activation
	for a := w.act; a != nil; a = a.parent {
		if a.fn != nil && a.fn.Stmts != nil && sameFunc(a.fn, f.fn) {
			if prev == nil {
				prev = a
			}
			seen++
		}
	}
	if prev != nil {
		covered := prev.lost
		if !covered {
			covered = len(prev.args) >= len(args)
			for i := range args {
				if covered && !covers(prev.args[i], args[i]) {
					covered = false
				}
			}
		}
		if covered {
			w.add(&Block{Kind: BlockAgain, Text: f.name, Line: w.line(n), Target: prev.block})
			return []value{manyV{elem: unknownV{"the result of a recursive call"}}}
		}
		widened := make([]value, len(args))
		for i := range args {
			if i < len(prev.args) {
				widened[i] = widen(prev.args[i], args[i])
			} else {
				widened[i] = args[i]
			}
			if seen >= 3 {
				widened[i] = unknownV{"an argument of a recursive call"}
			}
		}
		args, lost = widened, seen >= 3
	}
	depth := 0
	if w.act != nil {
		depth = w.act.depth + 1
	}
	if depth > maxCalls {
		w.tooDeep(n)
		return []value{unknownV{"not followed"}}
	}
	act := &activation{
		fn: f.fn, args: args, block: &Block{Kind: BlockCall, Text: f.name, Line: w.line(n)},
		mark: len(w.trail), parent: w.act, lost: lost, depth: depth,
	}
	sc := &scope{parent: f.scope, isFunc: true}
	for i, name := range f.fn.ParList.Names {
		sc.declare(name, w.cell(w.nth(args, i)))
	}
	if f.fn.ParList.HasVargs {
		sc.varargs = w.from(args, len(f.fn.ParList.Names))
		// Lua 5.1 also gives a function with ... the table arg.
		c := &content{fields: map[string]value{"n": numV{text: "arg.n", digits: 4}}}
		c = c.fill(w, sc.varargs)
		sc.declare("arg", w.cell(&tableV{c: w.cell(c), site: f.fn}))
	}
	outerScope, outerAct, outerLoops := w.scope, w.act, w.loops
	w.scope, w.act, w.loops = sc, act, nil
	w.block(act.block, func() { w.stmts(f.fn.Stmts) })
	w.scope, w.act, w.loops = outerScope, outerAct, outerLoops
	if !w.dead {
		act.exits = append(act.exits, exit{nil, w.state(act.mark)})
	}
	w.undo(act.mark)
	w.dead = len(act.exits) == 0
	states := make([][]delta, len(act.exits))
	for i, x := range act.exits {
		states[i] = x.state
	}
	w.merge(states)
	var out []value
	for i, x := range act.exits {
		if i == 0 {
			out = x.vals
			continue
		}
		out = w.joinLists(out, x.vals)
	}
	return out
}

// sameFunc compares functions by the body they were parsed from.
func sameFunc(a, b *ast.FunctionExpr) bool {
	return a == b || len(a.Stmts) > 0 && len(b.Stmts) > 0 && &a.Stmts[0] == &b.Stmts[0]
}

// covers reports whether an argument says nothing that another did not.
func covers(a, b value) bool {
	if _, ok := a.(unknownV); ok {
		return true
	}
	for _, v := range alternatives(b) {
		if !slices.ContainsFunc(alternatives(a), func(x value) bool { return coversOne(x, v) }) {
			return false
		}
	}
	return true
}

func coversOne(a, b value) bool {
	switch a := a.(type) {
	case numV:
		if _, ok := b.(numV); ok && a.text == changing {
			return true
		}
	case strV:
		// A beginning with anything behind it.
		n := len(a.ps) - 1
		if b, ok := b.(strV); ok && n > 0 && a.ps[n].kind == pUnknown && len(b.ps) >= n && slices.Equal(a.ps[:n], b.ps[:n]) {
			return true
		}
	case unknownV:
		return true
	}
	return equal(a, b)
}

func (w *walker) joinLists(a, b []value) []value {
	n := max(len(a), len(b))
	out := make([]value, n)
	for i := range out {
		x, y := w.nth(a, i), w.nth(b, i)
		if i == len(a)-1 && i == len(b)-1 {
			if ma, ok := a[i].(manyV); ok {
				if _, ok := b[i].(manyV); ok {
					out[i] = manyV{elem: join(w.elemOf(ma), w.elemOf(b[i].(manyV)))}
					continue
				}
			}
		}
		out[i] = join(x, y)
	}
	return out
}

// nth is the i-th value of a list whose last may stand for many.
func (w *walker) nth(vs []value, i int) value {
	if i < len(vs) {
		if m, ok := vs[i].(manyV); ok {
			return w.manyItem(m, 0)
		}
		return vs[i]
	}
	if n := len(vs); n > 0 {
		if m, ok := vs[n-1].(manyV); ok {
			return w.manyItem(m, i-(n-1))
		}
	}
	return nilV{}
}

func (w *walker) manyItem(m manyV, i int) value {
	if m.t == nil {
		return m.elem
	}
	if m.from == 0 {
		return w.anyItem(m.t.c.v.(*content), numV{text: "n"})
	}
	return w.getIndex(m.t, numV{known: true, v: float64(m.from + i)}, nil)
}

// elemOf is any of the values that m stands for.
func (w *walker) elemOf(m manyV) value {
	if m.t == nil {
		return m.elem
	}
	return w.anyItem(m.t.c.v.(*content), numV{text: "...", from: m.from})
}

// from is the list without its first n values.
func (w *walker) from(vs []value, n int) []value {
	if n < len(vs) {
		return vs[n:]
	}
	if k := len(vs); k > 0 {
		if m, ok := vs[k-1].(manyV); ok {
			if m.from > 0 {
				m.from += n - (k - 1)
			}
			return []value{m}
		}
	}
	return nil
}

// list evaluates expressions, the last with all its results.
func (w *walker) list(es []ast.Expr) []value {
	out := make([]value, 0, len(es))
	for i, e := range es {
		if i < len(es)-1 {
			out = append(out, w.eval(e))
			continue
		}
		switch e := e.(type) {
		case *ast.FuncCallExpr:
			if !e.AdjustRet {
				out = append(out, w.call(e)...)
				continue
			}
		case *ast.Comma3Expr:
			if !e.AdjustRet {
				out = append(out, w.varargs()...)
				continue
			}
		}
		out = append(out, w.eval(e))
	}
	return out
}

func (w *walker) varargs() []value {
	for s := w.scope; s != nil; s = s.parent {
		if s.isFunc {
			return s.varargs
		}
	}
	return nil
}
