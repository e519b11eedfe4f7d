package trace

import (
	"slices"
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
	}
	for _, s := range t.Steps {
		if s.spec != nil {
			if c := "+" + s.spec.Name; !slices.Contains(v.Commands, c) {
				v.Commands = append(v.Commands, c)
			}
		} else {
			v.Reasons = append(v.Reasons, "the command "+s.Command+" is not known, and no rule is made for it")
		}
		for _, k := range s.Keys {
			switch {
			case k.Channel:
				if c := "&" + glob(k.Pattern, queue); !slices.Contains(v.Channels, c) {
					v.Channels = append(v.Channels, c)
				}
			case k.Origin == Declared && t.Verb != nil && len(t.keyPatterns(k.pieces[0])) > 0:
			case k.Origin == Declared:
				need("*", scripts.AccessRead|scripts.AccessWrite)
				v.Reasons = appendNew(v.Reasons, "nothing declares the pattern of "+k.Expr)
			case k.Origin == Unknown || k.Origin == Data:
				need("*", k.Access)
				v.Reasons = appendNew(v.Reasons, "the key of "+s.Command+" cannot be told")
			default:
				p := glob(k.Pattern, queue)
				if strings.Trim(p, "*") == "" {
					v.Reasons = appendNew(v.Reasons, "key "+k.Expr+" may be any")
				}
				need(p, k.Access)
			}
		}
	}
	slices.Sort(v.Commands[2:])
	for _, p := range order {
		v.Keys = append(v.Keys, aclKey(p, rights[p]))
	}
	return ACL{Verb: v, Connection: Rights{
		Commands: []string{"+ping", "+get", "+cluster|shards"},
		Keys:     []string{"%R~{emq}:version"},
		Channels: []string{},
	}}
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

func escapeGlob(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(`*?[]\`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
