package trace

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// The bounds on a script. A server's parser gives up at 200 levels of
// nesting; ours must never be led deeper than that.
const (
	MaxSource  = 2 << 20 // bytes
	MaxNesting = 190     // brackets, blocks and chains of operators that bind to the right
)

type tokenKind uint8

const (
	tkName tokenKind = iota
	tkKeyword
	tkNumber
	tkString
	tkOp
)

type token struct {
	kind      tokenKind
	newline   bool // the first on its line
	off, end  int32
	line, col int32
}

type comment struct {
	line, col int
	off       int
	text      string // without the dashes and brackets
}

// source is a script cut into tokens. The parser's nodes carry only lines, so
// it is given every token on a line of its own, and a line is a position.
type source struct {
	text     string
	shebang  string
	tokens   []token
	comments []comment
	lineTok  []int32 // index of the first token on each line that the parser sees
	open     []opener
	balance  *Error // the first bracket or block that closes nothing or the wrong one
}

type opener struct {
	tok  int
	word string // what it is: "(", "function", "if"
	want string // what closes it
	do   bool   // for and while: their do is still to come
	pre  bool   // what stands before it ends an expression that may be called
	more bool   // a function that takes ...
}

func (s *source) str(i int) string { return s.text[s.tokens[i].off:s.tokens[i].end] }

// pos returns the token where a node begins.
func (s *source) pos(n ast.PositionHolder) token {
	l := n.Line() - 1
	if l < 0 || l >= len(s.lineTok) || len(s.tokens) == 0 {
		return token{line: 1, col: 1}
	}
	return s.tokens[s.lineTok[l]]
}

// codeOn reports whether a token begins on a line.
func (s *source) codeOn(line int) bool {
	_, ok := slices.BinarySearchFunc(s.tokens, line, func(t token, line int) int { return int(t.line) - line })
	return ok
}

func (s *source) errAt(kind Kind, off, line, col int, format string, args ...any) *Error {
	return &Error{Kind: kind, Off: min(off, len(s.text)), Line: line, Col: col, Msg: fmt.Sprintf(format, args...)}
}

func (s *source) errTok(kind Kind, t token, format string, args ...any) *Error {
	return s.errAt(kind, int(t.off), int(t.line), int(t.col), format, args...)
}

var keywords = map[string]bool{
	"and": true, "break": true, "do": true, "else": true, "elseif": true, "end": true, "false": true,
	"for": true, "function": true, "if": true, "in": true, "local": true, "nil": true, "not": true,
	"or": true, "repeat": true, "return": true, "then": true, "true": true, "until": true, "while": true,
}

// scanner cuts a script into tokens as Lua 5.1 does.
type scanner struct {
	*source
	i, line, start int // offset, line, and offset where the line starts
	fresh          bool
}

func scan(text string) (*source, *Error) {
	s := &scanner{source: &source{text: text}, line: 1, fresh: true}
	s.tokens = make([]token, 0, len(text)/7+8)
	if len(text) > MaxSource {
		return s.source, s.errAt(KindSize, MaxSource, 1, 1, "script is %d bytes, at most %d are read", len(text), MaxSource)
	}
	if strings.HasPrefix(text, "#!") {
		s.skipLine()
		s.shebang = text[:s.i]
	}
	for {
		if err := s.blank(); err != nil {
			return s.source, err
		}
		if s.i >= len(text) {
			break
		}
		t := token{off: int32(s.i), line: int32(s.line), col: int32(s.i - s.start + 1), newline: s.fresh}
		s.fresh = false
		if err := s.token(&t); err != nil {
			// What stands before it is told first.
			if before := s.nesting(); before != nil {
				return s.source, before
			}
			return s.source, err
		}
		t.end = int32(s.i)
		s.tokens = append(s.tokens, t)
	}
	return s.source, s.nesting()
}

func (s *scanner) skipLine() {
	for s.i < len(s.text) && s.text[s.i] != '\n' && s.text[s.i] != '\r' {
		s.i++
	}
}

// newline passes a line break; \r\n and \n\r are one.
func (s *scanner) newline() {
	c := s.text[s.i]
	s.i++
	if s.i < len(s.text) && (s.text[s.i] == '\n' || s.text[s.i] == '\r') && s.text[s.i] != c {
		s.i++
	}
	s.line++
	s.start = s.i
	s.fresh = true
}

