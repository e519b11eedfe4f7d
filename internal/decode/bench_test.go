package decode

import (
	"net/netip"
	"testing"
)

var sink int

// The peer of Parse is a parser of the standard library known for its care: an
// IPv6 address with a port, of about the length of a key.
func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct{ name, key string }{
		{"job", "emq:{quotes}:job:JOB0KHTOWnGLuC"},
		{"lane", "emq:{quotes}:g:PRT0KHTOWnGLuC:pending"},
		{"pending", "emq:{quotes}:pending"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				k, _ := Parse(bb.key)
				sink += int(k.Type)
			}
		})
	}
	b.Run("peer=netip.ParseAddrPort", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			a, _ := netip.ParseAddrPort("[2001:db8:85a3::8a2e:370:7334]:6379")
			sink += int(a.Port())
		}
	})
}
