package valkey

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/echomq/emqctl/internal/scripts"
)

// request is a command on its way to the node that runs it.
type request struct {
	args []string
	keys []string      // for messages
	slot int           // -1: any node
	addr string        // this node and no other; empty to go by slot
	verb *scripts.Verb // the script that args run by its digest, or nil
	call bool          // it is a call, and held to the fence

	answer answer
	at     string // the node that gave the answer
	fence  *Fence // of the connection, when the call was held to it

	next      string // the node to try next, "" to go by slot
	asking    bool
	redirects int
	loads     int // how often the script was loaded for this request
}

const (
	maxRedirects = 8
	maxLoads     = 8 // a cache may be flushed between the load and the call
	tryAgainMin  = 5 * time.Millisecond
	tryAgainMax  = 200 * time.Millisecond
)

// roundtrip sends requests, each node's in one go and in order, and follows
// what the answers say until every request has one that is final: a script
// that is missing is loaded, MOVED and ASK are followed, and a slot on the move
// is waited for as long as the time-out.
func (c *Client) roundtrip(ctx context.Context, requests []*request) {
	pending := requests
	pause, patience := tryAgainMin, time.Now().Add(c.timeout)
	refreshed := false
	for len(pending) > 0 {
		nodes, byNode := c.divide(pending)
		var wg sync.WaitGroup
		for _, addr := range nodes[1:] {
			wg.Go(func() { c.sendTo(ctx, addr, byNode[addr]) })
		}
		c.sendTo(ctx, nodes[0], byNode[nodes[0]])
		wg.Wait()

		again := make([]*request, 0)
		missing := map[string][]*request{}
		moved, wait, down := false, false, false
		for _, r := range pending {
			if r.answer.err == nil && r.answer.text == "" {
				continue
			}
			word, _, _ := strings.Cut(r.answer.text, " ")
			switch {
			case r.answer.err != nil:
				if c.cluster && !r.answer.sent && !refreshed && r.addr == "" && ctx.Err() == nil && r.answer.err.Kind != KindClosed && r.answer.err.Kind != KindFence {
					down = true
					r.next, r.asking = "", false
					again = append(again, r)
				}
			case word == "NOSCRIPT" && r.verb != nil && r.loads < maxLoads:
				missing[r.at] = append(missing[r.at], r)
				again = append(again, r)
			case (word == "MOVED" || word == "ASK") && r.addr == "" && r.redirects < maxRedirects:
				_, s, addr, ok := redirection(r.answer.text, r.at)
				if !ok {
					break
				}
				r.redirects++
				r.next, r.asking = addr, word == "ASK"
				if word == "MOVED" {
					moved = true
					c.mu.Lock()
					c.slots[s] = addr
					c.mu.Unlock()
				}
				again = append(again, r)
			case word == "TRYAGAIN" && time.Now().Before(patience):
				wait = true
				again = append(again, r)
			}
		}
		if moved && c.cluster {
			// Slots seldom move alone. What one MOVED said is kept in any case.
			known := c.movedSlots(again)
			c.refresh(ctx)
			c.keep(known)
		}
		if down {
			// The node may have been replaced. Nothing of these went out.
			refreshed = true
			c.refresh(ctx)
			again = slices.DeleteFunc(again, func(r *request) bool {
				return r.answer.err != nil && c.target(r) == r.at
			})
		}
		failed := c.load(ctx, missing)
		again = slices.DeleteFunc(again, func(r *request) bool { return failed[r] })
		if wait {
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			pause = min(2*pause, tryAgainMax)
		}
		pending = again
	}
}

func (c *Client) movedSlots(requests []*request) map[int]string {
	known := map[int]string{}
	for _, r := range requests {
		if r.next != "" && !r.asking && r.slot >= 0 {
			known[r.slot] = r.next
		}
	}
	return known
}

func (c *Client) keep(known map[int]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s, addr := range known {
		c.slots[s] = addr
	}
}

// target is the node that a request goes to next.
func (c *Client) target(r *request) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.targetLocked(r)
}

func (c *Client) targetLocked(r *request) string {
	switch {
	case r.addr != "":
		return r.addr
	case r.next != "":
		return r.next
	case r.slot >= 0 && c.slots[r.slot] != "":
		return c.slots[r.slot]
	}
	return c.Addr()
}

// divide groups requests by node, in the order in which nodes first occur.
func (c *Client) divide(requests []*request) (nodes []string, byNode map[string][]*request) {
	byNode = map[string][]*request{}
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.targetLocked(requests[0])
	if !slices.ContainsFunc(requests, func(r *request) bool { return c.targetLocked(r) != one }) {
		return []string{one}, map[string][]*request{one: requests}
	}
	for _, r := range requests {
		addr := c.targetLocked(r)
		if byNode[addr] == nil {
			nodes = append(nodes, addr)
		}
		byNode[addr] = append(byNode[addr], r)
	}
	return nodes, byNode
}

func (c *Client) sendTo(ctx context.Context, addr string, requests []*request) {
	commands := make([][]string, 0, len(requests))
	for _, r := range requests {
		if r.asking {
			commands = append(commands, []string{"ASKING"})
		}
		commands = append(commands, r.args)
	}
	answers, fence := c.exchange(ctx, addr, commands, requests[0].call)
	i := 0
	for _, r := range requests {
		if r.asking {
			i++
		}
		r.answer, r.at, r.fence = answers[i], addr, fence
		i++
	}
}

// exchange sends commands to a node; those of calls, which come apart from any
// others, on a connection whose fence was read.
func (c *Client) exchange(ctx context.Context, addr string, commands [][]string, calls bool) ([]answer, *Fence) {
	if calls && c.hold != nil {
		return c.exchangeHeld(ctx, addr, commands)
	}
	return c.node(addr).exchange(ctx, commands), nil
}

// load gives scripts to the nodes that do not keep them, and requires our
// digest back. Requests whose script cannot be had get that as their answer.
func (c *Client) load(ctx context.Context, missing map[string][]*request) (failed map[*request]bool) {
	failed = map[*request]bool{}
	for addr, requests := range missing {
		var verbs []*scripts.Verb
		var commands [][]string
		for _, r := range requests {
			if !slices.Contains(verbs, r.verb) {
				verbs = append(verbs, r.verb)
				commands = append(commands, []string{"SCRIPT", "LOAD", r.verb.Source})
			}
		}
		answers, fence := c.exchange(ctx, addr, commands, requests[0].call)
		for _, r := range requests {
			i := slices.Index(verbs, r.verb)
			a := answers[i]
			r.loads++
			r.fence = fence
			// Without a next node it would go by slot, and may meet another.
			r.next = addr
			switch {
			case a.err != nil:
				r.answer = answer{err: a.err} // the verb itself did not run
			case a.text != "":
				r.answer = answer{err: c.serverError(addr, a.text, nil)}
			case a.reply != r.verb.SHA1:
				sha, _ := a.reply.(string)
				r.answer = answer{err: &Error{Kind: KindScript, Addr: addr, Msg: addr + ": the server's digest of " + r.verb.Name + " is " + sha + ", ours " + r.verb.SHA1, Hint: "something between here and the server changes what is sent"}}
			default:
				continue
			}
			failed[r] = true
		}
	}
	return failed
}
