package embedded

import (
	"bufio"
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/scripts"
	lua "github.com/echomq/emqctl/scripts"
)

// Engine is what this store is called where engines are named.
const Engine = "embedded"

// FenceKey is the key of the version fence.
const FenceKey = "{emq}:version"

// Store is an empty store that can run verbs. It may be used by many
// goroutines; they wait for each other.
type Store struct {
	mu     sync.Mutex
	m      *miniredis.Miniredis
	now    func() time.Time
	fence  string
	loaded map[string]bool // by SHA-1

	// Of the call that is running:
	ctx      context.Context
	own      *server.Peer // whose commands are not a script's
	commands []Command
}

// New returns an empty store whose clock is now. When fence is not empty,
// {emq}:version holds it, as on a server that speaks that wire, and
// EMQ.ENQUEUE demands it.
func New(now func() time.Time, fence string) (*Store, error) {
	s := &Store{m: miniredis.NewMiniRedis(), now: now, fence: fence, loaded: map[string]bool{}}
	// A first in-memory connection starts the server without a listener.
	c, err := s.m.Dial()
	if err != nil {
		return nil, err
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	if err := s.m.Server().Register(Native, s.enqueue); err != nil {
		return nil, err
	}
	s.m.Server().SetPreHook(s.observe)
	s.Reset()
	return s, nil
}

// Reset empties the store again.
func (s *Store) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.FlushAll()
	if s.fence != "" {
		s.m.Set(FenceKey, s.fence)
	}
}

// Close gives the store up.
func (s *Store) Close() { s.m.Close() }

// Engine is [Engine].
func (s *Store) Engine() string { return Engine }

// Command is a command that the store ran on behalf of a verb.
type Command struct {
	Name  string   // in capitals
	Keys  []string // the keys it touches
	Write bool     // it may change them
}

// Rehearsal is what came of a call.
type Rehearsal struct {
	executor.Outcome
	Commands []Command // what the verb ran, in order, observed
	Holds    []Key     // every key it named or touched that now exists, in order of first mention
}

// Run runs calls, one after the other.
func (s *Store) Run(ctx context.Context, calls []executor.Call) []executor.Outcome {
	outcomes := make([]executor.Outcome, len(calls))
	for i, call := range calls {
		s.mu.Lock()
		outcomes[i] = s.run(ctx, call)
		s.mu.Unlock()
	}
	return outcomes
}

// Rehearse runs a call and tells what it touched and left.
func (s *Store) Rehearse(ctx context.Context, call executor.Call) Rehearsal {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Rehearsal{Outcome: s.run(ctx, call)}
	r.Commands = s.commands
	s.commands = nil
	seen := map[string]bool{}
	hold := func(key string) {
		if k, ok := s.key(key, call); ok && !seen[key] {
			r.Holds = append(r.Holds, k)
		}
		seen[key] = true
	}
	for _, key := range call.Keys {
		hold(key)
	}
	for _, c := range r.Commands {
		for _, key := range c.Keys {
			hold(key)
		}
	}
	return r
}

func (s *Store) run(ctx context.Context, call executor.Call) executor.Outcome {
	s.ctx, s.commands = ctx, s.commands[:0]
	if ctx.Err() != nil {
		return executor.Outcome{State: executor.Failed, Err: stopped()}
	}
	words := []string{Native}
	if call.Native {
		if call.Verb.Name != "enqueue" {
			return failed(errorf(KindNative, "%s has no native command, want the verb enqueue", call.Verb.Name))
		}
	} else {
		if err := s.load(call.Verb); err != nil {
			return failed(err)
		}
		words = []string{"EVALSHA", call.Verb.SHA1}
	}
	words = append(words, strconv.Itoa(len(call.Keys)))
	words = append(append(words, call.Keys...), call.Args...)
	s.m.SetTime(s.now())
	reply, err := s.do(words...)
	switch {
	case ctx.Err() != nil:
		// The hook lets no command of a script through after that, so the verb
		// may have stopped half-way.
		return executor.Outcome{State: executor.Unknown, Err: stopped()}
	case err == server.ErrProtocol:
		return failed(errorf(KindReply, "the embedded store gave no reply"))
	case err != nil && strings.HasPrefix(err.Error(), "EMQ"):
		return executor.Outcome{State: executor.Refused, Text: err.Error()}
	case err != nil && slices.ContainsFunc(s.commands, func(c Command) bool { return c.Write }):
		// As on a server, a script that fails keeps what it wrote before.
		return executor.Outcome{State: executor.Unknown, Err: errorf(KindPartial, "the verb ended in an error after it may have written: %s", err)}
	case err != nil:
		return failed(errorf(KindServer, "the embedded store did not run it: %s", err))
	}
	return executor.Outcome{State: executor.Replied, Reply: reply}
}

