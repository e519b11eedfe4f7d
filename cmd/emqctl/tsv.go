package main

import "github.com/echomq/emqctl/internal/escape"

// The columns of tsv: one record a line, a tab between two values, - for what
// is absent.

// appendCell appends a value of bytes, after a tab unless it is the first.
// plain says that s is known to need no escapes.
func appendCell(dst []byte, s string, plain bool) []byte {
	switch {
	case s == "-":
		return append(dst, `\x2d`...)
	case plain:
		return append(dst, s...)
	}
	return escape.Append(dst, s)
}

// appendOptional is appendCell, or - when the value is absent.
func appendOptional(dst []byte, s string, present, plain bool) []byte {
	if !present {
		return append(dst, '-')
	}
	return appendCell(dst, s, plain)
}
