package embedded

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/echomq/emqctl/internal/executor"
	"github.com/echomq/emqctl/internal/verbtest"
)

// TestVerbs runs every case that a real server has confirmed in the embedded
// store, and finds the same reply, commands and keyspace. But for one verb: a
// TTL of miniredis ends after 292 years, and those cases wait for longer.
func TestVerbs(t *testing.T) {
	cases, err := verbtest.Cases()
	if err != nil {
		t.Fatal(err)
	}
	s, r := newStore(t, "")
	for _, c := range cases {
		s.Reset()
		now := clock.UnixMilli()
		for _, args := range c.Given {
			args = slices.Clone(args)
			for i, arg := range args {
				if ms, ok := strings.CutPrefix(arg, "now"); ok {
					n, _ := strconv.ParseInt(ms, 10, 64)
					args[i] = strconv.FormatInt(now+n, 10)
				}
			}
			if _, err := s.do(args...); err != nil {
				t.Fatalf("%s: %q: %v", c.Name, args, err)
			}
		}
		v, _ := r.Lookup(c.Verb)
		o := verbtest.Outcome{Before: dump(s), From: now, To: now}
		got := s.Rehearse(context.Background(), executor.Call{Verb: v, Keys: c.Keys, Args: c.Args})
		switch got.State {
		case executor.Replied:
			o.Reply = verbtest.Render(got.Reply)
		case executor.Refused:
			o.Refusal = got.Text
		default:
			t.Errorf("%s: %s, %v", c.Name, got.State, got.Err)
		}
		for _, command := range got.Commands {
			o.Commands = append(o.Commands, []string{command.Name})
		}
		o.After = dump(s)
		d := c.Differences(o)
		if known := strings.HasPrefix(c.Name, "rate_ttl/full"); known != (len(d) > 0) {
			t.Errorf("%s: %q, known to differ: %v", c.Name, d, known)
		}
	}
}

func dump(s *Store) verbtest.Store {
	store := verbtest.Store{}
	for _, k := range s.Dump() {
		var content []string
		for _, e := range k.Entries {
			if e.Named {
				content = append(content, e.Name+"="+e.Value)
			} else {
				content = append(content, e.Value)
			}
		}
		if k.Type != "list" {
			slices.Sort(content)
		}
		store[k.Key] = append([]string{k.Type}, content...)
	}
	return store
}
