package trace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/emqctl/internal/scripts"
)

// ACL is the least that a client needs to call a script. A server checks the
// commands inside a script as well, with the rights of the caller.
type ACL struct {
	Verb       Rights `json:"verb"`
	Connection Rights `json:"connection"`
}

// Rights are rules as ACL SETUSER takes them.
type Rights struct {
	Commands []string `json:"commands"`          // +evalsha
	Keys     []string `json:"keys"`              // ~emq:{q}:pending, %R~emq:{q}:meta
	Channels []string `json:"channels"`          // &emq:{q}:events
	Reasons  []string `json:"reasons,omitempty"` // why a pattern is wider than one would wish
}

// Rules is all of them in one line.
func (r Rights) Rules() string {
	return strings.Join(slices.Concat(r.Commands, r.Keys, r.Channels), " ")
}

// ACL computes the rights. With a queue, patterns are for that queue;
// with "" they say {q}. Where a key cannot be told the pattern is ~*, and the
// reason is given.
func (t *Trace) ACL(queue string) ACL {
	v := Rights{Commands: []string{"+evalsha", "+script|load"}, Keys: []string{}, Channels: []string{}}
	rights := map[string]scripts.Access{}
	var order []string
	need := func(pattern string, a scripts.Access) {
		if _, ok := rights[pattern]; !ok {
			order = append(order, pattern)
		}
		rights[pattern] |= a
	}
	// EVALSHA itself counts as reading and writing all the keys it is given.
	if t.Verb != nil {
		for _, k := range t.Verb.Keys {
			need(glob(k.Pattern, queue), scripts.AccessRead|scripts.AccessWrite)
		}
	} else if expr := t.someKEYS(); expr != "" {
		need("*", scripts.AccessRead|scripts.AccessWrite)
		v.Reasons = appendNew(v.Reasons, "nothing declares the pattern of "+expr)
	}
	for _, s := range t.Steps {
		if s.spec != nil {
			if c := "+" + s.spec.Name; !slices.Contains(v.Commands, c) {
				v.Commands = append(v.Commands, c)
			}
		} else {
			v.Reasons = appendNew(v.Reasons, shown("the command "+s.Command+" is not known, and no rule is made for it"))
		}
		for _, k := range s.Keys {
			switch {
			case k.Channel:
				c := glob(k.Pattern, queue)
				if k.Origin == Unknown || k.Origin == Data {
					c = "*"
				}
				v.note(k, c)
				v.Channels = appendNew(v.Channels, "&"+c)
			case k.Origin == Declared && t.Verb != nil && len(t.keyPatterns(k.pieces[0])) > 0:
			case k.Origin == Declared:
				need("*", scripts.AccessRead|scripts.AccessWrite)
				v.Reasons = appendNew(v.Reasons, "nothing declares the pattern of "+k.Expr)
			case k.Origin == Unknown || k.Origin == Data:
				need("*", k.Access)
				v.Reasons = appendNew(v.Reasons, "the key of "+s.Command+" cannot be told")
			default:
				p := glob(k.Pattern, queue)
				if p != "" && strings.Trim(p, "*") == "" {
					v.Reasons = appendNew(v.Reasons, shown("key "+k.Expr+" may be any"))
				}
				v.note(k, p)
				need(p, k.Access)
			}
		}
	}
	slices.Sort(v.Commands[2:])
	for _, p := range order {
		// A server refuses a pattern behind ~*, and one that a wider one
		// covers is idle.
		if !slices.ContainsFunc(order, func(q string) bool { return q != p && rights[p]&^rights[q] == 0 && covered(q, p) }) {
			v.Keys = append(v.Keys, aclKey(p, rights[p]))
		}
	}
	channels := v.Channels
	v.Channels = slices.DeleteFunc(slices.Clone(channels), func(p string) bool {
		return slices.ContainsFunc(channels, func(q string) bool { return q != p && covered(q[1:], p[1:]) })
	})
	acl := ACL{Verb: v, Connection: Rights{Commands: []string{"+ping", "+cluster|shards"}, Keys: []string{}, Channels: []string{}}}
	if t.Verb != nil {
		acl.Connection.Commands = []string{"+ping", "+get", "+cluster|shards"}
		acl.Connection.Keys = append(acl.Connection.Keys, "%R~{emq}:version")
	}
	return acl
}

