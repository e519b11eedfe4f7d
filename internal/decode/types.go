package decode

import "strings"

// Space is the part of the keyspace that a key belongs to.
type Space uint8

const (
	NoSpace Space = iota // not a key of the protocol
	Queue                // emq:{<queue>}:
	Reserve              // {emq}:
)

// String returns queue, reserve, or "" for NoSpace.
func (s Space) String() string { return [...]string{"", "queue", "reserve"}[s] }

// Type is the registered type of a key.
type Type uint8

// The registered types: those of a queue, then those of the reserve.
const (
	Unregistered Type = iota
	Job
	JobLogs
	JobLock
	JobDependencies
	JobProcessed
	JobFailed
	JobUnsuccessful
	Pending
	Active
	Schedule
	Dead
	Meta
	Lane
	Ring
	Wake
	Paused
	GLimit
	GActive
	GWeight
	De
	Metrics
	MetricsData
	Limiter
	Repeat
	RepeatRecord
	FlowOutbox
	StreamArchived
	Stream
	Events
	Base
	Version
	Locks
	Bundle
	Migration
)

// TypeInfo is what the grammar says of a registered type.
type TypeInfo struct {
	Type    Type
	Word    string // its name on the command line and in records
	Space   Space
	Pattern string // of the suffix; at most one <placeholder>
	Store   string // what TYPE answers, channel for a Pub/Sub channel, "" for what is not stored
	Role    string // what it is, in a phrase
}

// types is the key grammar; everything else is made from it. A pattern that
// ends in more than its placeholder stands before the one that does not.
var types = [...]TypeInfo{
	{Job, "job", Queue, "job:<id>", "hash", "a job's row"},
	{JobLogs, "job:logs", Queue, "job:<id>:logs", "list", "a job's log lines"},
	{JobLock, "job:lock", Queue, "job:<id>:lock", "string", "the lock marker of a job at work"},
	{JobDependencies, "job:dependencies", Queue, "job:<id>:dependencies", "string", "how many children a flow parent still waits for"},
	{JobProcessed, "job:processed", Queue, "job:<id>:processed", "hash", "the results of a flow parent's children"},
	{JobFailed, "job:failed", Queue, "job:<id>:failed", "hash", "the errors of children that failed their flow parent"},
	{JobUnsuccessful, "job:unsuccessful", Queue, "job:<id>:unsuccessful", "hash", "the errors of children that a flow parent ignores"},
	{Pending, "pending", Queue, "pending", "zset", "the jobs ready to be claimed"},
	{Active, "active", Queue, "active", "zset", "the jobs at work, by lease deadline"},
	{Schedule, "schedule", Queue, "schedule", "zset", "the jobs that are not due yet, by due time"},
	{Dead, "dead", Queue, "dead", "zset", "the jobs that failed for good"},
	{Meta, "meta", Queue, "meta", "hash", "the queue's settings"},
	{Lane, "lane", Queue, "g:<group>:pending", "zset", "the jobs of one group ready to be claimed"},
	{Ring, "ring", Queue, "ring", "list", "the groups that can be served, in rotation"},
	{Wake, "wake", Queue, "wake", "list", "the tokens that wake idle consumers"},
	{Paused, "paused", Queue, "paused", "set", "the groups that are paused"},
	{GLimit, "glimit", Queue, "glimit", "hash", "the concurrency ceiling of each group"},
	{GActive, "gactive", Queue, "gactive", "hash", "how many jobs of each group are at work"},
	{GWeight, "gweight", Queue, "gweight", "hash", "the weight of each group"},
	{De, "de", Queue, "de:<dedup id>", "string", "the job that holds a deduplication id"},
	{MetricsData, "metrics:data", Queue, "metrics:<metric>:data", "list", "a metric's data points"},
	{Metrics, "metrics", Queue, "metrics:<metric>", "hash", "a metric's count"},
	{Limiter, "limiter", Queue, "limiter", "string", "the rate limiter's count"},
	{Repeat, "repeat", Queue, "repeat", "zset", "the repeat registrations, by next run"},
	{RepeatRecord, "repeat:record", Queue, "repeat:<name>", "hash", "a repeat registration"},
	{FlowOutbox, "flow:outbox", Queue, "flow:outbox", "list", "outcomes of children, on their way to other queues"},
	{StreamArchived, "stream:archived", Queue, "stream:<name>:archived", "string", "how far a stream is archived"},
	{Stream, "stream", Queue, "stream:<name>", "stream", "a stream of events"},
	{Events, "events", Queue, "events", "channel", "the queue's events, published and not stored"},
	{Base, "base", Queue, "", "", "the base that scripts derive keys from, never stored"},
	{Version, "version", Reserve, "version", "string", "the version fence"},
	{Locks, "locks", Reserve, "locks", "", "reserved by design"},
	{Bundle, "bundle", Reserve, "bundle", "", "reserved by design"},
	{Migration, "migration", Reserve, "migration:<queue>", "", "reserved by design, for a queue's migration"},
}

