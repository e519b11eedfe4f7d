package decode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/escape"
)

// The fields of a job's row. A fresh flat job has state, attempts and payload
// and no other.
const (
	FieldState        = "state"         // one of JobStates
	FieldAttempts     = "attempts"      // how often it was claimed, decimal: the fencing token
	FieldPayload      = "payload"       // opaque bytes
	FieldGroup        = "group"         // the branded id of its lane
	FieldParent       = "parent"        // the branded id of its flow parent
	FieldParentQueue  = "parent_queue"  // where that is another queue
	FieldParentPolicy = "parent_policy" // fp fails the parent, id is ignored by it
	FieldLastError    = "last_error"
	FieldProgress     = "progress"
	FieldStalled      = "stalled" // how often its lease lapsed, decimal
	FieldLock         = "lock"    // the token of the holder, with a TTL of its own
)

// JobFields returns the registered fields of a row.
func JobFields() []string {
	return []string{
		FieldState, FieldAttempts, FieldPayload, FieldGroup, FieldParent, FieldParentQueue, FieldParentPolicy,
		FieldLastError, FieldProgress, FieldStalled, FieldLock,
	}
}

// JobStates returns the values of a row's state. Of these awaiting_children is
// in no set, and what the set schedule holds is scheduled.
func JobStates() []string {
	return []string{"pending", "scheduled", "active", "dead", "awaiting_children"}
}

// Row is a row as it is stored. A field that is not there is "", which
// [Row.Has] tells from one that is empty.
type Row struct {
	State        string
	Attempts     string // compared as text when it is a fencing token
	Payload      string
	Group        string
	Parent       string
	ParentQueue  string
	ParentPolicy string
	LastError    string
	Progress     string
	Stalled      string
	Lock         string
	Other        []string // the names of fields that are not registered, sorted

	has map[string]bool
}

// ReadRow reads the fields of a row. It takes whatever there is:
// [Row.Faults] says what no verb would have left.
func ReadRow(fields map[string]string) Row {
	j := Row{has: map[string]bool{}}
	at := map[string]*string{
		FieldState: &j.State, FieldAttempts: &j.Attempts, FieldPayload: &j.Payload, FieldGroup: &j.Group,
		FieldParent: &j.Parent, FieldParentQueue: &j.ParentQueue, FieldParentPolicy: &j.ParentPolicy,
		FieldLastError: &j.LastError, FieldProgress: &j.Progress, FieldStalled: &j.Stalled, FieldLock: &j.Lock,
	}
	for name, value := range fields {
		j.has[name] = true
		if p := at[name]; p != nil {
			*p = value
		} else {
			j.Other = append(j.Other, name)
		}
	}
	slices.Sort(j.Other)
	return j
}

// Has reports whether the row has a field.
func (j *Row) Has(field string) bool { return j.has[field] }

// Policy returns the parent policy that a failure goes by, which is fp where
// the row does not say; "" for a job without a parent.
func (j *Row) Policy() string {
	if !j.Has(FieldParent) {
		return ""
	}
	if j.ParentPolicy == "" {
		return "fp"
	}
	return j.ParentPolicy
}

// ParentRow returns the key of the parent's row for a job of a queue, or ""
// for a job without a parent.
func (j *Row) ParentRow(queue string) string {
	if j.Parent == "" {
		return ""
	}
	if j.ParentQueue != "" {
		queue = j.ParentQueue
	}
	return QueueKey(queue, jobPrefix+j.Parent)
}

// Fault is something in a row that no verb leaves there by itself.
type Fault struct {
	Field string
	Msg   string
}

// Faults returns what is wrong with a row, in the order of [JobFields].
func (j *Row) Faults() []Fault {
	var faults []Fault
	add := func(field, format string, args ...any) {
		faults = append(faults, Fault{field, fmt.Sprintf(format, args...)})
	}
	for _, field := range []string{FieldState, FieldAttempts, FieldPayload} {
		if !j.Has(field) {
			add(field, "the row has no %s, want one: it was made by a verb that found no row", field)
		}
	}
	if j.Has(FieldState) && !slices.Contains(JobStates(), j.State) {
		add(FieldState, "the state is %s, want one of %s", quoteClip(j.State), strings.Join(JobStates(), ", "))
	}
	for _, f := range []struct{ name, value string }{{FieldAttempts, j.Attempts}, {FieldStalled, j.Stalled}} {
		if _, err := strconv.ParseUint(f.value, 10, 63); err != nil && j.Has(f.name) {
			add(f.name, "%s is %s, want a decimal number", f.name, quoteClip(f.value))
		}
	}
	for _, f := range []struct{ name, value string }{{FieldGroup, j.Group}, {FieldParent, j.Parent}} {
		if _, err := brandedid.Parse(f.value); err != nil && j.Has(f.name) {
			add(f.name, "%s is %s, want a branded id", f.name, quoteClip(f.value))
		}
	}
	switch {
	case !j.Has(FieldParent) && j.Has(FieldParentQueue):
		add(FieldParentQueue, "the row has a parent_queue and no parent")
	case !j.Has(FieldParent) && j.Has(FieldParentPolicy):
		add(FieldParentPolicy, "the row has a parent_policy and no parent")
	case j.Has(FieldParentPolicy) && j.ParentPolicy != "fp" && j.ParentPolicy != "id":
		add(FieldParentPolicy, "parent_policy is %s, want fp or id", quoteClip(j.ParentPolicy))
	}
	return faults
}

func quoteClip(s string) string {
	if len(s) > 60 {
		return escape.Quote(s[:57]) + "..."
	}
	return escape.Quote(s)
}

// Outcome is an entry of an outbox: how a child ended, on its way to a parent
// in another queue. There are two shapes, their parts divided by NUL:
//
//	<parent queue> <parent> <child> <result>
//	"" fail <parent queue> <parent> <child> <policy> <error>
//
// The last part may hold NULs itself.
type Outcome struct {
	Failure     bool
	ParentQueue string
	Parent      string
	Child       string
	Policy      string // of a failure: fp, or anything else for a failure that is ignored
	Text        string // the result of a child, or the error of a failure
}

// ReadOutcome reads an entry of an outbox. For one of neither shape, at which
// delivery stops for good, it says what is wrong and the Outcome is zero.
func ReadOutcome(entry string) (o Outcome, fault string) {
	parts := strings.SplitN(entry, "\x00", 4)
	if len(parts) < 4 {
		return o, fmt.Sprintf("the entry has %d parts, want 4 or more with NUL between them", len(parts))
	}
	if parts[0] != "" {
		return Outcome{ParentQueue: parts[0], Parent: parts[1], Child: parts[2], Text: parts[3]}, ""
	}
	if parts[1] != "fail" {
		return o, fmt.Sprintf("the entry has no parent queue and its second part is %s, want fail", quoteClip(parts[1]))
	}
	parts = strings.SplitN(entry, "\x00", 7)
	if len(parts) < 7 {
		return o, fmt.Sprintf("the entry of a failure has %d parts, want 7", len(parts))
	}
	return Outcome{Failure: true, ParentQueue: parts[2], Parent: parts[3], Child: parts[4], Policy: parts[5], Text: parts[6]}, ""
}

// String returns the entry that ReadOutcome reads.
func (o Outcome) String() string {
	if o.Failure {
		return strings.Join([]string{"", "fail", o.ParentQueue, o.Parent, o.Child, o.Policy, o.Text}, "\x00")
	}
	return strings.Join([]string{o.ParentQueue, o.Parent, o.Child, o.Text}, "\x00")
}
