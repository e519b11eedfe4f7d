package embedded

import "fmt"

// Kind says why a call cannot be rehearsed.
type Kind string

// The kinds of [Error].
const (
	KindForeign Kind = "foreign" // a script that emqctl does not carry
	KindNative  Kind = "native"  // a verb that has no native command
	KindStopped Kind = "stopped" // the context ended
	KindServer  Kind = "server"  // an error of the store's own, before anything was written
	KindPartial Kind = "partial" // the same, after something may have been
	KindReply   Kind = "reply"   // miniredis answered with no reply at all
)

// Error is a call that the store did not run.
type Error struct {
	Kind Kind
	Msg  string
}

func (e *Error) Error() string { return e.Msg }

func errorf(kind Kind, format string, args ...any) *Error {
	return &Error{kind, fmt.Sprintf(format, args...)}
}
