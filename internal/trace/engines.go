package trace

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/slot"
)

// Answer is what an engine would say of a script.
type Answer string

// The answers.
const (
	OK      Answer = "ok"      // nothing in the script is in its way
	Refused Answer = "refused" // it fails, or some of its branches do
	Depends Answer = "depends" // on the keys of the call, or on settings
)

// Verdict is one engine's answer with its reasons.
type Verdict struct {
	Engine  string   `json:"engine"`
	Verdict Answer   `json:"verdict"`
	Reasons []string `json:"reasons"`
	Rule    string   `json:"rule"`
	Source  string   `json:"source"`
	Date    string   `json:"date"`
	Run     bool     `json:"run"` // the rule was tried on a real server; otherwise it is only documented

	reasons []placedReason // beside Reasons
}

// Engines names the profiles, in the order of [Trace.Engines].
func Engines() []string {
	var out []string
	for _, p := range profiles() {
		out = append(out, p.name)
	}
	return out
}

type profile struct {
	name, rule, source string
	run                bool
	judge              func(*Trace, *Verdict)
}

// profiles is what is known of each engine, as of 2026-11.
func profiles() []profile {
	return []profile{
		{"standalone", "any key may be touched", "Valkey 8.0.1", true, (*Trace).standalone},
		{"cluster", "the declared KEYS share one slot; a script without a #! line may touch other keys while the node owns their slot", "Valkey 8.0.1, cluster enabled", true, (*Trace).cluster},
		{"cluster-shebang", "with #!lua, every key touched lies in the slot of the declared keys, unless allow-cross-slot-keys is among its flags", "Valkey 8.0.1, cluster enabled; redis#10615", true, (*Trace).shebang},
		{"dragonfly", "every key touched is declared; --!df flags=allow-undeclared-keys or --default_lua_flags lift it, and with --lock_on_hashtags a declared {tag} covers all keys of that tag", "its scripting and BullMQ pages; dragonfly#3212, #3245", false, (*Trace).dragonfly},
		{"kvrocks-strict", "with lua-strict-key-accessing yes, every key touched is declared", "kvrocks#3139", false, (*Trace).declaredOnly},
		{"upstash-locking", "with #!lua flags=allow-key-locking, every key touched is declared; without the flag any, under a global lock", "its EVAL pages", false, (*Trace).declaredOnly},
		{"elasticache-serverless", "numkeys is at least 1, all keys lie in one slot, at most 3,999 arguments", "its best-practices page", false, (*Trace).elasticache},
		{"alibaba-proxy", "inside redis.call a key is written literally as KEYS[i]: no variable, no expression", "redis_rate#93, node-redlock#74", false, (*Trace).alibaba},
	}
}

// Engines gives the verdict of every profile.
func (t *Trace) Engines() []Verdict {
	var out []Verdict
	for _, p := range profiles() {
		v := Verdict{Engine: p.name, Verdict: OK, Reasons: []string{}, Rule: p.rule, Source: p.source, Date: "2026-11", Run: p.run}
		t.everywhere(&v)
		p.judge(t, &v)
		if len(t.Notes) > 0 && v.Verdict == OK {
			v.say(Depends, "a part of the script cannot be followed (line %d)", t.Notes[0].Line)
		}
		out = append(out, v)
	}
	return out
}

// say adds a reason; the worst answer stays.
func (v *Verdict) say(a Answer, format string, args ...any) {
	v.add(a, position{line: 1, col: 1}, fmt.Sprintf(format, args...))
}

// at is say with the step that is the reason.
func (v *Verdict) at(a Answer, s *Step, format string, args ...any) {
	v.add(a, position{s.at, s.Col}, fmt.Sprintf("line %d: ", s.Line)+fmt.Sprintf(format, args...))
}

func (v *Verdict) add(a Answer, at position, reason string) {
	reason = shown(reason)
	if v.Verdict != Refused {
		v.Verdict = a
	}
	if !slices.Contains(v.Reasons, reason) {
		v.Reasons = append(v.Reasons, reason)
		v.reasons = append(v.reasons, placedReason{at, a})
	}
}

// placedReason is where one of a verdict's Reasons stands in the text that
// was traced, and the answer it gives alone.
type placedReason struct {
	at     position
	answer Answer
}

type position struct{ line, col int }

