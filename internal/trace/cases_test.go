package trace

import (
	"testing"

	"github.com/echomq/emqctl/internal/verbtest"
)

// TestCasesOnValkey runs every case of every verb, each branch and refusal, on
// a real server, and holds what MONITOR shows of the script to its trace: the
// commands are a path through it, and each key is one that the step predicts.
// Every step of every verb has to be met by some case.
func TestCasesOnValkey(t *testing.T) {
	s := verbtest.Start(t)
	cases, err := verbtest.Cases()
	if err != nil {
		t.Fatal(err)
	}
	traces := map[string]*Trace{}
	met := map[string]map[int]bool{}
	commands := 0
	for _, c := range cases {
		tr := traces[c.Verb]
		if tr == nil {
			v, ok := s.Registry.Lookup(c.Verb)
			if !ok {
				t.Fatalf("no verb %s", c.Verb)
			}
			if tr, err = Of(Script{Path: v.Path, Text: v.Source, Verb: v}); err != nil {
				t.Fatal(err)
			}
			traces[c.Verb], met[c.Verb] = tr, map[int]bool{}
		}
		var observed []Observed
		for _, args := range s.Run(c).Commands {
			observed = append(observed, Observed{Name: args[0], Args: args[1:]})
		}
		commands += len(observed)
		if err := tr.Allows(observed, c.Keys, c.Args); err != nil {
			t.Errorf("%s: %v\n%v", c.Name, err, observed)
		}
		for _, o := range observed {
			if !predicted(tr, o, c.Keys, c.Args, met[c.Verb]) {
				t.Errorf("%s: %s is not predicted", c.Name, o)
			}
		}
	}
	if verbs := s.Registry.Verbs(); len(traces) != len(verbs) {
		t.Errorf("cases for %d verbs, want all %d", len(traces), len(verbs))
	}
	steps := 0
	for name, tr := range traces {
		steps += len(tr.Steps)
		for _, step := range tr.Steps {
			if !met[name][step.N] {
				t.Errorf("%s: no case meets step %d, %s of line %d", name, step.N, step.Command, step.Line)
			}
		}
	}
	t.Logf("%d cases, %d commands, all of %d steps of %d verbs", len(cases), commands, steps, len(traces))
}
