package main

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/echomq/emqctl/internal/escape"
)

func TestAppendTime(t *testing.T) {
	for _, ms := range []int64{0, 1, 951782399999, 951782400000, 1704067200000, 1709164800000, 1735689599999, 1769526697641, 3903090455551, 4107542400000, 253402300799999} {
		if got, want := string(appendTime(nil, ms)), formatTime(time.UnixMilli(ms)); got != want {
			t.Errorf("appendTime(%d) = %s, want %s", ms, got, want)
		}
	}
	// Every day of four centuries.
	for day := int64(0); day < 146097; day++ {
		ms := day * 86400000
		if got, want := string(appendTime(nil, ms)), formatTime(time.UnixMilli(ms)); got != want {
			t.Fatalf("appendTime(%d) = %s, want %s", ms, got, want)
		}
	}
}

func FuzzJSONString(f *testing.F) {
	for _, s := range []string{"", `"\`, "\x00\x1b[31m", "é日\u202e\u2028", "\U0001F600\U000E0001", "a\ufffdb", "\x7f\u009b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := appendField([]byte(`{"x":0`), `,"f":`, s, escape.IsPlain(s))
		out = append(out, '}')
		var got struct {
			F       *string `json:"f"`
			FBase64 []byte  `json:"f_base64"`
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q became %s: %v", s, out, err)
		}
		switch {
		case utf8.ValidString(s):
			if got.F == nil || *got.F != s || got.FBase64 != nil {
				t.Fatalf("%q became %s", s, out)
			}
		case got.F != nil || string(got.FBase64) != s:
			t.Fatalf("%q became %s", s, out)
		}
		for _, b := range out {
			if b < ' ' || b == 0x7f {
				t.Fatalf("%q became %q, with a control character", s, out)
			}
		}
	})
}
