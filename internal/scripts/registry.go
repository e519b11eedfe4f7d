package scripts

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Registry holds the verbs of one folder of scripts.
type Registry struct {
	verbs  []*Verb
	byName map[string]*Verb
	bySHA1 map[string]*Verb
}

// modules are the protocol's, in its order.
var modules = []string{"Jobs", "Lanes", "Flows", "Pump", "Repeat", "Admin", "Metrics", "Stalled"}

// Load reads every .lua file at the root of a file system. The first header
// that does not parse is returned as an [*Error]; errors of the file system
// pass through, wrapped.
func Load(fsys fs.FS) (*Registry, error) {
	files, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("reading scripts: %w", err)
	}
	r := &Registry{byName: map[string]*Verb{}, bySHA1: map[string]*Verb{}}
	for _, f := range files {
		if f.IsDir() || path.Ext(f.Name()) != ".lua" {
			continue
		}
		source, err := fs.ReadFile(fsys, f.Name())
		if err != nil {
			return nil, fmt.Errorf("reading scripts: %w", err)
		}
		v, err := Parse(f.Name(), string(source))
		if err != nil {
			return nil, err
		}
		// Names are unique because files are.
		if want := strings.TrimSuffix(f.Name(), ".lua"); v.Name != want {
			return nil, &Error{f.Name(), 1, len("-- ") + 1, KindName, fmt.Sprintf("found the verb %q, want the file's name: %q", v.Name, want)}
		}
		r.verbs = append(r.verbs, v)
		r.byName[v.Name], r.bySHA1[v.SHA1] = v, v
	}
	if len(r.verbs) == 0 {
		return nil, &Error{Path: ".", Kind: KindMissing, Msg: "found no script, want at least one .lua file"}
	}
	slices.SortFunc(r.verbs, func(a, b *Verb) int {
		return cmp.Or(cmp.Compare(moduleRank(a), moduleRank(b)), cmp.Compare(a.Module, b.Module), cmp.Compare(a.Name, b.Name))
	})
	return r, nil
}

func moduleRank(v *Verb) int {
	if i := slices.Index(modules, v.Module); i >= 0 {
		return i
	}
	return len(modules)
}

// Verbs returns all verbs, by module in the protocol's order, then by name.
func (r *Registry) Verbs() []*Verb {
	return slices.Clone(r.verbs)
}

// Lookup returns the verb of that name.
func (r *Registry) Lookup(name string) (*Verb, bool) {
	v, ok := r.byName[name]
	return v, ok
}

// BySHA1 returns the verb whose file has that digest, in hex of either case.
func (r *Registry) BySHA1(sha string) (*Verb, bool) {
	v, ok := r.bySHA1[strings.ToLower(sha)]
	return v, ok
}

// Nearest returns up to three names of verbs that somebody who wrote name may
// have meant, the likeliest first. A host function is understood too, with its
// module or without: "claim_batch" and "Jobs.claim_batch" mean bclaim.
func (r *Registry) Nearest(name string) []string {
	type candidate struct {
		name string
		cost int
	}
	name = strings.TrimSpace(name)
	word := strings.ToLower(name)
	var near []candidate
	for _, v := range r.verbs {
		cost := levenshtein.ComputeDistance(word, v.Name)
		switch {
		case calls(v, name):
			cost = 0
		case len(word) >= 3 && strings.Contains(v.Name, word):
			cost = min(cost, 2)
		case cost > max(2, len(word)/3):
			continue
		}
		near = append(near, candidate{v.Name, cost})
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	var names []string
	for _, c := range near[:min(3, len(near))] {
		names = append(names, c.name)
	}
	return names
}

// calls tells whether a host function of that name calls the verb.
func calls(v *Verb, name string) bool {
	name = strings.TrimPrefix(name, v.Module+".")
	for _, f := range strings.Split(v.Function, ", ") {
		f, _, _ = strings.Cut(f, "/")
		if f == name {
			return true
		}
	}
	return false
}
