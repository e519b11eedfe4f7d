package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/echomq/emqctl/internal/brandedid"
)

// BenchmarkLint judges the protocol's own scripts.
func BenchmarkLint(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if code := run([]string{"lint", "../../scripts"}, nil, io.Discard, os.Stderr, nil); code != 0 {
			b.Fatalf("code %d", code)
		}
	}
}

// BenchmarkStream answers a stream of keys in each rendering; the peer copies
// the same bytes, the least that any filter can do.
func BenchmarkStream(b *testing.B) {
	var keys, ids bytes.Buffer
	for i := range 20000 {
		id, err := brandedid.New("JOB", 274557032793636864+uint64(i)<<22)
		if err != nil {
			b.Fatal(err)
		}
		keys.WriteString("emq:{quotes-" + strings.Repeat("7", i%4) + "}:job:" + id.String() + "\n")
		ids.WriteString(id.String() + "\n")
	}
	for _, bb := range []struct {
		args  string
		input []byte
	}{
		{"slot -o tsv", keys.Bytes()},
		{"decode-key -o tsv", keys.Bytes()},
		{"decode-key -o json", keys.Bytes()},
		{"decode-key", keys.Bytes()},
		{"decode-id -o json", ids.Bytes()},
		{"decode-id -o tsv", ids.Bytes()},
	} {
		b.Run(strings.ReplaceAll(bb.args, " ", "_"), func(b *testing.B) {
			b.SetBytes(int64(len(bb.input)))
			b.ReportAllocs()
			for b.Loop() {
				if code := run(strings.Fields(bb.args), bytes.NewReader(bb.input), io.Discard, os.Stderr, nil); code != 0 {
					b.Fatalf("%s: code %d", bb.args, code)
				}
			}
		})
	}
	b.Run("peer=copy", func(b *testing.B) {
		b.SetBytes(int64(keys.Len()))
		for b.Loop() {
			io.Copy(io.Discard, struct{ io.Reader }{bytes.NewReader(keys.Bytes())})
		}
	})
}