func (s *scanner) err(off int, format string, args ...any) *Error {
	return s.errAt(KindSyntax, off, s.line, max(off-s.start, 0)+1, format, args...)
}

// blank passes white space and comments.
func (s *scanner) blank() *Error {
	for s.i < len(s.text) {
		switch c := s.text[s.i]; {
		case c == '\n' || c == '\r':
			s.newline()
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			s.i++
		case c == '-' && strings.HasPrefix(s.text[s.i:], "--"):
			cm := comment{line: s.line, col: s.i - s.start + 1, off: s.i}
			s.i += 2
			if n := s.bracket(); n >= 0 {
				at := s.i
				if err := s.nestedLong(n); err != nil {
					return err
				}
				if !s.long(n) {
					return s.errAt(KindSyntax, cm.off, cm.line, cm.col, "found the end of the file in a comment, want %q", "]"+strings.Repeat("=", n)+"]")
				}
				cm.text = s.text[at+n+2 : s.i-n-2]
			} else {
				at := s.i
				s.skipLine()
				cm.text = s.text[at:s.i]
			}
			s.comments = append(s.comments, cm)
		default:
			return nil
		}
	}
	return nil
}

// bracket returns the level of the long bracket that opens here, or -1.
func (s *scanner) bracket() int {
	j := s.i
	if j >= len(s.text) || s.text[j] != '[' {
		return -1
	}
	for j++; j < len(s.text) && s.text[j] == '='; j++ {
	}
	if j < len(s.text) && s.text[j] == '[' {
		return j - s.i - 1
	}
	return -1
}

// nestedLong refuses [[ in [[ ]], as a server does.
func (s *scanner) nestedLong(n int) *Error {
	if n > 0 {
		return nil
	}
	body, _, _ := strings.Cut(s.text[s.i+2:], "]]")
	i := strings.Index(body, "[[")
	if i < 0 {
		return nil
	}
	before, at := s.text[s.start:s.i+2]+body[:i], s.line
	for {
		j := strings.IndexAny(before, "\r\n")
		if j < 0 {
			break
		}
		if j+1 < len(before) && before[j] != before[j+1] && strings.IndexByte("\r\n", before[j+1]) >= 0 {
			j++
		}
		before, at = before[j+1:], at+1
	}
	return s.errAt(KindSyntax, s.i+2+i, at, len(before)+1, "found [[ in [[ ]], and a server refuses that: write [=[ ]=]")
}

// long passes a long bracket of level n.
func (s *scanner) long(n int) bool {
	s.i += n + 2
	for s.i < len(s.text) {
		switch c := s.text[s.i]; {
		case c == '\n' || c == '\r':
			fresh := s.fresh
			s.newline()
			s.fresh = fresh
		case c == ']' && s.closes(n):
			s.i += n + 2
			return true
		default:
			s.i++
		}
	}
	return false
}

