package decode

import (
	"fmt"
	"strings"
	"time"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/escape"
)

// Hint guesses what somebody meant by a key that Parse refuses with err, and
// returns a phrase to show beside the error, or "".
func Hint(key string, err error, now time.Time) string {
	e, ok := err.(*Error)
	if !ok {
		return ""
	}
	if t := strings.Trim(key, " \t\r\n'\"`"); t != key {
		if _, err := Parse(t); err == nil {
			return fmt.Sprintf("a quote or blank was pasted with %s", escape.String(t))
		}
	}
	if strings.HasPrefix(key, "\ufeff") {
		return "a byte order mark stands before the key"
	}
	switch e.Kind {
	case KindName:
		for _, info := range types {
			if e.typ != "" && strings.HasPrefix(info.Pattern, e.typ+":<") {
				return "did you mean " + info.Word + "?"
			}
		}
	case KindPrefix:
		if strings.EqualFold(key[:min(len(key), 4)], "emq:") || strings.EqualFold(key[:min(len(key), 6)], reservePrefix) {
			return "the prefix is lower case"
		}
		if _, err := brandedid.Parse(key); err == nil {
			return "that is an id, not a key: decode-id reads it"
		}
	case KindBraces:
		return bracesHint(key)
	case KindEmptyQueue:
		return "an empty template variable? Such keys share no slot, and no script can use two of them in a cluster"
	case KindSeparator:
		if i := strings.LastIndex(key, queueClose); i > e.Off {
			return fmt.Sprintf("a queue name cannot hold a '}': the tag here is %s", escape.Quote(key[len(queuePrefix):e.Off-1]))
		}
	case KindType:
		return "the reserve holds " + reserveWords()
	case Kind(brandedid.Length), Kind(brandedid.Namespace), Kind(brandedid.Charset), Kind(brandedid.Range):
		return idHint(e, now)
	}
	return ""
}

// idHint is the hint on a bad id, with the lesson that the wire looks at
// three bytes only.
func idHint(e *Error, now time.Time) string {
	id := e.id.Input()
	hint := brandedid.Hint(id, now)
	if hint == "" && brandedid.WireAdmits(id) {
		return "only the host refuses it: the wire reads three bytes, and they are JOB"
	}
	return hint
}

// bracesHint handles the ways in which the braces of emq:{quotes}:pending
// get lost.
func bracesHint(key string) string {
	const general = "a key is emq:{<queue>}:<type>"
	rest := key[len(queuePrefix)-1:]
	if strings.HasPrefix(rest, "{") {
		if queue, after, ok := strings.Cut(rest[1:], ":"); ok && queue != "" {
			return "write " + escape.String(QueueKey(queue, after))
		}
		return general
	}
	queue, after, ok := strings.Cut(rest, ":")
	if !ok {
		return general
	}
	for _, pair := range []string{"<>", "()", "[]"} {
		if strings.HasPrefix(queue, pair[:1]) && strings.HasSuffix(queue, pair[1:]) && len(queue) > 2 {
			return fmt.Sprintf("the queue stands between { and }, not %s and %s: %s",
				pair[:1], pair[1:], escape.String(QueueKey(queue[1:len(queue)-1], after)))
		}
	}
	if queue == "" || CheckQueue(queue) != nil {
		return general
	}
	return fmt.Sprintf("were the braces lost in the shell? Quote the key: '%s'", escape.String(QueueKey(queue, after)))
}

func reserveWords() string {
	var words []string
	for _, info := range types {
		if info.Space == Reserve {
			words = append(words, info.Pattern)
		}
	}
	return strings.Join(words, ", ")
}
