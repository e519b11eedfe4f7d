package look

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/slot"
)

// Key is what the server holds under a key.
type Key struct {
	Err error // what could not be asked: the first thing; the rest of Key is what could

	Asked  bool   // Type and TTL are known
	Type   string // as TYPE says; none when there is no such key
	TTL    int64  // in ms, -1 without
	Size   int64  // bytes of a string, entries of anything else; -1 when not known
	Memory int64  // bytes; -1 when not known

	Node string // who owns the slot
	Slot int64  // as CLUSTER KEYSLOT says; -1 when not known
	// SlotAgrees says that Slot is the one of our own reckoning.
	SlotAgrees bool

	Value *Bytes    // of a string
	Row   *Row      // of a job's row
	Sets  []InSet   // of a job's row: what holds the job
	Blind []Blind   // sets that could not be asked, as they are of another type
	First []Element // of a set, a list, a stream, a hash that is no row
	Last  []Element // the last ones that are not in First
	Lane  *Lane     // of a lane
	Some  bool      // First are some, in no order of the server's
}

// Exists reports whether there is such a key.
func (k *Key) Exists() bool { return k.Asked && k.Type != "none" }

// Bytes is a value, or its beginning.
type Bytes struct {
	Text string
	Len  int64 // of the whole
}

// Cut reports whether Text is not the whole.
func (b Bytes) Cut() bool { return int64(len(b.Text)) < b.Len }

// Row is a job's row. The large fields of Row are cut; their lengths are whole.
type Row struct {
	decode.Row
	PayloadLen, LastErrorLen, ProgressLen int64
	Fields                                int64 // how many fields there are, registered or not
}

// InSet says that a set holds a job.
type InSet struct {
	Type  decode.Type // pending, active, schedule, dead or lane
	Key   string
	Score float64
}

// Blind is a set that could not be asked.
type Blind struct {
	Key string
	Err error
}

// Element is a member of a set, an element of a list, a field of a hash or
// the id of a stream's entry.
type Element struct {
	Bytes
	Field   string   // of a hash, whose value Bytes is; of a stream, the entry's own id
	Score   float64  // of a sorted set
	Outcome *Outcome // of an outbox
}

// Outcome is an outbox's entry, read.
type Outcome struct {
	decode.Outcome
	Fault   string // why it is none
	TextLen int64  // Text is cut
}

// Lane is how a group stands.
type Lane struct {
	Paused bool
	Limit  string // "" without one
	Active string // "" for none
	Weight string // "" without one
	InRing bool
}

const (
	shown    = 3        // members, elements, entries at each end
	sampled  = 10       // fields of a hash, members of a set
	maxFetch = 16 << 20 // bytes of a value that are fetched to show some of them
)

// Keys looks at keys. A key that could not be read says so in Err.
func (l *Looker) Keys(ctx context.Context, keys []string) []Key {
	found := make([]Key, len(keys))
	lookers := make([]*keyLook, len(keys))
	for i, name := range keys {
		found[i] = Key{Size: -1, Memory: -1, TTL: -1, Slot: -1}
		lookers[i] = &keyLook{Key: &found[i], l: l, name: name}
		lookers[i].key, lookers[i].err = decode.Parse(name)
	}
	for _, round := range []func(*keyLook){(*keyLook).basics, (*keyLook).content, (*keyLook).values} {
		var asks []ask
		for _, k := range lookers {
			if k.Err == nil || k.Asked && !isBroken(k.Err) {
				k.asks = asks
				round(k)
				asks = k.asks
			}
		}
		l.run(ctx, asks)
	}
	for _, k := range lookers {
		k.finish()
	}
	if l.client != nil {
		for i, name := range keys {
			found[i].Node = l.client.NodeOfSlot(slot.Of(name))
		}
	}
	return found
}

