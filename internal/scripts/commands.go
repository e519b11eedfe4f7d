package scripts

import (
	"strings"
	"sync"
)

// A store command's keys are found as a server finds them, by key
// specifications (https://valkey.io/topics/key-specs): where a search begins (a
// fixed position, or the place after a keyword) and how keys go on from there
// (to a last position in steps, or as many as a count says). The table below
// is the COMMAND reply of Valkey 8.0.1 in that form, and a test holds it to a
// real server's; a few commands of other releases and engines follow it, so
// that a script for them is not called wrong.

// Access is what a command may do to a key, as an ACL pattern counts it.
type Access uint8

// The rights of %R~ and %W~. A key that a command only asks the existence of
// (EXISTS, TOUCH, OBJECT) needs neither, but must match some pattern.
const (
	AccessProbe Access = 0
	AccessRead  Access = 1
	AccessWrite Access = 2
)

// KeySpec is one key specification.
type KeySpec struct {
	Begin   int    // position of the first key, the command itself being 0; with Keyword, where the search for it starts
	Keyword string // the keys follow this word
	Counted bool   // at Begin stands the number of keys that follow
	Last    int    // of a range: relative to the first key, or from the end when negative
	Step    int    // of a range
	Limit   int    // of a range that ends at -1: only the first 1/Limit of what is left
	Access  Access
	Channel bool // names Pub/Sub channels, not keys
	Unknown bool // the server itself cannot say; see [Command.Keys]
}

// Flag is a set of properties of a command.
type Flag uint8

// The flags of a command.
const (
	Write     Flag = 1 << iota // it may change the store
	NoScript                   // a server refuses it inside a script
	Container                  // it is only a word before a subcommand
	Foreign                    // Valkey 8.0.1 has it not; another release or engine does
)

// Command is one store command, or one subcommand as "object|encoding".
type Command struct {
	Name  string
	Flags Flag
	Specs []KeySpec
}

// Writes reports whether the command may change the store.
func (c *Command) Writes() bool { return c.Flags&Write != 0 }

// Operand is one argument after a command's name, as far as it is known.
type Operand struct {
	Text  string // its bytes, when Known
	Known bool
	Many  bool // stands for any number of arguments, as unpack(t) does
	// Counts says that it is the number of arguments that the next operand,
	// one that stands for many, stands for.
	Counts bool
}

// KeyArg says that an argument is a key.
type KeyArg struct {
	Arg     int // index among the operands
	Access  Access
	Channel bool // a Pub/Sub channel and no key
	Pattern bool // a SORT pattern: * is replaced by each element
	Maybe   bool // a key or something else: what decides it is not known
	Some    bool // with Maybe: it surely is one in some way of the call, or one at least of the many that it stands for is
}

// LookupCommand finds a command by its name in any case and, for a container
// such as OBJECT, by its first operand. It returns nil when there is none.
// When the subcommand is not known the container is returned, and
// [Command.Keys] then takes whatever any subcommand would take.
func LookupCommand(name string, args []Operand) *Command {
	c := index().byName[strings.ToLower(name)]
	if c == nil || c.Flags&Container == 0 || len(args) == 0 || !args[0].Known {
		return c
	}
	return index().byName[c.Name+"|"+strings.ToLower(args[0].Text)]
}

// Keys returns which operands are keys or channels, in order of position.
// Nothing that could be a key is left out: what depends on an operand that is
// not known is marked Maybe.
func (c *Command) Keys(args []Operand) []KeyArg {
	var out []KeyArg
	if c.Flags&Container != 0 {
		for _, sub := range index().subs[c.Name] {
			for _, k := range sub.Keys(args) {
				k.Maybe = true
				out = addKey(out, k)
			}
		}
		return out
	}
	for _, s := range c.Specs {
		s.keys(args, func(k KeyArg) {
			if a := args[k.Arg]; c.Name == "migrate" && a.Known && a.Text == "" {
				return // no key there: they follow the word KEYS
			}
			out = addKey(out, k)
		})
	}
	if c.Name == "sort" || c.Name == "sort_ro" {
		sortKeys(args, func(k KeyArg) { out = addKey(out, k) })
	}
	return out
}

