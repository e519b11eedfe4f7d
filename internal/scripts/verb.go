package scripts

// Verb is one script with the contract its header declares.
type Verb struct {
	Name     string // the handle: "enqueue", "gclaim"
	Module   string // the module of the reference host that owns it: "Jobs"
	Function string // the host functions that call it, with arity: "enqueue/4,5, enqueue_many/3,4"
	Summary  string // one sentence
	Path     string // the file in its file system: "enqueue.lua"
	Source   string // the whole file, header and all: what is loaded and hashed
	SHA1     string // of Source, lower-case hex

	Forms     []string   // the forms of the call, in the header's order; nil for one form only
	Keys      []Key      // KEYS[], in order
	Args      []Arg      // ARGV[], in order
	Returns   []Return   // replies that are no error
	Refusals  []Refusal  // error replies
	HostReads []HostRead // plain commands that the host sends before the call

	Body int // the line after the header, from 1
}

// Key is one KEYS[n] as a header declares it. A number may be declared more
// than once, when different forms of the call pass different keys there.
type Key struct {
	N        int    // from 1
	Name     string // a word: "row", "pending"
	Pattern  string // "emq:{q}:job:<id>"
	Store    string // hash, zset, list, set, string, stream; "" for a base
	Role     string // what it is to this verb, a phrase; "base" for a bare base
	Optional bool   // carried by some forms of the call only
	Repeated bool   // this and every later KEYS[]
	Forms    []string
	Line     int // in the file, from 1
}

// Arg is one ARGV[n] as a header declares it.
type Arg struct {
	N        int
	Name     string
	About    string // its meaning, with the unit where it has one
	Base     string // "queue" or "job" when keys are derived from it: emq:{q}: or emq:{q}:job:
	Optional bool
	Repeated bool // this and every later ARGV[], as one of a tuple that repeats
	Forms    []string
	Line     int
}

// Return is a reply and what becomes of it.
type Return struct {
	Value   string // as the script returns it: "1", "[]", "[id, payload, attempts]"
	Meaning string
	Host    string // the host's typed word: "{:ok, :enqueued}"; "" where none is published
	Line    int
}

// Refusal is an error reply.
type Refusal struct {
	Class   string // "EMQKIND"
	Text    string // the whole text, class word first
	Meaning string
	Host    string // "{:error, :kind}"
	Line    int
}

// HostRead is a command that the host sends before the script.
type HostRead struct {
	Command string // "HMGET emq:{q}:job:<id> parent parent_queue"
	About   string
	Line    int
}