func (s *scanner) closes(n int) bool {
	end := s.i + n + 1
	if end >= len(s.text) || s.text[end] != ']' {
		return false
	}
	return strings.Count(s.text[s.i+1:end], "=") == n
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func (s *scanner) token(t *token) *Error {
	c := s.text[s.i]
	at := func(n int) byte {
		if s.i+n < len(s.text) {
			return s.text[s.i+n]
		}
		return 0
	}
	switch {
	case isLetter(c):
		from := s.i
		for s.i < len(s.text) && (isLetter(s.text[s.i]) || isDigit(s.text[s.i])) {
			s.i++
		}
		t.kind = tkName
		if keywords[s.text[from:s.i]] {
			t.kind = tkKeyword
		}
	case isDigit(c) || c == '.' && isDigit(at(1)):
		t.kind = tkNumber
		return s.number()
	case c == '"' || c == '\'':
		t.kind = tkString
		return s.quoted(c)
	case c == '[' && s.bracket() >= 0:
		t.kind = tkString
		n, from, line, col := s.bracket(), s.i, s.line, s.i-s.start+1
		if err := s.nestedLong(n); err != nil {
			return err
		}
		if !s.long(n) {
			return s.errAt(KindSyntax, from, line, col, "found the end of the file in a string, want %q", "]"+strings.Repeat("=", n)+"]")
		}
	default:
		t.kind = tkOp
		n := 1
		switch {
		case strings.HasPrefix(s.text[s.i:], "..."):
			n = 3
		case strings.HasPrefix(s.text[s.i:], ".."), (c == '=' || c == '~' || c == '<' || c == '>') && at(1) == '=':
			n = 2
		case c == ':' && at(1) == ':':
			return s.err(s.i, "found a label, and Lua 5.1 has none")
		case s.i == 0 && strings.HasPrefix(s.text, "\xef\xbb\xbf"):
			return s.err(0, "found a byte order mark, and a server does not compile that: save the file without it")
		case strings.IndexByte("+-*/%^#<>=(){}[];:,.", c) < 0:
			return s.err(s.i, "found %q, which begins nothing in Lua 5.1", s.text[s.i:s.i+1])
		}
		s.i += n
	}
	return nil
}

func (s *scanner) number() *Error {
	from := s.i
	for s.i < len(s.text) {
		c := s.text[s.i]
		if (c == '+' || c == '-') && s.i > from && s.text[s.i-1]|0x20 == 'e' && !strings.HasPrefix(s.text[from:], "0x") && !strings.HasPrefix(s.text[from:], "0X") {
			s.i++
			continue
		}
		if !isDigit(c) && !isLetter(c) && c != '.' {
			break
		}
		s.i++
	}
	if n := s.text[from:s.i]; !isNumber(n) {
		return s.err(from, "found %q, want a number", n)
	}
	return nil
}

func isNumber(n string) bool {
	digits := func(n string) string { return strings.TrimLeft(n, "0123456789") }
	if isHex(n) {
		// A server reads an exponent of two, 0x1p4, but no fraction.
		m, e, ok := strings.Cut(strings.ToLower(n[2:]), "p")
		return m != "" && strings.Trim(m, "0123456789abcdef") == "" && (!ok || e != "" && digits(e) == "")
	}
	rest := digits(n)
	if strings.HasPrefix(rest, ".") {
		rest = digits(rest[1:])
	}
	if rest == "" {
		return true
	}
	if rest[0]|0x20 != 'e' {
		return false
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest[1:], "-"), "+")
	return rest != "" && digits(rest) == ""
}

func isHex(n string) bool { return len(n) > 1 && n[0] == '0' && n[1]|0x20 == 'x' }

func (s *scanner) quoted(q byte) *Error {
	from, line, col := s.i, s.line, s.i-s.start+1
	for s.i++; s.i < len(s.text); {
		switch c := s.text[s.i]; c {
		case q:
			s.i++
			return nil
		case '\n', '\r':
			return s.errAt(KindSyntax, from, line, col, "found the end of the line in a string, want %q", string(q))
		case '\\':
			s.i++
			if s.i < len(s.text) && (s.text[s.i] == '\n' || s.text[s.i] == '\r') {
				s.newline()
				s.fresh = false
			} else if s.i < len(s.text) {
				if n, w := decimalEscape(s.text[s.i:]); w > 0 && n > 255 {
					return s.err(s.i-1, "found the escape \\%d, want at most \\255", n)
				}
				s.i++
			}
		default:
			s.i++
		}
	}
	return s.errAt(KindSyntax, from, line, col, "found the end of the file in a string, want %q", string(q))
}

func decimalEscape(s string) (n, width int) {
	for width < 3 && width < len(s) && isDigit(s[width]) {
		n = n*10 + int(s[width]-'0')
		width++
	}
	return n, width
}

// unquote returns the bytes of a string token.
func unquote(lit string) []byte {
	if lit[0] == '[' {
		n := strings.IndexByte(lit[1:], '[') + 2
		body := lit[n : len(lit)-n]
		if len(body) > 1 && (body[:2] == "\r\n" || body[:2] == "\n\r") {
			body = body[2:]
		} else if len(body) > 0 && (body[0] == '\n' || body[0] == '\r') {
			body = body[1:]
		}
		return []byte(strings.ReplaceAll(body, "\r\n", "\n"))
	}
	body := lit[1 : len(lit)-1]
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c != '\\' || i+1 >= len(body) {
			out = append(out, c)
			continue
		}
		i++
		if n, w := decimalEscape(body[i:]); w > 0 {
			out = append(out, byte(n))
			i += w - 1
			continue
		}
		switch c = body[i]; c {
		case '\r', '\n':
			if i+1 < len(body) && (body[i+1] == '\n' || body[i+1] == '\r') && body[i+1] != c {
				i++
			}
			c = '\n'
		default:
			if k := strings.IndexByte("abfnrtv", c); k >= 0 {
				c = "\a\b\f\n\r\t\v"[k]
			}
		}
		out = append(out, c)
	}
	return out
}

