package valkey

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/echomq/emqctl/internal/slot"
)

// Options say how to connect. What they leave empty the URL may have; what
// both have, the options decide.
type Options struct {
	URL      string // see ParseAddress
	Cluster  bool   // the server has to be part of a cluster
	User     string
	Password string
	TLS      bool   // TLS, also where the URL does not say so; any of the next five means it too
	CACert   string // a PEM file: who may sign the server's certificate
	Cert     string // a PEM file: our certificate
	Key      string // a PEM file: its key
	SNI      string // the name to ask for and to expect in the certificate
	Insecure bool   // take any certificate
	DB       int    // -1 for what the URL says, else 0
	Timeout  time.Duration
}

// DefaultTimeout is for the whole of connecting, and then for the silence of
// a server that owes a reply.
const DefaultTimeout = 5 * time.Second

// Client speaks to one server or one cluster. Its methods may be called from
// several goroutines.
type Client struct {
	addr    Address
	name    string // addr.String()
	tls     *tls.Config
	timeout time.Duration
	cluster bool
	version string // the server's, from HELLO
	engine  string // the server's word for itself: "valkey"
	closed  atomic.Bool
	hold    *hold // or nil

	// uncounted is set when a batch had another length than was counted: from
	// then on whatever got no reply is in doubt. No known server does that.
	uncounted atomic.Bool

	mu     sync.Mutex
	nodes  map[string]*node
	slots  [slot.Count]string // who owns them, in a cluster, as far as is known
	failed []owner            // whose slots nobody serves
}

// Open connects, and finds out whether the server is part of a cluster. Every
// error is an [*Error].
func Open(ctx context.Context, o Options) (*Client, error) {
	a, err := ParseAddress(o.URL)
	if err != nil {
		return nil, err
	}
	if o.User != "" {
		a.User = o.User
	}
	if o.Password != "" {
		a.Password = o.Password
	}
	if o.DB >= 0 {
		a.DB = o.DB
	}
	a.DB = max(a.DB, 0)
	conf, err := tlsConfig(o, a)
	if err != nil {
		return nil, err
	}
	c := &Client{addr: a, name: a.String(), tls: conf, timeout: o.Timeout, nodes: map[string]*node{}}
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errSlow)
	defer cancel()
	if err := c.hello(ctx, o.Cluster); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends every connection. Calls that are under way end first.
func (c *Client) Close() {
	c.closed.Store(true)
	c.mu.Lock()
	nodes := make([]*node, 0, len(c.nodes))
	for _, n := range c.nodes {
		nodes = append(nodes, n)
	}
	c.mu.Unlock()
	for _, n := range nodes {
		n.mu.Lock()
		n.busy.Wait()
		n.drop()
		n.mu.Unlock()
	}
}

// Addr returns the address that was given, without user and password.
func (c *Client) Addr() string { return c.name }

// DB returns the number of the logical database.
func (c *Client) DB() int { return c.addr.DB }

// Cluster reports whether the server is part of a cluster.
func (c *Client) Cluster() bool { return c.cluster }

// Server returns what the server calls itself and its version: "valkey
// 8.0.1". It is empty when the server did not say.
func (c *Client) Server() string { return strings.TrimSpace(c.engine + " " + c.version) }

// hello asks the server what it is.
func (c *Client) hello(ctx context.Context, cluster bool) error {
	a := c.node(c.Addr()).exchange(ctx, [][]string{{"HELLO"}})[0]
	if a.err != nil {
		return a.err
	}
	mode := ""
	if a.text == "" { // a server older than HELLO is none of a cluster, unless told so
		pairs, _ := a.reply.([]any)
		for i := 0; i+1 < len(pairs); i += 2 {
			value, _ := pairs[i+1].(string)
			switch pairs[i] {
			case "server":
				c.engine = value
			case "version":
				c.version = value
			case "mode":
				mode = value
			}
		}
	}
	if mode == "sentinel" {
		return &Error{Kind: KindSentinel, Addr: c.Addr(), Msg: c.Addr() + ": a sentinel answered, which holds no keys", Hint: "give the address of the primary that it watches"}
	}
	if cluster && mode == "standalone" {
		return c.serverError(c.Addr(), "ERR This instance has cluster support disabled", nil)
	}
	c.cluster = cluster || mode == "cluster"
	if !c.cluster {
		return nil
	}
	// Who may not ask is sent on by MOVED.
	if err := c.refresh(ctx); err != nil && err.Kind != KindPermission {
		return err
	}
	return nil
}

