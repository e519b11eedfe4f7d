package decode

import (
	"fmt"
	"strings"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/escape"
)

// Kind names the rule that a key breaks. At a job position the kinds of
// package brandedid appear as well.
type Kind string

// The kinds of a key that breaks the grammar, in the order in which they are
// tried, and two of a key that cannot be built.
const (
	KindPrefix     Kind = "prefix"
	KindBraces     Kind = "braces"
	KindEmptyQueue Kind = "empty-queue"
	KindSeparator  Kind = "separator"
	KindType       Kind = "type"

	KindQueue Kind = "queue"
	KindName  Kind = "name"
)

// KindInfo is a kind with what it stands for.
type KindInfo struct {
	Kind  string
	About string
}

// Kinds returns all kinds of [Error], with the kinds of an id at a job
// position.
func Kinds() []KindInfo {
	return []KindInfo{
		{string(KindPrefix), "neither emq: nor {emq}: at the start"},
		{string(KindBraces), "no brace pair after emq:"},
		{string(KindEmptyQueue), "nothing between the braces"},
		{string(KindSeparator), "no : after the closing brace"},
		{string(KindType), "nothing after {emq}:"},
		{string(brandedid.Length), "an id that is not 14 bytes"},
		{string(brandedid.Namespace), "an id whose namespace is not three letters A-Z"},
		{string(brandedid.Charset), "an id with a byte that is no base62 digit"},
		{string(brandedid.Range), "an id beyond 2^63-1"},
		{string(KindQueue), "a name that no queue may be written under"},
		{string(KindName), "a name that the type's pattern cannot hold"},
	}
}

// Error says which rule a key breaks, and at which byte.
type Error struct {
	Kind Kind
	// Off is the offset of the first wrong byte in what was parsed or built
	// from, 0 to its length.
	Off int

	input string
	want  string           // for KindName
	typ   string           // for KindName: the pattern that takes no name
	id    *brandedid.Error // for the kinds of an id
}

func prefixError(key string) *Error {
	want := queuePrefix[:len(queuePrefix)-1]
	if strings.HasPrefix(key, "{") {
		want = reservePrefix
	}
	n := 0
	for n < len(key) && n < len(want) && key[n] == want[n] {
		n++
	}
	if n == len(want) {
		return &Error{Kind: KindBraces, Off: n, input: key}
	}
	return &Error{Kind: KindPrefix, Off: n, input: key}
}

// idError is the error of an id that stands at off in input.
func idError(input string, off int, err *brandedid.Error) *Error {
	return &Error{Kind: Kind(err.Kind), Off: off + err.Off, input: input, id: err}
}

// Unwrap returns the error of the id at a job position, or nil.
func (e *Error) Unwrap() error {
	if e.id == nil {
		return nil
	}
	return e.id
}

// Error returns what was found and what was wanted.
func (e *Error) Error() string {
	found := "the end"
	if e.Off < len(e.input) {
		found = escape.Byte(e.input[e.Off])
	}
	switch e.Kind {
	case KindPrefix:
		return fmt.Sprintf("found %s, want a key that opens with emq:{ or {emq}:", found)
	case KindBraces:
		if found == "'{'" {
			return "found a '{' that is never closed, want the queue between braces"
		}
		return fmt.Sprintf("found %s, want '{': the queue stands between braces", found)
	case KindEmptyQueue:
		return "found {}, want a queue between the braces: without one a key has no hash tag"
	case KindSeparator:
		return fmt.Sprintf("found %s, want ':' after the queue's closing brace", found)
	case KindType:
		return "found the end, want a type after {emq}:"
	case KindQueue:
		if e.input == "" {
			return "found an empty queue name, want at least one byte"
		}
		return fmt.Sprintf("found %s, want a queue name without braces and NUL", found)
	case KindName:
		if e.input == "" {
			return "found nothing, want " + e.want
		}
		return fmt.Sprintf("found the name %s, want %s", escape.Quote(e.input), e.want)
	}
	return e.id.Error()
}
