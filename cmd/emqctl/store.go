package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/echomq/emqctl/internal/embedded"
	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/valkey"
)

// store is what a verb is run on: a live server, or the embedded store of a
// rehearsal.
type store interface {
	// Run runs calls in their order and returns as many outcomes.
	Run(ctx context.Context, calls []executor.Call) []executor.Outcome
	// Engine names the store: embedded, or what a server says that it is.
	Engine() string
	// Fence reads {emq}:version. An error is a store that could not be asked.
	Fence(ctx context.Context) (valkey.Fence, error)
	// ClaimFence sets {emq}:version where it is absent, and reads it.
	ClaimFence(ctx context.Context, version string) (valkey.Fence, error)
	// HasCommand reports whether the store has a command of that name.
	HasCommand(ctx context.Context, name string) (bool, error)
	Close()
}

// rehearser is a store that can tell what a call left and touched.
type rehearser interface {
	store
	Rehearse(ctx context.Context, call executor.Call) embedded.Rehearsal
}

// holder is a store that reads the fence of every connection that it makes,
// and tells it for each call: nil for one that had no connection.
type holder interface {
	store
	RunHeld(ctx context.Context, calls []executor.Call) ([]executor.Outcome, []*valkey.Fence)
}

// rehearsalStore is the embedded store as a store.
type rehearsalStore struct{ *embedded.Store }

func newRehearsalStore(now func() time.Time, fence string) (store, error) {
	s, err := embedded.New(now, fence)
	if err != nil {
		return nil, err
	}
	return rehearsalStore{s}, nil
}

func (s rehearsalStore) Fence(ctx context.Context) (valkey.Fence, error) {
	value, found, err := s.Store.Fence(ctx)
	if err != nil || !found {
		return valkey.Fence{State: valkey.FenceAbsent}, err
	}
	return valkey.Fence{State: valkey.FencePresent, Value: value}, nil
}

func (s rehearsalStore) ClaimFence(ctx context.Context, version string) (valkey.Fence, error) {
	value, err := s.Store.ClaimFence(ctx, version)
	return valkey.Fence{State: valkey.FencePresent, Value: value}, err
}

// liveStore is a server as a store.
type liveStore struct{ *valkey.Client }

func (s liveStore) Engine() string {
	if name := s.Server(); name != "" {
		return name
	}
	return "server"
}

// The states of the version fence, besides those of package valkey.
const (
	fenceMatch   = "match"   // it is the version wanted
	fenceDiffers = "differs" // it is another
)

// fenceContract is the version fence as records show it.
type fenceContract struct {
	Status      string  `json:"status"`
	Value       *string `json:"value"`
	ValueBase64 *string `json:"value_base64,omitempty"`
	Expected    *string `json:"expected"`
	ExpectedB64 *string `json:"expected_base64,omitempty"`
	Reason      *string `json:"reason,omitempty"` // why there is no value though the key may be there
}

// fenceState is what was read of the fence, and what was wanted.
type fenceState struct {
	status string // match, differs, present, absent, unreadable
	want   string
	valkey.Fence
}

func newFenceState(f valkey.Fence, want string) *fenceState {
	s := &fenceState{status: string(f.State), want: want, Fence: f}
	switch {
	case f.NoString && want != "":
		s.status = fenceDiffers
	case f.State != valkey.FencePresent || want == "":
	case f.Value == want:
		s.status = fenceMatch
	default:
		s.status = fenceDiffers
	}
	return s
}

// reason says why there is no value though the key may be there, or "".
func (f *fenceState) reason() string {
	if f.Reason == nil {
		return ""
	}
	return clean(f.Reason.Msg)
}

// refusal says why the fence stops a job, and what to do; "" when it does not.
func (f *fenceState) refusal() (msg, hint string) {
	switch {
	case f.Admits(f.want):
		return "", ""
	case f.NoString:
		return fmt.Sprintf("%s is no string, want %s: another program has the key", valkey.FenceKey, quote(f.want)), ""
	case f.State == valkey.FencePresent:
		return fmt.Sprintf("%s is %s, want %s: the server speaks another version of the wire", valkey.FenceKey, quote(f.Value), quote(f.want)), ""
	case f.State == valkey.FenceAbsent:
		return fmt.Sprintf("%s is absent, want %s", valkey.FenceKey, quote(f.want)), "--claim-fence claims an absent one"
	}
	return fmt.Sprintf("%s is unreadable, want %s: %s", valkey.FenceKey, quote(f.want), f.reason()), ""
}

// appendJSON appends the object, or null when the fence was not read.
func (f *fenceState) appendJSON(dst []byte) []byte {
	if f == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"status":"`...)
	dst = append(dst, f.status...)
	dst = append(dst, '"')
	dst = appendNullable(dst, `,"value":`, f.Value, f.State == valkey.FencePresent, false)
	dst = appendNullable(dst, `,"expected":`, f.want, f.want != "", false)
	if f.Reason != nil {
		dst = appendField(dst, `,"reason":`, f.reason(), false)
	}
	return append(dst, '}')
}

// describe takes an error of a store apart.
func describe(err error) (kind, msg, hint string) {
	var rehearsed *embedded.Error
	var live *valkey.Error
	var usage *usageError
	var file *ioError
	switch {
	case err == nil:
		return "failed", "no reason was given", ""
	case errors.Is(err, errInterrupted):
		return "interrupted", err.Error(), ""
	case errors.As(err, &rehearsed):
		return string(rehearsed.Kind), rehearsed.Msg, ""
	case errors.As(err, &live):
		return string(live.Kind), live.Msg, live.Hint
	case errors.As(err, &usage):
		return "usage", usage.msg, usage.hint
	case errors.As(err, &file):
		return "io", file.Error(), ""
	}
	return "failed", err.Error(), ""
}
