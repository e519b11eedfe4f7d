// Package executor has the words in which a verb is handed to a store and the
// store's answer comes back, whichever store it is: a live server or the
// embedded one of a rehearsal.
package executor

import "github.com/echomq/emqctl/internal/scripts"

// Call is one verb to run.
type Call struct {
	Verb *scripts.Verb
	// Native asks for the server's own command, EMQ.ENQUEUE, instead of the
	// script. It exists for the verb enqueue only.
	Native bool
	Keys   []string // KEYS[]
	Args   []string // ARGV[]
}

// State says how far a call came.
type State string

const (
	// Replied: the verb ran and replied; Reply has its reply.
	Replied State = "replied"
	// Refused: the verb, or the server on its behalf, answered with an error;
	// nothing was written. Text has the error, class word first.
	Refused State = "refused"
	// Failed: the call surely never reached a server that could run it.
	Failed State = "failed"
	// Unknown: it was sent and no reply came. It may or may not have run.
	Unknown State = "unknown"
)

// Outcome is the answer to a Call.
type Outcome struct {
	State State
	Reply any    // int64, string, nil or []any of these, when Replied
	Text  string // the server's error, when Refused
	Err   error  // what went wrong in plain words, when Failed or Unknown
}