// nesting walks the tokens with a stack of what is open, and refuses depth
// before the parser sees it. Operators that bind to the right nest as well: a
// server counts each .. of a chain as a level.
func (s *source) nesting() *Error {
	run, sum := 0, 0
	var runs []int
	pre := false   // the token before ends an expression that may be called
	names := false // in the names of a local
	for i, t := range s.tokens {
		w := s.str(i)
		wasPre := pre
		pre = false
		switch t.kind {
		case tkNumber:
			continue
		case tkString:
			pre = wasPre // a call with one string
			continue
		case tkName:
			if w == "goto" && i+1 < len(s.tokens) && s.tokens[i+1].kind == tkName && !s.tokens[i+1].newline {
				return s.errTok(KindSyntax, t, "found goto, and Lua 5.1 has none")
			}
			pre = !names
			continue
		}
		names = w == "local" || names && w == ","
		switch w {
		case "(", "[", "{", "function", "repeat", "if", "for", "while", "do":
			if w == "do" && len(s.open) > 0 && s.open[len(s.open)-1].do {
				s.open[len(s.open)-1].do = false
				run = 0
				continue
			}
			want := "end"
			switch w {
			case "(":
				want = ")"
				// A server takes this for a call or a new statement, and refuses.
				if t.newline && wasPre && !s.isParams(i) {
					return s.errTok(KindSyntax, t, "ambiguous syntax (function call x new statement)")
				}
			case "[":
				want = "]"
			case "{":
				want = "}"
			case "repeat":
				want = "until"
			}
			s.open = append(s.open, opener{tok: i, word: w, want: want, do: w == "for" || w == "while", pre: wasPre})
			runs = append(runs, run)
			sum += run
			run = 0
		case ")", "]", "}", "end", "until":
			if n := len(s.open); n > 0 && s.open[n-1].want == w {
				run = runs[n-1]
				sum -= run
				switch w {
				case ")":
					pre = !s.isParams(s.open[n-1].tok)
				case "]":
					pre = true
				case "}":
					pre = s.open[n-1].pre
				}
				if w == "end" || w == "until" {
					run = 0
				}
				s.open, runs = s.open[:n-1], runs[:n-1]
				continue
			}
			if s.balance == nil {
				if n := len(s.open); n > 0 {
					o := s.open[n-1]
					s.balance = s.errTok(KindSyntax, t, "found %q, want %s", w, s.toClose(o))
				} else {
					s.balance = s.errTok(KindSyntax, t, "found %q, which closes nothing", w)
				}
			}
		case "..", "^", "not", "#":
			run++
		case "-":
			if i > 0 && !s.endsOperand(i-1) {
				run++
			}
		case ".", ":", "+", "*", "/", "%":
		case "break":
			if !s.inLoop() {
				return s.errTok(KindSyntax, t, "found break outside a loop")
			}
			run = 0
		case "...":
			if err := s.vararg(t); err != nil {
				return err
			}
			run = 0
		case ",", ";":
			if n := len(s.open); n > 0 && s.open[n-1].word == "{" && i > 0 && s.tokens[i-1].kind == tkOp {
				if was := s.str(i - 1); was == "{" || was == "," || was == ";" {
					return s.errTok(KindSyntax, t, "found %q after %q, want a value", w, was)
				}
			} else if w == ";" && s.opensStatement(i, wasPre) {
				return s.errTok(KindSyntax, t, `found ";" where a statement begins, and Lua 5.1 has no empty one`)
			}
			run = 0
		default:
			run = 0
		}
		if len(s.open)+sum+run > MaxNesting {
			return s.errTok(KindNesting, t, "nested deeper than %d levels, and a server refuses at 200", MaxNesting)
		}
	}
	return nil
}

