package trace

import (
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// maxText bounds the source text shown for one expression.
const maxText = 160

// text writes an expression as one would read it in the script.
func text(e ast.Expr) string {
	var b strings.Builder
	writeExpr(&b, e, 0, 0)
	if b.Len() > maxText {
		return strings.ToValidUTF8(b.String()[:maxText], "") + "..."
	}
	return b.String()
}

var binding = map[string]int{
	"or": 1, "and": 2, "<": 3, ">": 3, "<=": 3, ">=": 3, "~=": 3, "==": 3, "..": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6, "^": 8,
}

func writeExpr(b *strings.Builder, e ast.Expr, outer, depth int) {
	if b.Len() > maxText || depth > 200 {
		return
	}
	depth++
	binary := func(op string, l, r ast.Expr) {
		p := binding[op]
		if p < outer {
			b.WriteByte('(')
		}
		left, right := p, p+1
		if op == ".." || op == "^" {
			left, right = p+1, p
		}
		writeExpr(b, l, left, depth)
		b.WriteString(" " + op + " ")
		writeExpr(b, r, right, depth)
		if p < outer {
			b.WriteByte(')')
		}
	}
	unary := func(op string, x ast.Expr) {
		b.WriteString(op)
		writeExpr(b, x, 7, depth)
	}
	list := func(es []ast.Expr) {
		for i, x := range es {
			if i > 0 {
				b.WriteString(", ")
			}
			writeExpr(b, x, 0, depth)
		}
	}
	switch e := e.(type) {
	case *ast.NilExpr:
		b.WriteString("nil")
	case *ast.TrueExpr:
		b.WriteString("true")
	case *ast.FalseExpr:
		b.WriteString("false")
	case *ast.NumberExpr:
		b.WriteString(e.Value)
	case *ast.StringExpr:
		b.WriteString(quote(e.Value))
	case *ast.Comma3Expr:
		b.WriteString("...")
	case *ast.IdentExpr:
		b.WriteString(e.Value)
	case *ast.AttrGetExpr:
		writeExpr(b, e.Object, 9, depth)
		if k, ok := e.Key.(*ast.StringExpr); ok && isName(k.Value) {
			b.WriteString("." + k.Value)
			return
		}
		b.WriteByte('[')
		writeExpr(b, e.Key, 0, depth)
		b.WriteByte(']')
	case *ast.TableExpr:
		if len(e.Fields) == 0 {
			b.WriteString("{}")
			return
		}
		b.WriteByte('{')
		for i, f := range e.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			if k, ok := f.Key.(*ast.StringExpr); ok && isName(k.Value) {
				b.WriteString(k.Value + " = ")
			} else if f.Key != nil {
				b.WriteByte('[')
				writeExpr(b, f.Key, 0, depth)
				b.WriteString("] = ")
			}
			writeExpr(b, f.Value, 0, depth)
		}
		b.WriteByte('}')
	case *ast.FuncCallExpr:
		if e.Receiver != nil {
			writeExpr(b, e.Receiver, 9, depth)
			b.WriteString(":" + e.Method)
		} else {
			writeExpr(b, e.Func, 9, depth)
		}
		b.WriteByte('(')
		list(e.Args)
		b.WriteByte(')')
	case *ast.LogicalOpExpr:
		binary(e.Operator, e.Lhs, e.Rhs)
	case *ast.RelationalOpExpr:
		binary(e.Operator, e.Lhs, e.Rhs)
	case *ast.StringConcatOpExpr:
		binary("..", e.Lhs, e.Rhs)
	case *ast.ArithmeticOpExpr:
		binary(e.Operator, e.Lhs, e.Rhs)
	case *ast.UnaryMinusOpExpr:
		unary("-", e.Expr)
	case *ast.UnaryNotOpExpr:
		unary("not ", e.Expr)
	case *ast.UnaryLenOpExpr:
		unary("#", e.Expr)
	case *ast.FunctionExpr:
		b.WriteString("function(...) end")
	}
}

// negation is the text of a condition that did not hold.
func negation(e ast.Expr) string {
	if n, ok := e.(*ast.UnaryNotOpExpr); ok {
		return text(n.Expr)
	}
	if r, ok := e.(*ast.RelationalOpExpr); ok {
		op := map[string]string{"==": "~=", "~=": "==", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}[r.Operator]
		return text(&ast.RelationalOpExpr{Operator: op, Lhs: r.Lhs, Rhs: r.Rhs})
	}
	var b strings.Builder
	b.WriteString("not ")
	writeExpr(&b, e, 7, 0)
	if b.Len() > maxText {
		return strings.ToValidUTF8(b.String()[:maxText], "") + "..."
	}
	return b.String()
}

func isName(s string) bool {
	if s == "" || keywords[s] || isDigit(s[0]) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !isLetter(s[i]) && !isDigit(s[i]) {
			return false
		}
	}
	return true
}

// quote writes a string as Lua would, in single quotes.
func quote(s string) string {
	q := strconv.Quote(strings.ToValidUTF8(s, "\uFFFD"))
	q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(q, "'", `\'`) + "'"
}
