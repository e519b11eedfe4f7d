package trace

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	verbs "github.com/echomq/emqctl/scripts"

	"github.com/echomq/emqctl/internal/scripts"
)

// TestProtocolDerives holds what the verbs derive to the protocol: in full the
// law finds nothing, and its strict form finds exactly the derived keys.
func TestProtocolDerives(t *testing.T) {
	const (
		row, logs, lock, lane             = "job:<id>", "job:<id>:logs", "job:<id>:lock", "g:<group>:pending"
		ring, wake, paused, limit, active = "ring", "wake", "paused", "glimit", "gactive"
		pending, dead, completed, failed  = "pending", "dead", "metrics:completed", "metrics:failed"
	)
	again := []string{lane, active, paused, limit, ring, wake}
	with := func(sets ...[]string) []string { return slices.Concat(sets...) }
	want := map[string][]string{
		"claim": {row}, "bclaim": {row}, "extend_locks": {row},
		"complete":          with(again, []string{pending, completed}),
		"retry":             with(again, []string{pending, dead, failed}),
		"promote":           with(again, []string{row}),
		"reap":              with(again, []string{row}),
		"greap_group":       with(again, []string{row}),
		"sweep_stalled":     with(again, []string{row, failed}),
		"update_progress":   {"events"},
		"remove_job":        {logs, lock},
		"gclaim":            {lane, row, active, limit},
		"gwclaim":           {lane, row, active, limit, "gweight"},
		"gbclaim":           {lane, row, active, limit},
		"gresume":           {lane},
		"glimit":            {lane},
		"greassign":         {lane},
		"gdrain":            {row, logs},
		"flow_deliver":      {pending},
		"flow_fail_deliver": {dead, pending},
		"drain":             {row, logs},
		"counts":            {"metrics:<metric>"},
		"lane_counts":       {lane},
		"obliterate": {row, logs, lock, "active", pending, "schedule", dead, lane, ring, paused, "repeat", "repeat:<name>",
			completed, completed + ":data", failed, failed + ":data", active, limit, wake, "limiter"},
	}
	reg, err := scripts.Load(verbs.FS)
	if err != nil {
		t.Fatal(err)
	}
	placeholder := regexp.MustCompile(`<[^>]*>`)
	normal := func(patterns []string) []string {
		var out []string
		for _, p := range patterns {
			out = append(out, placeholder.ReplaceAllString(p, "<>"))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	for _, v := range reg.Verbs() {
		tr, err := Of(Script{Path: v.Path, Text: v.Source, Verb: v})
		if err != nil {
			t.Fatal(err)
		}
		if found := tr.Findings(Law{}); len(found) != 0 {
			t.Errorf("%s: the full law finds %v", v.Name, found)
		}
		var derived []string
		for _, d := range tr.Derived {
			derived = append(derived, d.Pattern[len("emq:{q}:"):])
		}
		if diff := cmp.Diff(normal(want[v.Name]), normal(derived)); diff != "" {
			t.Errorf("%s derives other keys than the protocol says (-want +got):\n%s", v.Name, diff)
		}
		strict := map[string]bool{}
		for _, f := range tr.Findings(Law{Strict: true}) {
			if f.Kind != FindDerivedKey {
				t.Errorf("%s: the strict law finds %v", v.Name, f)
			}
			if m := regexp.MustCompile(`emq:\{q\}:\S*`).FindString(f.Message); m != "" {
				strict[m] = true
			}
		}
		for _, d := range tr.Derived {
			if !strict[d.Pattern] {
				t.Errorf("%s: the strict law says nothing of %s", v.Name, d.Pattern)
			}
		}
		if len(strict) != len(tr.Derived) {
			t.Errorf("%s: the strict law finds %d keys, want the %d that are derived", v.Name, len(strict), len(tr.Derived))
		}
	}
}