// serverError is the function of that name, but for a text that repeats the
// password: a server that does not know AUTH quotes its arguments.
func (c *Client) serverError(addr, text string, keys []string) *Error {
	if c.addr.Password != "" && strings.Contains(text, c.addr.Password) {
		if word, _, _ := strings.Cut(text, " "); !strings.Contains(word, c.addr.Password) {
			text = word + " (withheld: it repeats the password)"
		} else {
			text = "ERR (withheld: it repeats the password)"
		}
	}
	e := serverError(addr, text, keys)
	if strings.Contains(text, "DB index is out of range") {
		e.Msg += ": " + strconv.Itoa(c.addr.DB)
	}
	if e.Kind == KindAuth && c.addr.User != "" && c.addr.Password == "" {
		e.Hint = "found a user without a password; a password alone is written :password@host, or given by --password-file"
	}
	return e
}

func (c *Client) node(addr string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[addr]
	if n == nil {
		n = &node{c: c, addr: addr}
		c.nodes[addr] = n
	}
	return n
}

// reads are the commands that [Client.Do] and [Client.DoOn] send.
var reads = strings.Fields(`
	GET GETRANGE EXISTS TYPE TTL PTTL STRLEN HGET HMGET HGETALL HLEN HSCAN HSTRLEN
	HEXISTS ZCARD ZCOUNT ZRANGE ZSCORE ZMSCORE ZSCAN LLEN LRANGE LINDEX LPOS SCARD
	SMEMBERS SISMEMBER SSCAN XLEN XRANGE XREVRANGE XINFO SCAN DBSIZE TIME INFO PING
	MEMORY OBJECT COMMAND CLUSTER ACL SCRIPT MODULE CONFIG`)

// readWords are the second words of those commands that may also write.
var readWords = map[string][]string{
	"MEMORY":  {"USAGE"},
	"OBJECT":  {"ENCODING", "IDLETIME"},
	"COMMAND": {"INFO", "COUNT"},
	"CLUSTER": {"SHARDS", "SLOTS", "INFO", "NODES", "KEYSLOT", "COUNTKEYSINSLOT", "GETKEYSINSLOT", "MYID"},
	"ACL":     {"WHOAMI", "DRYRUN"},
	"XINFO":   {"STREAM", "GROUPS", "CONSUMERS"},
	"SCRIPT":  {"EXISTS"},
	"MODULE":  {"LIST"},
	"CONFIG":  {"GET"},
}

func isRead(args []string) bool {
	if len(args) == 0 || !slices.Contains(reads, strings.ToUpper(args[0])) {
		return false
	}
	words, ok := readWords[strings.ToUpper(args[0])]
	return !ok || len(args) > 1 && slices.Contains(words, strings.ToUpper(args[1]))
}

// Do sends one command that reads, in a cluster to the owner of key; any node
// will do for an empty key. Its reply is an int64, a string, nil, or a []any
// of these; maps come as keys and values in turn. The error is an [*Error];
// an error reply is one of the kinds that the server's first word stands for.
// A command that could write panics.
func (c *Client) Do(ctx context.Context, key string, args ...string) (any, error) {
	r := &request{args: args, slot: -1}
	if key != "" {
		r.slot, r.keys = int(slot.Of(key)), []string{key}
	}
	return c.do(ctx, r)
}

// DoOn is Do on one node, of [Client.Primaries], and follows no redirection.
func (c *Client) DoOn(ctx context.Context, addr string, args ...string) (any, error) {
	return c.do(ctx, &request{args: args, slot: -1, addr: addr})
}

func (c *Client) do(ctx context.Context, r *request) (any, error) {
	mustRead(r.args)
	return c.one(ctx, r)
}

func mustRead(args []string) {
	if !isRead(args) {
		panic(fmt.Sprintf("valkey: %q is not among the commands that only read", args))
	}
}

