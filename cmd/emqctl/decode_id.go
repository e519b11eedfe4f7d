package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/escape"
)

type decodeIDOptions struct {
	inputOptions
	Namespace string
	Demand    bool // Namespace was given
	IDs       []string
}

const idColumns = "ok namespace snowflake time node seq hash32 id"

func newDecodeIDCmd(e *env) *cobra.Command {
	var opts decodeIDOptions
	cmd := &cobra.Command{
		Use:   "decode-id ID...",
		Short: "Read branded ids: namespace, mint time, node, and both gates",
		Long: `Read branded ids, 14 bytes each: a namespace of three letters and a base62
snowflake. The record tells the parts of the id and what its two owners say of
it: the host, which checks all 14 bytes, and the wire, which compares the first
three with JOB.

Without operands, or with the operand -, ids are read from standard input, one
a line. The exit code is 1 when the host refuses one. --extract finds ids in
text instead, and tells line and offset; to find none is no error.

Columns of -o tsv: ` + idColumns + `
With --extract, line and offset follow.`,
		Example: `  emqctl decode-id JOB0KHTOWnGLuC
  emqctl decode-id --namespace JOB -o json USR0KHTOWnGLuC
  emqctl decode-id JOB-42`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.IDs, opts.Demand = args, cmd.Flags().Changed("namespace")
			return runDecodeID(cmd.Context(), e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	opts.flags(cmd)
	opts.extractFlag(cmd, "branded id")
	cmd.Flags().StringVar(&opts.Namespace, "namespace", "", "demand this namespace; any other makes the exit code 1")
	return cmd
}

func runDecodeID(ctx context.Context, e *env, opts decodeIDOptions) error {
	if opts.Demand {
		if _, err := brandedid.New(opts.Namespace, 0); err != nil {
			return &usageError{msg: "--namespace is " + quote(opts.Namespace) + ": " + err.Error(), hint: "--namespace takes three letters, as JOB"}
		}
	}
	newRecord := func() answerer { return &idRecord{demand: opts.Namespace, extracted: opts.Extract} }
	return e.answerInput(ctx, opts.inputOptions, opts.IDs, newRecord, extractIDs)
}

// idRecord is the answer to an id.
type idRecord struct {
	demand    string
	extracted bool

	item  item
	now   time.Time
	id    brandedid.ID
	err   *brandedid.Error // what the host says
	notes []note
	plain bool
}

const noteOtherNamespace = "other-namespace"

func (r *idRecord) read(it item, now time.Time) {
	r.item, r.now, r.err, r.notes = it, now, nil, r.notes[:0]
	r.plain = escape.IsPlain(it.text)
	id, err := brandedid.Parse(it.text)
	r.id = id
	if err != nil {
		r.err = err.(*brandedid.Error)
		return
	}
	r.addNotes(decode.IDNotes(id, now))
	if r.demand != "" && it.text[:brandedid.NamespaceLen] != r.demand {
		r.notes = append(r.notes, note{noteOtherNamespace, 0, "the namespace is " + id.Namespace() + ", want " + r.demand})
	}
}

func (r *idRecord) addNotes(notes []decode.Note) {
	for _, n := range notes {
		r.notes = append(r.notes, note{string(n.Kind), n.Off, n.Msg})
	}
}

func (r *idRecord) ok() bool { return r.item.bad == nil && r.err == nil }

func (r *idRecord) verdict() (v verdict) {
	if !r.ok() {
		v |= verdictNo
	}
	if len(r.notes) > 0 {
		v |= verdictNotes
		if r.notes[len(r.notes)-1].Kind == noteOtherNamespace {
			v |= verdictNo
		}
	}
	return v
}

// hostProblem is what the host says, or what kept the item from it.
func (r *idRecord) hostProblem() *problem {
	switch {
	case r.item.bad != nil:
		return r.item.bad
	case r.err != nil:
		hint := brandedid.Hint(r.item.text, r.now)
		if _, err := decode.Parse(r.item.text); err == nil {
			hint = "that is a key: decode-key reads it"
		}
		return newProblem(string(r.err.Kind), r.err.Off, r.err.Error(), hint)
	}
	return nil
}

// lost reports that there are no bytes to show: the line was too long.
func (r *idRecord) lost() bool { return r.item.bad != nil && r.item.text == "" }

type idContract struct {
	ID         *string       `json:"id"`
	IDBase64   *string       `json:"id_base64,omitempty"`
	OK         bool          `json:"ok"`
	Namespace  *string       `json:"namespace"`
	Snowflake  *string       `json:"snowflake"`
	UnixMS     *int64        `json:"unix_ms"`
	Time       *string       `json:"time"`
	Node       *int          `json:"node"`
	Seq        *int          `json:"seq"`
	Hash32     *uint32       `json:"hash32"`
	Host       *hostContract `json:"host"`
	Wire       *wireContract `json:"wire"`
	Notes      []note        `json:"notes"`
	foundAtPos `json:""`
}

type hostContract struct {
	OK    bool     `json:"ok"`
	Error *problem `json:"error"`
}

type wireContract struct {
	OK           bool    `json:"ok"`
	Prefix       *string `json:"prefix"`
	PrefixBase64 *string `json:"prefix_base64,omitempty"`
	Error        *string `json:"error"`
}

// foundAtPos is where --extract found an item.
type foundAtPos struct {
	Line   *int64 `json:"line,omitempty"`
	Offset *int   `json:"offset,omitempty"`
}

func (r *idRecord) contract() any { return idContract{} }

func (r *idRecord) appendJSON(dst []byte) []byte {
	dst = appendNullable(dst, `{"id":`, r.item.text, !r.lost(), r.plain)
	dst = r.appendJSONBody(dst)
	return append(r.appendFound(dst), '}')
}

func (r *idRecord) appendFound(dst []byte) []byte {
	if r.extracted {
		dst = append(dst, `,"line":`...)
		dst = strconv.AppendInt(dst, r.item.line, 10)
		dst = append(dst, `,"offset":`...)
		dst = strconv.AppendInt(dst, int64(r.item.offset), 10)
	}
	return dst
}

// appendJSONBody appends all fields after id, without the closing brace.
func (r *idRecord) appendJSONBody(dst []byte) []byte {
	if r.ok() {
		dst = append(dst, `,"ok":true,"namespace":"`...)
		dst = append(dst, r.item.text[:brandedid.NamespaceLen]...)
		dst = append(dst, `","snowflake":"`...)
		dst = strconv.AppendUint(dst, r.id.Snowflake(), 10)
		dst = append(dst, `","unix_ms":`...)
		dst = strconv.AppendInt(dst, r.id.UnixMilli(), 10)
		dst = append(dst, `,"time":"`...)
		dst = appendTime(dst, r.id.UnixMilli())
		dst = append(dst, `","node":`...)
		dst = strconv.AppendInt(dst, int64(r.id.Node()), 10)
		dst = append(dst, `,"seq":`...)
		dst = strconv.AppendInt(dst, int64(r.id.Seq()), 10)
		dst = append(dst, `,"hash32":`...)
		dst = strconv.AppendUint(dst, uint64(r.id.Hash32()), 10)
		dst = append(dst, `,"host":{"ok":true,"error":null}`...)
	} else {
		dst = append(dst, `,"ok":false,"namespace":null,"snowflake":null,"unix_ms":null,"time":null,"node":null,"seq":null,"hash32":null,"host":{"ok":false,"error":`...)
		dst = appendProblem(dst, r.hostProblem())
		dst = append(dst, '}')
	}
	switch {
	case r.item.bad != nil:
		dst = append(dst, `,"wire":null`...)
	case brandedid.WireAdmits(r.item.text):
		dst = append(dst, `,"wire":{"ok":true,"prefix":"JOB","error":null}`...)
	default:
		dst = append(dst, `,"wire":{"ok":false`...)
		dst = appendField(dst, `,"prefix":`, brandedid.WirePrefix(r.item.text), r.plain)
		dst = append(dst, `,"error":"`+brandedid.WireRefusal+`"}`...)
	}
	dst = append(dst, `,"notes":`...)
	return appendNotes(dst, r.notes)
}

func (r *idRecord) appendTSV(dst []byte) []byte {
	if r.ok() {
		dst = append(dst, "true\t"...)
		dst = append(dst, r.item.text[:brandedid.NamespaceLen]...)
		dst = append(dst, '\t')
		dst = strconv.AppendUint(dst, r.id.Snowflake(), 10)
		dst = append(dst, '\t')
		dst = appendTime(dst, r.id.UnixMilli())
		dst = append(dst, '\t')
		dst = strconv.AppendInt(dst, int64(r.id.Node()), 10)
		dst = append(dst, '\t')
		dst = strconv.AppendInt(dst, int64(r.id.Seq()), 10)
		dst = append(dst, '\t')
		dst = strconv.AppendUint(dst, uint64(r.id.Hash32()), 10)
		dst = append(dst, '\t')
	} else {
		dst = append(dst, "false\t-\t-\t-\t-\t-\t-\t"...)
	}
	dst = appendOptional(dst, r.item.text, !r.lost(), r.plain)
	return r.appendFoundTSV(dst)
}

func (r *idRecord) appendFoundTSV(dst []byte) []byte {
	if r.extracted {
		dst = strconv.AppendInt(append(dst, '\t'), r.item.line, 10)
		dst = strconv.AppendInt(append(dst, '\t'), int64(r.item.offset), 10)
	}
	return dst
}

func (r *idRecord) appendText(p *page) {
	p.divide()
	if bad := r.hostProblem(); bad != nil {
		if r.lost() {
			p.problemLine(bad)
			return
		}
		p.problem("id", r.item.text, bad)
		if r.item.bad != nil {
			return
		}
		p.label("host").ink(p.paint.bad, "refused").about("it checks all 14 bytes").end()
	} else {
		p.label("id").ink(p.paint.main, r.item.text).end()
		p.label("namespace").ink(p.paint.id, r.id.Namespace()).end()
		p.label("snowflake").str(strconv.FormatUint(r.id.Snowflake(), 10)).end()
		textMint(p, r.id, r.now)
		p.label("seq").str(strconv.Itoa(r.id.Seq())).end()
		p.label("hash32").str(strconv.FormatUint(uint64(r.id.Hash32()), 10)).about("places the row by its identity, whatever the namespace").end()
		textBits(p, r.id)
		p.label("host").ink(p.paint.good, "admitted").about("all 14 bytes are sound").end()
	}
	textWire(p, r.item.text)
	p.notes(r.notes)
	textFound(p, r.extracted, r.item)
}

// textMint writes when and where an id was minted.
func textMint(p *page, id brandedid.ID, now time.Time) {
	p.label("minted").ink(p.paint.time, string(appendTime(nil, id.UnixMilli()))).about("%s", age(id.Time(), now)).end()
	p.label("node").str(strconv.Itoa(id.Node())).end()
}

// textBits draws the snowflake.
func textBits(p *page, id brandedid.ID) {
	n := id.Snowflake()
	p.label("bits")
	p.ink(p.paint.time, string(appendBinary(nil, n>>(brandedid.NodeBits+brandedid.SeqBits), brandedid.TimeBits))).str(" ")
	p.ink(p.paint.id, string(appendBinary(nil, n>>brandedid.SeqBits, brandedid.NodeBits))).str(" ")
	p.str(string(appendBinary(nil, n, brandedid.SeqBits))).end()
	const drawn = "milliseconds since 2024-01-01, 41 bits"
	p.label("").ink(p.paint.dim, drawn).pad(brandedid.TimeBits+1-len(drawn)).ink(p.paint.dim, "node, 10").pad(3).ink(p.paint.dim, "seq, 12").end()
}

// textWire writes what the wire says of an id.
func textWire(p *page, id string) {
	p.label("wire")
	if brandedid.WireAdmits(id) {
		p.ink(p.paint.good, "admitted").about("it reads three bytes, and they are JOB").end()
		return
	}
	p.ink(p.paint.bad, "refused").str("  " + brandedid.WireRefusal).end()
}

func textFound(p *page, extracted bool, it item) {
	if extracted {
		p.label("found").str("line " + strconv.FormatInt(it.line, 10) + ", byte " + strconv.Itoa(it.offset)).end()
	}
}
