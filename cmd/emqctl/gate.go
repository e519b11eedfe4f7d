package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/echomq/emqctl/internal/brandedid"
	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/embedded"
	"github.com/echomq/emqctl/internal/escape"
	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/scripts"
)

type gateOptions struct {
	inputOptions
	IDs []string
}

const gateColumns = "ok host script native transition prefix id"

func newGateCmd(e *env) *cobra.Command {
	var opts gateOptions
	cmd := &cobra.Command{
		Use:   "gate ID...",
		Short: "Ask every gate about ids: host, script and native command",
		Long: `Ask every gate about ids. The host checks all 14 bytes before it sends anything.
The wire reads three: the script, and the native command EMQ.ENQUEUE, which
checks other things first. Both are run, in an embedded store: rehearsed, not
verified on a server. Ids that begin with the same three bytes share one
rehearsal, since neither reads any others. The record tells each verdict in its
own words, and how far an enqueue would get: host, namespace or write.

An id can pass the wire and be refused by the host: then only the host keeps it
out of the store.

Without operands, or with the operand -, ids are read from standard input, one
a line. The exit code is 1 when any gate refuses one.

Columns of -o tsv: ` + gateColumns,
		Example: `  emqctl gate JOB-42
  emqctl gate JOB0KHTOWnGLuC USR0KHTOWnGLuC job-42 -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.IDs = args
			return runGate(cmd.Context(), e, opts)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	opts.flags(cmd)
	return cmd
}

func runGate(ctx context.Context, e *env, opts gateOptions) error {
	r, err := loadScripts("")
	if err != nil {
		return err
	}
	enqueue, _ := r.Lookup("enqueue")
	// Each worker has a store of its own; it is in memory and goes with it.
	if _, err := embedded.New(e.now, ""); err != nil {
		return err
	}
	return e.answerInput(ctx, opts.inputOptions, opts.IDs, func() answerer {
		s, _ := embedded.New(e.now, "")
		return &gateRecord{ctx: ctx, verb: enqueue, store: s}
	}, nil)
}

// The places where an enqueue can end.
const (
	stopHost      = "host"      // nothing is sent
	stopNamespace = "namespace" // refused on the wire, before a row exists
	stopWrite     = "write"     // stored
)

// gateRecord is what the gates say of an id.
type gateRecord struct {
	ctx   context.Context
	verb  *scripts.Verb
	store *embedded.Store

	// What came of the rehearsals so far, by what the wire reads of an id.
	seen map[string][2]gateVerdict

	item           item
	err            *brandedid.Error
	hint           string
	script, native gateVerdict
	notes          []note
}

// gateVerdict is what an executor says.
type gateVerdict struct {
	ok       bool
	text     string // its refusal
	commands []embedded.Command
	reached  string // namespace or write
	json     []byte
}

// maxSeen bounds what a worker keeps of rehearsals. Real ids have few
// namespaces.
const maxSeen = 1 << 10

// gateQueue is where ids are tried; no verdict depends on it.
const gateQueue = "gate"

func (r *gateRecord) read(it item, now time.Time) {
	r.item, r.err, r.hint, r.notes = it, nil, "", r.notes[:0]
	r.script, r.native = gateVerdict{}, gateVerdict{}
	if it.bad != nil {
		return
	}
	id, err := brandedid.Parse(it.text)
	if err != nil {
		r.err = err.(*brandedid.Error)
		r.hint = brandedid.Hint(it.text, now)
	} else {
		for _, n := range decode.IDNotes(id, now) {
			r.notes = append(r.notes, note{string(n.Kind), n.Off, n.Msg})
		}
	}
	// Both read the three bytes alone, of which a test makes sure: to run the
	// script for each id anew would be to ask the same question again.
	prefix := brandedid.WirePrefix(it.text)
	both, ok := r.seen[prefix]
	if !ok {
		both = [2]gateVerdict{r.ask(false), r.ask(true)}
		if r.seen == nil || len(r.seen) >= maxSeen {
			r.seen = map[string][2]gateVerdict{}
		}
		r.seen[strings.Clone(prefix)] = both
	}
	r.script, r.native = both[0], both[1]
}

// ask runs an enqueue of the id in an empty store.
func (r *gateRecord) ask(native bool) (v gateVerdict) {
	r.store.Reset()
	o := r.store.Rehearse(r.ctx, executor.Call{
		Verb: r.verb, Native: native,
		Keys: []string{decode.QueueKey(gateQueue, "job:"+r.item.text), decode.QueueKey(gateQueue, "pending")},
		Args: []string{r.item.text, ""},
	})
	v.commands, v.reached = o.Commands, stopWrite
	switch o.State {
	case executor.Replied:
		v.ok = o.Reply == int64(1)
	case executor.Refused:
		v.text, v.reached = o.Text, stopNamespace
	default:
		v.text, v.reached = o.Err.Error(), stopNamespace
	}
	v.json = v.render()
	return v
}

func (r *gateRecord) ok() bool {
	return r.item.bad == nil && r.err == nil && r.script.ok && r.native.ok
}

// transition is where an enqueue of the id ends.
func (r *gateRecord) transition() string {
	if r.err != nil {
		return stopHost
	}
	return r.script.reached
}

func (r *gateRecord) verdict() (v verdict) {
	if !r.ok() {
		v |= verdictNo
	}
	if len(r.notes) > 0 {
		v |= verdictNotes
	}
	return v
}

func (r *gateRecord) lost() bool { return r.item.bad != nil && r.item.text == "" }

type gateContract struct {
	ID           *string           `json:"id"`
	IDBase64     *string           `json:"id_base64,omitempty"`
	OK           bool              `json:"ok"`
	Prefix       *string           `json:"prefix"`
	PrefixBase64 *string           `json:"prefix_base64,omitempty"`
	Host         *gateHostContract `json:"host"`
	Script       *gateWireContract `json:"script"`
	Native       *gateWireContract `json:"native"`
	Transition   *string           `json:"transition"`
	Engine       string            `json:"engine"`
	Notes        []note            `json:"notes"`
	Error        *problem          `json:"error"`
}

// gateHostContract is the host's verdict; raises is what the host says.
type gateHostContract struct {
	OK     bool     `json:"ok"`
	Raises *string  `json:"raises"`
	Error  *problem `json:"error"`
}

// gateWireContract is an executor's verdict: the text of its refusal, where
// the transition ended, and what ran until then.
type gateWireContract struct {
	OK      bool     `json:"ok"`
	Error   *string  `json:"error"`
	Reached string   `json:"reached"`
	Ran     []string `json:"ran"`
}

// hostRaises is what the reference host raises for an id that does not parse.
const hostRaises = "job_key requires a valid branded id"

func (r *gateRecord) contract() any { return gateContract{} }

func (r *gateRecord) appendJSON(dst []byte) []byte {
	plain := escape.IsPlain(r.item.text)
	dst = appendNullable(dst, `{"id":`, r.item.text, !r.lost(), plain)
	if r.item.bad != nil {
		dst = append(dst, `,"ok":false,"prefix":null,"host":null,"script":null,"native":null,"transition":null,"engine":"`+embedded.Engine+`","notes":[],"error":`...)
		return append(appendProblem(dst, r.item.bad), '}')
	}
	dst = append(dst, `,"ok":`...)
	if r.ok() {
		dst = append(dst, "true"...)
	} else {
		dst = append(dst, "false"...)
	}
	dst = appendField(dst, `,"prefix":`, brandedid.WirePrefix(r.item.text), plain)
	if r.err == nil {
		dst = append(dst, `,"host":{"ok":true,"raises":null,"error":null}`...)
	} else {
		dst = append(dst, `,"host":{"ok":false,"raises":"`+hostRaises+`","error":`...)
		dst = append(appendProblem(dst, r.hostProblem()), '}')
	}
	dst = append(append(dst, `,"script":`...), r.script.json...)
	dst = append(append(dst, `,"native":`...), r.native.json...)
	dst = append(dst, `,"transition":"`+r.transition()+`","engine":"`+embedded.Engine+`","notes":`...)
	return append(appendNotes(dst, r.notes), `,"error":null}`...)
}

// render is the JSON of a verdict.
func (v *gateVerdict) render() []byte {
	c := gateWireContract{OK: v.ok, Reached: v.reached, Ran: v.names()}
	if v.text != "" {
		c.Error = &v.text
	}
	return marshal(nil, c)
}

// names are the commands that ran.
func (v *gateVerdict) names() []string {
	names := []string{}
	for _, c := range v.commands {
		names = append(names, c.Name)
	}
	return names
}

func (r *gateRecord) hostProblem() *problem {
	return newProblem(string(r.err.Kind), r.err.Off, r.err.Error(), r.hint)
}

func (r *gateRecord) appendTSV(dst []byte) []byte {
	if r.item.bad != nil {
		return appendOptional(append(dst, "false\t-\t-\t-\t-\t-\t"...), r.item.text, !r.lost(), false)
	}
	host := "ok"
	if r.err != nil {
		host = string(r.err.Kind)
	}
	word := "false"
	if r.ok() {
		word = "true"
	}
	for _, cell := range []string{word, host, r.script.word(), r.native.word(), r.transition()} {
		dst = append(append(dst, cell...), '\t')
	}
	dst = append(appendCell(dst, brandedid.WirePrefix(r.item.text), false), '\t')
	return appendCell(dst, r.item.text, false)
}

// word is ok, or the class of the refusal.
func (v *gateVerdict) word() string {
	if v.ok {
		return "ok"
	}
	class, _, _ := strings.Cut(v.text, " ")
	return class
}

func (r *gateRecord) appendText(p *page) {
	p.divide()
	if r.item.bad != nil {
		if r.lost() {
			p.problemLine(r.item.bad)
		} else {
			p.problem("id", r.item.text, r.item.bad)
		}
		return
	}
	if r.err != nil {
		p.problem("id", r.item.text, r.hostProblem())
		p.label("host").ink(p.paint.bad, "refused").str("   " + hostRaises).about("it checks all 14 bytes").end()
	} else {
		p.label("id").ink(p.paint.main, r.item.text).end()
		p.label("host").ink(p.paint.good, "admitted").about("all 14 bytes are sound").end()
	}
	p.label("wire").value(p.paint.id, brandedid.WirePrefix(r.item.text))
	if len(r.item.text) < brandedid.NamespaceLen {
		p.about("all that there is of the three bytes that it reads")
	} else {
		p.about("the three bytes that it reads, and no others")
	}
	p.end()
	r.script.appendText(p, "script")
	r.native.appendText(p, "native")
	p.label("transition")
	switch t := r.transition(); {
	case t == stopHost && r.script.ok:
		p.ink(p.paint.bad, "host").about("nothing is sent; only the host keeps it out: the wire would store it").end()
	case t == stopHost:
		p.ink(p.paint.bad, "host").about("nothing is sent; the wire would refuse it too").end()
	case t == stopNamespace:
		p.ink(p.paint.bad, "namespace").about("refused on the wire, before a row exists: {:error, :kind}").end()
	default:
		p.ink(p.paint.good, "write").about("the row and its place in the queue are written").end()
	}
	p.notes(r.notes)
}

func (v *gateVerdict) appendText(p *page, label string) {
	p.label(label)
	if v.ok {
		p.ink(p.paint.good, "admitted")
	} else {
		p.ink(p.paint.bad, "refused").str("   " + textBytes(v.text))
	}
	if ran := v.names(); len(ran) > 0 {
		p.about("rehearsed, embedded: %s", strings.Join(ran, " "))
	} else {
		p.about("rehearsed, embedded: no command ran")
	}
	p.end()
}
