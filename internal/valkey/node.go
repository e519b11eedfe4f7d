package valkey

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// node is one server of those that a client speaks to. It holds one
// connection, made when it is first wanted and again after it broke.
type node struct {
	c    *Client
	addr string

	mu   sync.Mutex // held until a batch is written: another may follow it then
	link *link
	busy sync.WaitGroup // batches whose replies are awaited; added to under mu

	flying atomic.Int32 // how many they are
}

// link is one connection, from its dial to its end. The library would make
// another in its place; it is not let, so that the count of bytes is the
// count of this connection.
type link struct {
	client rueidis.Client
	meter  *meter
	fence  *Fence       // as it was read for this connection, or nil; see HoldFence
	sends  atomic.Int64 // batches so far
}

// answer is what came of one command.
type answer struct {
	reply any    // int64, string, nil or []any of these
	text  string // the server's error, class word first
	err   *Error // why no reply came
	sent  bool   // with err: the command was handed over whole
}

// exchange sends commands in one go and returns their answers in order. A
// connection that turns out to be dead before a byte of them went out is made
// again, once.
func (n *node) exchange(ctx context.Context, commands [][]string) []answer {
	for fresh := false; ; {
		n.mu.Lock()
		made, err := n.ready(ctx)
		if err != nil {
			n.mu.Unlock()
			return failAll(len(commands), err)
		}
		fresh = fresh || made
		answers, untouched := n.send(ctx, commands)
		if !untouched || fresh {
			return answers
		}
	}
}

// ready sees to it that there is a connection, and reports whether it was made.
// One that the server has closed meanwhile is known before anything goes out on
// it: what does go out would be in doubt. It is called with mu held.
func (n *node) ready(ctx context.Context) (made bool, err *Error) {
	if n.link != nil && n.flying.Load() == 0 && n.link.meter.hungUp() {
		n.drop()
	}
	if n.link != nil {
		return false, nil
	}
	n.link, err = n.connect(ctx)
	return err == nil, err
}

func failAll(count int, err *Error) []answer {
	answers := make([]answer, count)
	for i := range answers {
		answers[i].err = err
	}
	return answers
}

// send exchanges commands on the connection that there is. It is called with mu
// held and gives it back when all of them are written. It reports whether the
// connection was dead and nothing of them went out.
func (n *node) send(ctx context.Context, commands [][]string) (answers []answer, untouched bool) {
	l := n.link
	if err := context.Cause(ctx); err != nil {
		n.mu.Unlock()
		return failAll(len(commands), n.c.explain(err, n.addr, "")), false
	}
	start, _ := l.meter.counts()
	ends := make([]int64, len(commands)) // where each ends, in what the connection has written
	end := start
	multi := make(rueidis.Commands, len(commands))
	for i, command := range commands {
		multi[i] = l.client.B().Arbitrary(command...).Build()
		end += encodedLen(command)
		ends[i] = end
	}
	this := l.sends.Add(1)
	n.busy.Add(1)
	n.flying.Add(1)
	written := sync.OnceFunc(n.mu.Unlock)
	l.meter.owe(len(commands))
	l.meter.whenWritten(end, written)
	stop := l.meter.watch(ctx, n.c.timeout)
	// The library's own time-outs would throw away the replies that had come.
	results := l.client.DoMulti(context.Background(), multi...)
	stop()
	written() // if they were not, none will be

	var first error
	for _, r := range results {
		if first = r.NonRedisError(); first != nil {
			l.meter.abort(first) // before the count is read
			break
		}
	}
	wrote, head := l.meter.counts()
	var broken *Error
	if first != nil {
		broken = n.c.explain(l.meter.why(), n.addr, head)
	}
	answers = make([]answer, len(commands))
	for i, r := range results {
		if r.NonRedisError() == nil {
			answers[i] = readAnswer(r)
		} else {
			answers[i].err, answers[i].sent = broken, wrote >= ends[i] || n.c.uncounted.Load()
		}
	}
	n.flying.Add(-1)
	n.busy.Done()
	if broken == nil {
		if wrote < end || wrote > end && l.sends.Load() == this { // the library writes otherwise than is counted
			n.c.uncounted.Store(true)
		}
		return answers, false
	}
	n.mu.Lock()
	if n.link == l {
		n.drop()
	}
	n.mu.Unlock()
	return answers, wrote <= start && ctx.Err() == nil
}

// encodedLen is the length of a command as it is sent: an array of bulk
// strings.
func encodedLen(command []string) int64 {
	n := lineLen(len(command))
	for _, arg := range command {
		n += lineLen(len(arg)) + len(arg) + 2
	}
	return int64(n)
}

// lineLen is the length of a type byte, a count and the end of the line.
func lineLen(count int) int {
	n := len("*0\r\n")
	for ; count >= 10; count /= 10 {
		n++
	}
	return n
}

