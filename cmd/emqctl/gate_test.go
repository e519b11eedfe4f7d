package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
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

// TestEmptyShown: an empty value has two quotes where a word follows it.
func TestEmptyShown(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"gate", ""}, "wire       \"\"  all that there is"},
		{[]string{"enqueue", "q", "", "--rehearse"}, "ARGV[2]    \"\"  payload\n"},
		{[]string{"enqueue", "q", "", "--rehearse"}, "payload   \"\"\n"},
	} {
		if out, _, _ := runAt(testClock, test.args, strings.NewReader(""), nil); !strings.Contains(out, test.want) {
			t.Errorf("%q: %q is not in\n%s", test.args, test.want, out)
		}
	}
}
