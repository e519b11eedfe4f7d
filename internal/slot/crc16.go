package slot

// The checksum is CRC-16/XMODEM: polynomial 0x1021, initial value 0, no
// reflection, no final XOR; its check value, of "123456789", is 0x31C3. One
// table of 256 entries, a lookup a byte: Valkey measured four wider designs,
// and none wins on keys as short as hash tags are.
const poly = 0x1021

var table = func() (t [256]uint16) {
	for i := range t {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ poly
			} else {
				crc <<= 1
			}
		}
		t[i] = crc
	}
	return t
}()

func crc16(s string) uint16 {
	var crc uint16
	for i := 0; i < len(s); i++ {
		crc = crc<<8 ^ table[byte(crc>>8)^s[i]]
	}
	return crc
}
