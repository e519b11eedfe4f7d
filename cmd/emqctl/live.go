package main

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/look"
)

// liveContract is what a server holds under a key.
type liveContract struct {
	Exists      *bool             `json:"exists"` // null when it could not be asked
	Type        *string           `json:"type"`   // as TYPE says, null when there is no such key
	TTLMS       *int64            `json:"ttl_ms"` // null without one
	Size        *int64            `json:"size"`   // bytes of a string, entries of anything else
	MemoryBytes *int64            `json:"memory_bytes"`
	Node        *string           `json:"node"`        // who owns the slot
	SlotAgrees  *bool             `json:"slot_agrees"` // CLUSTER KEYSLOT says the same; null outside a cluster
	Value       *valueContract    `json:"value"`
	Row         *rowContract      `json:"row"`
	Sets        []setContract     `json:"sets" null:"for what is no row"`  // the sets that hold a row's job; null for what is no row
	Blind       []blindContract   `json:"blind" null:"for what is no row"` // sets that could not be asked, as they are of another type
	Lane        *laneContract     `json:"lane"`
	First       []elementContract `json:"first" null:"for a row, a string and no key"`
	Last        []elementContract `json:"last" null:"as first"` // what First does not have
	Sample      bool              `json:"sample"`
	Error       *problem          `json:"error"`
}

// valueContract is bytes, cut at --payload.
type valueContract struct {
	Text       *shownText `json:"text"`
	TextBase64 *string    `json:"text_base64,omitempty"`
	Bytes      int64      `json:"bytes"` // of the whole
	Cut        bool       `json:"cut"`
}

// rowContract is a job's row.
type rowContract struct {
	State              *shownText      `json:"state"`
	StateBase64        *string         `json:"state_base64,omitempty"`
	Attempts           *shownText      `json:"attempts"` // the fencing token
	AttemptsBase64     *string         `json:"attempts_base64,omitempty"`
	Payload            *valueContract  `json:"payload"`
	Group              *shownText      `json:"group"`
	GroupBase64        *string         `json:"group_base64,omitempty"`
	Parent             *shownText      `json:"parent"`
	ParentBase64       *string         `json:"parent_base64,omitempty"`
	ParentQueue        *shownText      `json:"parent_queue"`
	ParentQueueBase64  *string         `json:"parent_queue_base64,omitempty"`
	ParentPolicy       *shownText      `json:"parent_policy"` // as stored; a parent without one goes by fp
	ParentPolicyBase64 *string         `json:"parent_policy_base64,omitempty"`
	LastError          *valueContract  `json:"last_error"`
	Progress           *valueContract  `json:"progress"`
	Stalled            *shownText      `json:"stalled"`
	StalledBase64      *string         `json:"stalled_base64,omitempty"`
	Lock               *shownText      `json:"lock"`
	LockBase64         *string         `json:"lock_base64,omitempty"`
	OtherFields        int64           `json:"other_fields"` // fields that are not registered
	Faults             []faultContract `json:"faults"`
}

type faultContract struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// setContract is a set that holds a job.
type setContract struct {
	Set     string    `json:"set"` // pending, active, schedule, dead or lane
	Score   scoreJSON `json:"score" null:"when infinite"`
	Time    *string   `json:"time"`
	Meaning *string   `json:"meaning"` // what Time is
}

type blindContract struct {
	Key       *shownText `json:"key"`
	KeyBase64 *string    `json:"key_base64,omitempty"`
	Error     *problem   `json:"error"`
}

type laneContract struct {
	Paused bool       `json:"paused"`
	Limit  *shownText `json:"limit"`
	Active *shownText `json:"active"`
	Weight *shownText `json:"weight"`
	InRing bool       `json:"in_ring"`
}

// elementContract is a member, an element, a field or an entry.
type elementContract struct {
	valueContract
	Field       *shownText       `json:"field,omitempty"` // of a hash
	FieldBase64 *string          `json:"field_base64,omitempty"`
	Score       *scoreJSON       `json:"score,omitempty"` // of a sorted set
	Time        *string          `json:"time,omitempty"`  // the score, where that is one
	Meaning     *string          `json:"meaning,omitempty"`
	ID          *idContract      `json:"id"` // when the element, or the name of the field, is a branded id
	Outcome     *outcomeContract `json:"outcome,omitempty"`
}

