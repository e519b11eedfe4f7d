package slot

import (
	"hash/crc32"
	"strings"
	"testing"
)

var sink int

// The peer of Of is what a client would write with the standard library: cut
// the tag out, and a table-driven checksum of it.
func BenchmarkOf(b *testing.B) {
	key := "emq:{quotes}:job:JOB0KHTOWnGLuC"
	b.Run("slot", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sink += int(Of(key))
		}
	})
	b.Run("peer=crc32", func(b *testing.B) {
		b.ReportAllocs()
		peer := crc32.MakeTable(crc32.Koopman)
		for b.Loop() {
			_, after, _ := strings.Cut(key, "{")
			tag, _, _ := strings.Cut(after, "}")
			sink += int(crc32.Update(0, peer, []byte(tag)) % Count)
		}
	})
}
