package trace

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/scripts"
)

// FindingKind is the stable name of a kind of finding.
type FindingKind string

// The kinds of findings.
const (
	FindUndeclaredKey      FindingKind = "undeclared-key"
	FindUnknownKey         FindingKind = "unknown-key"
	FindUnregisteredKey    FindingKind = "unregistered-key"
	FindDerivedKey         FindingKind = "derived-key"
	FindKeysIndex          FindingKind = "keys-index"
	FindUnusedKey          FindingKind = "unused-key"
	FindHashTag            FindingKind = "hash-tag"
	FindReplyMismatch      FindingKind = "reply-mismatch"
	FindRefusalMismatch    FindingKind = "refusal-mismatch"
	FindRefusalClass       FindingKind = "refusal-class"
	FindWriteBeforeRefusal FindingKind = "write-before-refusal"
	FindUnknownCommand     FindingKind = "unknown-command"
	FindUnknownFunction    FindingKind = "unknown-function"
	FindNoScript           FindingKind = "noscript-command"
	FindNumberFormat       FindingKind = "number-format"
	FindGlobalVariable     FindingKind = "global-variable"
	FindNotFollowed        FindingKind = "not-followed"
	FindEngine             FindingKind = "engine"
	FindStoreMismatch      FindingKind = "store-mismatch"
	FindArgvIndex          FindingKind = "argv-index"
	FindShebang            FindingKind = "shebang"
	FindSyntax             FindingKind = "syntax"
	FindSize               FindingKind = "size"
	FindAllow              FindingKind = "allow"
	FindHeader             FindingKind = "header"
	FindInclude            FindingKind = "include"
)

// KindDoc is one kind of finding with what it means.
type KindDoc struct {
	Kind  FindingKind
	About string
}

// Kinds returns every kind of finding with one line on each: what help and
// the documents are made from.
func Kinds() []KindDoc {
	return []KindDoc{
		{FindUndeclaredKey, "a key that is neither in KEYS nor made from one: spelled out, from an argument that is no declared base, or out of a reply"},
		{FindUnknownKey, "a key of which nothing can be told, so that nobody can say it is declared"},
		{FindUnregisteredKey, "a key made from a declared root, but not by the registered grammar"},
		{FindDerivedKey, "a key that is made in the script and not passed in KEYS (only under the strict law)"},
		{FindKeysIndex, "KEYS[n] beyond what the header, or the number at the end of the file name, declares"},
		{FindArgvIndex, "ARGV[n] beyond what the header declares"},
		{FindStoreMismatch, "the header declares a key of one type, and a command takes it for another"},
		{FindUnusedKey, "a declared key that no command touches (a key of role base is exempt)"},
		{FindHashTag, "a key built so that its hash tag differs from that of the declared keys"},
		{FindReplyMismatch, "the header and the body disagree on a reply"},
		{FindRefusalMismatch, "the header and the body disagree on a refusal"},
		{FindRefusalClass, "a refusal whose text does not open with a class word in capitals"},
		{FindWriteBeforeRefusal, "a refusal after a write: the write stays"},
		{FindUnknownCommand, "a call of a command that no server has"},
		{FindUnknownFunction, "a name that a server's redis, string, table, cjson and so on do not have: a call of it is a call of nil"},
		{FindNoScript, "a call of a command that a server refuses inside a script"},
		{FindNumberFormat, "a number that a server's Lua prints with 14 digits, and so wrongly"},
		{FindGlobalVariable, "a global variable, which a server refuses"},
		{FindNotFollowed, "a part of the script that cannot be followed; keys it touches may be missing"},
		{FindEngine, "an engine that was asked for refuses the script, or lets a line of it depend on the call; that a script with two keys depends on their sharing a slot, as trace says of cluster, is the caller's to heed, and no finding"},
		{FindShebang, "a first line that a server does not load, or a command that its flags do not allow"},
		{FindSyntax, "the script is not Lua 5.1"},
		{FindSize, "the script is larger than is read: it was not looked at"},
		{FindAllow, "a comment allows a kind of finding that there is not"},
		{FindHeader, "the script's header does not parse, or declares what is no key of a queue"},
		{FindInclude, "an included file is missing, or includes itself"},
	}
}

// Finding is something a script should not do.
type Finding struct {
	Kind    FindingKind `json:"kind"`
	File    string      `json:"file,omitempty"` // the included file that Line is of
	Line    int         `json:"line"`
	Col     int         `json:"col"`
	Message string      `json:"message"`

	call int // the line of the call of a local function that leads here
}