// outcomeContract is an entry of an outbox.
type outcomeContract struct {
	Kind              *string        `json:"kind"` // completion or failure; null for an entry of neither shape
	ParentQueue       *shownText     `json:"parent_queue"`
	ParentQueueBase64 *string        `json:"parent_queue_base64,omitempty"`
	Parent            *shownText     `json:"parent"`
	ParentBase64      *string        `json:"parent_base64,omitempty"`
	Child             *shownText     `json:"child"`
	ChildBase64       *string        `json:"child_base64,omitempty"`
	Policy            *shownText     `json:"policy"`
	PolicyBase64      *string        `json:"policy_base64,omitempty"`
	Result            *valueContract `json:"result"`
	Error             *string        `json:"error"` // why it is of neither shape
}

// shownText is a string whose JSON cannot move a cursor.
type shownText string

// MarshalJSON escapes what is not printable.
func (s shownText) MarshalJSON() ([]byte, error) { return appendJSONString(nil, string(s)), nil }

// scoreJSON is a score: null for the infinite ones, which JSON has not.
type scoreJSON float64

// MarshalJSON writes every digit and no exponent.
func (s scoreJSON) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(s), 0) || math.IsNaN(float64(s)) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(s), 'f', -1, 64), nil
}

func (s scoreJSON) String() string { return strconv.FormatFloat(float64(s), 'f', -1, 64) }

// foreignPair is what a field of bytes holds, and its _base64.
func foreignPair(s string, present bool) (*shownText, *string) {
	if !present {
		return nil, nil
	}
	if utf8.ValidString(s) {
		t := shownText(s)
		return &t, nil
	}
	b := base64.StdEncoding.EncodeToString([]byte(s))
	return nil, &b
}

func newValueContract(b look.Bytes) valueContract {
	v := valueContract{Bytes: b.Len, Cut: b.Cut()}
	v.Text, v.TextBase64 = foreignPair(b.Text, true)
	return v
}

// meaningOf says what the scores of a set are; "" when they are no times.
func meaningOf(t decode.Type) string {
	switch t {
	case decode.Active:
		return "lease deadline"
	case decode.Schedule:
		return "due"
	case decode.Repeat:
		return "next run"
	}
	return ""
}

// scoreTime reads a score that is a time.
func scoreTime(t decode.Type, score float64) (at time.Time, meaning string, ok bool) {
	meaning = meaningOf(t)
	const year9999 = 253402300799999
	if meaning == "" || !(score >= 0 && score <= year9999) {
		return time.Time{}, "", false
	}
	return time.UnixMilli(int64(score)).UTC(), meaning, true
}

// newIDContract is the decode-id record of an id that the host admits.
func newIDContract(id brandedid.ID, now time.Time) *idContract {
	text, ns := id.String(), id.Namespace()
	ptrTo := func(s string) *string { return &s }
	ms, node, seq, hash := id.UnixMilli(), id.Node(), id.Seq(), id.Hash32()
	c := &idContract{
		ID: &text, OK: true, Namespace: &ns, Snowflake: ptrTo(strconv.FormatUint(id.Snowflake(), 10)),
		UnixMS: &ms, Time: ptrTo(formatTime(id.Time())), Node: &node, Seq: &seq, Hash32: &hash,
		Host: &hostContract{OK: true}, Wire: &wireContract{OK: brandedid.WireAdmits(text), Prefix: ptrTo(brandedid.WirePrefix(text))},
		Notes: []note{},
	}
	if !c.Wire.OK {
		c.Wire.Error = ptrTo(brandedid.WireRefusal)
	}
	for _, n := range decode.IDNotes(id, now) {
		c.Notes = append(c.Notes, note{string(n.Kind), n.Off, n.Msg})
	}
	return c
}

