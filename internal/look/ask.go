package look

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/echomq/emqctl/internal/valkey"
)

// Client is what this package needs of a [valkey.Client].
type Client interface {
	DoAll(ctx context.Context, reads []valkey.Read) []valkey.Answer
	Cluster() bool
	NodeOfSlot(slot uint16) string
}

// Looker looks at keys. Its methods may be called from several goroutines.
type Looker struct {
	// Connect returns the client; it is called when the first key is looked
	// at, and not again.
	Connect func() (Client, error)
	// Payload is how many bytes of a value are kept.
	Payload int

	held int // in place of maxHeld, for tests

	once   sync.Once
	client Client
	err    error

	mu     sync.Mutex
	broken int // failures of the connection, one after the other
	denied map[string]bool
}

// patience is how often one after the other a server may fail before it is
// asked no more.
const patience = 3

// ask is a command and what becomes of its reply.
type ask struct {
	key    string // whose owner is asked
	args   []string
	weight int64 // about how long the reply is
	got    func(reply any)
	failed func(err error) // nil when a failure does not matter
	option string          // a command that is asked for no more once it was refused
}

const (
	maxReplies = 2500    // commands sent in one go
	maxWeight  = 8 << 20 // bytes of replies that are wanted in one go
)

// run sends asks, a bounded number at a time, and hands out the replies.
func (l *Looker) run(ctx context.Context, asks []ask) {
	for len(asks) > 0 {
		n, weight := 0, int64(0)
		for n < len(asks) && n < maxReplies && (n == 0 || weight+asks[n].weight <= maxWeight) {
			weight += asks[n].weight
			n++
		}
		l.send(ctx, asks[:n])
		asks = asks[n:]
	}
}

func (l *Looker) send(ctx context.Context, asks []ask) {
	l.connect()
	if err := l.hopeless(); err != nil {
		for _, a := range asks {
			if a.failed != nil {
				a.failed(err)
			}
		}
		return
	}
	var reads []valkey.Read
	var sent []ask
	for _, a := range asks {
		if a.option == "" || !l.wasDenied(a.option) {
			reads, sent = append(reads, valkey.Read{Key: a.key, Args: a.args}), append(sent, a)
		}
	}
	var broke error
	for i, answer := range l.client.DoAll(ctx, reads) {
		a := sent[i]
		switch {
		case answer.Err == nil:
			a.got(answer.Reply)
			continue
		case a.option != "" && isDenied(answer.Err):
			l.deny(a.option)
		case a.failed != nil:
			a.failed(answer.Err)
		}
		if isBroken(answer.Err) {
			broke = answer.Err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if broke == nil {
		l.broken = 0
	} else if l.broken++; l.broken == patience && !l.client.Cluster() {
		l.err = broke
	}
}

func (l *Looker) connect() {
	l.once.Do(func() { l.client, l.err = l.Connect() })
}

// hopeless returns why nothing is asked any more.
func (l *Looker) hopeless() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *Looker) wasDenied(option string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.denied[option]
}

func (l *Looker) deny(option string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.denied == nil {
		l.denied = map[string]bool{}
	}
	l.denied[option] = true
}

func isDenied(err error) bool {
	var v *valkey.Error
	return errors.As(err, &v) && (v.Kind == valkey.KindPermission || v.Kind == valkey.KindServer)
}

func isWrongType(err error) bool {
	var v *valkey.Error
	return errors.As(err, &v) && v.Kind == valkey.KindServer && strings.Contains(v.Msg, "WRONGTYPE")
}

// isBroken tells a server that did not answer from one that answered with an
// error.
func isBroken(err error) bool {
	var v *valkey.Error
	if !errors.As(err, &v) {
		return false
	}
	switch v.Kind {
	case valkey.KindRefused, valkey.KindUnreachable, valkey.KindSocket, valkey.KindTimeout, valkey.KindCut,
		valkey.KindHost, valkey.KindProtocol, valkey.KindTLS, valkey.KindCertificate, valkey.KindHTTP, valkey.KindAuth:
		return true
	}
	return false
}

// The shapes of replies. What has another shape is the zero value.

func text(reply any) string { s, _ := reply.(string); return s }

func number(reply any) int64 { n, _ := reply.(int64); return n }

func list(reply any) []any { l, _ := reply.([]any); return l }