// everywhere is what any server refuses.
func (t *Trace) everywhere(v *Verdict) {
	for i := range t.Steps {
		s := &t.Steps[i]
		switch {
		case s.Command == "?":
			v.at(Depends, s, "the command is computed")
		case s.spec == nil:
			v.at(Refused, s, "no server has the command %s", s.Command)
		case s.spec.Flags&scripts.NoScript != 0:
			v.at(Refused, s, "%s is not allowed inside a script", s.Command)
		case s.spec.Flags&scripts.Foreign != 0:
			v.at(Depends, s, "Valkey 8.0.1 does not have %s", s.Command)
		}
	}
	for _, f := range t.extra {
		if f.Kind == FindGlobalVariable {
			v.say(Refused, "line %d: %s", f.Line, f.Message)
		}
	}
	if t.Shebang == "" {
		return
	}
	flags, refused := t.shebangLine()
	if refused != "" {
		v.say(Refused, "%s", refused)
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; slices.Contains(flags, "no-writes") && s.replicates() {
			v.at(Refused, s, "%s writes, and the first line says no-writes", s.Command)
		}
	}
}

// replicates reports whether no-writes is in the way of a command: it writes,
// or may have to be replicated.
func (s *Step) replicates() bool {
	switch s.Command {
	case "PUBLISH", "SPUBLISH", "PFCOUNT":
		return true
	}
	return s.Write && s.spec != nil
}

// shebangFlags are what may follow flags=.
var shebangFlags = []string{"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"}

// shebangLine reads "#!lua flags=a,b", or "#!lua name=x" of a library of
// functions, as a server does; refused says why it would not load the script.
func (t *Trace) shebangLine() (flags []string, refused string) {
	words := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(t.Shebang, `"`, ""), "'", ""))
	if len(words) == 0 {
		return nil, ""
	}
	if words[0] != "#!lua" {
		return nil, fmt.Sprintf("the first line asks for the engine %q, want #!lua", strings.TrimPrefix(words[0], "#!"))
	}
	if len(t.source.text) == len(t.Shebang) {
		return nil, "the first line does not end, and a server wants a script behind it"
	}
	for _, w := range words[1:] {
		list, ok := strings.CutPrefix(w, "flags=")
		if name, isName := strings.CutPrefix(w, "name="); isName && name != "" && t.library {
			continue
		}
		if !ok {
			return flags, fmt.Sprintf("the first line has the option %q, and a server knows only flags=", w)
		}
		if list == "" {
			continue
		}
		for _, f := range strings.Split(list, ",") {
			if !slices.Contains(shebangFlags, f) {
				return flags, fmt.Sprintf("the first line has the flag %q, want %s", f, strings.Join(shebangFlags, ", "))
			}
			flags = append(flags, f)
		}
	}
	return flags, ""
}

// loading finds what makes a server refuse a script before it runs, or at
// every run.
func (j *judge) loading() {
	if j.t.Shebang == "" {
		return
	}
	flags, refused := j.t.shebangLine()
	if refused != "" {
		j.add(FindShebang, 1, 1, "%s", refused)
	}
	if !slices.Contains(flags, "no-writes") {
		return
	}
	for i := range j.t.Steps {
		if s := &j.t.Steps[i]; s.replicates() {
			j.at(s, FindShebang, "%s writes, and the first line says no-writes", s.Command)
		}
	}
}

func (t *Trace) standalone(*Verdict) {}

func (t *Trace) cluster(v *Verdict) {
	if t.Shebang != "" {
		t.shebang(v)
		return
	}
	t.declaredSlot(v)
	t.clusterCommands(v)
	t.unserved(v)
}

// unserved says which keys may lie in a slot that the node does not serve.
func (t *Trace) unserved(v *Verdict) {
	t.eachSlotted(func(s *Step, k Key) {
		if same, why := t.sameSlot(k); same != OK {
			v.at(Depends, s, "%s; the node must own its slot", why)
		}
	})
}

func (t *Trace) shebang(v *Verdict) {
	flags, _ := t.shebangLine()
	if slices.Contains(flags, "no-cluster") {
		v.say(Refused, "its first line says no-cluster")
	}
	t.declaredSlot(v)
	t.clusterCommands(v)
	if slices.Contains(flags, "allow-cross-slot-keys") {
		t.unserved(v)
		return
	}
	first := ""
	t.eachSlotted(func(s *Step, k Key) {
		if same, why := t.sameSlot(k); same != OK {
			v.at(same, s, "%s", why)
		}
		if k.Origin != Literal || k.Maybe || k.SortPattern {
			return
		}
		if first == "" {
			first = k.Pattern
		}
		if slot.Of(first) != slot.Of(k.Pattern) {
			v.at(Refused, s, "keys %q and %q lie in different slots", first, k.Pattern)
		}
	})
}

// eachSlotted calls f for every key and every channel that has a slot.
func (t *Trace) eachSlotted(f func(*Step, Key)) {
	for i := range t.Steps {
		for _, k := range t.Steps[i].Keys {
			if !k.SortPattern && (!k.Channel || t.Steps[i].Command == "SPUBLISH") {
				f(&t.Steps[i], k)
			}
		}
	}
}