func newLiveContract(k *look.Key, t decode.Type, now time.Time) *liveContract {
	c := &liveContract{Sample: k.Some, Error: problemOf(k.Err)}
	if k.Node != "" {
		c.Node = &k.Node
	}
	if k.Slot >= 0 {
		c.SlotAgrees = &k.SlotAgrees
	}
	if !k.Asked {
		return c
	}
	exists := k.Exists()
	c.Exists = &exists
	if k.Lane != nil {
		l := &laneContract{Paused: k.Lane.Paused, InRing: k.Lane.InRing}
		l.Limit, _ = foreignPair(k.Lane.Limit, k.Lane.Limit != "")
		l.Active, _ = foreignPair(k.Lane.Active, k.Lane.Active != "")
		l.Weight, _ = foreignPair(k.Lane.Weight, k.Lane.Weight != "")
		c.Lane = l
	}
	if !exists {
		return c
	}
	c.Type = &k.Type
	for _, n := range []struct {
		from int64
		to   **int64
	}{{k.TTL, &c.TTLMS}, {k.Size, &c.Size}, {k.Memory, &c.MemoryBytes}} {
		if n.from >= 0 {
			*n.to = &n.from
		}
	}
	if k.Value != nil {
		v := newValueContract(*k.Value)
		c.Value = &v
	}
	if k.Row != nil {
		c.Row = newRowContract(k.Row)
		if k.Err == nil {
			c.Sets = []setContract{}
		}
		for _, s := range k.Sets {
			sc := setContract{Set: s.Type.String(), Score: scoreJSON(s.Score)}
			if at, meaning, ok := scoreTime(s.Type, s.Score); ok {
				text := formatTime(at)
				sc.Time, sc.Meaning = &text, &meaning
			}
			c.Sets = append(c.Sets, sc)
		}
		c.Blind = []blindContract{}
		for _, b := range k.Blind {
			bc := blindContract{Error: problemOf(b.Err)}
			bc.Key, bc.KeyBase64 = foreignPair(b.Key, true)
			c.Blind = append(c.Blind, bc)
		}
	}
	c.First, c.Last = newElements(k, k.First, t, now), newElements(k, k.Last, t, now)
	return c
}

func newRowContract(r *look.Row) *rowContract {
	c := &rowContract{OtherFields: r.Fields, Faults: []faultContract{}}
	for _, name := range decode.JobFields() {
		if r.Has(name) {
			c.OtherFields--
		}
	}
	c.OtherFields = max(c.OtherFields, 0)
	c.State, c.StateBase64 = foreignPair(r.State, r.Has(decode.FieldState))
	c.Attempts, c.AttemptsBase64 = foreignPair(r.Attempts, r.Has(decode.FieldAttempts))
	c.Group, c.GroupBase64 = foreignPair(r.Group, r.Has(decode.FieldGroup))
	c.Parent, c.ParentBase64 = foreignPair(r.Parent, r.Has(decode.FieldParent))
	c.ParentQueue, c.ParentQueueBase64 = foreignPair(r.ParentQueue, r.Has(decode.FieldParentQueue))
	c.ParentPolicy, c.ParentPolicyBase64 = foreignPair(r.ParentPolicy, r.Has(decode.FieldParentPolicy))
	c.Stalled, c.StalledBase64 = foreignPair(r.Stalled, r.Has(decode.FieldStalled))
	c.Lock, c.LockBase64 = foreignPair(r.Lock, r.Has(decode.FieldLock))
	for _, f := range []struct {
		name string
		from look.Bytes
		to   **valueContract
	}{
		{decode.FieldPayload, look.Bytes{Text: r.Payload, Len: r.PayloadLen}, &c.Payload},
		{decode.FieldLastError, look.Bytes{Text: r.LastError, Len: r.LastErrorLen}, &c.LastError},
		{decode.FieldProgress, look.Bytes{Text: r.Progress, Len: r.ProgressLen}, &c.Progress},
	} {
		if r.Has(f.name) {
			v := newValueContract(f.from)
			*f.to = &v
		}
	}
	for _, f := range r.Faults() {
		c.Faults = append(c.Faults, faultContract{f.Field, f.Msg})
	}
	return c
}

func newElements(k *look.Key, list []look.Element, t decode.Type, now time.Time) []elementContract {
	if k.Row != nil || k.Value != nil {
		return nil
	}
	out := []elementContract{}
	for _, e := range list {
		c := elementContract{valueContract: newValueContract(e.Bytes)}
		named := e.Text
		switch k.Type {
		case "zset":
			score := scoreJSON(e.Score)
			c.Score = &score
			if at, meaning, ok := scoreTime(t, e.Score); ok {
				text := formatTime(at)
				c.Time, c.Meaning = &text, &meaning
			}
		case "hash":
			named = e.Field
			c.Field, c.FieldBase64 = foreignPair(e.Field, true)
		case "stream":
			named = e.Field
		}
		if id, err := brandedid.Parse(named); err == nil {
			c.ID = newIDContract(id, now)
		}
		if e.Outcome != nil {
			c.Outcome = newOutcomeContract(e.Outcome)
		}
		out = append(out, c)
	}
	return out
}