// opensStatement reports whether a statement begins at a token: pre says
// that what stands before it ends an expression.
func (s *source) opensStatement(i int, pre bool) bool {
	if i == 0 {
		return true
	}
	switch s.str(i - 1) {
	case ";", "do", "then", "else", "repeat":
		return s.tokens[i-1].kind != tkString
	case ")":
		return !pre // the parameters of a function
	}
	return false
}

// inLoop reports whether a loop of the same function is open.
func (s *source) inLoop() bool {
	for i := len(s.open) - 1; i >= 0; i-- {
		switch s.open[i].word {
		case "for", "while", "repeat":
			return true
		case "function":
			return false
		}
	}
	return false
}

// vararg checks that ... stands in the parameters of a function, or in the
// body of one that has it there; the script itself has.
func (s *source) vararg(t token) *Error {
	for i := len(s.open) - 1; i >= 0; i-- {
		if o := &s.open[i]; o.word == "function" {
			if i+1 < len(s.open) && s.isParams(s.open[i+1].tok) {
				o.more = true
			}
			if !o.more {
				return s.errTok(KindSyntax, t, `found "..." in a function without it`)
			}
			return nil
		}
	}
	return nil
}

// isParams reports whether a ( opens the parameters of a function.
func (s *source) isParams(i int) bool {
	for i--; i >= 0; i-- {
		if s.tokens[i].kind == tkKeyword {
			return s.str(i) == "function"
		}
		if w := s.str(i); s.tokens[i].kind != tkName && w != "." && w != ":" {
			return false
		}
	}
	return false
}

func (s *source) endsOperand(i int) bool {
	t := s.tokens[i]
	switch t.kind {
	case tkName, tkNumber, tkString:
		return true
	}
	switch s.str(i) {
	case ")", "]", "}", "end", "nil", "true", "false", "...":
		return true
	}
	return false
}

// parse hands the tokens to the parser, one a line, and translates its errors.
func (s *source) parse() ([]ast.Stmt, *Error) {
	var b bytes.Buffer
	b.Grow(len(s.text) + len(s.tokens))
	s.lineTok = make([]int32, 0, len(s.tokens)+1)
	for i, t := range s.tokens {
		w := s.str(i)
		// A call's parenthesis on a new line is ambiguous, which the parser
		// tells from the line break: there it must see the script's own.
		if i > 0 && w == "(" && !t.newline && s.str(i-1) == ")" {
			b.WriteByte(' ')
		} else {
			if i > 0 {
				b.WriteByte('\n')
			}
			s.lineTok = append(s.lineTok, int32(i))
		}
		switch {
		case t.kind == tkString:
			requote(&b, unquote(w))
		case t.kind == tkNumber && isHex(w) && strings.ContainsAny(w, "pP"):
			f, _ := luaNumber(w)
			b.WriteString(strconv.FormatFloat(f, 'g', -1, 64))
		case t.kind == tkName && w == "goto":
			b.WriteString("goto_") // a plain name in Lua 5.1
		default:
			b.WriteString(w)
		}
	}
	stmts, err := parse.Parse(&b, "")
	if err == nil {
		if stmts == nil {
			stmts = []ast.Stmt{}
		}
		return stmts, nil
	}
	return nil, s.syntaxError(err)
}

func requote(b *bytes.Buffer, v []byte) {
	b.WriteByte('"')
	for _, c := range v {
		if c == '\n' || c == '\r' || c == '"' || c == '\\' {
			fmt.Fprintf(b, "\\%03d", c)
			continue
		}
		b.WriteByte(c)
	}
	b.WriteByte('"')
}

