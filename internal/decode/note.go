package decode

import (
	"fmt"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/escape"
)

// Note reports what a key that follows the grammar breaks besides, or what a
// reader of it should know.
type Note struct {
	Kind NoteKind
	Off  int // in the key
	Msg  string
}

// NoteKind names what a Note is about.
type NoteKind string

// The kinds of notes.
const (
	NoteUnregistered  NoteKind = "unregistered-type"
	NoteQueueName     NoteKind = "queue-name"
	NoteReservedQueue NoteKind = "reserved-queue"
	NoteWireRefused   NoteKind = "wire-refused"
	NoteFuture        NoteKind = "future"
	NoteEmptyName     NoteKind = "empty-name"
	NoteAmbiguous     NoteKind = "ambiguous"
)

// NoteKinds returns all kinds of [Note] with what each stands for.
func NoteKinds() []KindInfo {
	return []KindInfo{
		{string(NoteUnregistered), "a suffix of no registered pattern"},
		{string(NoteQueueName), "a queue name that breaks a published rule"},
		{string(NoteReservedQueue), "the queue emq, on the slot of the reserve"},
		{string(NoteWireRefused), "a job's id that the wire does not admit"},
		{string(NoteFuture), "an id minted after now"},
		{string(NoteEmptyName), "a name that is empty"},
		{string(NoteAmbiguous), "two readings that only the store's TYPE tells apart"},
	}
}

// Notes returns the notes on a key that Parse took, by offset.
func (k *Key) Notes(now time.Time) []Note {
	future := k.HasID() && k.ID.UnixMilli() > now.UnixMilli()
	if !future && k.unremarkable() {
		return nil
	}
	var notes []Note
	add := func(kind NoteKind, off int, format string, args ...any) {
		notes = append(notes, Note{kind, off, fmt.Sprintf(format, args...)})
	}
	start := len(reservePrefix)
	if k.Space == Queue {
		start = len(queuePrefix) + len(k.Queue) + len(queueClose)
		if k.Queue == reservedQueue {
			add(NoteReservedQueue, len(queuePrefix), "the queue emq shares slot and tag with the reserve, {emq}:")
		} else if i := strings.IndexAny(k.Queue, "{\x00"); i >= 0 {
			add(NoteQueueName, len(queuePrefix)+i, "the host's valid_queue refuses a queue name with a brace or NUL")
		} else if i := badQueueByte(k.Queue); i >= 0 {
			add(NoteQueueName, len(queuePrefix)+i, "the design rule wants 1 to %d of A-Z a-z 0-9 . _ -", maxQueue)
		}
	}
	if k.HasID() {
		at := start + len(jobPrefix)
		if !brandedid.WireAdmits(k.ID.String()) {
			add(NoteWireRefused, at, "no admission takes it for a job's id: %s", brandedid.WireRefusal)
		}
		if future {
			add(NoteFuture, at+brandedid.NamespaceLen, "%s", futureMsg(k.ID, now))
		}
	}
	switch {
	case k.Type == Unregistered:
		off := start
		if k.HasID() {
			off += len(jobPrefix) + brandedid.Len + 1
		}
		add(NoteUnregistered, min(off, start+len(k.Suffix)), "%s", unregisteredMsg(k))
	case k.HasName() && k.Name == "":
		add(NoteEmptyName, start+len(forms.of[k.Type].before), "the %s is empty", forms.of[k.Type].placeholder)
	}
	if k.Type == StreamArchived {
		add(NoteAmbiguous, start+len(k.Suffix)-len(forms.of[k.Type].after),
			"also the key of a stream called %s; TYPE tells: string or stream", escape.Quote(k.Name+forms.of[k.Type].after))
	}
	return notes
}

// unremarkable reports, quickly, that nothing but the clock can give a note.
func (k *Key) unremarkable() bool {
	if k.Type == Unregistered || k.Type == StreamArchived {
		return false
	}
	if k.Space == Queue && (k.Queue == reservedQueue || badQueueByte(k.Queue) >= 0) {
		return false
	}
	if k.HasID() {
		return k.ID.Namespace() == brandedid.JobNamespace
	}
	return k.Name != "" || !k.HasName()
}

const (
	reservedQueue = "emq"
	maxQueue      = 128
)

