package trace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/echomq/emqctl/internal/scripts"
)

// Observed is a command that a server was seen to run.
type Observed struct {
	Name string
	Args []string // after the name
}

func (o Observed) String() string {
	return strings.Join(append([]string{o.Name}, o.Args...), " ")
}

// Matches reports whether an actual key is one that k stands for, in a call
// with these KEYS and ARGV. What a reply put into the key may be anything.
func (k Key) Matches(actual string, keys, argv []string) bool {
	if len(k.pieces) == 0 {
		return k.Origin == Unknown || actual == ""
	}
	return match(k.pieces, actual, keys, argv)
}

// match follows, piece by piece, the set of places that may be reached in s.
func match(ps []piece, s string, keys, argv []string) bool {
	at := make([]bool, len(s)+1)
	at[0] = true
	for _, p := range ps {
		next := make([]bool, len(s)+1)
		step := func(word string) {
			for i, ok := range at {
				if ok && strings.HasPrefix(s[i:], word) {
					next[i+len(word)] = true
				}
			}
		}
		words, exact := p.words(keys, argv)
		for _, w := range words {
			step(w)
		}
		if !exact {
			reached := false
			for i := range at {
				reached = reached || at[i]
				next[i] = reached
			}
		}
		at = next
	}
	return at[len(s)]
}

// words are the bytes a piece can be in one call; exact is false when they
// could be any.
func (p piece) words(keys, argv []string) (words []string, exact bool) {
	if p.kind == pLit {
		return []string{p.text}, true
	}
	from := keys
	switch {
	case p.path != "" || p.kind != pKeys && p.kind != pArgv:
		return nil, false
	case p.kind == pArgv:
		from = argv
	}
	lo, hi := p.n, p.n
	if p.n == 0 {
		lo, hi = max(p.from, 1), len(from)
		if p.to > 0 {
			hi = min(hi, p.to)
		}
	}
	if lo > len(from) {
		return nil, true
	}
	return from[lo-1 : min(hi, len(from))], true
}

// Covers returns the keys of an observed command that no key of the step
// stands for; none when the step predicts the command.
func (s *Step) Covers(o Observed, keys, argv []string) (missed []string, same bool) {
	name, _, _ := strings.Cut(s.Command, " ")
	if s.Command != "?" && !strings.EqualFold(name, o.Name) {
		return nil, false
	}
	ops := make([]scripts.Operand, len(o.Args))
	for i, a := range o.Args {
		ops[i] = scripts.Operand{Text: a, Known: true}
	}
	c := scripts.LookupCommand(o.Name, ops)
	if c == nil {
		return nil, true
	}
	if strings.Contains(s.Command, " ") && !strings.EqualFold(strings.ReplaceAll(c.Name, "|", " "), s.Command) {
		return nil, false
	}
	many := len(o.Args) + 1
	for _, k := range s.Keys {
		if k.Many {
			many = min(many, k.Arg)
		}
	}
	for _, u := range c.Keys(ops) {
		if u.Pattern {
			continue
		}
		ok := false
		for _, k := range s.Keys {
			// Behind an argument that stands for many, places are not told.
			if k.Arg != u.Arg+1 && !(u.Arg+1 >= many && k.Arg >= many) && s.Command != "?" {
				continue
			}
			if k.Matches(o.Args[u.Arg], keys, argv) {
				ok = true
				break
			}
		}
		if !ok {
			missed = append(missed, o.Args[u.Arg])
		}
	}
	return missed, true
}

// Allows reports whether the commands that a server ran for one call, in
// order, are a path through the trace: every command is predicted where it
// stands, each key is one that the step stands for, loops go round any number
// of times, of a branch one arm is taken, and the script ends where it may.
func (t *Trace) Allows(observed []Observed, keys, argv []string) error {
	return t.allows(observed, keys, argv, true)
}

// AllowsPrefix is [Trace.Allows] for a call that an error ended early.
func (t *Trace) AllowsPrefix(observed []Observed, keys, argv []string) error {
	return t.allows(observed, keys, argv, false)
}