// Law says how strictly keys must be declared.
type Law struct {
	// Strict is the law's short form: only KEYS[n]. Otherwise a key may also be
	// derived from a declared root by the registered grammar.
	Strict bool
	// Engines names profiles whose refusals, and doubts, are findings too.
	Engines []string
	// Allow names kinds that are not reported.
	Allow []FindingKind
}

// FindingOf makes a finding of an error of [Of].
func FindingOf(e *Error) Finding {
	kind := FindSyntax
	switch e.Kind {
	case KindInclude:
		kind = FindInclude
	case KindSize:
		kind = FindSize
	}
	return Finding{Kind: kind, Line: max(e.Line, 1), Col: max(e.Col, 1), Message: e.Msg}
}

// Findings judges a trace by the law. They are sorted by position, and what a
// comment allows ("-- emqctl:allow KIND, KIND", on the line or the line before)
// is left out.
func (t *Trace) Findings(law Law) []Finding {
	j := &judge{t: t, law: law, out: slices.Clone(t.extra)}
	for _, n := range t.Notes {
		j.add(FindNotFollowed, n.Line, n.Col, "%s", n.Message)
	}
	for i := range t.Steps {
		j.step(&t.Steps[i])
	}
	j.indexes()
	j.contract()
	j.declarations()
	for _, r := range t.Refusals {
		if r.Class == "" && !r.Raised && (r.Literal || strings.HasPrefix(r.Text, "'")) {
			j.add(FindRefusalClass, r.Line, r.Col, "refusal %q does not open with a class word in capitals and a blank", r.Text)
		}
	}
	j.writes(t.Body, nil)
	j.loading()
	j.engines()
	return j.sorted()
}

// engines reports what the engines that were asked for say against the script.
func (j *judge) engines() {
	if len(j.law.Engines) == 0 {
		return
	}
	for _, v := range j.t.Engines() {
		if !slices.Contains(j.law.Engines, v.Engine) {
			continue
		}
		for i, reason := range v.Reasons {
			r := v.reasons[i]
			after, placed := "", strings.HasPrefix(reason, "line ")
			if _, after, _ = strings.Cut(reason, ": "); placed {
				reason = after
			}
			// What depends on the call as a whole is its caller's to heed: no line
			// of the script is at fault.
			if !placed && r.answer == Depends {
				continue
			}
			j.add(FindEngine, r.at.line, r.at.col, "%s: %s: %s", v.Engine, r.answer, reason)
		}
	}
}

type judge struct {
	t   *Trace
	law Law
	out []Finding

	tries int // the pcalls that the walk over the tree is in
}

// at adds a finding at a step; in a local function it also says who called.
func (j *judge) at(s *Step, kind FindingKind, format string, args ...any) {
	j.add(kind, s.at, s.Col, format, args...)
	if n := len(s.Via); n > 0 {
		f := &j.out[len(j.out)-1]
		f.call = s.Via[n-1]
		_, line := j.t.included.At(f.call)
		f.Message += fmt.Sprintf(" (called at line %d)", line)
	}
}

func (j *judge) add(kind FindingKind, line, col int, format string, args ...any) {
	j.out = append(j.out, Finding{Kind: kind, Line: max(line, 1), Col: max(col, 1), Message: shown(fmt.Sprintf(format, args...))})
}

func (j *judge) sorted() []Finding {
	allowed := j.allowed()
	slices.SortStableFunc(j.out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Message, b.Message))
	})
	out := []Finding{}
	for i, f := range j.out {
		if i > 0 && f == j.out[i-1] || slices.Contains(j.law.Allow, f.Kind) || allowed[f.Line][f.Kind] || allowed[f.call][f.Kind] {
			continue
		}
		if p, line := j.t.included.At(f.Line); p != "" {
			f.Line = line
			if p != j.t.Path {
				f.File = p
			}
		}
		out = append(out, f)
	}
	return out
}

