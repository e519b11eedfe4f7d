package audit

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	idA = "JOB0KHTOWnGLuC"
	idB = "JOB0KHTOWnGLuD"
)

func TestKinds(t *testing.T) {
	seen := map[Kind]bool{}
	for _, k := range Kinds() {
		if seen[k.Kind] || k.Title == "" || k.Why == "" || k.Mend == "" {
			t.Errorf("%+v is said twice or not whole", k)
		}
		seen[k.Kind] = true
		for _, s := range []string{k.Title, k.Why, k.Mend} {
			if strings.HasSuffix(s, ".") || s != strings.TrimSpace(s) {
				t.Errorf("%s: %q ends in a full stop or blank", k.Kind, s)
			}
		}
	}
	if _, ok := DocOf("no-such"); ok || !seen[GhostRow] {
		t.Error("DocOf and Kinds disagree")
	}
}

func member(set int, group, score string) membership {
	return membership{set: set, lane: group != "", group: group, key: setNames[set] + group, score: score}
}

// TestJudge has a job at an instant, and what is wrong with it.
func TestJudge(t *testing.T) {
	sound := jobView{id: idA, exists: true, state: "pending", attempts: "0", hasState: true, hasTries: true, payload: true}
	with := func(edit func(*jobView)) jobView {
		v := sound
		edit(&v)
		return v
	}
	in := func(v jobView, m ...membership) jobView { v.in = m; return v }
	state := func(s string) jobView { return with(func(v *jobView) { v.state = s }) }
	grouped := with(func(v *jobView) { v.group, v.hasGroup = "g", true })
	const now = 1_800_000_000_000
	for _, tt := range []struct {
		name string
		v    jobView
		want []string
	}{
		{"gone", jobView{id: idA}, nil},
		{"pending", in(sound, member(pending, "", "0")), nil},
		{"lane", in(grouped, member(pending, "g", "0")), nil},
		{"active", in(state("active"), member(active, "", "1800000000001")), nil},
		{"active-within-grace", in(state("active"), member(active, "", "1799999995000")), nil},
		{"active-beyond-grace", in(state("active"), member(active, "", "1799999994999")), []string{"lease-expired its lease ended 5.001s ago on the server's clock"}},
		{"waits", state(waitsForChildren), nil},
		{"member-without-row", in(jobView{id: idA}, member(schedule, "", "1")), []string{`member-without-row it is in schedule, and there is no row "emq:{q}:job:JOB0KHTOWnGLuC"`}},
		{"in-no-set", sound, []string{"row-in-no-set its state is pending, and it is not in pending, nor in any other set"}},
		{"in-no-lane", grouped, []string{`row-in-no-set its state is pending, and it is not in the lane of "g", nor in any other set`}},
		{"set-unreadable", with(func(v *jobView) { v.unsure = true }), nil},
		{"two-sets", in(sound, member(pending, "", "0"), member(active, "", "1800000000001")), []string{"id-in-two-sets it is in pending and active, and its state is pending"}},
		{"attempts-no-number", in(with(func(v *jobView) { v.attempts = "abc" }), member(pending, "", "0")), []string{`ghost-row its attempts are "abc", want a decimal number: the next claim fails when it has taken the job out of its set`}},
		{"attempts-negative", in(with(func(v *jobView) { v.attempts = "-5" }), member(pending, "", "0")), []string{`ghost-row its attempts are "-5", want a decimal number: the next claim fails when it has taken the job out of its set`}},
		{"ghost", in(with(func(v *jobView) { v.hasTries, v.payload = false, false }), member(pending, "", "0")), []string{"ghost-row its row has no attempts and no payload; it is in pending"}},
		{"state", in(state("dead"), member(pending, "", "0")), []string{"state-mismatch it is in pending, and its state is dead, want pending"}},
		{"state-unknown", state("odd\n"), []string{`state-mismatch it is in no set, and its state is "odd\n", which is none`}},
		{"waits-in-a-set", in(state(waitsForChildren), member(pending, "", "0")), []string{"state-mismatch it is in pending, and its state is awaiting_children, want pending"}},
		{"flat-with-group", in(grouped, member(pending, "", "0")), []string{`wrong-lane it is in pending, and its group is "g"`}},
		{"lane-without-group", in(sound, member(pending, "g", "0")), []string{`wrong-lane it is in the lane of "g", and its row has no group`}},
		{"score", in(sound, member(pending, "", "5")), []string{"score its score in pending is 5, want 0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, s := range tt.v.judge(&queue{Queue: Queue{Name: "q"}}, now, 5*time.Second) {
				got = append(got, string(s.finding.Kind)+" "+s.finding.Detail)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestLaneFaults(t *testing.T) {
	for _, tt := range []struct {
		v    laneView
		want string
	}{
		{laneView{}, ""},
		{laneView{places: 1, jobs: 1}, ""},
		{laneView{jobs: 1, paused: true}, ""},
		{laneView{jobs: 1, limit: "1", active: "1"}, ""},
		{laneView{places: 1, jobs: 1, limit: "2", active: "1"}, ""},
		{laneView{places: 1, jobs: 1, limit: "no number", active: "9"}, ""},
		{laneView{jobs: 1}, "missing"},
		{laneView{places: 1}, "empty"},
		{laneView{places: 1, jobs: 1, paused: true}, "paused"},
		{laneView{places: 1, jobs: 1, limit: "1", active: "2"}, "full"},
		{laneView{places: 2, jobs: 1}, "twice"},
	} {
		got := ""
		for _, f := range tt.v.faults() {
			got += f[0]
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestParseReport(t *testing.T) {
	for _, tt := range []struct{ entry, queue, why string }{
		{"q\x00" + idA + "\x00" + idB + "\x00r", "q", ""},
		{"q\x00" + idA + "\x00" + idB + "\x00r\x00\x00more", "q", ""},
		{"\x00fail\x00q\x00" + idA + "\x00" + idB + "\x00fp\x00e\x00e", "q", ""},
		{"", "", "the entry has 1 parts, want 4 or more with NUL between them"},
		{"q\x00" + idA + "\x00" + idB, "q", "the entry has 3 parts, want 4 or more with NUL between them"},
		{"q\x00JOB-42\x00" + idB + "\x00r", "q", `the parent "JOB-42" is no id: id is 6 bytes, want 14`},
		{"\x00" + idA + "\x00" + idB + "\x00r", "", `the entry has no parent queue and its second part is "JOB0KHTOWnGLuC", want fail`},
		{"\x00fail\x00q\x00" + idA, "", "the entry of a failure has 4 parts, want 7"},
		{"\x00fail\x00\x00" + idA + "\x00" + idB + "\x00fp\x00e", "", "the entry has no parent queue"},
	} {
		k, why := parseReport(tt.entry)
		if why != tt.why || why == "" && (k.queue != tt.queue || k.id != idA) {
			t.Errorf("parseReport(%q) = %v, %q, want %q", tt.entry, k, why, tt.why)
		}
	}
}

func TestAgrees(t *testing.T) {
	for _, tt := range []struct {
		counter  string
		children int
		want     bool
	}{{"2", 2, true}, {"2", 1, false}, {"0", 0, false}, {"-1", 0, false}, {noCounter, 0, false}, {"x", 1, false}} {
		if got := agrees(tt.counter, tt.children); got != tt.want {
			t.Errorf("agrees(%q, %d) = %t", tt.counter, tt.children, got)
		}
	}
}

func TestGlob(t *testing.T) {
	if got, want := glob(`emq:{a*b?[c]\d}:`), `emq:{a\*b\?\[c\]\\d}:`; got != want {
		t.Errorf("glob is %q, want %q", got, want)
	}
}