// keyLook is a Key while it is looked at.
type keyLook struct {
	*Key
	l    *Looker
	name string
	key  decode.Key
	err  error // of the grammar
	asks []ask

	small     map[string]string // the fields of a row, so far
	want, got int               // replies without which there is no Row, or no Lane
}

func (k *keyLook) ask(got func(any), args ...string) {
	// The key that an error names: all of them share a slot.
	k.asks = append(k.asks, ask{key: args[1], args: args, weight: 256, got: got, failed: k.fail})
}

// whole is ask for one of the replies that only tell something together.
func (k *keyLook) whole(got func(any), args ...string) {
	k.want++
	k.ask(func(r any) { k.got++; got(r) }, args...)
}

func (k *keyLook) fail(err error) {
	if k.Err == nil {
		k.Err = err
	}
}

func (k *keyLook) option(option string, got func(any), args ...string) {
	k.asks = append(k.asks, ask{key: k.name, args: args, weight: 64, got: got, option: option})
}

func (k *keyLook) size(reply any) { k.Size = number(reply) }

func (k *keyLook) basics() {
	k.ask(func(r any) { k.Type, k.Asked = text(r), true }, "TYPE", k.name)
	k.ask(func(r any) { k.TTL = max(number(r), -1) }, "PTTL", k.name)
	k.option("MEMORY USAGE", func(r any) {
		if n, ok := r.(int64); ok {
			k.Memory = n
		}
	}, "MEMORY", "USAGE", k.name)
	// Whether it is a cluster is known once the first command was sent.
	k.l.connect()
	if k.l.client != nil && k.l.client.Cluster() {
		k.option("CLUSTER KEYSLOT", func(r any) {
			k.Slot = number(r)
			k.SlotAgrees = k.Slot == int64(slot.Of(k.name))
		}, "CLUSTER", "KEYSLOT", k.name)
	}
}

func (k *keyLook) content() {
	n := strconv.Itoa
	switch k.Type {
	case "string":
		k.ask(k.size, "STRLEN", k.name)
		if k.l.Payload > 0 {
			k.ask(func(r any) { k.Value = &Bytes{Text: text(r)} }, "GETRANGE", k.name, "0", n(k.l.Payload-1))
			k.asks[len(k.asks)-1].weight += int64(min(k.l.Payload, maxWeight))
		} else {
			k.Value = &Bytes{}
		}
	case "hash":
		if k.key.Type == decode.Job && k.err == nil {
			k.fieldsOfRow()
			k.sets()
		} else {
			k.ask(k.size, "HLEN", k.name)
			k.ask(k.fields, "HSCAN", k.name, "0", "COUNT", n(sampled))
		}
	case "list":
		k.ask(k.size, "LLEN", k.name)
		k.ask(func(r any) { k.First = k.elements(list(r)) }, "LRANGE", k.name, "0", n(shown-1))
		k.ask(func(r any) { k.Last = k.elements(list(r)) }, "LRANGE", k.name, n(-shown), "-1")
	case "set":
		k.ask(k.size, "SCARD", k.name)
		k.ask(func(r any) {
			if step := list(r); len(step) == 2 {
				k.First = k.elements(list(step[1]))
			}
			slices.SortFunc(k.First, func(a, b Element) int { return strings.Compare(a.Text, b.Text) })
			k.First, k.Some = k.First[:min(len(k.First), sampled)], true
		}, "SSCAN", k.name, "0", "COUNT", n(sampled))
	case "zset":
		k.ask(k.size, "ZCARD", k.name)
		k.ask(func(r any) { k.First = k.members(list(r)) }, "ZRANGE", k.name, "0", n(shown-1), "WITHSCORES")
		k.ask(func(r any) { k.Last = k.members(list(r)) }, "ZRANGE", k.name, n(-shown), "-1", "WITHSCORES")
		if k.key.Type == decode.Lane {
			k.lane()
		}
	case "stream":
		k.ask(k.size, "XLEN", k.name)
		k.ask(func(r any) { k.First = k.entries(list(r)) }, "XRANGE", k.name, "-", "+", "COUNT", "1")
		k.ask(func(r any) { k.Last = k.entries(list(r)) }, "XREVRANGE", k.name, "+", "-", "COUNT", "1")
	case "none":
		if k.key.Type == decode.Lane {
			k.lane() // an empty lane is no key, and can be paused all the same
		}
	}
}

