package valkey

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// meter is a connection that knows how much of what it was given went out.
type meter struct {
	net.Conn

	mu     sync.Mutex
	wrote  int64     // bytes handed to the operating system, or being handed
	head   []byte    // the first bytes received
	dead   bool      // nothing goes out any more
	owed   int       // how many replies the commands so far bring
	frames frames    // those that came
	spoilt bool      // something else came
	last   time.Time // when bytes last moved
	cause  error     // why the connection ended, the first reason that was given

	mark   int64  // of wrote
	marked func() // called when wrote has reached mark, or never will; or nil
}

const headLen = 128 // enough for an error's first words

// newMeter watches over a connection on which the library first sends so many
// commands of its own.
func newMeter(c net.Conn, commands int) *meter {
	return &meter{Conn: c, last: time.Now(), owed: commands}
}

// Read lets through what belongs to replies that are owed, and nothing else.
func (m *meter) Read(p []byte) (int, error) {
	m.mu.Lock()
	if m.spoilt {
		defer m.mu.Unlock()
		return 0, m.ended(errGarbage)
	}
	m.mu.Unlock()
	n, err := m.Conn.Read(p)
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > 0 {
		m.last = time.Now()
		if len(m.head) < headLen {
			m.head = append(m.head, p[:min(n, headLen-len(m.head))]...)
		}
		good, bad := m.frames.feed(p[:n], m.owed)
		if bad || good < n {
			m.spoilt = true
			if n = good; n == 0 {
				return 0, m.ended(errGarbage)
			}
			return n, nil
		}
	}
	return n, m.ended(err)
}

// owe says that so many more commands are sent.
func (m *meter) owe(commands int) {
	m.mu.Lock()
	m.owed += commands
	m.mu.Unlock()
}

// Write counts p before it goes out and takes back what did not, so that the
// count is never too low, not even while a reply overtakes the return of the
// call. Over TLS whole records are counted: one cut short cannot be read at
// the other end.
func (m *meter) Write(p []byte) (int, error) {
	m.mu.Lock()
	if m.dead {
		defer m.mu.Unlock()
		return 0, m.cause
	}
	m.wrote += int64(len(p))
	m.last = time.Now()
	m.mu.Unlock()
	n, err := m.Conn.Write(p)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrote -= int64(len(p) - n)
	m.last = time.Now()
	if m.marked != nil && m.wrote >= m.mark {
		m.marked()
		m.marked = nil
	}
	return n, m.ended(err)
}

// whenWritten has do called when so many bytes are written in all, or the
// connection is aborted. It may not block. One call waits at a time.
func (m *meter) whenWritten(bytes int64, do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mark, m.marked = bytes, do; m.dead {
		m.marked = nil
		do()
	}
}

// ended notes why a connection ended, and returns the first reason.
func (m *meter) ended(err error) error {
	if err == nil {
		return nil
	}
	if m.cause == nil {
		m.cause = err
	}
	return m.cause
}

// abort ends the connection for a reason of our own, if it has none yet. No
// byte goes out afterwards.
func (m *meter) abort(cause error) {
	m.mu.Lock()
	m.ended(cause)
	m.dead = true
	if m.marked != nil {
		m.marked()
		m.marked = nil
	}
	m.mu.Unlock()
	if t, ok := m.Conn.(*tls.Conn); ok {
		t.NetConn().Close() // a farewell could wait for a peer that does not read
		return
	}
	m.Conn.Close()
}

func (m *meter) why() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cause
}

func (m *meter) counts() (wrote int64, head string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wrote, string(m.head)
}

// watch aborts the connection when ctx ends, or when no byte has moved for
// the limit, until stop is called. After that it does not.
func (m *meter) watch(ctx context.Context, limit time.Duration) (stop func()) {
	m.mu.Lock()
	m.last = time.Now()
	m.mu.Unlock()
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		t := time.NewTimer(limit)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				select {
				case <-done: // a ctx may end with the batch that it was for
				default:
					m.abort(context.Cause(ctx))
				}
				return
			case <-t.C:
				m.mu.Lock()
				idle := time.Since(m.last)
				m.mu.Unlock()
				if idle >= limit {
					m.abort(errSilent)
					return
				}
				t.Reset(limit - idle)
			}
		}
	}()
	return func() {
		close(done)
		<-gone
	}
}