func newOutcomeContract(o *look.Outcome) *outcomeContract {
	c := &outcomeContract{}
	if o.Fault != "" {
		c.Error = &o.Fault
		return c
	}
	kind := outcomeKind(o)
	c.Kind = &kind
	c.ParentQueue, c.ParentQueueBase64 = foreignPair(o.ParentQueue, true)
	c.Parent, c.ParentBase64 = foreignPair(o.Parent, true)
	c.Child, c.ChildBase64 = foreignPair(o.Child, true)
	c.Policy, c.PolicyBase64 = foreignPair(o.Policy, o.Failure)
	v := newValueContract(look.Bytes{Text: o.Text, Len: o.TextLen})
	c.Result = &v
	return c
}

func outcomeKind(o *look.Outcome) string {
	if o.Failure {
		return "failure"
	}
	return "completion"
}

// textLive writes what a server holds under a key.
func textLive(p *page, k *look.Key, key *decode.Key, now time.Time) {
	p.label("live")
	switch {
	case !k.Asked:
		p.ink(p.paint.bad, "not known").end()
	case !k.Exists():
		p.ink(p.paint.note, "no such key").end()
	default:
		p.ink(p.paint.main, k.Type)
		if k.Size >= 0 {
			p.str(", " + plural(int(k.Size), sizeWord(k.Type)))
		}
		if k.TTL >= 0 {
			p.str(", expires in " + (time.Duration(k.TTL) * time.Millisecond).String())
		}
		if k.Memory >= 0 {
			p.about("%d bytes of memory", k.Memory)
		}
		p.end()
	}
	if k.Node != "" {
		p.label("node").str(k.Node)
		switch {
		case k.Slot >= 0 && k.SlotAgrees:
			p.about("owns the slot, and CLUSTER KEYSLOT agrees")
		case k.Slot >= 0:
			p.str("  ").ink(p.paint.bad, fmt.Sprintf("CLUSTER KEYSLOT says %d", k.Slot))
		}
		p.end()
	}
	if k.Value != nil && k.Exists() {
		textValue(p, "value", *k.Value)
	}
	if k.Row != nil && k.Exists() {
		textRow(p, k.Row, key.Queue)
		textSets(p, k, now)
	}
	if k.Lane != nil {
		textLane(p, k.Lane)
	}
	word := "first"
	if k.Some {
		word = "some"
	}
	for _, part := range []struct {
		word string
		list []look.Element
	}{{word, k.First}, {"last", k.Last}} {
		for i, e := range part.list {
			if i > 0 {
				part.word = ""
			}
			textElement(p, part.word, k, e, key.Type, now)
		}
	}
	if k.Err != nil {
		pr := problemOf(k.Err)
		p.label("error").ink(p.paint.bad, pr.Kind).str(": " + clean(pr.Message)).end()
		if pr.Hint != nil {
			p.label("hint").str(clean(*pr.Hint)).end()
		}
	}
}

func sizeWord(typ string) string {
	switch typ {
	case "string":
		return "byte"
	case "hash":
		return "field"
	case "stream":
		return "record"
	case "list":
		return "element"
	}
	return "member"
}

// textValue writes a value, or its beginning.
func textValue(p *page, label string, b look.Bytes) {
	p.label(label).bytes(ink{}, b.Text)
	if b.Cut() {
		p.str("...").about("the first %d of %s", len(b.Text), plural(int(b.Len), "byte"))
	}
	p.end()
}