// allowed reads the comments that allow, by line.
func (j *judge) allowed() map[int]map[FindingKind]bool {
	out := map[int]map[FindingKind]bool{}
	for _, c := range j.t.source.comments {
		_, list, ok := strings.Cut(c.text, "emqctl:allow")
		if !ok || list == "" || list[0] != ' ' && list[0] != '\t' {
			continue
		}
		lines := []int{c.line}
		if !j.t.source.codeOn(c.line) {
			lines = append(lines, c.line+1) // a comment of its own speaks of the next line too
		}
		first := true
		for _, w := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
			if w = strings.TrimRight(w, ":.;"); !isKind(w) {
				if first || strings.Contains(strings.Trim(w, "-"), "-") {
					j.add(FindAllow, c.line, c.col, "there is no kind of finding %q to allow%s", w, nearKind(w))
				}
				break // a reason follows
			}
			for _, line := range lines {
				if out[line] == nil {
					out[line] = map[FindingKind]bool{}
				}
				out[line][FindingKind(w)] = true
			}
			first = false
		}
	}
	return out
}

func isKind(w string) bool {
	return slices.ContainsFunc(Kinds(), func(k KindDoc) bool { return string(k.Kind) == w })
}

// nearKind is the hint for a word that is no kind.
func nearKind(w string) string {
	for _, k := range Kinds() {
		if distance(w, string(k.Kind)) < 3 {
			return ", did you mean " + string(k.Kind) + "?"
		}
	}
	return ""
}

func (j *judge) step(s *Step) {
	switch {
	case s.Command == "?":
		j.at(s, FindNotFollowed, "%s, which is not known before the script runs", s.Unknown)
	case s.Unknown != "" && s.spec == nil:
		msg := "no server has the command " + s.Command
		if n := nearest(s.Command); n != "" {
			msg += ", did you mean " + n + "?"
		}
		j.at(s, FindUnknownCommand, "%s", msg)
	case s.spec != nil && s.spec.Flags&scripts.NoScript != 0:
		j.at(s, FindNoScript, "a server refuses %s inside a script", s.Command)
	}
	for i, k := range s.Keys {
		if k.Maybe && (k.Origin == Literal && s.spec == nil || s.Command != "?" && !j.suspect(s.Keys, i)) {
			continue
		}
		j.key(s, k)
	}
}

// suspect reports whether an argument that may be a key is worth a finding:
// not a word that is an option, and not beside a declared key where only some
// of many are keys.
func (j *judge) suspect(keys []Key, i int) bool {
	if k := keys[i]; k.Origin == Literal && scripts.IsOption(k.Pattern) {
		return false
	}
	for _, k := range keys {
		if k.Arg != keys[i].Arg || !k.Maybe {
			continue
		}
		if k.Many && (k.Origin == Declared || k.Origin == Derived && len(k.pieces) > 0 && k.pieces[0].kind == pKeys) {
			return false
		}
	}
	return true
}

func (j *judge) key(s *Step, k Key) {
	what := "key"
	if k.Maybe && !k.sometimes && s.Command != "?" {
		what = "possible key"
	}
	if k.Channel {
		what = "channel"
	}
	if j.law.Strict && k.Origin == Derived {
		j.at(s, FindDerivedKey, "%s %s of %s is derived from %s and not passed in KEYS", what, k.Pattern, s.Command, strings.Join(k.From, ", "))
	}
	if k.Channel {
		return // the law is about keys
	}
	switch k.Origin {
	case Literal:
		j.at(s, FindUndeclaredKey, "%s %q of %s is spelled out in the script, want it in KEYS", what, k.Pattern, s.Command)
	case Data:
		j.at(s, FindUndeclaredKey, "%s %s of %s is a whole key out of a reply (%s), want it in KEYS", what, k.Expr, s.Command, strings.Join(k.From, ", "))
	case Unknown:
		j.at(s, FindUnknownKey, "nothing can be told of the %s of %s: %s", what, s.Command, k.Reason)
	case Derived:
		j.derived(s, k, what)
	}
	j.tag(s, k)
}

func (j *judge) derived(s *Step, k Key, what string) {
	r, _ := root(k.pieces)
	switch r.kind {
	case pKeys:
	case pArgv:
		if a := j.t.arg(r); a != nil && a.Base != "" && r.path == "" && k.pieces[0] == r {
			break
		}
		j.at(s, FindUndeclaredKey, "%s %s of %s is made from ARGV[%s], which is no declared base", what, k.Expr, s.Command, r.index())
		return
	case pReply:
		j.at(s, FindUndeclaredKey, "%s %s of %s is made from a reply (%s) and no declared key", what, k.Expr, s.Command, j.t.sourceOf(r))
		return
	default:
		j.at(s, FindUndeclaredKey, "%s %s of %s is made from no declared key (%s)", what, k.Expr, s.Command, j.t.sourceOf(r))
		return
	}
	if suffix, ok := strings.CutPrefix(k.Pattern, "emq:{q}:"); ok && j.t.Verb != nil && !strings.Contains(suffix, "<?>") && !decode.RegisteredPattern(suffix) {
		j.at(s, FindUnregisteredKey, "key %s of %s is of no registered type", k.Pattern, s.Command)
	}
}

