package trace

import (
	"slices"
	"strings"

	"github.com/echomq/emqctl/internal/decode"
	"github.com/echomq/emqctl/internal/scripts"
)

// declarations judges what a header declares by itself, and against what the
// body does with it.
func (j *judge) declarations() {
	v := j.t.Verb
	if v == nil {
		return
	}
	tag := ""
	for _, k := range v.Keys {
		if strings.HasPrefix(k.Pattern, "emq:") && !strings.HasPrefix(k.Pattern, "emq:{") {
			j.add(FindHeader, k.Line, 1, "KEYS[%d] is declared as %s, want the queue in braces: emq:{q}:", k.N, k.Pattern)
			continue
		}
		g := tagOf(k.Pattern)
		switch {
		case g == "":
		case tag == "":
			tag = g
		case g != tag:
			j.add(FindHashTag, k.Line, 1, "KEYS[%d] is declared as %s, and the keys before it have the hash tag {%s}", k.N, k.Pattern, tag)
		}
		if suffix, ok := strings.CutPrefix(k.Pattern, "emq:{"+g+"}:"); ok && k.Store != "" && !strings.HasPrefix(suffix, "<") && !decode.RegisteredPattern(suffix) {
			j.add(FindUnregisteredKey, k.Line, 1, "KEYS[%d] is declared as %s, which is of no registered type", k.N, k.Pattern)
		}
	}
	for i := range j.t.Steps {
		s := &j.t.Steps[i]
		want := storeOf(s)
		if want == nil {
			continue
		}
		for _, k := range s.Keys {
			if k.Origin != Declared || k.N == 0 || k.Channel || k.SortPattern || k.Maybe {
				continue
			}
			if d := declaredStore(v, k.N); d != "" && !slices.Contains(want, d) {
				j.at(s, FindStoreMismatch, "%s of KEYS[%d] wants a %s, and the header declares a %s", s.Command, k.N, strings.Join(want, " or "), d)
			}
		}
	}
	n := 0
	for _, a := range v.Args {
		if a.Repeated {
			return
		}
		n = max(n, a.N)
	}
	for _, u := range j.t.argUses {
		if u.n > n {
			j.add(FindArgvIndex, u.line, u.col, "ARGV[%d] is read, and the header declares %d", u.n, n)
		}
	}
}

// declaredStore is the one type that a header gives KEYS[n], "" when it gives
// none, or several in several forms.
func declaredStore(v *scripts.Verb, n int) string {
	store := ""
	for _, k := range v.Keys {
		if k.N != n && !(k.Repeated && n >= k.N) {
			continue
		}
		if store != "" && store != k.Store {
			return ""
		}
		store = k.Store
	}
	return store
}

// storeOf is what type a command takes all its keys to be, nil when any or
// when they differ.
func storeOf(s *Step) []string {
	switch c := s.Command; {
	case s.spec == nil:
		return nil
	case c == "HINCRBYFLOAT", slices.Contains(hashCommands, c):
		return []string{"hash"}
	case slices.Contains(mixedCommands, c):
		return nil
	case c[0] == 'Z', strings.HasPrefix(c, "BZ"), strings.HasPrefix(c, "GEO"):
		return []string{"zset"}
	case c[0] == 'X':
		return []string{"stream"}
	case slices.Contains(listCommands, c):
		return []string{"list"}
	case slices.Contains(setCommands, c):
		return []string{"set"}
	case slices.Contains(stringCommands, c):
		return []string{"string"}
	}
	return nil
}

var (
	hashCommands = []string{"HDEL", "HEXISTS", "HGET", "HGETALL", "HINCRBY", "HKEYS", "HLEN", "HMGET", "HMSET", "HRANDFIELD", "HSCAN", "HSET", "HSETNX", "HSTRLEN", "HVALS",
		"HEXPIRE", "HPEXPIRE", "HEXPIREAT", "HPEXPIREAT", "HPERSIST", "HTTL", "HPTTL", "HGETDEL", "HGETEX", "HSETEX"}
	listCommands = []string{"LPUSH", "RPUSH", "LPUSHX", "RPUSHX", "LPOP", "RPOP", "LLEN", "LRANGE", "LINDEX", "LSET", "LREM", "LTRIM", "LINSERT", "LPOS", "LMOVE", "LMPOP", "RPOPLPUSH",
		"BLPOP", "BRPOP", "BLMOVE", "BLMPOP", "BRPOPLPUSH"}
	setCommands = []string{"SADD", "SCARD", "SDIFF", "SDIFFSTORE", "SINTER", "SINTERCARD", "SINTERSTORE", "SISMEMBER", "SMEMBERS", "SMISMEMBER", "SMOVE", "SPOP", "SRANDMEMBER", "SREM",
		"SSCAN", "SUNION", "SUNIONSTORE"}
	stringCommands = []string{"APPEND", "DECR", "DECRBY", "GET", "GETDEL", "GETEX", "GETRANGE", "GETSET", "INCR", "INCRBY", "INCRBYFLOAT", "MGET", "MSETNX", "PSETEX", "SETEX", "SETNX",
		"SETRANGE", "STRLEN", "SUBSTR", "BITCOUNT", "BITFIELD", "BITFIELD_RO", "BITPOS", "GETBIT", "SETBIT", "PFADD", "PFCOUNT", "PFMERGE"}
	// mixedCommands take keys of several types.
	mixedCommands = []string{"ZUNIONSTORE", "ZINTERSTORE", "ZUNION", "ZINTER", "ZINTERCARD", "GEORADIUS", "GEORADIUSBYMEMBER"}
)