func failed(err *Error) executor.Outcome {
	return executor.Outcome{State: executor.Failed, Err: err}
}

func stopped() *Error { return errorf(KindStopped, "the rehearsal was interrupted") }

// load hands a script to the store, once, when it is one of ours.
func (s *Store) load(v *scripts.Verb) *Error {
	if s.loaded[v.SHA1] {
		return nil
	}
	if source, err := lua.FS.ReadFile(v.Path); err != nil || string(source) != v.Source {
		return errorf(KindForeign, "found the script %q, want one that emqctl carries: no other is run in process", v.Path)
	}
	sha, err := s.do("SCRIPT", "LOAD", v.Source)
	if err != nil || sha != v.SHA1 {
		return errorf(KindForeign, "the embedded store does not load %s: %v", v.Path, err)
	}
	s.loaded[v.SHA1] = true
	return nil
}

// do dispatches one command that is not a verb's.
func (s *Store) do(words ...string) (any, error) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	s.own = server.NewPeer(w)
	s.m.Server().Dispatch(s.own, words)
	s.own.Flush()
	reply, err := server.ParseReply(bufio.NewReader(&b))
	return word(reply), err
}

// word is a reply in the types of an executor.Outcome.
func word(reply any) any {
	switch reply := reply.(type) {
	case int:
		return int64(reply)
	case server.Simple:
		return string(reply)
	case []any:
		for i := range reply {
			reply[i] = word(reply[i])
		}
	}
	return reply
}

// observe is miniredis's hook before every command, those of scripts
// included: they come from a peer that miniredis makes for the script.
func (s *Store) observe(from *server.Peer, name string, args ...string) bool {
	if from == s.own {
		return false
	}
	if s.ctx.Err() != nil {
		from.WriteError("ERR " + stopped().Msg)
		return true
	}
	s.commands = append(s.commands, Command{
		Name:  name,
		Keys:  keysOf(name, args),
		Write: name != "TIME" && name != "PUBLISH" && !s.m.IsReadOnlyCommand(name),
	})
	return false
}

// keysOf returns the keys among the arguments of a command that the verbs run.
func keysOf(name string, args []string) []string {
	n := 1
	switch name {
	case "TIME", "PUBLISH":
		n = 0
	case "DEL", "EXISTS":
		n = len(args)
	case "LMOVE":
		n = 2
	}
	return args[:min(n, len(args)):min(n, len(args))]
}

// Fence returns the value of {emq}:version, and whether there is one.
func (s *Store) Fence(context.Context) (value string, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, err = s.m.Get(FenceKey)
	if err == miniredis.ErrKeyNotFound {
		return "", false, nil
	}
	return value, err == nil, err
}

// ClaimFence sets {emq}:version where it is absent, and returns what it is
// afterwards.
func (s *Store) ClaimFence(_ context.Context, version string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.m.Exists(FenceKey) {
		if err := s.m.Set(FenceKey, version); err != nil {
			return "", err
		}
	}
	return s.m.Get(FenceKey)
}

// HasCommand reports whether the store has a command: [Native] it has.
func (s *Store) HasCommand(_ context.Context, name string) (bool, error) {
	return s.m.Server().IsRegisteredCommand(name), nil
}
