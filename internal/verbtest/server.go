package verbtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	lua "github.com/echomq/emqctl/scripts"

	"github.com/echomq/emqctl/internal/scripts"
	"github.com/echomq/emqctl/internal/valkeytest"
)

// Server is a real server on which every verb is loaded.
type Server struct {
	Registry *scripts.Registry

	tb      testing.TB
	c       valkeytest.Client
	monitor *valkeytest.Monitor
	marks   int
}

// Outcome is what came of a call.
type Outcome struct {
	Reply    string // as [Render] writes it
	Refusal  string
	Before   Store
	After    Store
	Commands [][]string // what the script ran, in order, as MONITOR shows it
	From, To int64      // the server's clock before and after the call, in ms
}

// Start runs a server and loads the embedded scripts.
func Start(tb testing.TB) *Server {
	tb.Helper()
	r, err := scripts.Load(lua.FS)
	if err != nil {
		tb.Fatal(err)
	}
	server := valkeytest.Start(tb)
	s := &Server{Registry: r, tb: tb, c: server.Client(), monitor: server.Monitor()}
	for _, v := range r.Verbs() {
		sha, err := s.do("SCRIPT", "LOAD", v.Source).ToString()
		if err != nil {
			tb.Fatalf("%s: %v", v.Name, err)
		}
		if sha != v.SHA1 {
			tb.Fatalf("%s: the server's digest is %s, ours %s", v.Name, sha, v.SHA1)
		}
	}
	return s
}

func (s *Server) do(args ...string) valkeytest.Result {
	return valkeytest.Do(s.c, args...)
}

// Run empties the server, prepares it for a case and makes the call.
func (s *Server) Run(c Case) Outcome {
	s.tb.Helper()
	v, ok := s.Registry.Lookup(c.Verb)
	if !ok {
		s.tb.Fatalf("%s: no such verb", c.Name)
	}
	s.prepare(c)
	o := Outcome{Before: s.dump(), From: s.now()}
	s.lines()
	reply := s.do(call("EVALSHA", v.SHA1, c)...)
	o.Commands = s.lines()
	o.To = s.now()
	if err := reply.Error(); err != nil {
		o.Refusal = err.Error()
	} else {
		o.Reply = s.render(reply)
	}
	o.After = s.dump()
	return o
}

func call(command, script string, c Case) []string {
	args := []string{command, script, strconv.Itoa(len(c.Keys))}
	return append(append(args, c.Keys...), c.Args...)
}

func (s *Server) prepare(c Case) {
	s.tb.Helper()
	for _, args := range append([][]string{{"FLUSHALL"}}, c.Given...) {
		args = slices.Clone(args)
		for i, arg := range args {
			if ms, err := strconv.ParseInt(strings.TrimPrefix(arg, "now"), 10, 64); err == nil && strings.HasPrefix(arg, "now") {
				args[i] = strconv.FormatInt(s.now()+ms, 10)
			}
		}
		if err := s.do(args...).Error(); err != nil {
			s.tb.Fatalf("%s: %q: %v", c.Name, args, err)
		}
	}
}

func (s *Server) now() int64 {
	time, err := s.do("TIME").AsIntSlice()
	if err != nil {
		s.tb.Fatal(err)
	}
	return time[0]*1000 + time[1]/1000
}

// lines returns the commands that scripts ran since it was last called.
func (s *Server) lines() [][]string {
	s.tb.Helper()
	s.marks++
	mark := fmt.Sprintf("mark-%d", s.marks)
	s.do("PING", mark)
	lines, err := s.monitor.Until(mark)
	if err != nil {
		s.tb.Fatal(err)
	}
	var commands [][]string
	for _, line := range lines {
		if _, command, ok := strings.Cut(line, " lua] "); ok {
			args, err := fields(command)
			if err != nil {
				s.tb.Fatalf("%s: %v", line, err)
			}
			commands = append(commands, args)
		}
	}
	return commands
}

