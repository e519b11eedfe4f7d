package brandedid

import (
	"testing"
	"time"
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestMinter(t *testing.T) {
	now := at("2026-01-27T15:11:37.641Z")
	m, err := NewMinter(func() time.Time { return now }, 7)
	if err != nil {
		t.Fatal(err)
	}
	mint := func() ID {
		t.Helper()
		id, err := m.Mint("JOB")
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := mint()
	if first.UnixMilli() != now.UnixMilli() || first.Node() != 7 || first.Seq() != 0 || first.Namespace() != "JOB" {
		t.Errorf("first id %v: ms %d node %d seq %d", first, first.UnixMilli(), first.Node(), first.Seq())
	}
	last := first
	for range 4095 {
		id := mint()
		if id.String() <= last.String() {
			t.Fatalf("%v follows %v, want a later one", id, last)
		}
		last = id
	}
	if last.Seq() != 4095 || last.UnixMilli() != first.UnixMilli() {
		t.Errorf("4096th id: ms %d seq %d, want the first's ms and 4095", last.UnixMilli(), last.Seq())
	}
	if carried := mint(); carried.Seq() != 0 || carried.UnixMilli() != first.UnixMilli()+1 {
		t.Errorf("4097th id: ms %d seq %d, want a carry into the next ms", carried.UnixMilli(), carried.Seq())
	}
	now = now.Add(-time.Hour)
	if back := mint(); back.Seq() != 1 || back.UnixMilli() != first.UnixMilli()+1 {
		t.Errorf("after the clock stepped back: ms %d seq %d, want it not followed", back.UnixMilli(), back.Seq())
	}
	now = now.Add(2 * time.Hour)
	if on := mint(); on.Seq() != 0 || on.UnixMilli() != now.UnixMilli() {
		t.Errorf("after the clock went on: ms %d seq %d, want it followed", on.UnixMilli(), on.Seq())
	}
}

func TestMinterRefuses(t *testing.T) {
	for _, node := range []int{-1, 1024} {
		if _, err := NewMinter(time.Now, node); err == nil {
			t.Errorf("NewMinter takes node %d", node)
		}
	}
	for _, now := range []string{"2023-12-31T23:59:59.999Z", "2093-09-06T15:47:35.552Z"} {
		m, _ := NewMinter(func() time.Time { return at(now) }, 0)
		if id, err := m.Mint("JOB"); err == nil {
			t.Errorf("minted %v at %s", id, now)
		}
	}
	m, _ := NewMinter(time.Now, 0)
	if id, err := m.Mint("job"); err == nil {
		t.Errorf("minted %v under the namespace job", id)
	}
	// The last millisecond holds 4096 ids, and not one more.
	m, _ = NewMinter(func() time.Time { return at("2093-09-06T15:47:35.551Z") }, MaxNode)
	var last ID
	for range 4096 {
		var err error
		if last, err = m.Mint("USR"); err != nil {
			t.Fatal(err)
		}
	}
	if last.String() != "USRAzL8n0Y58m7" {
		t.Errorf("the last id of all is %v", last)
	}
	if id, err := m.Mint("USR"); err == nil {
		t.Errorf("minted %v beyond the last", id)
	}
}

func TestWindow(t *testing.T) {
	tests := []struct{ from, to, lowest, highest string }{
		{"2026-01-27T15:11:37.641Z", "2026-01-27T15:11:37.641Z", "JOB0KHTOWnGLuC", "JOB0KHTOWnXx2F"},
		{"2020-01-01T00:00:00Z", "2024-01-01T00:00:00Z", "JOB00000000000", "JOB0000000Hb83"},
		{"2093-09-06T15:47:35.551Z", "2100-01-01T00:00:00Z", "JOBAzL8n0XnXe4", "JOBAzL8n0Y58m7"},
	}
	for _, tt := range tests {
		lowest, highest, err := Window("JOB", at(tt.from), at(tt.to))
		if err != nil {
			t.Fatal(err)
		}
		if highest.Snowflake()&(1<<22-1) != 1<<22-1 || lowest.Snowflake()&(1<<22-1) != 0 {
			t.Errorf("Window(%s, %s) = %d, %d: not whole milliseconds", tt.from, tt.to, lowest.Snowflake(), highest.Snowflake())
		}
		if lowest.String() != tt.lowest || highest.String() != tt.highest {
			t.Errorf("Window(%s, %s) = %v, %v, want %s, %s", tt.from, tt.to, lowest, highest, tt.lowest, tt.highest)
		}
	}
	for _, tt := range [][2]string{
		{"2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"},
		{"2020-01-01T00:00:00Z", "2023-12-31T23:59:59.999Z"},
		{"2094-01-01T00:00:00Z", "2095-01-01T00:00:00Z"},
	} {
		if lo, hi, err := Window("JOB", at(tt[0]), at(tt[1])); err == nil {
			t.Errorf("Window(%s, %s) = %v, %v, want an error", tt[0], tt[1], lo, hi)
		}
	}
	if _, _, err := Window("job", at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z")); err == nil {
		t.Error("Window takes the namespace job")
	}
}
