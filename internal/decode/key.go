package decode

import (
	"strings"

	"github.com/echomq/emqctl/internal/brandedid"
)

const (
	queuePrefix   = "emq:{"
	queueClose    = "}:"
	reservePrefix = "{emq}:"
	jobPrefix     = "job:"
)

// Key is a key, read.
type Key struct {
	Space  Space
	Queue  string // the bytes between the braces; "" in the reserve
	Suffix string // the bytes after emq:{<queue>}: or {emq}:
	Type   Type
	// Name is what stands for the pattern's placeholder, unless that is an
	// id: a group, a deduplication id, a metric, the name of a repeat or a
	// stream, the queue of a migration.
	Name string
	// ID is the branded id at a job position, the zero ID elsewhere.
	ID brandedid.ID
}

// Parse reads a key. Its error is an [*Error]; beside one, the Key holds what
// stands before the error's offset: the space and the queue, with the suffix,
// where those are sound.
func Parse(key string) (Key, error) {
	var k Key
	rest, ok := strings.CutPrefix(key, queuePrefix)
	if !ok {
		if rest, ok = strings.CutPrefix(key, reservePrefix); !ok {
			return k, prefixError(key)
		}
		k.Space, k.Suffix = Reserve, rest
		if rest == "" {
			return k, &Error{Kind: KindType, Off: len(key), input: key}
		}
		k.lookup()
		return k, nil
	}
	closing := strings.IndexByte(rest, '}')
	switch {
	case closing < 0:
		return k, &Error{Kind: KindBraces, Off: len(queuePrefix) - 1, input: key}
	case closing == 0:
		return k, &Error{Kind: KindEmptyQueue, Off: len(queuePrefix), input: key}
	case !strings.HasPrefix(rest[closing:], queueClose):
		return k, &Error{Kind: KindSeparator, Off: len(queuePrefix) + closing + 1, input: key}
	}
	k.Space, k.Queue, k.Suffix = Queue, rest[:closing], rest[closing+len(queueClose):]
	if !strings.HasPrefix(k.Suffix, jobPrefix) {
		k.lookup()
		return k, nil
	}
	id, sub := k.jobParts()
	var err error
	if k.ID, err = brandedid.Parse(id); err != nil {
		return k, idError(key, len(key)-len(k.Suffix)+len(jobPrefix), err.(*brandedid.Error))
	}
	if f := forms.job[sub]; f != nil {
		k.Type = f.Type
	}
	return k, nil
}

// jobParts divides a suffix that opens with job: into the id, which runs to
// the next colon or the end, and what follows.
func (k *Key) jobParts() (id, sub string) {
	id = k.Suffix[len(jobPrefix):]
	if i := strings.IndexByte(id, ':'); i >= 0 {
		return id[:i], id[i:]
	}
	return id, ""
}

// lookup finds the type of a suffix that is no job's.
func (k *Key) lookup() {
	head := k.Suffix
	if i := strings.IndexByte(head, ':'); i >= 0 {
		head = head[:i]
	}
	for _, f := range forms.head[k.Space][head] {
		if name, ok := f.match(k.Suffix); ok {
			k.Type, k.Name = f.Type, name
			return
		}
	}
}

// HasName reports whether the pattern of the key's type has a placeholder
// that Name stands for; Name may be empty even so.
func (k *Key) HasName() bool {
	f := forms.of[k.Type]
	return f != nil && f.placeholder != "" && f.placeholder != idPlaceholder
}

// HasID reports whether a sound branded id stands at a job position.
func (k *Key) HasID() bool { return k.ID != brandedid.ID{} }

// IDText returns the bytes of ID as they stand in the key; HasID must hold.
func (k *Key) IDText() string { return k.Suffix[len(jobPrefix):][:brandedid.Len] }

// String returns the bytes of the key, or "" when Space is NoSpace.
func (k *Key) String() string {
	switch k.Space {
	case Queue:
		return QueueKey(k.Queue, k.Suffix)
	case Reserve:
		return reservePrefix + k.Suffix
	}
	return ""
}
