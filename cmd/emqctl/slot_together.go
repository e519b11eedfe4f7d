package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/echomq/emqctl/internal/slot"
)

func runSlotTogether(ctx context.Context, e *env, opts slotOptions) error {
	seen := &slotCounts{}
	err := e.answerInput(ctx, opts.inputOptions, opts.Keys, func() answerer { return &slotRecord{seen: seen} }, nil)
	if err != nil && err != errNo {
		return err
	}
	// With --strict a note ends in errNo as well, and is no answer to whether
	// the keys share a slot; only an item without a slot leaves that open.
	r := &togetherRecord{Groups: seen.groups(), Unread: seen.unread}
	r.Together = len(r.Groups) <= 1 && r.Unread == 0
	if e.output != outputTSV && e.template == nil {
		if emitErr := e.emit(r, false); emitErr != nil {
			return emitErr
		}
	}
	if err == nil {
		err = r.verdict().err(false)
	}
	return err
}

// slotCounts gathers what --together has to know, from many workers.
type slotCounts struct {
	mu     sync.Mutex
	slots  [slot.Count]*slotGroup
	unread int
}

func (c *slotCounts) add(s uint16, line int64, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.slots[s]
	if g == nil {
		g = &slotGroup{Slot: s, key: key, line: line}
		c.slots[s] = g
	}
	if g.Count++; line < g.line {
		g.key, g.line = key, line
	}
}

func (c *slotCounts) addUnread() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread++
}

// groups returns the slots that have keys, in the order of their first ones.
func (c *slotCounts) groups() []slotGroup {
	groups := []slotGroup{}
	for _, g := range c.slots {
		if g == nil {
			continue
		}
		if utf8.ValidString(g.key) {
			g.First = &g.key
		} else {
			b := base64.StdEncoding.EncodeToString([]byte(g.key))
			g.FirstBase64 = &b
		}
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b slotGroup) int { return int(a.line - b.line) })
	return groups
}

// togetherRecord tells whether keys share a slot.
type togetherRecord struct {
	Together bool        `json:"together"`
	Groups   []slotGroup `json:"groups"`
	Unread   int         `json:"unread"` // items that are no keys: then nobody knows
}

// slotGroup is the keys of one slot: how many, and one of them.
type slotGroup struct {
	Slot        uint16  `json:"slot"`
	Count       int     `json:"count"`
	First       *string `json:"first"`
	FirstBase64 *string `json:"first_base64,omitempty"`

	key  string
	line int64 // of key
}

func (r *togetherRecord) verdict() verdict {
	if !r.Together {
		return verdictNo
	}
	return 0
}

func (r *togetherRecord) contract() any                { return *r }
func (r *togetherRecord) appendJSON(dst []byte) []byte { return marshal(dst, r) }

func (r *togetherRecord) appendText(p *page) {
	total := 0
	for _, g := range r.Groups {
		total += g.Count
	}
	switch {
	case r.Together && total == 0:
		p.ink(p.paint.good, "together").str("  no keys").end()
	case r.Together:
		p.ink(p.paint.good, "together").str(fmt.Sprintf("  %s on slot %d", plural(total, "key"), r.Groups[0].Slot)).end()
	case len(r.Groups) <= 1:
		p.ink(p.paint.bad, "unsure").str("  " + plural(r.Unread, "key") + " could not be read").end()
	default:
		p.ink(p.paint.bad, "apart").str(fmt.Sprintf("  %s on %d slots", plural(total, "key"), len(r.Groups))).end()
		for _, g := range r.Groups {
			s := strconv.Itoa(int(g.Slot))
			p.ink(p.paint.main, s).pad(7-len(s)).str(plural(g.Count, "key")+", the first ").bytes(ink{}, g.key).end()
		}
	}
}
