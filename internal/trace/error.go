package trace

import "fmt"

// Kind says what is wrong with a script that cannot be traced.
type Kind string

// The kinds of an [Error].
const (
	KindSyntax  Kind = "syntax"  // not Lua 5.1
	KindNesting Kind = "nesting" // nested deeper than a server's parser goes
	KindSize    Kind = "size"    // longer than MaxSource
	KindInclude Kind = "include" // an included file is missing or includes itself
)

// Error is the one error type of this package: a script that is not Lua 5.1,
// or beyond its bounds. 0 <= Off <= len(source); Line and Col count from 1,
// Col in bytes.
type Error struct {
	Kind Kind   `json:"kind"`
	Path string `json:"path,omitempty"`
	Off  int    `json:"offset"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
	Msg  string `json:"message"`
}

func (e *Error) Error() string {
	if e.Path != "" {
		return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Col, e.Msg)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Col, e.Msg)
}
