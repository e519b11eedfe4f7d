package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/look"
	"github.com/echomq/emqctl/internal/valkey"
)

// liveFlag returns a flag that was given and says something of a server, or
// "" when none was.
func liveFlag(cmd *cobra.Command) (name string) {
	scratch := &cobra.Command{}
	new(connectionOptions).flags(scratch)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if name == "" && (f.Name == "payload" || scratch.Flags().Lookup(f.Name) != nil) {
			name = f.Name
		}
	})
	return name
}

// runDecodeKeyLive is runDecodeKey with a server beside the grammar.
func runDecodeKeyLive(ctx context.Context, e *env, opts decodeKeyOptions) error {
	if opts.Payload < 0 {
		return &usageError{msg: "--payload is " + strconv.Itoa(opts.Payload) + ", want 0 or more"}
	}
	if err := e.checkConnection(opts.connectionOptions); err != nil {
		return err
	}
	var client *valkey.Client
	l := &look.Looker{Payload: opts.Payload, Connect: func() (look.Client, error) {
		c, err := e.connect(ctx, opts.connectionOptions)
		if err != nil {
			return nil, err
		}
		client = c
		return c, nil
	}}
	newRecord := func() answerer {
		return &liveKeyRecord{keyRecord: keyRecord{extracted: opts.Extract}, ctx: ctx, looker: l}
	}
	err := e.answerInput(ctx, opts.inputOptions, opts.Keys, newRecord, extractKeys)
	if client != nil {
		client.Close()
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// liveKeyRecord is the answer to a key, with what a server holds under it.
type liveKeyRecord struct {
	keyRecord
	ctx    context.Context
	looker *look.Looker
	looked []look.Key // of the items that were prepared
	next   int
	live   *look.Key // nil for an item that is no key at all
}

// noteStoreType is of a key whose TYPE is not the grammar's.
const noteStoreType = "store-type"

func (r *liveKeyRecord) prepare(items []item, _ time.Time) {
	var keys []string
	for _, it := range items {
		if it.bad == nil {
			keys = append(keys, it.text)
		}
	}
	r.looked, r.next = r.looker.Keys(r.ctx, keys), 0
}

func (r *liveKeyRecord) read(it item, now time.Time) {
	r.keyRecord.read(it, now)
	r.live = nil
	if it.bad != nil {
		return
	}
	r.live = &r.looked[r.next]
	r.next++
	if n, ok := storeNote(&r.key, r.err, r.live.Type); ok && r.live.Exists() {
		r.notes = append(r.notes, n)
	}
}

// storeNote compares the TYPE of a key that is there with what the grammar
// says that it holds.
func storeNote(k *decode.Key, malformed error, typ string) (note, bool) {
	if malformed != nil || k.Type == decode.Unregistered {
		return note{}, false
	}
	info := k.Type.Info()
	switch {
	case k.Type == decode.StreamArchived && typ == "stream": // what the note ambiguous is about
		return note{}, false
	case info.Store == typ, info.Store == "" && k.Space == decode.Reserve:
		return note{}, false
	case info.Store == "" || info.Store == "channel":
		return note{noteStoreType, 0, fmt.Sprintf("the server holds a %s, want no key: %s", typ, info.Role)}, true
	}
	return note{noteStoreType, 0, fmt.Sprintf("the server holds a %s, want a %s: %s", typ, info.Store, info.Role)}, true
}

func (r *liveKeyRecord) verdict() verdict {
	v := r.keyRecord.verdict()
	if r.live != nil && r.live.Err != nil {
		v |= verdictUndone
	}
	return v
}

func (r *liveKeyRecord) appendJSON(dst []byte) []byte {
	dst = append(r.appendJSONBody(dst), `,"live":`...)
	if r.live == nil {
		dst = append(dst, "null"...)
	} else {
		dst = marshal(dst, newLiveContract(r.live, r.key.Type, r.now))
	}
	return append(r.found().appendFound(dst), '}')
}

// appendTSV appends the columns TYPE, size and TTL to those of the key; TYPE
// is none for a key that is not there.
func (r *liveKeyRecord) appendTSV(dst []byte) []byte {
	dst = append(r.keyRecord.appendTSV(dst), '\t')
	if r.live == nil || !r.live.Asked {
		return append(dst, "-\t-\t-"...)
	}
	dst = appendCell(dst, r.live.Type, false)
	for _, n := range []int64{r.live.Size, r.live.TTL} {
		dst = append(dst, '\t')
		if n < 0 {
			dst = append(dst, '-')
		} else {
			dst = strconv.AppendInt(dst, n, 10)
		}
	}
	return dst
}

func (r *liveKeyRecord) appendText(p *page) {
	r.appendTextBody(p)
	if r.live != nil {
		textLive(p, r.live, &r.key, r.now)
	}
	p.notes(r.notes)
	textFound(p, r.extracted, r.item)
}

// problemOf is an error of a server as records show it.
func problemOf(err error) *problem {
	if err == nil {
		return nil
	}
	var v *valkey.Error
	if errors.As(err, &v) {
		return newProblem(string(v.Kind), 0, v.Error(), v.Hint)
	}
	return newProblem("failed", 0, err.Error(), "")
}