// tag finds keys that a cluster may put in another slot than the declared.
func (j *judge) tag(s *Step, k Key) {
	if k.Origin != Derived && k.Origin != Literal {
		return
	}
	declared := ""
	if v := j.t.Verb; v != nil {
		for _, d := range v.Keys {
			if tag := tagOf(d.Pattern); tag != "" {
				declared = tag
				break
			}
		}
	}
	r, ok := root(k.pieces)
	lead := ""
	if k.pieces[0].kind == pLit {
		lead = k.pieces[0].text
	}
	switch {
	case !ok: // a literal
		if tag := tagOf(lead); declared != "" && tag != declared {
			j.at(s, FindHashTag, "key %q has the hash tag %q, the declared keys have {%s}", lead, tag, declared)
		}
	case wrapped(k.pieces) && tagOf(j.t.pattern(k.pieces[1:2])) == "":
		// '{' .. KEYS[1] .. '}': its slot when the key has no braces of its own.
	case strings.Contains(lead, "{"):
		if r.kind == pKeys || declared != "" {
			j.at(s, FindHashTag, "key %s has a brace before %s, so its hash tag is not that of the declared keys", k.Expr, exprOf([]piece{r}))
		}
	case r.kind == pKeys && r.path == "":
		// A tag behind a key that has none of its own.
		pats := j.t.keyPatterns(r)
		for _, p := range k.pieces {
			if p.kind == pLit && tagOf(p.text) != "" && (len(pats) == 0 || tagOf(pats[0]) == "") {
				j.at(s, FindHashTag, "key %s gets the hash tag %q unless %s has one of its own", k.Expr, tagOf(p.text), exprOf([]piece{r}))
				return
			}
		}
	}
}

// wrapped reports whether a key is {KEYS[n]} with more behind it.
func wrapped(ps []piece) bool {
	return len(ps) > 2 && ps[0].kind == pLit && strings.HasSuffix(ps[0].text, "{") && strings.Count(ps[0].text, "{") == 1 &&
		ps[1].kind == pKeys && ps[1].path == "" && ps[2].kind == pLit && strings.HasPrefix(ps[2].text, "}")
}

// tagOf is the text between the first { and the } that follows it.
func tagOf(s string) string {
	_, rest, ok := strings.Cut(s, "{")
	if !ok {
		return ""
	}
	tag, _, ok := strings.Cut(rest, "}")
	if !ok {
		return ""
	}
	return tag
}

// declaredKeys is how many KEYS are declared, and by what; -1 when nothing
// says, or when they repeat.
func (t *Trace) declaredKeys() (n int, by string) {
	if t.Verb != nil {
		for _, k := range t.Verb.Keys {
			if k.Repeated {
				return -1, ""
			}
			n = max(n, k.N)
		}
		return n, "the header"
	}
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(t.Path, "\\", "/")), ".lua")
	if i := strings.LastIndexByte(name, '-'); i >= 0 && name != path.Base(t.Path) {
		if n, err := strconv.Atoi(name[i+1:]); err == nil && n >= 0 && n < 1000 {
			return n, "the file name"
		}
	}
	return -1, ""
}

func (j *judge) indexes() {
	n, by := j.t.declaredKeys()
	if n >= 0 {
		for _, u := range j.t.keyUses {
			if u.n > n {
				j.add(FindKeysIndex, u.line, u.col, "KEYS[%d] is read, and %s declares %d", u.n, by, n)
			}
		}
	}
	if j.t.keysAll || len(j.t.Notes) > 0 {
		return
	}
	if v := j.t.Verb; v != nil {
		for _, k := range v.Keys {
			if k.Role != "base" && !j.t.keysSeen[k.N] {
				j.add(FindUnusedKey, k.Line, 1, "KEYS[%d] (%s) is declared, and no command touches it", k.N, k.Name)
			}
		}
		return
	}
	for i := 1; i <= n; i++ {
		if !j.t.keysSeen[i] {
			j.add(FindUnusedKey, 1, 1, "KEYS[%d] is declared by %s, and no command touches it", i, by)
		}
	}
}

