package verbtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	lua "github.com/echomq/emqctl/scripts"

	"github.com/echomq/emqctl/internal/scripts"
)

// testHeaders holds each call to what the verb's header declares: a form that
// takes as many keys and arguments, keys of the declared pattern and type, a
// declared reply or refusal.
func testHeaders(t *testing.T, s *Server) {
	formsSeen := map[string]bool{}
	for _, c := range cases(t) {
		v, _ := s.Registry.Lookup(c.Verb)
		form, ok := formOf(v, c)
		if !ok {
			t.Errorf("%s: no form of %s takes %d keys %q and %d arguments", c.Name, v.Name, len(c.Keys), c.Keys, len(c.Args))
			continue
		}
		formsSeen[v.Name+" "+form] = true
		after := s.Run(c).After
		for i, key := range c.Keys {
			k := keysOf(v, form)[min(i, len(keysOf(v, form))-1)]
			if content := after[key]; content != nil && content[0] != k.Store {
				t.Errorf("%s: %s is a %s, declared a %s", c.Name, key, content[0], k.Store)
			}
		}
		if c.Reply != "" && !slices.ContainsFunc(v.Returns, func(r scripts.Return) bool { return returned(r.Value, c.Reply) }) {
			t.Errorf("%s: the header declares no reply %s", c.Name, c.Reply)
		}
		if c.Refusal != "" && !slices.ContainsFunc(v.Refusals, func(r scripts.Refusal) bool { return r.Text == c.Refusal }) {
			t.Errorf("%s: the header declares no refusal %q", c.Name, c.Refusal)
		}
	}
	for _, v := range s.Registry.Verbs() {
		for _, form := range v.Forms {
			if !formsSeen[v.Name+" "+form] {
				t.Errorf("no case calls %s in the form %s", v.Name, form)
			}
		}
	}
}

func formOf(v *scripts.Verb, c Case) (form string, ok bool) {
	forms := v.Forms
	if forms == nil {
		forms = []string{""}
	}
	for _, form := range forms {
		keys := keysOf(v, form)
		fits := true
		for i, key := range c.Keys {
			fits = fits && len(keys) > 0 && pattern(keys[min(i, len(keys)-1)].Pattern).MatchString(key)
		}
		var args, repeated int
		for _, a := range v.Args {
			switch {
			case a.Forms != nil && !slices.Contains(a.Forms, form):
			case a.Repeated:
				repeated++
			default:
				args++
			}
		}
		more := len(c.Args) - args
		fits = fits && (more == 0 || repeated > 0 && more > 0 && more%repeated == 0)
		more = len(c.Keys) - len(keys)
		if n := len(keys); n > 0 && keys[n-1].Repeated {
			fits = fits && more >= -1
		} else {
			fits = fits && more == 0
		}
		if fits {
			return form, true
		}
	}
	return "", false
}

func keysOf(v *scripts.Verb, form string) []scripts.Key {
	return slices.DeleteFunc(slices.Clone(v.Keys), func(k scripts.Key) bool {
		return k.Forms != nil && !slices.Contains(k.Forms, form)
	})
}

var part = regexp.MustCompile(`<[a-z0-9_]+>`)

func pattern(p string) *regexp.Regexp {
	var b strings.Builder
	last := 0
	for _, at := range part.FindAllStringIndex(p, -1) {
		b.WriteString(regexp.QuoteMeta(p[last:at[0]]) + "[^:]*")
		last = at[1]
	}
	return regexp.MustCompile("^" + b.String() + regexp.QuoteMeta(p[last:]) + "$")
}

// returned tells whether a reply may be what a header writes as value.
func returned(value, reply string) bool {
	switch {
	case value == "n" || value == "ms":
		return !strings.ContainsAny(reply, `["`)
	case strings.HasPrefix(value, "[") && strings.Contains(value, "..."):
		return strings.HasPrefix(reply, "[")
	case strings.HasPrefix(value, "["):
		return strings.Count(value, ",") == strings.Count(reply, ",") && strings.HasPrefix(reply, "[")
	default:
		return reply == value || reply == `"`+value+`"`
	}
}

// TestProtocol holds the headers to what the protocol closes: how many verbs
// a module has, and the texts of the refusals.
func TestProtocol(t *testing.T) {
	r, err := scripts.Load(lua.FS)
	if err != nil {
		t.Fatal(err)
	}
	modules, refusals := map[string]int{}, map[string][]string{}
	for _, v := range r.Verbs() {
		modules[v.Module]++
		for _, refusal := range v.Refusals {
			refusals[refusal.Text] = append(refusals[refusal.Text], v.Name)
		}
	}
	for module, want := range map[string]int{
		"Jobs": 16, "Lanes": 11, "Flows": 3, "Pump": 2, "Repeat": 3, "Admin": 4, "Metrics": 5, "Stalled": 1,
	} {
		if modules[module] != want {
			t.Errorf("%s has %d verbs, want %d", module, modules[module], want)
		}
	}
	want := map[string]string{
		"EMQKIND job id must be JOB-namespaced": "delay enqueue schedule genqueue enqueue_flow enqueue_flow_child hold_parent",
		"EMQSTALE complete token mismatch":      "complete",
		"EMQSTALE job gone":                     "delay retry",
		"EMQSTALE retry token mismatch":         "retry",
		"EMQSTALE delay token mismatch":         "delay",
		"EMQSTALE extend token mismatch":        "extend_lock",
		"EMQLOCK job is locked":                 "remove_job",
		"EMQSTATE not dead":                     "reprocess",
		"EMQSTATE not paused":                   "obliterate",
		"EMQSTATE active jobs present":          "obliterate",
		"EMQRATE at concurrency ceiling":        "is_maxed",
	}
	for text, verbs := range want {
		if got := strings.Join(refusals[text], " "); got != verbs {
			t.Errorf("%q refuses in %q, want %q", text, got, verbs)
		}
	}
	if len(refusals) != len(want) {
		t.Errorf("there are %d refusals, want %d", len(refusals), len(want))
	}
}