func (t *Trace) allows(observed []Observed, keys, argv []string, whole bool) error {
	m := compile(t.Body)
	now := m.closure([]int{m.start})
	for i, o := range observed {
		var next []int
		var near []string
		var want []string
		for _, st := range now {
			s := m.states[st].step
			if s == nil {
				continue
			}
			want = append(want, fmt.Sprintf("%s of line %d", s.Command, s.Line))
			missed, same := s.Covers(o, keys, argv)
			if same && len(missed) == 0 {
				next = append(next, m.states[st].next...)
			} else if same {
				near = append(near, fmt.Sprintf("line %d has no key for %q", s.Line, missed))
			}
		}
		if len(next) == 0 {
			what := "the end"
			if len(near) > 0 {
				what = strings.Join(near, "; ")
			} else if len(want) > 0 {
				what = strings.Join(uniq(want), ", ")
			}
			return fmt.Errorf("command %d, %q, is not predicted there: want %s", i+1, o.String(), what)
		}
		now = m.closure(next)
	}
	if !whole {
		return nil
	}
	for _, st := range now {
		if st == m.end {
			return nil
		}
	}
	var want []string
	for _, st := range now {
		if s := m.states[st].step; s != nil {
			want = append(want, fmt.Sprintf("%s of line %d", s.Command, s.Line))
		}
	}
	return fmt.Errorf("after command %d the script cannot end: want %s", len(observed), strings.Join(uniq(want), ", "))
}

func uniq(in []string) []string {
	var out []string
	for _, s := range in {
		dup := false
		for _, o := range out {
			dup = dup || o == s
		}
		if !dup {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// machine is the tree as an automaton: a state with a step reads one command,
// the others pass freely.
type machine struct {
	states     []mstate
	start, end int
	entry      map[*Block]int // of calls
	after      map[*Block]int
}

type mstate struct {
	step *Step
	next []int
}

type targets struct{ ret, brk, raise int }

func compile(b *Block) *machine {
	m := &machine{entry: map[*Block]int{}, after: map[*Block]int{}}
	m.end = m.state(nil)
	m.start = m.build(b, m.end, targets{m.end, m.end, m.end}, false)
	return m
}

func (m *machine) state(s *Step, next ...int) int {
	m.states = append(m.states, mstate{s, next})
	return len(m.states) - 1
}

// build returns the state that runs b and goes on to next.
func (m *machine) build(b *Block, next int, to targets, try bool) int {
	switch b.Kind {
	case BlockStep:
		s := m.state(b.Step, next)
		if try {
			// An error of this command leaves the pcall.
			m.states[s].next = append(m.states[s].next, to.raise)
		}
		return s
	case BlockReturn:
		return to.ret
	case BlockBreak:
		return to.brk
	case BlockRaise:
		if try {
			return m.state(nil, to.raise, next)
		}
		return to.raise
	case BlockRefusal:
		return next
	case BlockBranch:
		s := m.state(nil)
		for _, a := range b.Blocks {
			n := m.build(a, next, to, try)
			m.states[s].next = append(m.states[s].next, n)
		}
		return s
	case BlockLoop:
		head := m.state(nil)
		in := to
		in.brk = next
		body := m.seq(b.Blocks, head, in, try)
		m.states[head].next = []int{body, next}
		if b.Once {
			return body
		}
		return head
	case BlockOnce:
		in := to
		in.brk = next
		return m.seq(b.Blocks, next, in, try)
	case BlockCall:
		in := to
		out := m.state(nil, next)
		in.ret = out
		m.after[b] = out
		door := m.state(nil)
		m.entry[b] = door
		body := m.seq(b.Blocks, out, in, try)
		m.states[door].next = []int{body}
		return door
	case BlockTry:
		in := to
		in.raise = next
		return m.seq(b.Blocks, next, in, true)
	case BlockAgain:
		// The inner call ends where the outer does, and the rest of the outer
		// may follow any number of times.
		if door, ok := m.entry[b.Target]; ok {
			after := m.after[b.Target]
			m.states[after].next = append(m.states[after].next, next)
			return m.state(nil, door, next)
		}
		return next
	}
	return m.seq(b.Blocks, next, to, try)
}

func (m *machine) seq(bs []*Block, next int, to targets, try bool) int {
	for i := len(bs) - 1; i >= 0; i-- {
		next = m.build(bs[i], next, to, try)
	}
	return next
}

// closure is every state that can be reached without reading a command.
func (m *machine) closure(from []int) []int {
	seen := make([]bool, len(m.states))
	var out []int
	stack := append([]int(nil), from...)
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		out = append(out, s)
		if m.states[s].step == nil {
			stack = append(stack, m.states[s].next...)
		}
	}
	return out
}