// contract compares the header's replies and refusals with the body's.
func (j *judge) contract() {
	v := j.t.Verb
	if v == nil {
		return
	}
	for _, r := range j.t.Replies {
		if r.Literal && !slices.ContainsFunc(v.Returns, func(h scripts.Return) bool { return plain(h.Value) == plain(r.Value) }) {
			j.add(FindReplyMismatch, r.Line, r.Col, "the body returns %s, and the header does not say so", r.Value)
		}
	}
	other := slices.ContainsFunc(j.t.Replies, func(r Reply) bool { return !r.Literal })
	for _, h := range v.Returns {
		if !other && !slices.ContainsFunc(j.t.Replies, func(r Reply) bool { return plain(h.Value) == plain(r.Value) }) {
			j.add(FindReplyMismatch, h.Line, 1, "the header says the reply %s, and the body never returns it", h.Value)
		}
	}
	for _, r := range j.t.Refusals {
		if r.Literal && !r.Raised && !slices.ContainsFunc(v.Refusals, func(h scripts.Refusal) bool { return h.Text == r.Text }) {
			j.add(FindRefusalMismatch, r.Line, r.Col, "the body refuses with %q, and the header does not say so", r.Text)
		}
	}
	for _, h := range v.Refusals {
		if !slices.ContainsFunc(j.t.Refusals, func(r Refusal) bool { return r.Text == h.Text || !r.Literal }) {
			j.add(FindRefusalMismatch, h.Line, 1, "the header says the refusal %q, and the body never makes it", h.Text)
		}
	}
}

// plain is a reply's text without quotes and blanks, to compare.
func plain(s string) string {
	s = strings.Trim(strings.TrimSpace(s), "'\"`")
	return strings.ReplaceAll(s, " ", "")
}

// writes walks the tree with the first write that may have happened, and
// finds refusals behind it. It returns the write at the end of b, and whether
// the end is reached.
func (j *judge) writes(b *Block, w *Step) (*Step, bool) {
	switch b.Kind {
	case BlockStep:
		if w == nil && b.Step.Write {
			w = b.Step
		}
		return w, true
	case BlockRefusal:
		if w != nil {
			j.add(FindWriteBeforeRefusal, b.Line, b.Col, "refusal %q comes after %s of line %d has written", b.Text, w.Command, w.Line)
		}
		return w, true
	case BlockReturn, BlockBreak, BlockRaise:
		return w, false
	case BlockBranch:
		var out *Step
		live := false
		for _, a := range b.Blocks {
			if x, ok := j.writes(a, w); ok {
				live = true
				if out == nil {
					out = x
				}
			}
		}
		return out, live
	}
	out, live := j.seq(b, w)
	switch b.Kind {
	case BlockLoop:
		if w == nil && out != nil {
			j.seq(b, out) // once more, with what the first pass wrote
		}
		return out, true
	case BlockCall, BlockOnce, BlockTry:
		// Left early by return, break or error: what was written so far counts.
		return cmp.Or(out, firstWrite(b, w)), true
	}
	return out, live
}

func (j *judge) seq(b *Block, w *Step) (*Step, bool) {
	if b.Kind == BlockTry {
		j.tries++
		defer func() { j.tries-- }()
	}
	for i, c := range b.Blocks {
		if j.tries > 0 && c.Kind == BlockRefusal && i+1 < len(b.Blocks) && b.Blocks[i+1].Kind == BlockRaise {
			continue // caught
		}
		var live bool
		if w, live = j.writes(c, w); !live {
			return w, false
		}
	}
	return w, true
}

// firstWrite is the first write in a block, unless one came before it.
func firstWrite(b *Block, w *Step) *Step {
	if w != nil {
		return w
	}
	if b.Kind == BlockStep && b.Step.Write {
		return b.Step
	}
	for _, c := range b.Blocks {
		if s := firstWrite(c, nil); s != nil {
			return s
		}
	}
	return nil
}

// nearest is the command closest to a name that is none.
func nearest(name string) string {
	best, bestN := "", 3
	for _, c := range scripts.CommandNames() {
		if n := distance(strings.ToLower(name), c); n < bestN {
			best, bestN = strings.ToUpper(c), n
		}
	}
	return best
}

// distance is the number of edits between two short words.
func distance(a, b string) int {
	if len(a) > 32 || len(b) > 32 {
		return 99
	}
	row := make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for k := 1; k <= len(b); k++ {
			cost := diag
			if a[i-1] != b[k-1] {
				cost++
			}
			diag = row[k]
			row[k] = min(cost, row[k]+1, row[k-1]+1)
		}
	}
	return row[len(b)]
}