func readAnswer(r rueidis.RedisResult) answer {
	m, _ := r.ToMessage()
	if err := m.Error(); err != nil && !rueidis.IsRedisNil(err) {
		text, _ := m.ToString() // whole: the error has lost its ERR
		return answer{text: text}
	}
	return answer{reply: value(m)}
}

func value(m rueidis.RedisMessage) any {
	switch {
	case m.IsNil():
		return nil
	case m.IsInt64():
		v, _ := m.ToInt64()
		return v
	case m.IsArray():
		elems, _ := m.ToArray()
		list := make([]any, len(elems))
		for i, e := range elems {
			list[i] = value(e)
		}
		return list
	}
	if e, ok := asNestedError(m); ok {
		return e
	}
	s, _ := m.ToString()
	return s
}

// connect makes a connection and says HELLO on it, all within the time-out.
func (n *node) connect(parent context.Context) (*link, *Error) {
	c := n.c
	if c.closed.Load() {
		return nil, c.explain(errClosed, n.addr, "")
	}
	if err := context.Cause(parent); err != nil {
		return nil, c.explain(err, n.addr, "")
	}
	ctx, cancel := context.WithTimeoutCause(parent, c.timeout, errSlow)
	defer cancel()
	commands := 1 // HELLO
	if c.addr.User != "" || c.addr.Password != "" {
		commands++ // AUTH; a user may have no password
	}
	if c.addr.DB != 0 {
		commands++ // SELECT
	}
	var m *meter
	var stop func() bool
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{n.addr},
		Username:          c.addr.User,
		Password:          c.addr.Password,
		SelectDB:          c.addr.DB,
		ForceSingleClient: true,
		AlwaysRESP2:       true,
		AlwaysPipelining:  true, // replies that came before a cut are kept
		PipelineMultiplex: -1,   // one connection
		BlockingPipeline:  -1,   // also for a long batch
		DisableCache:      true, // no CLIENT TRACKING
		DisableRetry:      true,
		ClientSetInfo:     rueidis.DisableClientSetInfo,
		Dialer:            net.Dialer{Timeout: c.timeout, KeepAlive: -1}, // no PING in the background

		// Small enough that a slow line shows that it moves.
		ReadBufferEachConn:  64 << 10,
		WriteBufferEachConn: 64 << 10,

		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			if m != nil {
				return nil, errUsed
			}
			conn, err := c.dial(ctx, n.addr)
			if err != nil {
				return nil, err
			}
			m = newMeter(conn, commands)
			stop = context.AfterFunc(ctx, func() { m.abort(context.Cause(ctx)) })
			return m, nil
		},
	})
	if stop != nil {
		stop()
	}
	if err == nil {
		return &link{client: client, meter: m}, nil
	}
	head := ""
	if m != nil {
		_, head = m.counts()
	}
	re, replied := rueidis.IsRedisErr(err)
	switch cause := context.Cause(ctx); {
	case cause != nil:
		err = cause
	case replied:
		err = c.serverError(n.addr, errorText(re), nil)
	case m == nil: // not dialed
	case c.tls == nil && c.addr.Socket == "" && head == "" && c.speaksTLS(ctx, n.addr):
		err = errTLS // such a server closes what is not TLS, with an alert or without
	case strings.HasPrefix(head, "-"): // it says why it will not talk, and closes
		text, _, _ := strings.Cut(head[1:], "\r\n")
		err = c.serverError(n.addr, text, nil)
	default:
		if cause := m.why(); cause != nil && !errors.Is(cause, net.ErrClosed) {
			err = cause
		}
	}
	if m != nil {
		m.abort(errClosed)
	}
	if client != nil {
		client.Close()
	}
	e := c.explain(err, n.addr, head)
	if e.Kind == KindCut && c.tls != nil && m != nil {
		// With TLS 1.3 the handshake is over for us before the server has
		// looked for our certificate, and its alert may be lost.
		return nil, &Error{Kind: KindCertificate, Addr: n.addr, Msg: n.addr + ": the server closed the connection after the TLS handshake, as it does when it refuses our certificate, or the want of one", Hint: "give a client certificate that the server knows by --cert and --key"}
	}
	if e.Kind == KindTimeout && m != nil {
		return nil, &Error{Kind: KindTimeout, Addr: n.addr, Msg: n.addr + ": the connection was accepted, and no answer came within " + c.timeout.String(), Hint: "see whether a Valkey server listens there, and whether it wants TLS"}
	}
	return nil, e
}

// errorText gives back the class word ERR that the library takes off.
func errorText(err *rueidis.RedisError) string {
	text := err.Error()
	word, _, _ := strings.Cut(text, " ")
	if word == "" || strings.ToUpper(word) != word {
		return "ERR " + text
	}
	return text
}

// drop ends the connection; the next batch makes another.
func (n *node) drop() {
	if n.link == nil {
		return
	}
	// Closed first: the library would send a PING and wait for its reply.
	n.link.meter.abort(errClosed)
	n.link.client.Close()
	n.link = nil
}
