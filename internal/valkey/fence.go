package valkey

import (
	"context"
	"strings"

	"github.com/echomq/emqctl/internal/slot"
)

// FenceKey holds the protocol's version, once a logical database.
const FenceKey = "{emq}:version"

// FenceState says what reading the fence gave.
type FenceState string

const (
	FencePresent    FenceState = "present"    // it has a value
	FenceAbsent     FenceState = "absent"     // nobody has claimed the database
	FenceUnreadable FenceState = "unreadable" // the user may not read it, or it is no string
)

// Fence is the version fence of a database.
type Fence struct {
	State  FenceState
	Value  string // when present: "echomq:3.0.0"
	Reason *Error // when unreadable

	// NoString is set when the key is there and holds no string. It is no
	// version then, whichever one is wanted.
	NoString bool
}

// Admits reports whether a database with this fence may be worked on by who
// wants a version, "" for any. A fence that the user has no right to read
// stops nobody; any other that is not the version does.
func (f Fence) Admits(want string) bool {
	switch {
	case want == "":
		return true
	case f.State == FencePresent:
		return f.Value == want
	case f.State == FenceUnreadable:
		return !f.NoString && (f.Reason == nil || f.Reason.Kind != KindServer)
	}
	return false
}

// Fence reads the fence. An error is a server that could not be asked; a
// fence that it does not show is unreadable, and no error.
func (c *Client) Fence(ctx context.Context) (Fence, error) {
	return c.readFence(ctx)
}

// ClaimFence sets an absent fence to a version and returns what the database
// has then, which is another's when that was first. With [Client.Run] it is
// all that this package ever writes.
func (c *Client) ClaimFence(ctx context.Context, version string) (Fence, error) {
	_, err := c.one(ctx, &request{
		args: []string{"SET", FenceKey, version, "NX"},
		keys: []string{FenceKey}, slot: int(slot.Of(FenceKey)),
	})
	if err != nil {
		return Fence{}, err
	}
	return c.readFence(ctx)
}

func (c *Client) readFence(ctx context.Context) (Fence, error) {
	r := &request{args: []string{"GET", FenceKey}, keys: []string{FenceKey}, slot: int(slot.Of(FenceKey))}
	c.roundtrip(ctx, []*request{r})
	switch {
	case r.answer.err != nil:
		return Fence{}, r.answer.err
	case r.answer.text != "":
		reason := c.serverError(r.at, r.answer.text, r.keys)
		if reason.Kind != KindPermission && reason.Kind != KindServer {
			return Fence{}, reason
		}
		return Fence{State: FenceUnreadable, Reason: reason, NoString: strings.HasPrefix(r.answer.text, "WRONGTYPE")}, nil
	}
	if value, ok := r.answer.reply.(string); ok {
		return Fence{State: FencePresent, Value: value}, nil
	}
	return Fence{State: FenceAbsent}, nil
}

// hold is what every connection's fence is held to.
type hold struct {
	want  string // "" for any
	claim bool   // set an absent one to want
}

// HoldFence has the fence read on every connection from now on, before a call
// is run on it: of one that was made again too, since it may lead to another
// database than the last. [Client.RunHeld] tells what was read. A connection
// whose fence does not admit want runs nothing, and is read again for the next
// calls. An absent fence is claimed for want when claim is set.
//
// It is not to be called while calls run.
func (c *Client) HoldFence(want string, claim bool) { c.hold = &hold{want, claim} }

// passFence reads the fence as HoldFence says. An error is a fence that does
// not admit what is wanted, or a server that could not be asked.
func (c *Client) passFence(ctx context.Context) (*Fence, *Error) {
	f, err := c.readFence(ctx)
	if err == nil && f.State == FenceAbsent && c.hold.want != "" && c.hold.claim {
		f, err = c.ClaimFence(ctx, c.hold.want)
	}
	switch {
	case err != nil && c.hold.want == "":
		// Nobody waits for it. In a cluster its node may be down, and others not.
		return &Fence{State: FenceUnreadable, Reason: err.(*Error)}, nil
	case err != nil:
		return nil, err.(*Error)
	case !f.Admits(c.hold.want):
		return &f, &Error{Kind: KindFence, Addr: c.Addr(), Msg: c.Addr() + ": the fence is not the version that is wanted"}
	}
	return &f, nil
}

// exchangeHeld is [node.exchange] on a connection whose fence was read, which
// is returned as well: nil when there was no connection.
func (c *Client) exchangeHeld(ctx context.Context, addr string, commands [][]string) ([]answer, *Fence) {
	n := c.node(addr)
	// The fence may lie on another node of a cluster, so it is read without
	// holding this one; a connection can end meanwhile.
	const maxTries = 4
	for try := 1; ; try++ {
		answers, fence, unread := n.exchangeRead(ctx, commands)
		if unread == nil && answers != nil {
			return answers, fence
		}
		if unread != nil {
			var err *Error
			if fence, err = c.passFence(ctx); err != nil {
				return failAll(len(commands), err), fence
			}
			n.mu.Lock()
			unread.fence = fence
			n.mu.Unlock()
		}
		if try == maxTries {
			return failAll(len(commands), &Error{Kind: KindCut, Addr: addr, Msg: addr + ": the server closed the connection, again and again"}), nil
		}
	}
}

// exchangeRead sends commands on a connection whose fence was read. It returns
// the connection instead when that was not done yet, and neither answers nor
// connection when that was dead and nothing went out.
func (n *node) exchangeRead(ctx context.Context, commands [][]string) ([]answer, *Fence, *link) {
	n.mu.Lock()
	if _, err := n.ready(ctx); err != nil {
		n.mu.Unlock()
		return failAll(len(commands), err), nil, nil
	}
	if l := n.link; l.fence == nil {
		n.mu.Unlock()
		return nil, nil, l
	}
	fence := n.link.fence
	answers, untouched := n.send(ctx, commands)
	if untouched {
		return nil, nil, nil
	}
	return answers, fence, nil
}
