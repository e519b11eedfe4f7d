package valkeytest

import (
	"net"
	"sync"
	"testing"
)

// Proxy stands before a server and breaks connections to order.
type Proxy struct {
	Addr string

	to                string
	mu                sync.Mutex
	requests, replies int // how many bytes may still pass, -1 for all
	swallow           bool
	conns             map[net.Conn]bool
}

// StartProxy runs one until the test ends. With to "" it takes connections
// and whatever comes on them, and never answers: a black hole.
func StartProxy(tb testing.TB, to string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), to: to, requests: -1, replies: -1, conns: map[net.Conn]bool{}}
	tb.Cleanup(func() {
		l.Close()
		p.CutAll()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// CutRequests lets so many more bytes through to the server and then cuts the
// connection, once.
func (p *Proxy) CutRequests(n int) { p.set(func() { p.requests = n }) }

// CutReplies lets so many more bytes of replies through and cuts the
// connection before the next, once. With 0 the server has run something whose
// reply is lost.
func (p *Proxy) CutReplies(n int) { p.set(func() { p.replies = n }) }

// Swallow keeps connections open and lets no reply through any more, or does
// so again.
func (p *Proxy) Swallow(yes bool) { p.set(func() { p.swallow = yes }) }

// CutAll ends every connection that there is.
func (p *Proxy) CutAll() {
	p.set(func() {
		for c := range p.conns {
			c.Close()
		}
	})
}

func (p *Proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *Proxy) serve(client net.Conn) {
	p.set(func() { p.conns[client] = true })
	defer p.set(func() { delete(p.conns, client) })
	defer client.Close()
	if p.to == "" {
		buf := make([]byte, 4096)
		for {
			if _, err := client.Read(buf); err != nil {
				return
			}
		}
	}
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	done := make(chan struct{}, 2)
	go p.pass(server, client, &p.requests, false, done)
	go p.pass(client, server, &p.replies, true, done)
	<-done
}

// pass copies bytes until one of the connections ends or the limit is met.
func (p *Proxy) pass(to, from net.Conn, limit *int, reply bool, done chan<- struct{}) {
	defer func() { done <- struct{}{} }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		cut, drop := false, false
		p.set(func() {
			if reply && p.swallow {
				drop = true
			} else if *limit >= 0 {
				if cut = n > *limit; cut {
					n, *limit = *limit, -1
				} else {
					*limit -= n
				}
			}
		})
		if drop {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil || cut {
			return
		}
	}
}
