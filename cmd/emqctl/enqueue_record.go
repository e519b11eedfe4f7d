package main

import (
	"encoding/base64"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/echomq/emqctl/internal/embedded"
	"github.com/echomq/emqctl/internal/escape"
	"github.com/echomq/emqctl/internal/slot"
)

// enqueueRecord is what came of a job.
type enqueueRecord struct {
	*admission // only what does not change
	*job
	engine string // "" while it is not known
	via    via
	fence  *fenceState
	short  bool // text is a line
}

type enqueueContract struct {
	Queue       *string        `json:"queue"`
	QueueBase64 *string        `json:"queue_base64,omitempty"`
	ID          *string        `json:"id"`
	IDBase64    *string        `json:"id_base64,omitempty"`
	Verb        string         `json:"verb"`
	Status      string         `json:"status"`
	Host        *string        `json:"host"`
	Executed    *bool          `json:"executed"`
	Engine      *string        `json:"engine"`
	Via         string         `json:"via"`
	Slot        *uint16        `json:"slot"`
	Keys        []string       `json:"keys" null:"when one is not UTF-8"`
	KeysBase64  []string       `json:"keys_base64,omitempty"` // then all of them
	Argv        []textOrBase64 `json:"argv"`
	SHA1        *string        `json:"sha1"`
	Fence       *fenceContract `json:"fence"`
	Error       *problem       `json:"error"`
	Notes       []note         `json:"notes"`
	Store       []heldContract `json:"store" null:"when live"`
	Observed    []ranContract  `json:"observed" null:"when live"`
}

// textOrBase64 is an element of bytes: one of its fields is there.
type textOrBase64 struct {
	Text   *string `json:"text,omitempty"`
	Base64 *string `json:"base64,omitempty"`
}

// heldContract is a key that the store of a rehearsal holds.
type heldContract struct {
	Key       *string         `json:"key"`
	KeyBase64 *string         `json:"key_base64,omitempty"`
	Type      string          `json:"type"`
	Size      int             `json:"size"`
	Entries   []entryContract `json:"entries"`
}

// entryContract is a field and its value, a member and its score, or an
// element, which has a value alone.
type entryContract struct {
	Name  *textOrBase64 `json:"name"`
	Value textOrBase64  `json:"value"`
}

// ranContract is a command that the store of a rehearsal ran.
type ranContract struct {
	Command    string   `json:"command"`
	Keys       []string `json:"keys" null:"when one is not UTF-8"`
	KeysBase64 []string `json:"keys_base64,omitempty"`
	Write      bool     `json:"write"`
	Line       *int     `json:"line"` // of the script, where the trace predicts it
}

func (r *enqueueRecord) contract() any { return enqueueContract{} }

func (r *enqueueRecord) verdict() (v verdict) {
	switch r.status {
	case statusRefused:
		v |= verdictNo
	case statusFailed, statusUnknown:
		v |= verdictUndone
	}
	if len(r.notes) > 0 {
		v |= verdictNotes
	}
	return v
}

// lost reports that nothing is known of the job but its place: its line could
// not be read.
func (r *enqueueRecord) lost() bool { return r.id == "" && !r.given }

// take takes the next job. What is known of the store is said of jobs that
// were on their way to it only: of the others it would depend on what came
// before them in a stream.
func (r *enqueueRecord) take(j *job, b *admittedBatch) {
	r.job = j
	r.engine, r.via, r.fence = b.engine, b.via, b.fence
	if j.apart {
		r.fence = j.held
	}
	if len(j.keys) > 0 {
		return
	}
	r.via, r.fence = r.wantVia, nil
	if !r.rehearsal {
		r.engine = ""
	}
}

// viaWord is how the job went, or would have gone.
func (r *enqueueRecord) viaWord() string {
	if r.via == viaNative {
		return string(viaNative)
	}
	return string(viaScript)
}

