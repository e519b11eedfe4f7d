package audit

import (
	"context"
	"errors"
	"time"
)

// Command is one command that reads, for the owner of the slot of a key.
type Command struct {
	Key  string
	Args []string
}

// Reply is the answer to a [Command]: an int64, a string, nil, or a []any of
// these; or an error.
type Reply struct {
	Value     any
	Err       error
	WrongType bool // Err is that the key holds another type
}

// ErrApart is what [Store.ReadAtOnce] answers where transactions cannot be had.
var ErrApart = errors.New("the reads could not be made in one transaction")

// Store is the server, or the cluster, that is looked at.
type Store interface {
	// Nodes returns the nodes that hold keys.
	Nodes(ctx context.Context) ([]string, error)
	// Size returns how many keys a node holds, for the progress alone.
	Size(ctx context.Context, node string) (int64, error)
	// Scan calls each with the keys of a node that match a pattern, some at a
	// time. A key may come twice. It stops at the first error.
	Scan(ctx context.Context, node, pattern string, each func(keys []string) error) error
	// Read runs commands, in any order, and returns a reply for each.
	Read(ctx context.Context, commands []Command) []Reply
	// ReadAtOnce runs commands on keys of one slot as one transaction, or
	// answers ErrApart.
	ReadAtOnce(ctx context.Context, key string, commands []Command) ([]Reply, error)
	// Fences returns the version fence of each database that holds keys.
	Fences(ctx context.Context) ([]Fence, error)
}

// Clock is the time here, for the rate and the pauses; leases are judged by
// the server's.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Fence is the version fence of one database.
type Fence struct {
	DB      int
	Present bool
	Value   string
	Err     error // why it could not be read
}

// Finding is something that is not as the protocol leaves it.
type Finding struct {
	Kind   Kind
	Queue  string // "" when it is of no queue
	Keys   []string
	IDs    []string
	Detail string
	Why    string
	Mend   string
}

// Queue is the summary of a queue. Members are counted as they were walked.
type Queue struct {
	Name      string
	Keys      int64 // that SCAN gave
	Pending   int64 // in the flat set
	Active    int64
	Scheduled int64
	Dead      int64
	Awaiting  int64 // flow parents that wait for children
	Waiting   int64 // in lanes
	Lanes     int64 // lanes that hold jobs
	Paused    int64 // groups that are paused
	Full      int64 // groups at their ceiling
	Orphans   int64 // job subkeys without a row: normal after complete
	Outbox    int64 // entries of the flow outbox
	Repeats   int64
	Streams   int64
	Oldest    string // the lowest id of those in pending and lanes
	Findings  int64
	Unsettled int64 // suspects that changed at every look
	Err       error // why it could not be looked at whole
}

// Node is a node and how much of it was seen.
type Node struct {
	Addr string
	Keys int64
	Err  error // why not all of it was
}

// Server is the summary of the whole.
type Server struct {
	Fences    []Fence
	FenceErr  error
	Nodes     []Node
	Keys      int64
	Queues    int64
	Partial   int64 // queues that were not looked at whole
	Findings  int64
	Unsettled int64 // suspects that changed at every look
	Err       error // the first reason why not everything was looked at
}

// Progress says how far an audit has come.
type Progress struct {
	Phase  string // scanning, walking, checking
	Keys   int64  // keys and members looked at
	Of     int64  // keys of the server, 0 when unknown
	Queues int64
}

// Options say what to look at, and how.
type Options struct {
	Queues []string // "" means every queue there is
	Rate   int      // keys and members a second, 0 for as fast as can be
	Grace  time.Duration
	Pause  time.Duration // between two looks at a suspect, 0 for DefaultPause
	Allow  []Kind        // kinds that are not reported
	Clock  Clock

	OnFinding  func(Finding) error
	OnQueue    func(Queue) error // by name, after every finding
	OnServer   func(Server) error
	OnProgress func(Progress) // may be nil
}

// The defaults of [Options].
const (
	DefaultGrace = 5 * time.Second
	DefaultPause = 200 * time.Millisecond
	DefaultRate  = 50_000
)