// smallFields are those of a row that are fetched without a look at their
// length.
var smallFields = []string{
	decode.FieldState, decode.FieldAttempts, decode.FieldGroup, decode.FieldParent, decode.FieldParentQueue,
	decode.FieldParentPolicy, decode.FieldStalled, decode.FieldLock,
}

var largeFields = []string{decode.FieldPayload, decode.FieldLastError, decode.FieldProgress}

func (k *keyLook) fieldsOfRow() {
	k.Row = &Row{}
	k.ask(k.size, "HLEN", k.name)
	k.small = map[string]string{}
	k.whole(func(r any) {
		for i, v := range list(r) {
			if s, ok := v.(string); ok {
				k.small[smallFields[i]] = s
			}
		}
	}, append([]string{"HMGET", k.name}, smallFields...)...)
	for i, length := range k.Row.lengths() {
		k.whole(func(r any) { *length = number(r) }, "HSTRLEN", k.name, largeFields[i])
	}
}

// sets asks which of the queue's sets hold the job.
func (k *keyLook) sets() {
	id := k.key.ID.String()
	for _, t := range []decode.Type{decode.Pending, decode.Active, decode.Schedule, decode.Dead} {
		k.inSet(t, decode.QueueKey(k.key.Queue, t.String()), id)
	}
}

func (r *Row) lengths() []*int64 { return []*int64{&r.PayloadLen, &r.LastErrorLen, &r.ProgressLen} }

func (k *keyLook) inSet(t decode.Type, key, id string) {
	k.ask(func(r any) {
		if s, ok := r.(string); ok {
			score, _ := strconv.ParseFloat(s, 64)
			k.Sets = append(k.Sets, InSet{t, key, score})
		}
	}, "ZSCORE", key, id)
	// A key of the same queue that has another type is no reason to say less of
	// this one.
	k.asks[len(k.asks)-1].failed = func(err error) {
		if isWrongType(err) {
			k.Blind = append(k.Blind, Blind{key, err})
		} else {
			k.fail(err)
		}
	}
}

func (k *keyLook) values() {
	if k.Row == nil {
		return
	}
	if group := k.small[decode.FieldGroup]; group != "" {
		k.inSet(decode.Lane, decode.QueueKey(k.key.Queue, "g:"+group+":pending"), k.key.ID.String())
	}
	k.largeFields()
}

func (k *keyLook) largeFields() {
	args, weight := []string{"HMGET", k.name}, int64(0)
	for i, name := range largeFields {
		length := *k.Row.lengths()[i]
		if length > 0 && (k.l.Payload == 0 || length > max(maxFetch, int64(k.l.Payload))) {
			k.small[name] = "" // it is there, and nothing of it is wanted
			continue
		}
		args, weight = append(args, name), weight+length
	}
	if len(args) == 2 || k.Size == 0 {
		return
	}
	k.whole(func(r any) {
		for i, v := range list(r) {
			if s, ok := v.(string); ok {
				k.small[args[2+i]] = clip(s, k.l.Payload)
			}
		}
	}, args...)
	k.asks[len(k.asks)-1].weight += weight
}

// finish sorts out what came in, with or without an error.
func (k *keyLook) finish() {
	if k.got < k.want {
		k.Row, k.Lane = nil, nil // a part of it would say what is not so
	}
	if k.Row != nil {
		k.Row.Row, k.Row.Fields = decode.ReadRow(k.small), max(k.Size, 0)
	}
	if k.Value != nil {
		if k.Value.Len = max(k.Size, int64(len(k.Value.Text))); k.Value.Cut() {
			k.Value.Text = wholeRunes(k.Value.Text)
		}
	}
	// What is in First is not in Last.
	k.Last = k.Last[len(k.Last)-max(0, min(len(k.Last), int(k.Size)-len(k.First))):]
}

