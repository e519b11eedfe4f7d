package trace

import "github.com/yuin/gopher-lua/ast"

// What one function may have at most, or a server does not compile it.
const (
	maxLocals   = 200 // local variables at a time
	maxUpvalues = 60  // variables of the functions around it
)

// limits refuses a script with a function that has more.
func (s *source) limits(stmts []ast.Stmt) *Error {
	names := 0
	for i := range s.tokens {
		switch {
		case s.tokens[i].kind == tkName:
		case s.str(i) == "local", s.str(i) == "for", s.str(i) == ",":
			names++
		}
	}
	if names*4 < maxUpvalues {
		return nil // a script with few names has too many of nothing
	}
	c := &counter{src: s, fn: &funcCount{}}
	c.block(stmts)
	return c.err
}

type funcCount struct {
	parent *funcCount
	names  []string // the local variables at this place
	ups    map[string]bool
}

type counter struct {
	src   *source
	fn    *funcCount
	depth int
	err   *Error
}

func (c *counter) declare(at ast.PositionHolder, names ...string) {
	c.fn.names = append(c.fn.names, names...)
	if len(c.fn.names) > maxLocals && c.err == nil {
		c.err = c.src.errTok(KindSyntax, c.src.pos(at), "found more than %d local variables in one function, and a server does not compile that", maxLocals)
	}
}

func (c *counter) use(at ast.PositionHolder, name string) {
	find := func(f *funcCount) bool {
		for i := len(f.names) - 1; i >= 0; i-- {
			if f.names[i] == name {
				return true
			}
		}
		return false
	}
	owner := c.fn
	for owner != nil && !find(owner) {
		owner = owner.parent
	}
	// Functions between pass the variable on.
	for f := c.fn; owner != nil && f != owner; f = f.parent {
		if f.ups == nil {
			f.ups = map[string]bool{}
		}
		f.ups[name] = true
		if len(f.ups) > maxUpvalues && c.err == nil {
			c.err = c.src.errTok(KindSyntax, c.src.pos(at), "found more than %d variables of outer functions in one function, and a server does not compile that", maxUpvalues)
		}
	}
}

func (c *counter) block(list []ast.Stmt) {
	n := len(c.fn.names)
	for _, s := range list {
		if c.err != nil {
			return
		}
		c.stmt(s)
	}
	c.fn.names = c.fn.names[:n]
}

func (c *counter) exprs(list []ast.Expr) {
	for _, e := range list {
		c.expr(e)
	}
}

func (c *counter) stmt(s ast.Stmt) {
	if c.depth++; c.depth > maxDepth {
		c.depth--
		return
	}
	defer func() { c.depth-- }()
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		if len(s.Names) == 1 && len(s.Exprs) == 1 {
			if f, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
				c.declare(s, s.Names[0])
				c.function(f)
				return
			}
		}
		c.exprs(s.Exprs)
		c.declare(s, s.Names...)
	case *ast.AssignStmt:
		c.exprs(s.Lhs)
		c.exprs(s.Rhs)
	case *ast.FuncCallStmt:
		c.expr(s.Expr)
	case *ast.DoBlockStmt:
		c.block(s.Stmts)
	case *ast.WhileStmt:
		c.expr(s.Condition)
		c.block(s.Stmts)
	case *ast.RepeatStmt:
		n := len(c.fn.names)
		for _, x := range s.Stmts {
			c.stmt(x)
		}
		c.expr(s.Condition)
		c.fn.names = c.fn.names[:n]
	case *ast.IfStmt:
		c.expr(s.Condition)
		c.block(s.Then)
		c.block(s.Else)
	case *ast.NumberForStmt:
		c.expr(s.Init)
		c.expr(s.Limit)
		if s.Step != nil {
			c.expr(s.Step)
		}
		c.loop(s, s.Stmts, s.Name)
	case *ast.GenericForStmt:
		c.exprs(s.Exprs)
		c.loop(s, s.Stmts, s.Names...)
	case *ast.FuncDefStmt:
		if s.Name.Func != nil {
			c.expr(s.Name.Func)
		}
		if s.Name.Receiver != nil {
			c.expr(s.Name.Receiver)
		}
		if s.Name.Method != "" {
			c.function(s.Func, "self")
		} else {
			c.function(s.Func)
		}
	case *ast.ReturnStmt:
		c.exprs(s.Exprs)
	}
}

// loop declares what a for has: three variables of its own, and those named.
func (c *counter) loop(at ast.PositionHolder, body []ast.Stmt, names ...string) {
	n := len(c.fn.names)
	c.declare(at, "(for)", "(for)", "(for)")
	c.declare(at, names...)
	c.block(body)
	c.fn.names = c.fn.names[:n]
}

func (c *counter) function(f *ast.FunctionExpr, self ...string) {
	c.fn = &funcCount{parent: c.fn}
	c.declare(f, self...)
	c.declare(f, f.ParList.Names...)
	if f.ParList.HasVargs {
		c.declare(f, "arg")
	}
	c.block(f.Stmts)
	c.fn = c.fn.parent
}

func (c *counter) expr(e ast.Expr) {
	if c.depth++; c.depth > maxDepth {
		c.depth--
		return
	}
	defer func() { c.depth-- }()
	switch e := e.(type) {
	case *ast.IdentExpr:
		c.use(e, e.Value)
	case *ast.AttrGetExpr:
		c.expr(e.Object)
		c.expr(e.Key)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			if f.Key != nil {
				c.expr(f.Key)
			}
			c.expr(f.Value)
		}
	case *ast.FuncCallExpr:
		if e.Receiver != nil {
			c.expr(e.Receiver)
		} else {
			c.expr(e.Func)
		}
		c.exprs(e.Args)
	case *ast.LogicalOpExpr:
		c.expr(e.Lhs)
		c.expr(e.Rhs)
	case *ast.RelationalOpExpr:
		c.expr(e.Lhs)
		c.expr(e.Rhs)
	case *ast.StringConcatOpExpr:
		c.expr(e.Lhs)
		c.expr(e.Rhs)
	case *ast.ArithmeticOpExpr:
		c.expr(e.Lhs)
		c.expr(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		c.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		c.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		c.expr(e.Expr)
	case *ast.FunctionExpr:
		c.function(e)
	}
}
