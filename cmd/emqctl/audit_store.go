package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/echomq/emqctl/internal/audit"
	"github.com/echomq/emqctl/internal/slot"
	"github.com/echomq/emqctl/internal/valkey"
)

// auditStore is a live server in the words of an audit.
type auditStore struct {
	*valkey.Client
	other func(ctx context.Context, db int) (*valkey.Client, error) // connects to another database
	dbs   map[int]*valkey.Client

	mu   sync.Mutex
	down map[string]nodeTrouble
}

// nodeTrouble is how often in a row a node could not be reached, and how last.
type nodeTrouble struct {
	times int
	err   error
}

// A node that could not be reached so often is not tried again: each try may
// take the whole time-out.
const triesOfNode = 2

func (s *auditStore) close() {
	for _, c := range s.dbs {
		c.Close()
	}
	s.Close()
}

func (s *auditStore) Nodes(ctx context.Context) ([]string, error) {
	list, err := s.Primaries(ctx)
	var addrs []string
	for _, p := range list {
		if !slices.Contains(addrs, p.Addr) {
			addrs = append(addrs, p.Addr)
		}
	}
	return addrs, err
}

func (s *auditStore) Size(ctx context.Context, node string) (int64, error) {
	v, err := s.DoOn(ctx, node, "DBSIZE")
	n, _ := v.(int64)
	return n, err
}

func (s *auditStore) Read(ctx context.Context, commands []audit.Command) []audit.Reply {
	out := make([]audit.Reply, len(commands))
	reads, at := make([]valkey.Read, 0, len(commands)), make([]int, 0, len(commands))
	for i, c := range commands {
		if err := s.isDown(c.Key); err != nil {
			out[i].Err = err
			continue
		}
		reads, at = append(reads, valkey.Read{Key: c.Key, Args: c.Args}), append(at, i)
	}
	replies := s.DoAll(ctx, reads)
	for n, r := range replies {
		out[at[n]] = auditReply(r)
	}
	if len(replies) > 0 {
		s.note(replies)
	}
	return out
}

// isDown returns why the owner of a key is not tried any more, or nil.
func (s *auditStore) isDown(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.down) == 0 {
		return nil
	}
	if t := s.down[s.NodeOfSlot(slot.Of(key))]; t.times >= triesOfNode {
		return t.err
	}
	return nil
}

// note counts the nodes that could not be reached, once a batch.
func (s *auditStore) note(replies []valkey.Answer) {
	failed, fine := map[string]error{}, false
	for _, r := range replies {
		var v *valkey.Error
		if !errors.As(r.Err, &v) || r.Text != "" {
			fine = true
			continue
		}
		switch v.Kind {
		case valkey.KindRefused, valkey.KindUnreachable, valkey.KindTimeout, valkey.KindCut, valkey.KindHost, valkey.KindSocket:
			failed[v.Addr] = r.Err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if fine && len(failed) == 0 && !s.Cluster() {
		clear(s.down)
	}
	for addr, err := range failed {
		s.down[addr] = nodeTrouble{s.down[addr].times + 1, err}
	}
}

func (s *auditStore) ReadAtOnce(ctx context.Context, key string, commands []audit.Command) ([]audit.Reply, error) {
	if err := s.isDown(key); err != nil {
		return nil, err
	}
	replies, err := s.Client.ReadAtOnce(ctx, key, auditReads(commands))
	if errors.Is(err, valkey.ErrApart) {
		return nil, audit.ErrApart
	}
	if err != nil {
		s.note([]valkey.Answer{{Err: err}})
	}
	out := make([]audit.Reply, len(replies))
	for i, r := range replies {
		out[i] = auditReply(r)
	}
	return out, err
}

func auditReads(commands []audit.Command) []valkey.Read {
	reads := make([]valkey.Read, len(commands))
	for i, c := range commands {
		reads[i] = valkey.Read{Key: c.Key, Args: c.Args}
	}
	return reads
}

func auditReply(r valkey.Answer) audit.Reply {
	return audit.Reply{Value: r.Reply, Err: r.Err, WrongType: strings.HasPrefix(r.Text, "WRONGTYPE")}
}

// Fences reads the fence of the database that was asked for, then of every
// other that INFO lists.
func (s *auditStore) Fences(ctx context.Context) ([]audit.Fence, error) {
	f, err := s.Fence(ctx)
	if err != nil {
		return nil, err
	}
	fences := []audit.Fence{auditFence(s.DB(), f)}
	for _, db := range s.databases(ctx) {
		if db == s.DB() {
			continue
		}
		c := s.dbs[db]
		if c == nil {
			if c, err = s.other(ctx, db); err != nil {
				fences = append(fences, audit.Fence{DB: db, Err: err})
				continue
			}
			s.dbs[db] = c
		}
		if f, err = c.Fence(ctx); err != nil {
			return nil, err
		}
		fences = append(fences, auditFence(db, f))
	}
	return fences, nil
}

func auditFence(db int, f valkey.Fence) audit.Fence {
	out := audit.Fence{DB: db, Present: f.State == valkey.FencePresent, Value: f.Value}
	if f.Reason != nil {
		out.Err = f.Reason
	}
	return out
}

// databases returns the numbers of the databases that hold keys, as far as
// the user may know.
func (s *auditStore) databases(ctx context.Context) []int {
	dbs := map[int]bool{}
	addrs, _ := s.Nodes(ctx)
	for _, addr := range addrs {
		v, _ := s.DoOn(ctx, addr, "INFO", "keyspace")
		info, _ := v.(string)
		for _, line := range strings.Split(info, "\n") {
			name, _, _ := strings.Cut(line, ":")
			if n, ok := strings.CutPrefix(name, "db"); ok {
				if db, err := strconv.Atoi(n); err == nil {
					dbs[db] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(dbs))
}

// auditClock is the clock of the machine.
type auditClock struct{ now func() time.Time }

func (c auditClock) Now() time.Time { return c.now() }

func (c auditClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