// Read is a command that reads, of those that [Client.Do] sends.
type Read struct {
	Key  string // its owner gets the command; any node when empty
	Addr string // this node and no other, which follows no redirection; empty to go by Key
	Args []string
}

// Answer is what came of a [Read].
type Answer struct {
	Reply any    // as of [Client.Do]
	Err   error  // an [*Error], or nil
	Text  string // the error as the server said it, class word first, when Err is one of its own
	Addr  string // the node that answered, or was to
}

// DoAll is Do or DoOn of many commands. Those of one node are sent in one go
// and in order; between nodes there is no order. Each has its own answer.
func (c *Client) DoAll(ctx context.Context, reads []Read) []Answer {
	if len(reads) == 0 {
		return nil
	}
	answers := make([]Answer, len(reads))
	if here := c.Addr(); !c.cluster && !slices.ContainsFunc(reads, func(r Read) bool { return r.Addr != "" && r.Addr != here }) {
		// There is nowhere else to go, and millions may come.
		commands := make([][]string, len(reads))
		for i, r := range reads {
			mustRead(r.Args)
			commands[i] = r.Args
		}
		for i, a := range c.node(here).exchange(ctx, commands) {
			answers[i] = c.readAnswer(a, here, reads[i].Key)
		}
		return answers
	}
	requests := make([]*request, len(reads))
	for i, read := range reads {
		mustRead(read.Args)
		r := &request{args: read.Args, slot: -1, addr: read.Addr}
		if read.Key != "" {
			r.slot, r.keys = int(slot.Of(read.Key)), []string{read.Key}
		}
		requests[i] = r
	}
	c.roundtrip(ctx, requests)
	for i, r := range requests {
		answers[i] = c.readAnswer(r.answer, r.at, reads[i].Key)
	}
	return answers
}

// readAnswer is the final answer to a command that reads.
func (c *Client) readAnswer(a answer, addr, key string) Answer {
	switch {
	case a.err != nil:
		return Answer{Err: a.err, Addr: addr}
	case a.text != "":
		var keys []string
		if key != "" {
			keys = []string{key}
		}
		return Answer{Err: c.serverError(addr, a.text, keys), Text: a.text, Addr: addr}
	}
	return Answer{Reply: a.reply, Addr: addr}
}

// one sends a command and makes an error of whatever is no reply.
func (c *Client) one(ctx context.Context, r *request) (any, error) {
	c.roundtrip(ctx, []*request{r})
	switch {
	case r.answer.err != nil:
		return nil, r.answer.err
	case r.answer.text != "":
		return nil, c.serverError(r.at, r.answer.text, r.keys)
	}
	return r.answer.reply, nil
}

// HasCommand reports whether the server knows a command, by COMMAND INFO.
func (c *Client) HasCommand(ctx context.Context, name string) (bool, error) {
	reply, err := c.Do(ctx, "", "COMMAND", "INFO", name)
	if err != nil {
		return false, err
	}
	list, _ := reply.([]any)
	if len(list) != 1 {
		return false, nil
	}
	info, _ := list[0].([]any)
	return len(info) > 0, nil
}

// Scan goes through the keys of one node that match a pattern, "" for all,
// and calls each with those of every step; a key may come more than once. It
// stops at the first error of its own or of each.
func (c *Client) Scan(ctx context.Context, addr, pattern string, each func(keys []string) error) error {
	for cursor := "0"; ; {
		args := []string{"SCAN", cursor, "COUNT", "1000"}
		if pattern != "" {
			args = append(args, "MATCH", pattern)
		}
		reply, err := c.DoOn(ctx, addr, args...)
		if err != nil {
			return err
		}
		step, _ := reply.([]any)
		if len(step) != 2 {
			return &Error{Kind: KindProtocol, Addr: addr, Msg: addr + ": found a SCAN reply of another shape, want a cursor and keys"}
		}
		list, _ := step[1].([]any)
		keys := make([]string, 0, len(list))
		for _, k := range list {
			if k, ok := k.(string); ok {
				keys = append(keys, k)
			}
		}
		if err := each(keys); err != nil {
			return err
		}
		if cursor, _ = step[0].(string); cursor == "0" || cursor == "" {
			return nil
		}
	}
}