func (r *enqueueRecord) appendJSON(dst []byte) []byte {
	dst = appendField(dst, `{"queue":`, r.queue, escape.IsPlain(r.queue))
	dst = appendNullable(dst, `,"id":`, r.id, !r.lost(), escape.IsPlain(r.id))
	dst = append(dst, `,"verb":"`...)
	dst = append(dst, r.verb...)
	dst = append(dst, `","status":"`...)
	dst = append(dst, r.status...)
	dst = append(dst, '"')
	dst = appendNullable(dst, `,"host":`, r.host, r.host != "", true)
	switch {
	case r.executed == nil:
		dst = append(dst, `,"executed":null`...)
	case *r.executed:
		dst = append(dst, `,"executed":true`...)
	default:
		dst = append(dst, `,"executed":false`...)
	}
	dst = appendNullable(dst, `,"engine":`, r.engine, r.engine != "", escape.IsPlain(r.engine))
	dst = append(dst, `,"via":"`...)
	dst = append(dst, r.viaWord()...)
	dst = append(dst, '"')
	if len(r.keys) > 0 {
		dst = append(dst, `,"slot":`...)
		dst = strconv.AppendUint(dst, uint64(slot.Of(r.keys[0])), 10)
		dst = appendKeys(dst, r.keys)
		dst = append(dst, `,"argv":`...)
		for i, arg := range r.args {
			dst = append(dst, "[,"[min(i, 1)])
			dst = appendElement(dst, arg)
		}
		dst = append(dst, ']')
	} else {
		dst = append(dst, `,"slot":null,"keys":[],"argv":[]`...)
	}
	dst = appendNullable(dst, `,"sha1":`, r.script.SHA1, r.via != viaNative, true)
	dst = append(dst, `,"fence":`...)
	dst = r.fence.appendJSON(dst)
	dst = append(dst, `,"error":`...)
	dst = appendProblem(dst, r.err)
	dst = append(dst, `,"notes":`...)
	dst = appendNotes(dst, r.notes)
	if r.observed == nil {
		return append(dst, `,"store":null,"observed":null}`...)
	}
	dst = appendHeld(append(dst, `,"store":`...), r.observed.Holds)
	dst = append(dst, `,"observed":[`...)
	for i, c := range r.observed.Commands {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"command":"`...)
		dst = append(dst, c.Name...)
		dst = append(dst, '"')
		dst = appendKeys(dst, c.Keys)
		dst = append(dst, `,"write":`...)
		dst = append(strconv.AppendBool(dst, c.Write), `,"line":`...)
		if n := r.lines[i]; n > 0 {
			dst = append(strconv.AppendInt(dst, int64(n), 10), '}')
		} else {
			dst = append(dst, "null}"...)
		}
	}
	return append(dst, "]}"...)
}

// appendKeys appends the field keys, and keys_base64 instead when one is not
// UTF-8.
func appendKeys(dst []byte, keys []string) []byte {
	if slices.ContainsFunc(keys, func(k string) bool { return !utf8.ValidString(k) }) {
		dst = append(dst, `,"keys":null,"keys_base64":[`...)
		for i, key := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(base64.StdEncoding.AppendEncode(append(dst, '"'), []byte(key)), '"')
		}
		return append(dst, ']')
	}
	dst = append(dst, `,"keys":[`...)
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, key)
	}
	return append(dst, ']')
}

// appendElement appends {text} or {base64}.
func appendElement(dst []byte, s string) []byte {
	if utf8.ValidString(s) {
		return append(appendJSONString(append(dst, `{"text":`...), s), '}')
	}
	dst = append(dst, `{"base64":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, []byte(s)), `"}`...)
}

func appendHeld(dst []byte, holds []embedded.Key) []byte {
	dst = append(dst, '[')
	for i, k := range holds {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendField(dst, `{"key":`, k.Key, false)
		dst = append(dst, `,"type":"`...)
		dst = append(dst, k.Type...)
		dst = append(dst, `","size":`...)
		dst = strconv.AppendInt(dst, int64(k.Size), 10)
		dst = append(dst, `,"entries":[`...)
		for i, entry := range k.Entries {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst = append(dst, `{"name":`...); entry.Named {
				dst = appendElement(dst, entry.Name)
			} else {
				dst = append(dst, "null"...)
			}
			dst = append(appendElement(append(dst, `,"value":`...), entry.Value), '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, ']')
}

func (r *enqueueRecord) appendTSV(dst []byte) []byte {
	dst = append(append(dst, r.status...), '\t')
	dst = append(appendCell(dst, r.queue, false), '\t')
	dst = append(appendOptional(dst, r.id, !r.lost(), false), '\t')
	dst = append(append(dst, r.verb...), '\t')
	dst = append(append(dst, r.viaWord()...), '\t')
	dst = append(appendOptional(dst, r.engine, r.engine != "", false), '\t')
	if len(r.keys) > 0 {
		dst = append(strconv.AppendUint(dst, uint64(slot.Of(r.keys[0])), 10), '\t')
	} else {
		dst = append(dst, "-\t"...)
	}
	dst = append(appendOptional(dst, r.host, r.host != "", true), '\t')
	if r.err == nil {
		return append(dst, '-')
	}
	return append(dst, r.err.Kind...)
}
