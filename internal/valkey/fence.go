package valkey

import (
	"context"

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
		return Fence{State: FenceUnreadable, Reason: reason}, nil
	}
	if value, ok := r.answer.reply.(string); ok {
		return Fence{State: FencePresent, Value: value}, nil
	}
	return Fence{State: FenceAbsent}, nil
}