// addKey keeps the list sorted by position and free of doubles; a sure answer
// beats an unsure one, rights add up.
func addKey(out []KeyArg, k KeyArg) []KeyArg {
	i := len(out)
	for i > 0 && out[i-1].Arg >= k.Arg {
		i--
	}
	if i < len(out) && out[i].Arg == k.Arg {
		out[i].Access |= k.Access
		out[i].Maybe = out[i].Maybe && k.Maybe
		out[i].Some = out[i].Some && out[i].Maybe || k.Some && out[i].Maybe
		return out
	}
	out = append(out, KeyArg{})
	copy(out[i+1:], out[i:])
	out[i] = k
	return out
}

func (s *KeySpec) keys(args []Operand, yield func(KeyArg)) {
	if s.Unknown {
		return
	}
	key := func(i int, maybe bool) {
		// Of many one at least is a key, and behind a count a word that is no option.
		some := maybe && i < len(args) && (args[i].Many && (s.Counted || s.Last < 0) || s.Counted && args[i].Known)
		yield(KeyArg{Arg: i, Access: s.Access, Channel: s.Channel, Maybe: maybe, Some: some})
	}
	first, maybe := s.Begin-1, false
	if s.Keyword != "" {
		first = s.after(args, key)
		if first < 0 {
			return
		}
	} else {
		// An operand that stands for many may swallow the first positions.
		for i := 0; i < first && i < len(args); i++ {
			if args[i].Many {
				first, maybe = i, true
			}
		}
	}
	if s.Counted {
		s.counted(args, first, maybe, key)
		return
	}
	s.span(args, first, maybe, key)
}

// after returns the index behind the keyword. An operand that is not known
// could be the keyword, so what follows it might be keys.
func (s *KeySpec) after(args []Operand, key func(int, bool)) int {
	from := s.Begin - 1
	if s.Begin < 0 {
		from = 0 // MIGRATE looks from the end; its keyword stands late
	}
	for i := from; i < len(args); i++ {
		switch {
		case args[i].Known && strings.EqualFold(args[i].Text, s.Keyword):
			return i + 1
		case args[i].Many:
			for ; i < len(args); i++ {
				key(i, true)
			}
			return -1
		}
	}
	// No keyword in sight: any unknown operand may be it, but for those that
	// are the value of an option.
	seen := false
	for i := max(from, 0); i < len(args); i++ {
		if seen {
			key(i, true)
		}
		if n := optionValues(args[i]); n > 0 && !seen {
			i += n
			continue
		}
		seen = seen || !args[i].Known
	}
	return -1
}

// optionValues is how many values follow an option of a command whose keys
// follow a keyword.
func optionValues(o Operand) int {
	if !o.Known {
		return 0
	}
	switch strings.ToUpper(o.Text) {
	case "COUNT", "BLOCK", "AUTH":
		return 1
	case "GROUP", "AUTH2":
		return 2
	}
	return 0
}

func (s *KeySpec) counted(args []Operand, at int, maybe bool, key func(int, bool)) {
	if at >= len(args) {
		return
	}
	n, known := 0, false
	if args[at].Known && !maybe {
		n, known = atoi(args[at].Text)
		if !known {
			return // a server refuses the call
		}
	}
	if args[at].Many {
		for i := at; i < len(args); i++ {
			if !args[i].Known {
				key(i, true)
			}
		}
		return
	}
	if args[at].Counts && at+1 < len(args) {
		key(at+1, false)
		return
	}
	step := max(s.Step, 1)
	for i := at + 1; i < len(args) && (!known || i <= at+n*step); i += step {
		if !known && args[i].Known && isOption(args[i].Text) {
			return
		}
		key(i, !known)
		if known && args[i].Many {
			for j := i + 1; j < len(args) && !(args[j].Known && isOption(args[j].Text)); j++ {
				key(j, true)
			}
			return
		}
	}
}

// IsOption reports whether a word is an option of a command that takes a
// varying number of keys, and so hardly the name of one.
func IsOption(w string) bool {
	switch strings.ToUpper(w) {
	case "STORE", "STOREDIST", "BY", "GET", "ASC", "DESC", "ALPHA", "ANY", "STREAMS", "KEYS", "BLOCK", "NOACK", "GROUP", "COPY", "REPLACE", "AUTH", "AUTH2", "":
		return true
	}
	return isOption(w)
}

// isOption reports whether a word ends a counted list of keys.
func isOption(w string) bool {
	switch strings.ToUpper(w) {
	case "WEIGHTS", "AGGREGATE", "WITHSCORES", "LIMIT", "LEFT", "RIGHT", "MIN", "MAX", "COUNT":
		return true
	}
	return false
}