// Types returns the registered types in the order of the grammar.
func Types() []TypeInfo { return append([]TypeInfo(nil), types[:]...) }

// Info returns what the grammar says of t; the zero TypeInfo for
// Unregistered.
func (t Type) Info() TypeInfo {
	if f := forms.of[t]; f != nil {
		return f.TypeInfo
	}
	return TypeInfo{}
}

// String returns the type's word, or "" for Unregistered.
func (t Type) String() string { return t.Info().Word }

// TypeByWord returns the type with that word.
func TypeByWord(word string) (TypeInfo, bool) {
	for _, info := range types {
		if info.Word == word {
			return info, true
		}
	}
	return TypeInfo{}, false
}

// Key returns the pattern of the whole key, emq:{q}:pending.
func (info TypeInfo) Key() string {
	if info.Space == Reserve {
		return reservePrefix + info.Pattern
	}
	return queuePrefix + "q" + queueClose + info.Pattern
}

// Placeholder returns the word in the angle brackets of the pattern, or "".
func (info TypeInfo) Placeholder() string { return newForm(info).placeholder }

const (
	idPlaceholder     = "id"
	metricPlaceholder = "metric"
)

// metrics are the values of the placeholder <metric>.
var metrics = []string{"completed", "failed"}

// form is a pattern taken apart at its placeholder.
type form struct {
	TypeInfo
	before, placeholder, after string
}

func newForm(info TypeInfo) *form {
	f := &form{TypeInfo: info, before: info.Pattern}
	if before, rest, ok := strings.Cut(info.Pattern, "<"); ok {
		f.before = before
		f.placeholder, f.after, _ = strings.Cut(rest, ">")
	}
	return f
}

// match reports whether suffix has the form, and what stands for the
// placeholder in it.
func (f *form) match(suffix string) (name string, ok bool) {
	if f.placeholder == "" {
		return "", suffix == f.before
	}
	rest, ok := strings.CutPrefix(suffix, f.before)
	if !ok {
		return "", false
	}
	if name, ok = strings.CutSuffix(rest, f.after); !ok {
		return "", false
	}
	return name, f.placeholder != metricPlaceholder || name == metrics[0] || name == metrics[1]
}

// forms is the table, ready for lookups: by what stands before a suffix's
// first colon, and for a job's keys by what follows the id.
var forms = func() (x struct {
	of   [len(types) + 1]*form
	head [Reserve + 1]map[string][]*form
	job  map[string]*form
}) {
	x.head = [...]map[string][]*form{Queue: {}, Reserve: {}}
	x.job = map[string]*form{}
	for _, info := range types {
		f := newForm(info)
		x.of[info.Type] = f
		if f.placeholder == idPlaceholder {
			x.job[f.after] = f
			continue
		}
		head, _, _ := strings.Cut(f.before, ":")
		x.head[info.Space][head] = append(x.head[info.Space][head], f)
	}
	return x
}()

// RegisteredPattern reports whether the suffix of a queue's key, in which
// <name> stands for what is not known, is of a registered type.
func RegisteredPattern(suffix string) bool {
	for _, info := range types {
		if info.Space != Queue {
			continue
		}
		f := forms.of[info.Type]
		if f.placeholder == "" {
			if suffix == f.before {
				return true
			}
			continue
		}
		rest, ok := strings.CutPrefix(suffix, f.before)
		if !ok {
			continue
		}
		name, ok := strings.CutSuffix(rest, f.after)
		if !ok || name == "" && f.placeholder == idPlaceholder {
			continue
		}
		if f.placeholder == idPlaceholder && strings.Contains(strings.Trim(name, "<>"), ":") {
			continue // the end of the id is the next colon
		}
		if f.placeholder == metricPlaceholder && !strings.Contains(name, "<") {
			if _, ok := f.match(suffix); !ok {
				continue
			}
		}
		return true
	}
	return false
}
