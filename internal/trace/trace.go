package trace

import (
	"slices"

	"github.com/echomq/emqctl/internal/scripts"
)

// Origin says where a key comes from.
type Origin string

// The five origins.
const (
	Declared Origin = "declared" // KEYS[n] as it is
	Derived  Origin = "derived"  // put together in the script, or passed in ARGV
	Data     Origin = "data"     // a whole key out of a reply
	Literal  Origin = "literal"  // spelled out in the script
	Unknown  Origin = "unknown"  // not to be told; Reason says why
)

// Key is a key that a step touches, as far as it can be told.
type Key struct {
	Arg     int      `json:"arg"` // which argument of the command, from 1
	Origin  Origin   `json:"origin"`
	Expr    string   `json:"expr"`             // what it is made of: KEYS[1] .. ':logs'
	Pattern string   `json:"pattern"`          // emq:{q}:job:<id>:logs
	Bound   string   `json:"key,omitempty"`    // the real key, when the host has bound the pattern
	Source  string   `json:"source,omitempty"` // the argument as the script spells it, when that differs from Expr
	From    []string `json:"from,omitempty"`   // what a derived key is made from, its root first
	Reason  string   `json:"reason,omitempty"` // why an origin is unknown

	Access      scripts.Access `json:"-"`
	Many        bool           `json:"many,omitempty"`        // any number of keys of this shape
	Alternative bool           `json:"alternative,omitempty"` // one of several keys for this argument
	Maybe       bool           `json:"maybe,omitempty"`       // a key, or an argument that is none
	Channel     bool           `json:"channel,omitempty"`     // a Pub/Sub channel and no key
	SortPattern bool           `json:"sort_pattern,omitempty"`

	N      int `json:"-"` // n of a declared KEYS[n]; 0 when the index is not fixed
	pieces []piece

	sometimes bool // Maybe, and surely a key in some way of the call, or some of Many are
}

// Step is one store command.
type Step struct {
	N       int      `json:"n"`
	File    string   `json:"file,omitempty"` // the included file that Line is of
	Line    int      `json:"line"`
	Col     int      `json:"col"`
	Command string   `json:"command"` // in capitals; "?" when it is computed
	Write   bool     `json:"write"`
	Keys    []Key    `json:"keys"`
	When    []string `json:"when"`              // the conditions it stands under, outermost first
	Loop    []string `json:"loop"`              // the loops it stands in, outermost first
	Guards  []string `json:"guards,omitempty"`  // what must have held for the script not to end before it
	Via     []int    `json:"via,omitempty"`     // lines of the calls of local functions that lead to it
	Pcall   bool     `json:"pcall,omitempty"`   // an error of it does not end the script
	Unknown string   `json:"unknown,omitempty"` // why the command is not known; a server raises

	at      int // Line in the text that was traced
	access  scripts.Access
	literal []string // the operands, "" when not known byte for byte
	spec    *scripts.Command
}

// Operands returns what follows the command, one string an argument: "" for
// what is not known byte for byte.
func (s *Step) Operands() []string { return slices.Clone(s.literal) }

// DerivedKey is one pattern of derived keys, and what they are made from.
type DerivedKey struct {
	Pattern string   `json:"pattern"`
	From    []string `json:"from"`
	Channel bool     `json:"channel,omitempty"`
}

// Reply is a value the script returns, as it spells it.
type Reply struct {
	Value   string `json:"value"`
	Literal bool   `json:"literal"` // the same for every call
	Line    int    `json:"line"`
	Col     int    `json:"col"`
}

// Refusal is an error reply found in the body.
type Refusal struct {
	Class   string `json:"class"`
	Text    string `json:"text"`
	Literal bool   `json:"literal"`
	Raised  bool   `json:"raised"` // by error(...): a server puts its own class word first
	Line    int    `json:"line"`
	Col     int    `json:"col"`
}

// Note says what the walk could not follow. Keys that are touched there may
// be missing from the trace.
type Note struct {
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	Message string `json:"message"`
}

// Trace is what a script does to the store.
type Trace struct {
	Path     string       `json:"path,omitempty"`
	Steps    []Step       `json:"steps"`
	Derived  []DerivedKey `json:"derived"`
	Replies  []Reply      `json:"replies"`
	Refusals []Refusal    `json:"refused"`
	Notes    []Note       `json:"notes,omitempty"`
	// Body is the steps as the tree of branches and loops they stand in.
	Body *Block `json:"-"`
	// Verb is the contract the trace was read against; nil without one.
	Verb *scripts.Verb `json:"-"`
	// Shebang is the script's #! line, "" without one.
	Shebang string `json:"-"`

	included *Included
	library  bool // it registers functions
	source   *source
	extra    []Finding // found on the walk
	keysSeen map[int]bool
	keysAll  bool
	keyUses  []keyUse
	argUses  []keyUse
	place    map[string]int // of each pattern in Derived
}

// keyUse is a KEYS index that the script reads.
type keyUse struct {
	n         int
	line, col int
}

// BlockKind is what a [Block] is.
type BlockKind string