// clusterCommands is what a server in a cluster refuses of any script: other
// databases, the patterns of SORT, and one command on keys of several slots.
func (t *Trace) clusterCommands(v *Verdict) {
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.spec == nil {
			continue
		}
		operand := func(n int) string {
			if n < len(s.literal) {
				return s.literal[n]
			}
			return ""
		}
		switch s.Command {
		case "SWAPDB", "MOVE":
			v.at(Refused, s, "%s is not allowed in cluster mode", s.Command)
		case "SELECT":
			if db := operand(0); db == "" {
				v.at(Depends, s, "SELECT of another database than 0 is not allowed in cluster mode")
			} else if db != "0" {
				v.at(Refused, s, "SELECT is not allowed in cluster mode")
			}
		case "COPY":
			for n := 2; n+1 < len(s.literal); n++ {
				if strings.EqualFold(s.literal[n], "DB") && operand(n+1) != "0" {
					v.at(Refused, s, "COPY to another database is not allowed in cluster mode")
				}
			}
		case "SORT", "SORT_RO":
			t.sortPatterns(v, s, operand)
		}
		first := ""
		for _, k := range s.Keys {
			if k.Origin != Literal || k.Maybe || k.Alternative || k.SortPattern || k.Channel {
				continue
			}
			if first == "" {
				first = k.Pattern
			}
			if slot.Of(first) != slot.Of(k.Pattern) {
				v.at(Refused, s, "keys %q and %q of one %s lie in different slots", first, k.Pattern, s.Command)
			}
		}
	}
}

// sortPatterns judges BY and GET: the keys they make must surely lie in the
// slot of the key that is sorted. GET is asked even without an asterisk.
func (t *Trace) sortPatterns(v *Verdict, s *Step, operand func(int) string) {
	for n := 1; n+1 < len(s.literal); n++ {
		if strings.EqualFold(operand(n), "GET") {
			if p := operand(n + 1); p != "" && !strings.Contains(p, "*") {
				t.sortPattern(v, s, Key{Origin: Literal, Pattern: p})
			}
			n++
		}
	}
	for _, k := range s.Keys {
		if k.SortPattern {
			t.sortPattern(v, s, k)
		}
	}
}

func (t *Trace) sortPattern(v *Verdict, s *Step, p Key) {
	before, _, _ := strings.Cut(p.Pattern, "*")
	tag := tagOf(before)
	switch sorted := s.Keys[0]; {
	case p.Origin == Literal && tag == "":
		v.at(Refused, s, "the pattern %q of %s has no hash tag, and is denied in cluster mode", p.Pattern, s.Command)
	case p.Origin == Literal && sorted.Origin == Literal && slot.Of(p.Pattern) != slot.Of(sorted.Pattern):
		v.at(Refused, s, "the pattern %q of %s lies in another slot than the key %q", p.Pattern, s.Command, sorted.Pattern)
	default:
		if same, why := t.sameSlot(p); same != OK {
			v.at(same, s, "a pattern of %s: %s", s.Command, why)
		}
	}
}

// eachKey calls f for every key, channels aside.
func (t *Trace) eachKey(f func(*Step, Key)) {
	for i := range t.Steps {
		for _, k := range t.Steps[i].Keys {
			if !k.Channel {
				f(&t.Steps[i], k)
			}
		}
	}
}

// declaredSlot asks whether the declared keys share a slot.
func (t *Trace) declaredSlot(v *Verdict) {
	if t.Verb == nil {
		read := map[int]bool{}
		for n, seen := range t.keysSeen {
			read[n] = seen
		}
		for _, u := range t.keyUses {
			read[u.n] = true
		}
		n := 0
		for _, seen := range read {
			if seen {
				n++
			}
		}
		if n > 1 || t.keysAll {
			v.say(Depends, "the KEYS of a call must share one slot, and nothing declares their hash tag")
		}
		return
	}
	tag := ""
	for _, k := range t.Verb.Keys {
		g := tagOf(k.Pattern)
		if g == "" {
			v.say(Depends, "KEYS[%d] (%s) is declared without a hash tag", k.N, k.Pattern)
		} else if tag == "" {
			tag = g
		} else if g != tag {
			v.say(Refused, "KEYS[%d] (%s) has another hash tag than {%s}", k.N, k.Pattern, tag)
		}
	}
}

