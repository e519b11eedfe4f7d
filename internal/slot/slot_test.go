package slot

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../../testdata/vectors/slots.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			Key, Tag string
			Slot     uint16
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) == 0 {
		t.Fatal("no vectors")
	}
	for _, v := range file.Vectors {
		if got := Of(v.Key); got != v.Slot {
			t.Errorf("Of(%q) = %d, want %d", v.Key, got, v.Slot)
		}
		if got, _ := Tag(v.Key); got != v.Tag {
			t.Errorf("Tag(%q) = %q, want %q", v.Key, got, v.Tag)
		}
	}
}

func TestTag(t *testing.T) {
	tests := []struct {
		key, tag string
		rule     Rule
	}{
		{"emq:{q}:pending", "q", RuleTag},
		{"foo{{bar}}zap", "{bar", RuleTag},
		{"}a{b}", "b", RuleTag},
		{"emq:q:pending", "emq:q:pending", RuleNoOpen},
		{"a}b", "a}b", RuleNoOpen},
		{"}a{b", "}a{b", RuleNoClose},
		{"foo{}{bar}", "foo{}{bar}", RuleEmptyTag},
		{"", "", RuleNoOpen},
	}
	for _, tt := range tests {
		tag, rule := Tag(tt.key)
		if tag != tt.tag || rule != tt.rule {
			t.Errorf("Tag(%q) = %q, %v, want %q, %v", tt.key, tag, rule, tt.tag, tt.rule)
		}
	}
}

// TestCRC16 holds the table to the definition: a polynomial division, bit by
// bit, of all two-byte messages.
func TestCRC16(t *testing.T) {
	if got := crc16("123456789"); got != 0x31C3 {
		t.Errorf("crc16 of the check input = %#x, want 0x31c3", got)
	}
	for n := range 1 << 16 {
		msg := string([]byte{byte(n >> 8), byte(n)})
		rem := uint32(n) << 16
		for bit := 31; bit >= 16; bit-- {
			if rem>>bit&1 == 1 {
				rem ^= (1<<16 | poly) << (bit - 16)
			}
		}
		if got := crc16(msg); got != uint16(rem) {
			t.Fatalf("crc16(%q) = %#x, want %#x", msg, got, rem)
		}
	}
}

func TestNoAllocs(t *testing.T) {
	key := "emq:{quotes}:job:JOB0KHTOWnGLuC"
	if n := testing.AllocsPerRun(100, func() { Of(key) }); n != 0 {
		t.Errorf("Of allocates %v times, want 0", n)
	}
}

func FuzzTag(f *testing.F) {
	for _, s := range []string{"", "{", "}", "{}", "}{", "{a", "a}", "a{b}c", "foo{}{bar}", "emq:{\x00}:x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		tag, rule := Tag(key)
		_, after, open := strings.Cut(key, "{")
		inner, _, closed := strings.Cut(after, "}")
		want, wantRule := key, RuleNoOpen
		switch {
		case open && !closed:
			wantRule = RuleNoClose
		case open && inner == "":
			wantRule = RuleEmptyTag
		case open:
			want, wantRule = inner, RuleTag
		}
		if tag != want || rule != wantRule {
			t.Errorf("Tag(%q) = %q, %v, want %q, %v", key, tag, rule, want, wantRule)
		}
		if Of(key) >= Count {
			t.Errorf("Of(%q) = %d, want less than %d", key, Of(key), Count)
		}
	})
}