// cut keeps the beginning of a value.
func (k *keyLook) cut(s string, limit int) Bytes { return Bytes{clip(s, limit), int64(len(s))} }

// clip returns a copy of the beginning of s.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.Clone(wholeRunes(s[:limit]))
}

// wholeRunes drops the part of a character at the end of a text that was cut,
// so that text stays text.
func wholeRunes(s string) string {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if utf8.RuneStart(s[len(s)-i]) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// memberLen is how much of a member or a name is kept: ids and groups are
// short.
const memberLen = 256

func (k *keyLook) limit() int {
	switch k.key.Type {
	case decode.JobLogs, decode.FlowOutbox, decode.JobProcessed, decode.JobFailed, decode.JobUnsuccessful, decode.RepeatRecord:
		return k.l.Payload
	}
	return max(k.l.Payload, memberLen)
}

func (k *keyLook) elements(items []any) []Element {
	var out []Element
	for _, item := range items {
		e := Element{Bytes: k.cut(text(item), k.limit())}
		if k.key.Type == decode.FlowOutbox && k.Type == "list" {
			o, fault := decode.ReadOutcome(text(item))
			e.Outcome = &Outcome{Outcome: o, Fault: fault, TextLen: int64(len(o.Text))}
			e.Outcome.Text = clip(o.Text, k.l.Payload)
		}
		out = append(out, e)
	}
	return out
}

func (k *keyLook) members(items []any) []Element {
	var out []Element
	for i := 0; i+1 < len(items); i += 2 {
		score, _ := strconv.ParseFloat(text(items[i+1]), 64)
		out = append(out, Element{Bytes: k.cut(text(items[i]), memberLen), Score: score})
	}
	return out
}

func (k *keyLook) fields(r any) {
	step := list(r)
	if len(step) != 2 {
		return
	}
	items := list(step[1])
	for i := 0; i+1 < len(items); i += 2 {
		k.First = append(k.First, Element{Field: k.cut(text(items[i]), memberLen).Text, Bytes: k.cut(text(items[i+1]), k.limit())})
	}
	slices.SortFunc(k.First, func(a, b Element) int { return strings.Compare(a.Field, b.Field) })
	k.First, k.Some = k.First[:min(len(k.First), sampled)], true
}

// entries reads a stream's: the id of each, and the value of its field id.
func (k *keyLook) entries(items []any) []Element {
	var out []Element
	for _, item := range items {
		entry := list(item)
		if len(entry) != 2 {
			continue
		}
		e := Element{Bytes: k.cut(text(entry[0]), memberLen)}
		if pairs := list(entry[1]); len(pairs) >= 2 && text(pairs[0]) == "id" {
			e.Field = k.cut(text(pairs[1]), memberLen).Text
		}
		out = append(out, e)
	}
	return out
}

func (k *keyLook) lane() {
	queue, group := k.key.Queue, k.key.Name
	k.Lane = &Lane{}
	k.whole(func(r any) { k.Lane.Paused = number(r) == 1 }, "SISMEMBER", decode.QueueKey(queue, "paused"), group)
	k.whole(func(r any) { k.Lane.Limit = text(r) }, "HGET", decode.QueueKey(queue, "glimit"), group)
	k.whole(func(r any) { k.Lane.Active = text(r) }, "HGET", decode.QueueKey(queue, "gactive"), group)
	k.whole(func(r any) { k.Lane.Weight = text(r) }, "HGET", decode.QueueKey(queue, "gweight"), group)
	k.whole(func(r any) { _, k.Lane.InRing = r.(int64) }, "LPOS", decode.QueueKey(queue, "ring"), group)
}
