package main

import (
	"context"

	"github.com/echomq/emqctl/internal/embedded"
	"github.com/echomq/emqctl/internal/executor"
)

// store is what a verb is run on: a live server, or the embedded store of a
// rehearsal.
type store interface {
	// Run runs calls in their order and returns as many outcomes.
	Run(ctx context.Context, calls []executor.Call) []executor.Outcome
	// Engine names the store: embedded, or what a server is.
	Engine() string
	// Fence returns the value of {emq}:version, and whether there is one.
	Fence(ctx context.Context) (value string, found bool, err error)
	// ClaimFence sets {emq}:version where it is absent, and returns what it
	// is afterwards.
	ClaimFence(ctx context.Context, version string) (string, error)
	// HasCommand reports whether the store has a command of that name.
	HasCommand(ctx context.Context, name string) (bool, error)
	Close()
}

// rehearser is a store that can tell what a call left and touched.
type rehearser interface {
	store
	Rehearse(ctx context.Context, call executor.Call) embedded.Rehearsal
}

// The states of the version fence.
const (
	fenceMatch      = "match"      // it is the version wanted
	fenceAbsent     = "absent"     // the key does not exist
	fenceDiffers    = "differs"    // it is another
	fencePresent    = "present"    // it exists, and none was wanted
	fenceUnreadable = "unreadable" // a right is missing, or it is no string
)

// fenceContract is the version fence as records show it.
type fenceContract struct {
	Status      string  `json:"status"`
	Found       *string `json:"found"`
	FoundBase64 *string `json:"found_base64,omitempty"`
	Want        *string `json:"want"`
}

// fenceState is what was read of the fence.
type fenceState struct {
	status      string
	found, want string
	err         error // when unreadable
}

// readFence compares a store's fence with the version wanted, if one is.
func readFence(ctx context.Context, s store, want string) *fenceState {
	f := &fenceState{want: want}
	value, found, err := s.Fence(ctx)
	switch {
	case err != nil:
		f.status, f.err = fenceUnreadable, err
	case !found:
		f.status = fenceAbsent
	default:
		f.settle(value)
	}
	return f
}

// settle takes the value that the fence has.
func (f *fenceState) settle(value string) {
	f.found = value
	switch {
	case f.want == "":
		f.status = fencePresent
	case value == f.want:
		f.status = fenceMatch
	default:
		f.status = fenceDiffers
	}
}

// appendJSON appends the object, or null when the fence was not read.
func (f *fenceState) appendJSON(dst []byte) []byte {
	if f == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"status":"`...)
	dst = append(dst, f.status...)
	dst = append(dst, '"')
	present := f.status == fenceMatch || f.status == fenceDiffers || f.status == fencePresent
	dst = appendNullable(dst, `,"found":`, f.found, present, false)
	dst = appendNullable(dst, `,"want":`, f.want, f.want != "", false)
	return append(dst, '}')
}
