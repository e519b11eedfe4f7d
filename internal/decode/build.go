package decode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/echomq/emqctl/internal/brandedid"
)

// QueueKey returns emq:{<queue>}:<suffix>. Like the host's queue_key it only
// joins: see [CheckQueue] for what a queue may be called.
func QueueKey(queue, suffix string) string {
	return queuePrefix + queue + queueClose + suffix
}

// JobKey returns the key of a job's row. Like the host's job_key it refuses
// an id that is not a branded id of any namespace, with an
// [*brandedid.Error].
func JobKey(queue, id string) (string, error) {
	if _, err := brandedid.Parse(id); err != nil {
		return "", err
	}
	return QueueKey(queue, jobPrefix+id), nil
}

// CheckQueue is the host's valid_queue, the check before a queue is written
// to: it refuses a brace or a NUL, and here the empty name as well, since
// keys without a hash tag fall on many slots. Its error is an [*Error] of kind
// queue, with an offset into the name.
func CheckQueue(queue string) error {
	if queue == "" {
		return &Error{Kind: KindQueue, input: queue}
	}
	if i := strings.IndexAny(queue, "{}\x00"); i >= 0 {
		return &Error{Kind: KindQueue, Off: i, input: queue}
	}
	return nil
}

// Build returns the key of a type: the pattern with name in the place of its
// placeholder. The queue is not looked at in the reserve. The errors are those
// of [CheckQueue] for the queue, of kind id's own for an id, and of kind name
// for a name that the pattern cannot hold; offsets are into queue or name.
func Build(queue string, t Type, name string) (string, error) {
	f := forms.of[t]
	prefix := reservePrefix
	if f.Space == Queue {
		if err := CheckQueue(queue); err != nil {
			return "", err
		}
		prefix = QueueKey(queue, "")
	}
	switch f.placeholder {
	case "":
		if name != "" {
			return "", &Error{Kind: KindName, input: name, want: fmt.Sprintf("none: a key of type %s has no name", f.Word), typ: f.Pattern}
		}
	case idPlaceholder:
		if name == "" {
			return "", &Error{Kind: KindName, input: name, want: "a branded id of 14 bytes"}
		}
		if _, err := brandedid.Parse(name); err != nil {
			return "", idError(name, 0, err.(*brandedid.Error))
		}
	case metricPlaceholder:
		if !slices.Contains(metrics, name) {
			return "", &Error{Kind: KindName, input: name, want: strings.Join(metrics, " or ")}
		}
	default:
		if name == "" {
			return "", &Error{Kind: KindName, input: name, want: "a " + f.placeholder}
		}
	}
	key := prefix + f.before + name + f.after
	// Some names make the key of another type: stream x:archived.
	if k, err := Parse(key); err != nil || k.Type != t {
		return "", &Error{Kind: KindName, input: name, want: fmt.Sprintf("another: with it the key is of type %s", k.Type)}
	}
	return key, nil
}
