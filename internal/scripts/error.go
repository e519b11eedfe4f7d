package scripts

import "fmt"

// Kind is what is wrong with a header, in a word.
type Kind string

// The kinds of [Error].
const (
	KindMissing   Kind = "missing"   // no header, or no script at all
	KindSyntax    Kind = "syntax"    // a line that is no line of a header
	KindSummary   Kind = "summary"   // a first line without its sentence
	KindEntry     Kind = "entry"     // an entry that does not exist, or is missing
	KindOrder     Kind = "order"     // an entry after one that it should precede
	KindColumns   Kind = "columns"   // too few or too many
	KindNumber    Kind = "number"    // KEYS[n] or ARGV[n] out of turn
	KindName      Kind = "name"      // no word, or not the file's
	KindDuplicate Kind = "duplicate" // said before
	KindStore     Kind = "store"     // an unknown store type
	KindPattern   Kind = "pattern"   // no key pattern
	KindMark      Kind = "mark"      // an unknown mark or form
	KindClass     Kind = "class"     // a refusal without its class
)

// Error tells where a script departs from the header's grammar.
type Error struct {
	Path string
	Line int // from 1; 0 when it is about no line
	Col  int // from 1, in bytes
	Kind Kind
	Msg  string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Col, e.Msg)
}