// dump reads the whole keyspace.
func (s *Server) dump() Store {
	s.tb.Helper()
	keys, err := s.do("KEYS", "*").AsStrSlice()
	if err != nil {
		s.tb.Fatal(err)
	}
	store := Store{}
	for _, key := range keys {
		kind, err := s.do("TYPE", key).ToString()
		var content []string
		switch {
		case err != nil:
		case kind == "string":
			var value string
			value, err = s.do("GET", key).ToString()
			content = []string{value}
		case kind == "list":
			content, err = s.do("LRANGE", key, "0", "-1").AsStrSlice()
		case kind == "set":
			content, err = s.do("SMEMBERS", key).AsStrSlice()
		case kind == "hash":
			var row map[string]string
			row, err = s.do("HGETALL", key).AsStrMap()
			for field := range row {
				content = append(content, field+"="+row[field])
			}
		case kind == "zset":
			var scores map[string]float64
			scores, err = s.scores(key)
			for member := range scores {
				content = append(content, member+"="+strconv.FormatFloat(scores[member], 'f', -1, 64))
			}
		}
		if err != nil {
			s.tb.Fatalf("%s: %v", key, err)
		}
		if kind != "list" {
			slices.Sort(content)
		}
		store[key] = append([]string{kind}, content...)
	}
	return store
}

func (s *Server) scores(key string) (map[string]float64, error) {
	members, err := s.do("ZRANGE", key, "0", "-1", "WITHSCORES").AsZScores()
	scores := map[string]float64{}
	for _, m := range members {
		scores[m.Member] = m.Score
	}
	return scores, err
}

func (s *Server) render(reply valkeytest.Result) string {
	value, err := reply.ToAny()
	if err != nil {
		s.tb.Fatal(err)
	}
	return Render(value)
}

// Render writes a reply: strings in quotes, integers, nil, arrays in brackets.
func Render(value any) string {
	switch value := value.(type) {
	case string:
		return strconv.Quote(value)
	case []any:
		parts := make([]string, len(value))
		for i := range value {
			parts[i] = Render(value[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case nil:
		return "nil"
	default:
		return fmt.Sprint(value)
	}
}

// Differences tells in sentences how an outcome is not what a case wants.
func (c Case) Differences(o Outcome) []string {
	var d []string
	if !replies(c.Reply, o) {
		d = append(d, fmt.Sprintf("the reply is %s, want %s", o.Reply, c.Reply))
	}
	if o.Refusal != c.Refusal {
		d = append(d, fmt.Sprintf("the refusal is %q, want %q", o.Refusal, c.Refusal))
	}
	ran := []string{}
	for _, command := range o.Commands {
		ran = append(ran, command[0])
	}
	if !slices.Equal(ran, c.Runs) {
		d = append(d, fmt.Sprintf("it ran\n\t\t%s, want\n\t\t%s", strings.Join(ran, " "), strings.Join(c.Runs, " ")))
	}
	want := maps.Clone(o.Before)
	for key, content := range c.Is {
		if slices.Equal(want[key], content) {
			d = append(d, fmt.Sprintf("%s is said to change, and was so before", key))
		}
		want[key] = content
	}
	for _, key := range c.Gone {
		if want[key] == nil {
			d = append(d, fmt.Sprintf("%s is said to go, and was not there", key))
		}
		delete(want, key)
	}
	for _, key := range slices.Sorted(maps.Keys(o.After)) {
		if !matches(want[key], o.After[key], o) {
			d = append(d, fmt.Sprintf("%s is %q, want %q", key, o.After[key], want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if o.After[key] == nil {
			d = append(d, fmt.Sprintf("%s is not there, want %q", key, want[key]))
		}
	}
	return d
}

// replies compares the reply, where "until T" is the ms from the call to T.
func replies(want string, o Outcome) bool {
	until, ok := strings.CutPrefix(want, "until ")
	if !ok {
		return o.Reply == want
	}
	t, err := strconv.ParseInt(until, 10, 64)
	ms, err2 := strconv.ParseInt(o.Reply, 10, 64)
	return err == nil && err2 == nil && t-o.To <= ms && ms <= t-o.From
}

// matches compares the content of a key, where now means the time of the call.
func matches(want, got []string, o Outcome) bool {
	return slices.EqualFunc(want, got, func(want, got string) bool {
		member, ms, ok := strings.Cut(want, "=now")
		if !ok {
			return want == got
		}
		offset, err := strconv.ParseInt(ms, 10, 64)
		score, err2 := strconv.ParseInt(strings.TrimPrefix(got, member+"="), 10, 64)
		return err == nil && err2 == nil && o.From+offset <= score && score <= o.To+offset
	})
}