func (s *source) syntaxError(err error) *Error {
	line := 0
	if pe, ok := err.(*parse.Error); ok {
		line = pe.Pos.Line
	}
	if line <= 0 || line > len(s.lineTok) {
		return s.errEOF()
	}
	i := int(s.lineTok[line-1])
	if i+1 < len(s.tokens) && line < len(s.lineTok) && int(s.lineTok[line]) > i+1 {
		i++ // two tokens share the line, and the parser stopped at the second
	}
	t := s.tokens[i]
	if s.balance != nil && s.balance.Off <= int(t.off) {
		return s.balance
	}
	w := s.str(i)
	if len(w) > 40 {
		w = w[:40] + "..."
	}
	prev := ""
	if i > 0 {
		prev = " after " + fmt.Sprintf("%q", clip(s.str(i-1)))
	}
	what := s.wanted(i)
	switch {
	case what != "":
	case t.kind == tkOp && w == "=" && i > 0 && s.tokens[i-1].kind == tkOp:
		what = ", want a name or an index before an assignment"
	case t.kind == tkKeyword && (w == "end" || w == "until" || w == "else" || w == "elseif") && i > 0 && !s.endsOperand(i-1) && s.tokens[i-1].kind == tkOp:
		what = ", want a value"
	case t.kind == tkOp && (w == ")" || w == "]" || w == "}") && i > 0 && s.tokens[i-1].kind == tkOp && !s.endsOperand(i-1):
		what = ", want a value"
	case t.kind == tkName && i > 0 && s.tokens[i-1].kind == tkName && s.unclosed(i) == "":
		what = `, want "=", a call or an operator`
	}
	if what == "" && i > 0 && s.endsOperand(i-1) {
		what = s.unclosed(i)
	}
	if len(s.open) > 0 && what == "" && i == len(s.tokens)-1 {
		return s.errEOF()
	}
	return s.errTok(KindSyntax, t, "found %q%s%s", w, prev, what)
}

// toClose says what closes what is open, and where that was opened.
func (s *source) toClose(o opener) string {
	t := s.tokens[o.tok]
	return fmt.Sprintf("%q to close %q of %d:%d", o.want, o.word, t.line, t.col)
}

// unclosed says how a bracket is closed that is the innermost thing open at a
// token which no expression goes on with.
func (s *source) unclosed(i int) string {
	before := source{text: s.text, tokens: s.tokens[:i]}
	before.nesting()
	n := len(before.open)
	if n == 0 {
		return ""
	}
	o := before.open[n-1]
	want := s.toClose(o)
	switch {
	case o.word != "(" && o.word != "[" && o.word != "{":
		return ""
	case s.tokens[i].kind == tkKeyword && !s.beginsValue(i), o.word == "[", o.word == "(" && !o.pre:
		return ", want " + want
	}
	return `, want "," or ` + want
}

// beginsValue reports whether a keyword can begin a value.
func (s *source) beginsValue(i int) bool {
	switch s.str(i) {
	case "function", "nil", "true", "false", "not":
		return true
	}
	return false
}

// wanted says what a statement that was begun wants at a token, as far as its
// first word tells.
func (s *source) wanted(i int) string {
	if i == 0 {
		return ""
	}
	last := s.str(i - 1)
	if s.tokens[i-1].kind == tkOp && (last == "." || last == ":") {
		return ", want a name"
	}
	if s.tokens[i-1].kind == tkKeyword {
		switch last {
		case "local", "for":
			return ", want a name"
		case "if", "elseif", "while", "until", "and", "or", "not", "in":
			return ", want a value"
		}
	}
	binds := false // = or in stands between
	depth := 0
	for j := i - 1; j >= 0 && j > i-200; j-- {
		switch s.tokens[j].kind {
		case tkOp:
			switch s.str(j) {
			case ")", "]", "}":
				depth++
			case "(", "[", "{":
				if depth--; depth < 0 {
					return ""
				}
			case "=":
				binds = true
			}
		case tkKeyword:
			switch s.str(j) {
			case "in":
				binds = true
			case "if", "elseif":
				return `, want "then"`
			case "while":
				return `, want "do"`
			case "for":
				if binds {
					return `, want "do"`
				}
				return `, want "=" or "in"`
			case "and", "or", "not", "nil", "true", "false":
			default:
				return ""
			}
		}
	}
	return ""
}

func clip(w string) string {
	if len(w) > 24 {
		return w[:24] + "..."
	}
	return w
}

func (s *source) errEOF() *Error {
	if s.balance != nil {
		return s.balance
	}
	off, line, col := len(s.text), 1, 1
	if n := len(s.tokens); n > 0 {
		t := s.tokens[n-1]
		off, line, col = int(t.end), int(t.line), int(t.col+t.end-t.off)
	}
	if n := len(s.open); n > 0 {
		o := s.open[n-1]
		return s.errAt(KindSyntax, off, line, col, "found the end of the file, want %s", s.toClose(o))
	}
	return s.errAt(KindSyntax, off, line, col, "found the end of the file in the middle of a statement")
}
