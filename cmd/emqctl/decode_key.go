package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/escape"
	"github.com/echomq/emqctl/internal/slot"
)

type decodeKeyOptions struct {
	inputOptions
	connectionOptions
	Live    bool // --url was given
	Payload int
	Keys    []string
}

const keyColumns = "ok slot queue type kind id key"

func newDecodeKeyCmd(e *env) *cobra.Command {
	var opts decodeKeyOptions
	cmd := &cobra.Command{
		Use:   "decode-key KEY...",
		Short: "Read keys: queue, slot, type, and the id they carry",
		Long: `Read keys by the grammar of EchoMQ. The record tells the queue, the cluster
slot, the type and what the store holds under it, and the job's id with its
mint time. A key that breaks the grammar is named malformed, with the first
wrong byte and the rule it breaks; it has a slot even so.

Without operands, or with the operand -, keys are read from standard input, one
a line. The exit code is 1 when one is malformed. --extract finds keys in text
instead, and tells line and offset; to find none is no error. See help grammar
for the types, and help output for formats.

With --url, and then only, a server is asked what it holds under each key, by
commands that read: TYPE, TTL and size; a row's fields, and which sets hold the
job; the first and last members of a set with their ids and times; a lane's
pause, ceiling and activity; the parts of an outbox's entries; and who owns the
slot. EMQCTL_URL does not count here.

  emqctl decode-key --url localhost:6379 'emq:{quotes}:job:JOB0KHTOWnGLuC'

A key that is not there is an answer, code 0. A TYPE unlike the grammar's is the
note store-type. What could not be asked is live.error, code 2, and the rest of
the record stands.

Columns of -o tsv: ` + keyColumns + `
With --extract, line and offset follow; with --url, TYPE, size and TTL in ms.`,
		Example: `  emqctl decode-key 'emq:{quotes}:job:JOB0KHTOWnGLuC'
  emqctl decode-key -o json '{emq}:version' 'emq:{quotes}:pending'
  emqctl decode-key 'emq:quotes:pending'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Keys, opts.Live = args, cmd.Flags().Changed("url")
			if name := liveFlag(cmd); name != "" && !opts.Live {
				return &usageError{msg: "--" + name + " is for --url, found none", hint: envURL + " does not count here"}
			}
			return runDecodeKey(cmd.Context(), e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	opts.inputOptions.flags(cmd)
	opts.extractFlag(cmd, "key of the protocol")
	opts.connectionOptions.flags(cmd)
	cmd.Flags().IntVar(&opts.Payload, "payload", 512, "with --url: how many `bytes` of a value are shown")
	return cmd
}

func runDecodeKey(ctx context.Context, e *env, opts decodeKeyOptions) error {
	if opts.Live {
		return runDecodeKeyLive(ctx, e, opts)
	}
	newRecord := func() answerer { return &keyRecord{extracted: opts.Extract} }
	return e.answerInput(ctx, opts.inputOptions, opts.Keys, newRecord, extractKeys)
}

// keyRecord is the answer to a key.
type keyRecord struct {
	extracted bool

	item  item
	now   time.Time
	key   decode.Key
	err   error // a *decode.Error
	tag   string
	rule  slot.Rule
	slot  uint16
	id    idRecord
	notes []note
	plain bool
}

func (r *keyRecord) read(it item, now time.Time) {
	r.item, r.now, r.err, r.notes = it, now, nil, r.notes[:0]
	r.plain = escape.IsPlain(it.text)
	if it.bad != nil {
		r.key = decode.Key{}
		return
	}
	r.tag, r.rule = slot.Tag(it.text)
	r.slot = slot.OfTag(r.tag)
	if r.key, r.err = decode.Parse(it.text); r.err != nil {
		return
	}
	for _, n := range r.key.Notes(now) {
		r.notes = append(r.notes, note{string(n.Kind), n.Off, n.Msg})
	}
	if r.key.HasID() {
		r.id.item.text = r.key.IDText()
		r.id.id, r.id.now, r.id.notes, r.id.plain = r.key.ID, now, r.id.notes[:0], true
		r.id.addNotes(decode.IDNotes(r.key.ID, now))
	}
}

func (r *keyRecord) ok() bool   { return r.item.bad == nil && r.err == nil }
func (r *keyRecord) lost() bool { return r.item.bad != nil && r.item.text == "" }

func (r *keyRecord) verdict() (v verdict) {
	if !r.ok() {
		v |= verdictNo
	}
	if len(r.notes) > 0 {
		v |= verdictNotes
	}
	return v
}

func (r *keyRecord) problem() *problem {
	switch e := r.err.(type) {
	case *decode.Error:
		return newProblem(string(e.Kind), e.Off, e.Error(), decode.Hint(r.item.text, e, r.now))
	}
	return r.item.bad
}

type keyContract struct {
	Key          *string       `json:"key"`
	KeyBase64    *string       `json:"key_base64,omitempty"`
	OK           bool          `json:"ok"`
	Space        *string       `json:"space"`
	Queue        *string       `json:"queue"`
	QueueBase64  *string       `json:"queue_base64,omitempty"`
	Tag          *string       `json:"tag"`
	TagBase64    *string       `json:"tag_base64,omitempty"`
	Slot         *uint16       `json:"slot"`
	Type         *string       `json:"type"`
	Suffix       *string       `json:"suffix"`
	SuffixBase64 *string       `json:"suffix_base64,omitempty"`
	Name         *string       `json:"name"`
	NameBase64   *string       `json:"name_base64,omitempty"`
	Store        *string       `json:"store"`
	Role         *string       `json:"role"`
	Kind         *string       `json:"kind"`
	ID           *idContract   `json:"id"`
	Notes        []note        `json:"notes"`
	Error        *problem      `json:"error"`
	Live         *liveContract `json:"live"`
	foundAtPos   `json:""`
}

func (r *keyRecord) contract() any { return keyContract{} }

// typeFields are the fields of each type that do not depend on the key.
var typeFields = func() (t [decode.Migration + 1]struct{ typ, store string }) {
	for i := range t {
		info := decode.Type(i).Info()
		known := decode.Type(i) != decode.Unregistered
		t[i].typ = string(appendNullable(nil, `,"type":`, info.Word, known, false))
		store := appendNullable(nil, `,"store":`, info.Store, info.Store != "", false)
		t[i].store = string(appendNullable(store, `,"role":`, info.Role, known, false))
	}
	return t
}()

// keyStates are the fields ok and space, of sound keys and malformed ones.
var keyStates = func() (t [decode.Reserve + 1]struct{ sound, malformed string }) {
	for space := range t {
		word := decode.Space(space).String()
		field := string(appendNullable(nil, `,"space":`, word, word != "", true))
		t[space].sound, t[space].malformed = `,"ok":true`+field, `,"ok":false`+field
	}
	return t
}()

func (r *keyRecord) appendJSON(dst []byte) []byte {
	dst = append(r.appendJSONBody(dst), `,"live":null`...)
	return append(r.found().appendFound(dst), '}')
}

// appendJSONBody appends all fields up to error, without the closing brace.
func (r *keyRecord) appendJSONBody(dst []byte) []byte {
	k := &r.key
	dst = appendNullable(dst, `{"key":`, r.item.text, !r.lost(), r.plain)
	if r.ok() {
		dst = append(dst, keyStates[k.Space].sound...)
	} else {
		dst = append(dst, keyStates[k.Space].malformed...)
	}
	dst = appendNullable(dst, `,"queue":`, k.Queue, k.Space == decode.Queue, r.plain)
	if r.item.bad == nil {
		dst = appendField(dst, `,"tag":`, r.tag, r.plain)
		dst = append(dst, `,"slot":`...)
		dst = strconv.AppendUint(dst, uint64(r.slot), 10)
	} else {
		dst = append(dst, `,"tag":null,"slot":null`...)
	}
	dst = append(dst, typeFields[k.Type].typ...)
	dst = appendNullable(dst, `,"suffix":`, k.Suffix, k.Space != decode.NoSpace, r.plain)
	dst = appendNullable(dst, `,"name":`, k.Name, k.HasName(), r.plain)
	dst = append(dst, typeFields[k.Type].store...)
	if k.HasID() {
		dst = append(dst, `,"kind":"`...)
		dst = append(dst, r.id.item.text[:brandedid.NamespaceLen]...)
		dst = append(dst, `","id":{"id":"`...)
		dst = append(dst, r.id.item.text...)
		dst = append(dst, '"')
		dst = append(r.id.appendJSONBody(dst), '}')
	} else {
		dst = append(dst, `,"kind":null,"id":null`...)
	}
	if r.ok() && len(r.notes) == 0 {
		dst = append(dst, `,"notes":[],"error":null`...)
	} else {
		dst = append(dst, `,"notes":`...)
		dst = appendNotes(dst, r.notes)
		dst = append(dst, `,"error":`...)
		dst = appendProblem(dst, r.problem())
	}
	return dst
}

// found lends the id record's way of telling where an item was found.
func (r *keyRecord) found() *idRecord {
	r.id.extracted, r.id.item.line, r.id.item.offset = r.extracted, r.item.line, r.item.offset
	return &r.id
}

func (r *keyRecord) appendTSV(dst []byte) []byte {
	k := &r.key
	if r.ok() {
		dst = append(dst, "true\t"...)
	} else {
		dst = append(dst, "false\t"...)
	}
	if r.item.bad == nil {
		dst = strconv.AppendUint(dst, uint64(r.slot), 10)
	} else {
		dst = append(dst, '-')
	}
	dst = appendOptional(append(dst, '\t'), k.Queue, k.Space == decode.Queue, r.plain)
	dst = appendOptional(append(dst, '\t'), k.Type.String(), k.Type != decode.Unregistered, true)
	if k.HasID() {
		dst = append(dst, '\t')
		dst = append(dst, r.id.item.text[:brandedid.NamespaceLen]...)
		dst = append(dst, '\t')
		dst = append(dst, r.id.item.text...)
		dst = append(dst, '\t')
	} else {
		dst = append(dst, "\t-\t-\t"...)
	}
	dst = appendOptional(dst, r.item.text, !r.lost(), r.plain)
	return r.found().appendFoundTSV(dst)
}

func (r *keyRecord) appendText(p *page) {
	r.appendTextBody(p)
	p.notes(r.notes)
	textFound(p, r.extracted, r.item)
}

// appendTextBody appends what the key itself tells.
func (r *keyRecord) appendTextBody(p *page) {
	p.divide()
	k := &r.key
	if bad := r.problem(); bad != nil {
		if r.lost() {
			p.problemLine(bad)
			return
		}
		p.problem("key", r.item.text, bad)
	} else {
		p.label("key").bytes(p.paint.main, r.item.text).end()
	}
	if k.Space == decode.Queue {
		p.label("queue").bytes(p.paint.main, k.Queue).end()
	}
	if k.Space == decode.Reserve {
		p.label("space").str("reserve").about("keys that belong to no queue").end()
	}
	if r.item.bad == nil {
		p.label("slot").ink(p.paint.main, strconv.Itoa(int(r.slot)))
		if r.rule != slot.RuleTag {
			p.about("%s", r.rule.About())
		}
		p.end()
	}
	if r.ok() {
		info := k.Type.Info()
		switch {
		case k.Type == decode.Unregistered:
			p.label("type").ink(p.paint.note, "unregistered").end()
		case info.Store == "":
			p.label("type").ink(p.paint.main, info.Word).about("%s", info.Role).end()
		default:
			p.label("type").ink(p.paint.main, info.Word).about("%s: a %s", info.Role, info.Store).end()
		}
		if k.HasName() {
			p.label(info.Placeholder()).bytes(p.paint.id, k.Name).end()
		}
	}
	if k.HasID() {
		p.label("id").ink(p.paint.id, r.id.item.text).end()
		p.label("kind").ink(p.paint.main, k.ID.Namespace()).end()
		textMint(p, k.ID, r.now)
		p.label("host").ink(p.paint.good, "admitted").about("all 14 bytes of the id are sound").end()
		textWire(p, r.id.item.text)
	}
}
