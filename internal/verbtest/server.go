package verbtest

import (
	"fmt"
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

func (s *Server) render(reply valkeytest.Result) string {
	value, err := reply.ToAny()
	if err != nil {
		s.tb.Fatal(err)
	}
	return Render(value)
}