func (s *KeySpec) span(args []Operand, first int, maybe bool, key func(int, bool)) {
	var last int
	switch {
	case s.Last >= 0:
		last = first + s.Last
	case s.Limit > 1:
		last = first + (len(args)-first)/s.Limit - 1
	default:
		last = len(args) + s.Last
	}
	for i := first; i < len(args); i++ {
		if !args[i].Many {
			continue
		}
		// From here on positions are not known: one place may be all keys.
		if s.Last >= 0 {
			if i <= last {
				for j := first; j < i; j += s.Step {
					key(j, maybe)
				}
				key(i, maybe)
				for j := i + 1; j <= last && j < len(args); j++ {
					key(j, true)
				}
				return
			}
			break
		}
		for j := first; j < i; j += s.Step {
			key(j, maybe || s.Limit > 1)
		}
		key(i, s.Step > 1 || s.Limit > 1)
		end := len(args) + s.Last
		if i == len(args)-1 || s.Limit > 1 {
			end = len(args) - 1
		}
		for j := i + 1; j <= end; j++ {
			key(j, s.Step > 1 || s.Limit > 1)
		}
		return
	}
	for i := first; i <= last && i < len(args); i += max(s.Step, 1) {
		key(i, maybe)
	}
}

// sortKeys finds what the server does not say of SORT: the destination of
// STORE, and the patterns of BY and GET, whose keys come out of the elements.
func sortKeys(args []Operand, yield func(KeyArg)) {
	for i := 1; i < len(args); i++ {
		if args[i].Many {
			yield(KeyArg{Arg: i, Access: AccessRead | AccessWrite, Maybe: true})
			continue
		}
		if !args[i].Known {
			// It may be STORE, or BY or GET.
			if i+1 < len(args) {
				yield(KeyArg{Arg: i + 1, Access: AccessRead | AccessWrite, Maybe: true})
			}
			continue
		}
		if i+1 >= len(args) {
			return
		}
		next := args[i+1]
		switch strings.ToUpper(args[i].Text) {
		case "STORE":
			yield(KeyArg{Arg: i + 1, Access: AccessWrite})
			i++
		case "BY", "GET":
			if !next.Known || strings.Contains(next.Text, "*") {
				yield(KeyArg{Arg: i + 1, Access: AccessRead, Pattern: true})
			}
			i++
		case "LIMIT":
			i += 2
		}
	}
}

func atoi(s string) (int, bool) {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' || n > 1<<20 {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, s != ""
}

const (
	probe     = AccessProbe
	read      = AccessRead
	write     = AccessWrite
	readWrite = AccessRead | AccessWrite
)

func specs(s ...KeySpec) []KeySpec { return s }

func at(pos int, a Access) KeySpec { return KeySpec{Begin: pos, Step: 1, Access: a} }

func span(first, last, step int, a Access) KeySpec {
	return KeySpec{Begin: first, Last: last, Step: step, Access: a}
}

func counted(pos int, a Access) KeySpec { return KeySpec{Begin: pos, Counted: true, Access: a} }

func channels(first, last int) KeySpec {
	return KeySpec{Begin: first, Last: last, Step: 1, Channel: true}
}

func after(word string, from, last, limit int, a Access) KeySpec {
	return KeySpec{Begin: from, Keyword: word, Last: last, Step: 1, Limit: limit, Access: a}
}

// index has the table, made when it is first asked for: most runs of the
// program never do.
var index = sync.OnceValue(func() (x struct {
	table  []Command
	byName map[string]*Command
	subs   map[string][]*Command // of a container
}) {
	x.table = newCommandTable()
	x.byName = make(map[string]*Command, len(x.table))
	x.subs = make(map[string][]*Command)
	for i := range x.table {
		c := &x.table[i]
		x.byName[c.Name] = c
		if parent, _, ok := strings.Cut(c.Name, "|"); ok {
			x.subs[parent] = append(x.subs[parent], c)
		}
	}
	for parent := range x.subs {
		x.byName[parent].Flags |= Container
	}
	return x
})

// CommandNames returns the names of all commands, in order and without
// subcommands.
func CommandNames() []string {
	var out []string
	for _, c := range index().table {
		if name := c.Name; !strings.Contains(name, "|") {
			out = append(out, name)
		}
	}
	return out
}