// CheckDesign returns a note when a queue name breaks the design rule, which
// hosts do not enforce; its offset is into the name.
func CheckDesign(queue string) (Note, bool) {
	k := Key{Space: Queue, Queue: queue, Type: Base}
	for _, n := range k.Notes(time.Time{}) {
		n.Off -= len(queuePrefix)
		return n, true
	}
	return Note{}, false
}

// badQueueByte returns the position of the first byte that breaks the design
// rule for queue names, or -1.
func badQueueByte(queue string) int {
	for i := 0; i < len(queue); i++ {
		if i == maxQueue || !queueByte[queue[i]] {
			return i
		}
	}
	return -1
}

var queueByte = func() (t [256]bool) {
	const bytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	for i := range len(bytes) {
		t[bytes[i]] = true
	}
	return t
}()

func futureMsg(id brandedid.ID, now time.Time) string {
	msg := "minted after now"
	if hint := brandedid.Hint(id.String(), now); hint != "" {
		msg += ": " + hint
	}
	return msg
}

// IDNotes returns the notes on an id that stands alone; offsets are into it.
func IDNotes(id brandedid.ID, now time.Time) []Note {
	if id.UnixMilli() <= now.UnixMilli() {
		return nil
	}
	return []Note{{NoteFuture, brandedid.NamespaceLen, futureMsg(id, now)}}
}

// NearestWord returns the word of the type that is most like a misspelt one,
// or "" when none is.
func NearestWord(word string) string {
	best, bestDistance := "", 1+len(word)/2
	for _, info := range types {
		if d := levenshtein.ComputeDistance(word, info.Word); d < bestDistance {
			best, bestDistance = info.Word, d
		}
	}
	return best
}

// retired are the suffixes of the protocol's first version, and what took
// their place.
var retired = map[string]string{
	"wait":             "waiting jobs stand in pending",
	"prioritized":      "there are no priorities; weights of groups stand in gweight",
	"waiting-children": "a parent that waits has the state awaiting_children in its row",
	"completed":        "a completed job leaves no row; metrics:completed counts",
	"failed":           "jobs that failed for good stand in dead; metrics:failed counts",
	"stalled":          "a job's row counts in its field stalled",
	"id":               "ids are minted by hosts, no counter is kept",
}

func unregisteredMsg(k *Key) string {
	if now, ok := retired[k.Suffix]; ok && k.Space == Queue {
		return fmt.Sprintf("%s is of the protocol's first version: %s", k.Suffix, now)
	}
	if t := strings.TrimRight(k.Suffix, " \t\r\n'\"`"); t != k.Suffix {
		trimmed := Key{Space: k.Space, Suffix: t}
		if trimmed.lookup(); trimmed.Type != Unregistered {
			return fmt.Sprintf("a quote or blank was pasted after %s", escape.String(t))
		}
	}
	msg := fmt.Sprintf("%s is no registered type", escape.String(clip(k.Suffix, 40)))
	if near := nearest(k); near != "" {
		msg += "; the nearest is " + near
	}
	return msg
}

// nearest returns the registered pattern that is most like an unregistered
// suffix, or "" when none is.
func nearest(k *Key) string {
	head, _, _ := strings.Cut(k.Suffix, ":")
	best, bestDistance := "", 1+len(clip(k.Suffix, 40))/2
	for _, info := range types {
		if info.Space != k.Space || info.Pattern == "" {
			continue
		}
		f := forms.of[info.Type]
		var d int
		switch {
		case f.placeholder == idPlaceholder:
			if !k.HasID() && k.Suffix != "job" {
				continue
			}
			_, sub := k.jobPartsOrNone()
			d = levenshtein.ComputeDistance(clip(sub, 40), f.after)
		case f.placeholder != "":
			if h, _, _ := strings.Cut(f.before, ":"); h != head {
				continue
			}
			if !strings.HasSuffix(k.Suffix, f.after) {
				d = 1
			}
		case k.HasID():
			continue
		default:
			d = levenshtein.ComputeDistance(clip(k.Suffix, 40), f.before)
		}
		if d < bestDistance {
			best, bestDistance = info.Pattern, d
		}
	}
	return best
}

func (k *Key) jobPartsOrNone() (id, sub string) {
	if !strings.HasPrefix(k.Suffix, jobPrefix) {
		return "", ""
	}
	return k.jobParts()
}

// clip returns at most n bytes of s.
func clip(s string, n int) string { return s[:min(len(s), n)] }
