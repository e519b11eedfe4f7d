package embedded

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/echomq/emqctl/internal/executor"
)

// Key is a key that the store holds.
type Key struct {
	Key     string
	Type    string // hash, zset, list, set or string
	Size    int    // how many fields, members or elements; 1 for a string
	Entries []Entry
}

// Entry is a field of a hash with its value, a member of a sorted set with its
// score, or an element or a string, which has a value only.
type Entry struct {
	Name, Value string
	Named       bool // there is a Name
}

// maxEntries is how many members of a sorted set are told. Of a larger one
// only those that the call named are: a bulk rehearsal would otherwise tell
// the whole queue again for every job.
const maxEntries = 16

// Dump returns everything that the store holds, by key.
func (s *Store) Dump() []Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []Key
	for _, key := range s.m.Keys() {
		if k, ok := s.key(key, executor.Call{}); ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// key returns what the store holds under a key.
func (s *Store) key(key string, call executor.Call) (Key, bool) {
	k := Key{Key: key}
	if !s.m.Exists(key) {
		return k, false
	}
	k.Type = s.m.Type(key)
	switch k.Type {
	case "string":
		value, _ := s.m.Get(key)
		k.Entries = []Entry{{Value: value}}
	case "list":
		values, _ := s.m.List(key)
		for _, v := range values {
			k.Entries = append(k.Entries, Entry{Value: v})
		}
	case "set":
		values, _ := s.m.Members(key)
		for _, v := range values {
			k.Entries = append(k.Entries, Entry{Value: v})
		}
	case "hash":
		fields, _ := s.m.HKeys(key)
		for _, f := range fields {
			k.Entries = append(k.Entries, Entry{f, s.m.HGet(key, f), true})
		}
	case "zset":
		n, _ := s.do("ZCARD", key)
		size := int(n.(int64))
		return Key{key, k.Type, size, s.members(key, size, call)}, true
	}
	k.Size = len(k.Entries)
	return k, true
}

// members returns the members of a sorted set in its own order.
func (s *Store) members(key string, size int, call executor.Call) []Entry {
	scores := map[string]float64{}
	if size <= maxEntries || call.Verb == nil {
		scores, _ = s.m.SortedSet(key)
	} else {
		for _, arg := range call.Args {
			if score, err := s.m.ZScore(key, arg); err == nil {
				scores[arg] = score
			}
		}
	}
	var entries []Entry
	for member, score := range scores {
		entries = append(entries, Entry{member, strconv.FormatFloat(score, 'f', -1, 64), true})
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(scores[a.Name], scores[b.Name]), cmp.Compare(a.Name, b.Name))
	})
	return entries
}
