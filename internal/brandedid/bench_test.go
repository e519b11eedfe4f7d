package brandedid

import (
	"strconv"
	"testing"
)

var sink uint64

// The peer of Parse is the standard library reading the same snowflake in
// decimal.
func BenchmarkParse(b *testing.B) {
	b.Run("brandedid", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			id, _ := Parse("JOB0KHTOWnGLuC")
			sink += id.Snowflake()
		}
	})
	b.Run("peer=ParseUint", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n, _ := strconv.ParseUint("274557032793636864", 10, 63)
			sink += n
		}
	})
}
