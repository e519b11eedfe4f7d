package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/echomq/emqctl/internal/embedded"
)

// TestGateShared holds the rehearsal that ids share to one of their own: the
// wire reads three bytes.
func TestGateShared(t *testing.T) {
	registry, err := loadScripts("")
	if err != nil {
		t.Fatal(err)
	}
	enqueue, _ := registry.Lookup("enqueue")
	newRecord := func() *gateRecord {
		s, err := embedded.New(func() time.Time { return testClock }, "")
		if err != nil {
			t.Fatal(err)
		}
		return &gateRecord{ctx: context.Background(), verb: enqueue, store: s}
	}
	shared, own := newRecord(), newRecord()
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 600 {
		id := []byte([]string{"JOB", "USR", "JO", "", "job", "JOB0KHTOWnGLuC", "J\x00B"}[i%7])
		for range rnd.IntN(14) {
			id = append(id, byte(rnd.IntN(256)))
		}
		own.seen = nil
		shared.read(item{text: string(id)}, testClock)
		own.read(item{text: string(id)}, testClock)
		if a, b := string(shared.appendJSON(nil)), string(own.appendJSON(nil)); a != b {
			t.Errorf("%q: shared %s, its own %s", id, a, b)
		}
		if !slices.Equal(shared.script.names(), own.script.names()) || !slices.Equal(shared.native.names(), own.native.names()) {
			t.Errorf("%q: %v", id, shared.script.names())
		}
	}
	if len(shared.seen) > maxSeen {
		t.Errorf("%d rehearsals are kept", len(shared.seen))
	}
}
