package main

import "errors"

// The exit codes. Nothing else in the program knows a number.
const (
	codeOK          = 0
	codeNo          = 1
	codeFailed      = 2
	codeInterrupted = 130
)

// exitCodes is what help and the documents say of them.
var exitCodes = []struct {
	code          int
	about, detail string
}{
	{codeOK, "looked, and all is well", ""},
	{codeNo, "looked, and the answer is no", "malformed, refused, a finding, keys that do not share a slot"},
	{codeFailed, "could not look, or could not do", "usage, an unreadable file, an unreachable server, a bug"},
	{codeInterrupted, "interrupted", ""},
}

var (
	// errNo ends a command whose answer, already written, is no.
	errNo = errors.New("the answer is no")
	// errUndone ends a command whose answer, already written, is that it could
	// not do what was asked.
	errUndone = errors.New("not done")
	// errInterrupted ends a command that a signal stopped.
	errInterrupted = errors.New("interrupted")
)

// usageError is a command line that cannot be meant.
type usageError struct {
	msg  string
	hint string
	help bool // show the command's help as well
}

func (e *usageError) Error() string { return e.msg }

// codeOf returns the exit code that an error stands for.
func codeOf(err error) int {
	switch {
	case err == nil:
		return codeOK
	case errors.Is(err, errNo):
		return codeNo
	case errors.Is(err, errInterrupted):
		return codeInterrupted
	}
	return codeFailed
}
