package valkey

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"
)

// TestWatchEnds cancels what a watch was told of after the watch has ended:
// the connection is no concern of it any more. So it goes with every
// connection that Open makes.
func TestWatchEnds(t *testing.T) {
	for range 2000 {
		a, b := net.Pipe()
		m := newMeter(a, 0)
		ctx, cancel := context.WithCancel(t.Context())
		stop := m.watch(ctx, time.Minute)
		stop()
		cancel()
		for range 10 {
			runtime.Gosched()
		}
		if err := m.why(); err != nil {
			t.Fatalf("the connection was ended: %v", err)
		}
		a.Close()
		b.Close()
	}
}