// someKEYS is one of the KEYS that a script reads, "" when it reads none. A
// caller may have to pass what the script only makes other keys of.
func (t *Trace) someKEYS() string {
	first := 0
	for _, u := range t.keyUses {
		if first == 0 || u.n < first {
			first = u.n
		}
	}
	for n, seen := range t.keysSeen {
		if seen && (first == 0 || n < first) {
			first = n
		}
	}
	switch {
	case first > 0:
		return "KEYS[" + strconv.Itoa(first) + "]"
	case t.keysAll:
		return "KEYS"
	}
	return ""
}

// note says so when a rule is wider than the key it is for.
func (r *Rights) note(k Key, rule string) {
	if strings.Contains(rule, "?") && strings.Count(rule, "?") > strings.Count(rule, `\?`) {
		r.Reasons = appendNew(r.Reasons, shown("key "+k.Expr+" has bytes that no rule can have: each is ?, any byte"))
	}
}

// covered reports whether a glob surely matches all that another matches.
func covered(wide, p string) bool {
	// at[i]: the first i tokens of p are matched so far.
	ws, ps := globTokens(wide), globTokens(p)
	at := make([]bool, len(ps)+1)
	at[0] = true
	for _, w := range ws {
		next := make([]bool, len(ps)+1)
		for i, ok := range at {
			if !ok {
				continue
			}
			if w == "*" {
				for j := i; j <= len(ps); j++ {
					next[j] = true
				}
				break
			}
			if i < len(ps) && (w == ps[i] || w == "?" && ps[i] != "*") {
				next[i+1] = true
			}
		}
		at = next
	}
	return at[len(ps)]
}

func globTokens(p string) []string {
	var out []string
	for i := 0; i < len(p); i++ {
		n := 1
		if p[i] == '\\' && i+1 < len(p) {
			n = 2
		}
		out = append(out, p[i:i+n])
		i += n - 1
	}
	return out
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// aclKey writes a pattern with its rights. A key that is only asked for its
// existence needs no right but must match some pattern: %R is the least.
func aclKey(p string, a scripts.Access) string {
	switch {
	case a == scripts.AccessRead|scripts.AccessWrite:
		return "~" + p
	case a == scripts.AccessWrite:
		return "%W~" + p
	}
	return "%R~" + p
}

// glob turns a pattern into one of ACL: placeholders match anything.
func glob(p, queue string) string {
	var b strings.Builder
	for i := 0; i < len(p); {
		switch {
		case queue != "" && strings.HasPrefix(p[i:], "{q}"):
			b.WriteString("{" + escapeGlob(queue) + "}")
			i += 3
		case p[i] == '<' && strings.IndexByte(p[i:], '>') > 0:
			if s := b.String(); !strings.HasSuffix(s, "*") || strings.HasSuffix(s, `\*`) {
				b.WriteByte('*')
			}
			i += closing(p[i:])
		default:
			b.WriteString(escapeGlob(p[i : i+1]))
			i++
		}
	}
	return b.String()
}

// closing is the length of a placeholder, whose text may hold brackets and
// comparisons: it ends at the last > before a colon, or at the first.
func closing(s string) int { return strings.IndexByte(s, '>') + 1 }

// escapeGlob writes bytes that stand for themselves. A blank, or what is not
// printable, no rule can have: it is any one byte.
func escapeGlob(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c <= ' ' || c >= 0x7f:
			b.WriteByte('?')
			continue
		case strings.IndexByte(`*?[]\`, c) >= 0:
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
