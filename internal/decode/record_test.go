package decode

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadRow(t *testing.T) {
	fresh := func(more ...string) map[string]string {
		m := map[string]string{"state": "pending", "attempts": "0", "payload": ""}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
			if more[i+1] == "<none>" {
				delete(m, more[i])
			}
		}
		return m
	}
	for _, c := range []struct {
		name   string
		fields map[string]string
		faults []string
	}{
		{"fresh", fresh(), nil},
		{"every-field", fresh("group", "PRT0KHTOWnGLuC", "parent", "JOB0KHTOWnGLuC", "parent_queue", "q", "parent_policy", "id",
			"last_error", "boom", "progress", "50", "stalled", "1", "lock", "3"), nil},
		{"no-row", nil, []string{"state: the row has no state, want one: it was made by a verb that found no row", "attempts: the row has no attempts, want one: it was made by a verb that found no row", "payload: the row has no payload, want one: it was made by a verb that found no row"}},
		{"state-only", fresh("attempts", "<none>", "payload", "<none>"), []string{"attempts: the row has no attempts, want one: it was made by a verb that found no row", "payload: the row has no payload, want one: it was made by a verb that found no row"}},
		{"state", fresh("state", "wait"), []string{`state: the state is "wait", want one of pending, scheduled, active, dead, awaiting_children`}},
		{"attempts-negative", fresh("attempts", "-1"), []string{`attempts: attempts is "-1", want a decimal number`}},
		{"attempts-blank", fresh("attempts", " 1"), []string{`attempts: attempts is " 1", want a decimal number`}},
		{"stalled", fresh("stalled", "\x1b[2J"), []string{`stalled: stalled is "\x1b[2J", want a decimal number`}},
		{"group", fresh("group", "vip"), []string{`group: group is "vip", want a branded id`}},
		{"parent", fresh("parent", ""), []string{`parent: parent is "", want a branded id`}},
		{"policy", fresh("parent", "JOB0KHTOWnGLuC", "parent_policy", "ignore"), []string{`parent_policy: parent_policy is "ignore", want fp or id`}},
		{"policy-without-parent", fresh("parent_policy", "fp"), []string{"parent_policy: the row has a parent_policy and no parent"}},
		{"queue-without-parent", fresh("parent_queue", "q"), []string{"parent_queue: the row has a parent_queue and no parent"}},
		{"long", fresh("state", strings.Repeat("x", 100)), []string{`state: the state is "` + strings.Repeat("x", 57) + `"..., want one of pending, scheduled, active, dead, awaiting_children`}},
	} {
		j := ReadRow(c.fields)
		var got []string
		for _, f := range j.Faults() {
			got = append(got, f.Field+": "+f.Msg)
		}
		if diff := cmp.Diff(c.faults, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for _, name := range JobFields() {
			if _, want := c.fields[name]; j.Has(name) != want {
				t.Errorf("%s: Has(%s) = %v, want %v", c.name, name, j.Has(name), want)
			}
		}
	}
	j := ReadRow(fresh("z", "1", "a", "2", "parent", "JOB0KHTOWnGLuC"))
	if diff := cmp.Diff([]string{"a", "z"}, j.Other); diff != "" || j.Policy() != "fp" {
		t.Errorf("other fields (-want +got):\n%s; policy %q, want fp", diff, j.Policy())
	}
	if got := j.ParentRow("q"); got != "emq:{q}:job:JOB0KHTOWnGLuC" {
		t.Errorf("ParentRow = %q", got)
	}
	j.ParentQueue = "other"
	if got := j.ParentRow("q"); got != "emq:{other}:job:JOB0KHTOWnGLuC" {
		t.Errorf("ParentRow = %q", got)
	}
	if j = ReadRow(fresh()); j.ParentRow("q") != "" || j.Policy() != "" {
		t.Errorf("a job without a parent has %q, %q", j.ParentRow("q"), j.Policy())
	}
}

func TestReadOutcome(t *testing.T) {
	for _, c := range []struct {
		name, entry string
		want        Outcome
		fault       string
	}{
		{"completion", "p\x00P\x00C\x00ok", Outcome{ParentQueue: "p", Parent: "P", Child: "C", Text: "ok"}, ""},
		{"completion-with-nul", "p\x00P\x00C\x00a\x00b", Outcome{ParentQueue: "p", Parent: "P", Child: "C", Text: "a\x00b"}, ""},
		{"failure", "\x00fail\x00p\x00P\x00C\x00fp\x00boom", Outcome{true, "p", "P", "C", "fp", "boom"}, ""},
		{"failure-with-nul", "\x00fail\x00p\x00P\x00C\x00id\x00a\x00b", Outcome{true, "p", "P", "C", "id", "a\x00b"}, ""},
		{"empty", "", Outcome{}, "the entry has 1 parts, want 4 or more with NUL between them"},
		{"short", "p\x00P\x00C", Outcome{}, "the entry has 3 parts, want 4 or more with NUL between them"},
		{"empty-queue", "\x00P\x00C\x00ok", Outcome{}, `the entry has no parent queue and its second part is "P", want fail`},
		{"short-failure", "\x00fail\x00p\x00P\x00C\x00fp", Outcome{}, "the entry of a failure has 6 parts, want 7"},
	} {
		got, fault := ReadOutcome(c.entry)
		if got != c.want || fault != c.fault {
			t.Errorf("%s: %+v, %q, want %+v, %q", c.name, got, fault, c.want, c.fault)
		}
		if fault == "" && got.String() != c.entry {
			t.Errorf("%s: String gives %q, want %q", c.name, got.String(), c.entry)
		}
	}
}

func FuzzReadOutcome(f *testing.F) {
	f.Add("p\x00P\x00C\x00ok")
	f.Add("\x00fail\x00p\x00P\x00C\x00fp\x00boom")
	f.Fuzz(func(t *testing.T, entry string) {
		o, fault := ReadOutcome(entry)
		if fault == "" && o.String() != entry || fault != "" && o != (Outcome{}) {
			t.Errorf("%q: %+v, %q", entry, o, fault)
		}
	})
}