// The kinds of blocks. A step, return, break and raise have no blocks inside.
const (
	BlockSeq     BlockKind = "seq"    // one after the other
	BlockStep    BlockKind = "step"   // a store command
	BlockBranch  BlockKind = "branch" // one of them; each is an arm
	BlockArm     BlockKind = "arm"    // a sequence under the condition Text
	BlockLoop    BlockKind = "loop"   // any number of times
	BlockOnce    BlockKind = "once"   // a loop written out pass by pass; break leaves it
	BlockPass    BlockKind = "pass"   // one pass of such a loop
	BlockCall    BlockKind = "call"   // a local function, inlined; return leaves it
	BlockTry     BlockKind = "try"    // pcall: an error anywhere leaves it
	BlockReturn  BlockKind = "return"
	BlockBreak   BlockKind = "break"
	BlockRaise   BlockKind = "raise"   // error(...)
	BlockRefusal BlockKind = "refusal" // where an error reply is made
	BlockAgain   BlockKind = "again"   // a recursive call: back to the start of Target
)

// Block is a node of the tree of steps.
type Block struct {
	Kind   BlockKind
	Text   string // the condition of an arm, the head of a loop, the name of a call
	Line   int
	Col    int
	Blocks []*Block
	Step   *Step
	Ends   bool   // of an arm: what follows the branch is not reached from it
	Once   bool   // of a loop: it runs at least one time
	Target *Block // of again: the call it goes back to
}

// Script is what is to be traced.
type Script struct {
	Path string
	Text string
	// Verb is the contract that the script's header declares, if it has one.
	Verb *scripts.Verb
	// Included says which files the lines of Text came from; nil for one file.
	Included *Included
}

// Of traces a script. It returns no error but an *[Error]. The script is
// never run.
func Of(s Script) (*Trace, error) {
	src, err := scan(s.Text)
	if err != nil {
		return nil, s.locate(err)
	}
	stmts, err := src.parse()
	if err == nil {
		err = src.limits(stmts)
	}
	if err != nil {
		return nil, s.locate(err)
	}
	t := &Trace{Path: s.Path, Verb: s.Verb, Shebang: src.shebang, included: s.Included, source: src, keysSeen: map[int]bool{}}
	w := newWalker(t, src)
	w.main(stmts)
	t.Body = w.body
	t.flatten(w.steps)
	return t, nil
}

// locate puts an error where it stands in the files of the script.
func (s Script) locate(e *Error) *Error {
	e.Path = s.Path
	if s.Included != nil {
		if p, line := s.Included.At(e.Line); p != "" {
			e.Path, e.Line = p, line
		}
	}
	return e
}

// flatten numbers the steps and gives each its conditions and loops.
func (t *Trace) flatten(steps int) {
	t.Steps = make([]Step, 0, min(steps, maxSteps))
	t.Derived = []DerivedKey{}
	t.place = map[string]int{}
	var when, loop, guards []string
	var via []int
	var walk func(b *Block)
	walk = func(b *Block) {
		nw, nl, nv, ng := len(when), len(loop), len(via), len(guards)
		switch b.Kind {
		case BlockStep:
			s := b.Step
			s.N = len(t.Steps) + 1
			s.When = append([]string{}, when...)
			s.Loop = append([]string{}, loop...)
			s.Guards = append([]string(nil), guards...)
			s.Via = append([]int(nil), via...)
			t.Steps = append(t.Steps, *s)
			if p, line := t.included.At(s.Line); p != "" && p != t.Path {
				t.Steps[s.N-1].File, t.Steps[s.N-1].Line = p, line
			} else if p != "" {
				t.Steps[s.N-1].Line = line
			}
			for _, k := range s.Keys {
				t.derive(k)
			}
		case BlockArm:
			if b.Text != "" {
				when = append(when, b.Text)
			}
		case BlockLoop:
			loop = append(loop, b.Text)
		case BlockPass:
			if b.Text != "" {
				loop = append(loop, b.Text)
			}
		case BlockCall:
			via = append(via, b.Line)
		}
		for _, c := range b.Blocks {
			walk(c)
			if g := guard(c); g != "" {
				guards = append(guards, g)
			}
		}
		when, loop, via, guards = when[:nw], loop[:nl], via[:nv], guards[:ng]
	}
	walk(t.Body)
}

// guard is the condition that holds behind a branch of which only one arm
// goes on.
func guard(b *Block) string {
	if b.Kind != BlockBranch {
		return ""
	}
	text, live := "", 0
	for _, a := range b.Blocks {
		if !a.Ends {
			text = a.Text
			live++
		}
	}
	if live != 1 || len(b.Blocks) < 2 {
		return ""
	}
	return text
}

func (t *Trace) derive(k Key) {
	if k.Origin != Derived {
		return
	}
	if i, ok := t.place[k.Pattern]; ok {
		d := &t.Derived[i]
		if len(d.From) < maxAlts {
			for _, f := range k.From {
				d.From = appendNew(d.From, f)
			}
		}
		return
	}
	t.place[k.Pattern] = len(t.Derived)
	t.Derived = append(t.Derived, DerivedKey{k.Pattern, append([]string(nil), k.From...), k.Channel})
}