func textRow(p *page, r *look.Row, queue string) {
	line := func(label, field, value, about string) {
		if !r.Has(field) {
			return
		}
		p.label(label).bytes(p.paint.main, value)
		if about != "" {
			p.about("%s", about)
		}
		p.end()
	}
	line("state", decode.FieldState, r.State, "")
	line("attempts", decode.FieldAttempts, r.Attempts, "the fencing token")
	line("group", decode.FieldGroup, r.Group, "")
	line("parent", decode.FieldParent, r.Parent, "its failure policy is "+r.Policy())
	if r.Has(decode.FieldParentQueue) {
		line("in queue", decode.FieldParentQueue, r.ParentQueue, "the parent is there")
	}
	line("stalled", decode.FieldStalled, r.Stalled, "how often its lease lapsed")
	line("lock", decode.FieldLock, r.Lock, "the holder's token")
	for _, f := range []struct {
		label, field, value string
		len                 int64
	}{
		{"last_error", decode.FieldLastError, r.LastError, r.LastErrorLen},
		{"progress", decode.FieldProgress, r.Progress, r.ProgressLen},
		{"payload", decode.FieldPayload, r.Payload, r.PayloadLen},
	} {
		if r.Has(f.field) {
			textValue(p, f.label, look.Bytes{Text: f.value, Len: f.len})
		}
	}
	for _, f := range r.Faults() {
		p.label("fault").ink(p.paint.bad, f.Field).str(": " + f.Msg).end()
	}
}

// textSets writes which sets hold a job.
func textSets(p *page, k *look.Key, now time.Time) {
	for _, s := range k.Sets {
		p.label("in").ink(p.paint.main, s.Type.String())
		textScore(p, s.Type, s.Score, now)
		p.end()
	}
	for _, b := range k.Blind {
		p.label("in").ink(p.paint.note, "not known").str(" of ").bytes(p.paint.main, b.Key).str(": it is no set").end()
	}
	if len(k.Sets) == 0 && len(k.Blind) == 0 && k.Err == nil {
		p.label("in").str("no set")
		if k.Row.State == "awaiting_children" {
			p.about("as a parent that awaits its children")
		}
		p.end()
	}
}

// textScore writes a score after what has it.
func textScore(p *page, t decode.Type, score float64, now time.Time) {
	if at, meaning, ok := scoreTime(t, score); ok {
		p.str("  "+meaning+" ").ink(p.paint.time, formatTime(at)).about("%s", age(at, now))
		return
	}
	p.about("score %s", scoreJSON(score))
}

func textLane(p *page, l *look.Lane) {
	p.label("lane")
	if l.Paused {
		p.ink(p.paint.note, "paused")
	} else {
		p.str("not paused")
	}
	or := func(s, none string) string {
		if s == "" {
			return none
		}
		return clean(s)
	}
	p.str(", " + or(l.Active, "0") + " active, limit " + or(l.Limit, "none") + ", weight " + or(l.Weight, "1"))
	if l.InRing {
		p.str(", in the ring").end()
	} else {
		p.str(", not in the ring").end()
	}
}

func textElement(p *page, label string, k *look.Key, e look.Element, t decode.Type, now time.Time) {
	p.label(label)
	named := e.Text
	switch {
	case e.Outcome != nil && e.Outcome.Fault != "":
		p.bytes(ink{}, e.Text).str("  ").ink(p.paint.bad, e.Outcome.Fault).end()
		return
	case e.Outcome != nil:
		o := e.Outcome
		p.ink(p.paint.main, outcomeKind(o)).str(" of ").bytes(p.paint.id, o.Child).str(" for ").bytes(p.paint.id, o.Parent)
		p.str(" in ").bytes(p.paint.main, o.ParentQueue)
		if o.Failure {
			p.str(", policy ").bytes(ink{}, o.Policy)
		}
		p.str(": ").bytes(ink{}, o.Text)
		if int64(len(o.Text)) < o.TextLen {
			p.str("...").about("%s", plural(int(o.TextLen), "byte"))
		}
		p.end()
		return
	case k.Type == "hash":
		named = e.Field
		p.bytes(p.paint.id, e.Field).str(" = ").bytes(ink{}, e.Text)
	case k.Type == "stream":
		named = e.Field
		p.bytes(p.paint.id, e.Text).str("  ").bytes(p.paint.id, e.Field)
	default:
		p.bytes(p.paint.id, e.Text)
	}
	if e.Cut() {
		p.str("...").about("%s", plural(int(e.Len), "byte"))
	}
	if k.Type == "zset" {
		textScore(p, t, e.Score, now)
	}
	if id, err := brandedid.Parse(named); err == nil {
		p.about("minted %s", formatTime(id.Time()))
	}
	p.end()
}
