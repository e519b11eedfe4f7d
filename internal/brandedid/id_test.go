package brandedid

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"testing"
)

type vector struct {
	Name, Input, Namespace, Snowflake, Time string
	UnixMS                                  int64 `json:"unix_ms"`
	Node, Seq                               int
	Hash32                                  uint32
	Error                                   Kind
	Offset                                  int
	Wire                                    string
}

func vectors(tb testing.TB) []vector {
	tb.Helper()
	data, err := os.ReadFile("../../testdata/vectors/ids.json")
	if err != nil {
		tb.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(data, &file); err != nil {
		tb.Fatal(err)
	}
	if len(file.Vectors) == 0 {
		tb.Fatal("no vectors")
	}
	return file.Vectors
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			if got, want := WireAdmits(v.Input), v.Wire == "admitted"; got != want {
				t.Errorf("WireAdmits(%q) = %v, want %v", v.Input, got, want)
			}
			id, err := Parse(v.Input)
			if v.Error != "" {
				var e *Error
				if !errors.As(err, &e) || e.Kind != v.Error || e.Off != v.Offset {
					t.Errorf("Parse(%q) = %#v, want kind %s at %d", v.Input, err, v.Error, v.Offset)
				}
				if id != (ID{}) {
					t.Errorf("Parse(%q) = %v beside its error, want the zero ID", v.Input, id)
				}
				return
			}
			if err != nil {
				t.Fatalf("Parse(%q): %v", v.Input, err)
			}
			got := vector{
				v.Name, id.String(), id.Namespace(), strconv.FormatUint(id.Snowflake(), 10),
				id.Time().Format("2006-01-02T15:04:05.000Z07:00"), id.UnixMilli(),
				id.Node(), id.Seq(), id.Hash32(), "", 0, v.Wire,
			}
			if got != v {
				t.Errorf("Parse(%q) = %+v, want %+v", v.Input, got, v)
			}
			again, err := New(id.Namespace(), id.Snowflake())
			if err != nil || again != id {
				t.Errorf("New(%q, %d) = %v, %v, want %v", id.Namespace(), id.Snowflake(), again, err, id)
			}
			var viaText ID
			text, err := id.MarshalText()
			if err != nil || viaText.UnmarshalText(text) != nil || viaText != id {
				t.Errorf("%q does not survive MarshalText and UnmarshalText", v.Input)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	tests := []struct{ in, want string }{
		{"job-42", "id is 6 bytes, want 14"},
		{"", "id is 0 bytes, want 14"},
		{"usr0KHTOWnGLuC", "namespace has 'u', want a letter A-Z"},
		{"U\x1bR0KHTOWnGLuC", `namespace has byte \x1b, want a letter A-Z`},
		{"USR0KHTOWnGL!C", "payload has '!', want a base62 digit: 0-9, A-Z or a-z"},
		{"USR0KHTOWnGLé", `payload has byte \xc3, want a base62 digit: 0-9, A-Z or a-z`},
		{"USRzzzzzzzzzzz", "payload zzzzzzzzzzz is beyond AzL8n0Y58m7, which is 2^63-1"},
	}
	for _, tt := range tests {
		if _, err := Parse(tt.in); err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%q): %v, want %s", tt.in, err, tt.want)
		}
	}
	for _, tt := range []struct {
		namespace string
		snowflake uint64
		want      string
		off       int
	}{
		{"JO", 1, "namespace is 2 bytes, want 3 letters A-Z", 2},
		{"JOBS", 1, "namespace is 4 bytes, want 3 letters A-Z", 3},
		{"job", 1, "namespace has 'j', want a letter A-Z", 0},
		{"JOB", 1 << 63, "snowflake is beyond 2^63-1", 3},
	} {
		_, err := New(tt.namespace, tt.snowflake)
		var e *Error
		if !errors.As(err, &e) || err.Error() != tt.want || e.Off != tt.off {
			t.Errorf("New(%q, %d): %v, want %s at %d", tt.namespace, tt.snowflake, err, tt.want, tt.off)
		}
	}
}

func TestOrderIsMintOrder(t *testing.T) {
	var ids []ID
	for _, n := range []uint64{0, 1, 61, 62, 1 << 22, 274557032793636864, 274557032793636865, MaxSnowflake} {
		id, err := New("JOB", n)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if !slices.IsSortedFunc(ids, func(a, b ID) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	}) {
		t.Errorf("ids by snowflake are not sorted as bytes: %v", ids)
	}
}

func TestSelfCheck(t *testing.T) {
	if err := SelfCheck(); err != nil {
		t.Error(err)
	}
}

func TestNoAllocs(t *testing.T) {
	var buf [Len]byte
	if n := testing.AllocsPerRun(100, func() {
		id, _ := Parse("JOB0KHTOWnGLuC")
		id.AppendTo(buf[:0])
	}); n != 0 {
		t.Errorf("Parse and AppendTo allocate %v times, want 0", n)
	}
}
