package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/slot"
)

func runSlotFind(ctx context.Context, e *env, opts slotOptions) error {
	if len(opts.Keys) == 0 {
		return &usageError{msg: "--find wants slots as operands", hint: "as in emqctl slot --find 3378"}
	}
	if opts.N < 1 {
		return &usageError{msg: fmt.Sprintf("-n is %d, want 1 or more", opts.N)}
	}
	if n, bad := decode.CheckDesign(opts.Prefix + "0"); bad || len(opts.Prefix) > 100 {
		return &usageError{msg: "--prefix is " + quote(opts.Prefix) + ", want at most 100 bytes that a queue name can hold: " + n.Msg}
	}
	var slots []uint16
	for _, s := range opts.Keys {
		n, err := strconv.ParseUint(s, 10, 16)
		if err != nil || n >= slot.Count {
			return &usageError{msg: fmt.Sprintf("SLOT is %s, want a number from 0 to %d", quote(s), slot.Count-1)}
		}
		slots = append(slots, uint16(n))
	}
	if err := e.check(&foundSlotRecord{}); err != nil {
		return err
	}
	if err := opts.check(e); err != nil {
		return err
	}
	names := findQueues(ctx, slots, opts.Prefix, opts.N)
	if ctx.Err() != nil {
		return errInterrupted
	}
	r := &foundSlotRecord{}
	render := e.rendering(r, opts.end())
	var buf []byte
	for _, s := range slots {
		for _, name := range names[s] {
			*r = foundSlotRecord{s, name}
			var err error
			if buf, err = render(buf); err != nil {
				return err
			}
		}
	}
	if _, err := e.Out.Write(buf); err != nil && err != errClosed {
		return err
	}
	return nil
}

// findQueues returns the first n names on each slot, trying the prefix with
// the numbers from 0 in base 36 behind it.
func findQueues(ctx context.Context, slots []uint16, prefix string, n int) map[uint16][]string {
	names := make(map[uint16][]string)
	for _, s := range slots {
		names[s] = nil
	}
	for i, missing := uint64(0), len(names); missing > 0 && ctx.Err() == nil; i++ {
		name := prefix + strconv.FormatUint(i, 36)
		s := slot.OfTag(name)
		if have, wanted := names[s]; wanted && len(have) < n {
			names[s] = append(have, name)
			if len(have)+1 == n {
				missing--
			}
		}
	}
	return names
}

// foundSlotRecord is a queue name that lands on a slot.
type foundSlotRecord struct {
	Slot  uint16 `json:"slot"`
	Queue string `json:"queue"`
}

func (r *foundSlotRecord) verdict() verdict             { return 0 }
func (r *foundSlotRecord) contract() any                { return *r }
func (r *foundSlotRecord) appendJSON(dst []byte) []byte { return marshal(dst, r) }

func (r *foundSlotRecord) appendTSV(dst []byte) []byte {
	return append(strconv.AppendUint(dst, uint64(r.Slot), 10), "\t"+r.Queue...)
}

func (r *foundSlotRecord) appendText(p *page) {
	s := strconv.Itoa(int(r.Slot))
	p.ink(p.paint.main, s).pad(7 - len(s)).str(r.Queue).end()
}
