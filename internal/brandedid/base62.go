package brandedid

// alphabet62 is in ASCII order, so that byte order is numeric order.
const alphabet62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const (
	digits62   = 11
	maxPayload = "AzL8n0Y58m7" // MaxSnowflake
	invalid62  = 0xFF
	pow62_6    = 62 * 62 * 62 * 62 * 62 * 62

	// The halves of MaxSnowflake: its first five digits and its last six.
	maxHi = MaxSnowflake / pow62_6
	maxLo = MaxSnowflake % pow62_6
)

var value62 = func() (t [256]uint8) {
	for i := range t {
		t[i] = invalid62
	}
	for i := range len(alphabet62) {
		t[alphabet62[i]] = uint8(i)
	}
	return t
}()

// decode62 returns the value of 11 digits, or the kind of what is wrong with
// them. 62^11 is more than 2^64, so the halves are compared before they are
// joined; they are independent chains of multiplications, which a processor
// runs side by side.
func decode62(s string) (n uint64, bad Kind) {
	_ = s[digits62-1]
	v := &value62
	d0, d1, d2, d3, d4 := v[s[0]], v[s[1]], v[s[2]], v[s[3]], v[s[4]]
	d5, d6, d7, d8, d9, d10 := v[s[5]], v[s[6]], v[s[7]], v[s[8]], v[s[9]], v[s[10]]
	// Only the mark of an invalid byte has the high bit.
	if d0|d1|d2|d3|d4|d5|d6|d7|d8|d9|d10 == invalid62 {
		return 0, Charset
	}
	hi := (((uint64(d0)*62+uint64(d1))*62+uint64(d2))*62+uint64(d3))*62 + uint64(d4)
	lo := ((((uint64(d5)*62+uint64(d6))*62+uint64(d7))*62+uint64(d8))*62+uint64(d9))*62 + uint64(d10)
	if hi > maxHi || hi == maxHi && lo > maxLo {
		return 0, Range
	}
	return hi*pow62_6 + lo, ""
}

// badDigit returns the position of the first byte outside the alphabet, or -1.
func badDigit(s string) int {
	for i := 0; i < len(s); i++ {
		if value62[s[i]] == invalid62 {
			return i
		}
	}
	return -1
}

func append62(dst []byte, n uint64) []byte {
	var buf [digits62]byte
	for i := digits62 - 1; i >= 0; i-- {
		buf[i] = alphabet62[n%62]
		n /= 62
	}
	return append(dst, buf[:]...)
}