// sameSlot tells whether a key surely lies in the slot of the declared keys.
func (t *Trace) sameSlot(k Key) (Answer, string) {
	declared := ""
	if t.Verb != nil {
		for _, d := range t.Verb.Keys {
			if g := tagOf(d.Pattern); g != "" {
				declared = g
				break
			}
		}
	}
	switch k.Origin {
	case Declared:
		return OK, ""
	case Literal:
		if declared != "" && tagOf(k.Pattern) != declared {
			return Refused, fmt.Sprintf("key %q is spelled out, and has not the hash tag of the declared keys", k.Pattern)
		}
		return Depends, fmt.Sprintf("key %q is spelled out and may lie in another slot", k.Pattern)
	case Data:
		return Depends, fmt.Sprintf("key %s comes out of a reply and may lie in another slot", k.Expr)
	case Unknown:
		return Depends, "nothing can be told of a key: " + k.Reason
	}
	r, _ := root(k.pieces)
	lead := k.pieces[0].kind == pLit && strings.Contains(k.pieces[0].text, "{")
	switch {
	case wrapped(k.pieces) && tagOf(t.pattern(k.pieces[1:2])) == "":
		return Depends, fmt.Sprintf("key %s lies in the slot of %s only when that has no hash tag of its own", k.Expr, exprOf(k.pieces[1:2]))
	case lead && declared != "" && tagOf(k.Pattern) != declared:
		return Depends, fmt.Sprintf("key %s has a hash tag of its own", k.Expr)
	case !lead && r.kind == pKeys && r.path == "":
		if t.Verb != nil && declared != "" {
			return OK, ""
		}
		return Depends, fmt.Sprintf("key %s lies in the slot of %s only when that has a hash tag", k.Expr, exprOf([]piece{r}))
	case !lead && r.kind == pArgv && r.path == "":
		if a := t.arg(r); a != nil && a.Base != "" && k.pieces[0] == r {
			return OK, ""
		}
	}
	return Depends, fmt.Sprintf("key %s is made from %s and may lie in another slot", k.Expr, t.sourceOf(r))
}

func (t *Trace) declaredOnly(v *Verdict) {
	t.eachKey(func(s *Step, k Key) {
		if k.Origin == Declared {
			return
		}
		what := "is not declared"
		switch k.Origin {
		case Derived:
			what = "is derived and not declared"
		case Unknown:
			v.at(Depends, s, "nothing can be told of the key of %s", s.Command)
			return
		}
		if k.Maybe {
			v.at(Depends, s, "%s may be a key that is not declared", k.Expr)
			return
		}
		v.at(Refused, s, "key %s %s", k.Pattern, what)
	})
}

func (t *Trace) dragonfly(v *Verdict) {
	for _, c := range t.source.comments {
		if strings.HasPrefix(c.text, "!df") && strings.Contains(c.text, "allow-undeclared-keys") {
			return
		}
	}
	before := v.Verdict
	t.declaredOnly(v)
	if before != Refused && v.Verdict == Refused {
		for _, s := range t.Steps {
			for _, k := range s.Keys {
				if same, _ := t.sameSlot(k); same != OK && !k.Channel {
					return
				}
			}
		}
		v.say(Refused, "all keys have the declared hash tag, so --lock_on_hashtags lifts it")
	}
}

func (t *Trace) elasticache(v *Verdict) {
	if n, _ := t.declaredKeys(); n == 0 && (t.Verb != nil || len(t.keyUses) == 0) {
		v.say(Refused, "no key is declared, and numkeys must be at least 1")
	} else if t.Verb == nil && len(t.keyUses) == 0 && !t.keysAll {
		v.say(Refused, "the script uses no KEYS, and numkeys must be at least 1")
	}
	t.shebangless(v)
	if t.Verb != nil {
		for _, k := range t.Verb.Keys {
			if k.Repeated {
				v.say(Depends, "KEYS[%d] repeats, and a call has at most 3,999 arguments", k.N)
			}
		}
		for _, a := range t.Verb.Args {
			if a.Repeated {
				v.say(Depends, "ARGV[%d] repeats, and a call has at most 3,999 arguments", a.N)
			}
		}
	}
}

func (t *Trace) shebangless(v *Verdict) {
	t.declaredSlot(v)
	t.clusterCommands(v)
	t.eachSlotted(func(s *Step, k Key) {
		if same, why := t.sameSlot(k); same != OK {
			v.at(same, s, "%s", why)
		}
	})
}

var plainKEYS = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^KEYS\[[0-9]+\]$`) })

func (t *Trace) alibaba(v *Verdict) {
	t.eachKey(func(s *Step, k Key) {
		src := k.Source
		if src == "" {
			src = k.Expr
		}
		switch {
		case plainKEYS().MatchString(src):
		case strings.HasPrefix(src, "KEYS[") && k.Origin == Declared:
			v.at(Depends, s, "the index of %s is not a number", src)
		case k.Maybe:
			v.at(Depends, s, "%s may be a key", src)
		default:
			v.at(Refused, s, "%s writes its key as %s, want KEYS[i]", s.Command, src)
		}
	})
}
