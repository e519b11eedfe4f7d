// Package brandedid reads and writes branded ids, the ids of EchoMQ.
//
// A branded id is 14 bytes: a namespace of three letters A-Z, then a
// snowflake in base62, 11 digits of the alphabet 0-9A-Za-z, left-padded with
// 0. The snowflake is 63 bits, 0 to 2^63-1:
//
//	milliseconds since 2024-01-01T00:00:00Z   41 bits
//	node                                      10 bits
//	sequence                                  12 bits
//
// The alphabet is in ASCII order and the width fixed, so ids of a namespace
// sort as bytes just as they sort by snowflake, which is by mint time.
// JOB0KHTOWnGLuC is snowflake 274557032793636864, minted at
// 2026-01-27T15:11:37.641Z on node 0 with sequence 0.
//
// [Parse] is the check that an EchoMQ host makes of all 14 bytes. It refuses,
// in this order: another length, a namespace byte outside A-Z, a payload byte
// outside the alphabet, and a payload above AzL8n0Y58m7, which is 2^63-1;
// nothing wraps. The wire looks at three bytes only: see [WireAdmits].
package brandedid

import "time"

const (
	// Len is the length of a branded id in bytes.
	Len = 14
	// NamespaceLen is the length of its namespace.
	NamespaceLen = 3
	// EpochMilli is the epoch of a snowflake in Unix milliseconds:
	// 2024-01-01T00:00:00Z.
	EpochMilli = 1704067200000
	// MaxSnowflake is the largest snowflake; its digits are AzL8n0Y58m7.
	MaxSnowflake = 1<<63 - 1

	// TimeBits, NodeBits and SeqBits are the widths of a snowflake's parts,
	// from the highest bit down.
	TimeBits = 41
	NodeBits = 10
	SeqBits  = 12

	// MaxNode is the largest node.
	MaxNode = 1<<NodeBits - 1

	maxSeq    = 1<<SeqBits - 1
	timeShift = NodeBits + SeqBits
	maxMilli  = MaxSnowflake>>timeShift + EpochMilli
)

// ID is a branded id. It is comparable; the zero ID is not a valid one.
type ID struct {
	namespace [NamespaceLen]byte
	snowflake uint64
}

// New returns the id of a snowflake, 0 to MaxSnowflake, under a namespace of
// three letters A-Z. Its error is an [*Error] of kind namespace or range, with
// offsets as they would stand in the id.
func New(namespace string, snowflake uint64) (ID, error) {
	if len(namespace) != NamespaceLen {
		return ID{}, &Error{Kind: Namespace, Off: min(len(namespace), NamespaceLen), input: namespace}
	}
	if i := badNamespace(namespace); i >= 0 {
		return ID{}, &Error{Kind: Namespace, Off: i, input: namespace}
	}
	if snowflake > MaxSnowflake {
		return ID{}, &Error{Kind: Range, Off: NamespaceLen, input: namespace}
	}
	return ID{[NamespaceLen]byte([]byte(namespace)), snowflake}, nil
}

// Parse reads a branded id. Its error is an [*Error].
func Parse(s string) (ID, error) {
	if len(s) != Len {
		return ID{}, &Error{Kind: Length, Off: min(len(s), Len), input: s}
	}
	if s[0]-'A' > 'Z'-'A' || s[1]-'A' > 'Z'-'A' || s[2]-'A' > 'Z'-'A' {
		return ID{}, &Error{Kind: Namespace, Off: badNamespace(s), input: s}
	}
	n, bad := decode62(s[NamespaceLen:])
	if bad != "" {
		return ID{}, badPayload(s, bad)
	}
	return ID{[NamespaceLen]byte{s[0], s[1], s[2]}, n}, nil
}

func badPayload(s string, kind Kind) *Error {
	off := NamespaceLen
	if kind == Charset {
		off += badDigit(s[NamespaceLen:])
	}
	return &Error{Kind: kind, Off: off, input: s}
}

// badNamespace returns the position of the first byte outside A-Z, or -1.
func badNamespace(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] < 'A' || s[i] > 'Z' {
			return i
		}
	}
	return -1
}

// String returns the 14 bytes of the id.
func (id ID) String() string {
	var buf [Len]byte
	return string(id.AppendTo(buf[:0]))
}

// AppendTo appends the 14 bytes of the id to dst.
func (id ID) AppendTo(dst []byte) []byte {
	dst = append(dst, id.namespace[:]...)
	return append62(dst, id.snowflake)
}

// MarshalText returns the 14 bytes of the id.
func (id ID) MarshalText() ([]byte, error) { return id.AppendTo(nil), nil }

// UnmarshalText is [Parse].
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = Parse(string(text))
	return err
}

// Namespace returns the three letters of the id: its kind.
func (id ID) Namespace() string { return string(id.namespace[:]) }

// Snowflake returns the number that the id carries, 0 to MaxSnowflake.
func (id ID) Snowflake() uint64 { return id.snowflake }

// UnixMilli returns the mint time in Unix milliseconds.
func (id ID) UnixMilli() int64 { return int64(id.snowflake>>timeShift) + EpochMilli }

// Time returns the mint time, in UTC. When more than 4096 ids are minted in a
// millisecond the sequence carries into the time, so it can run ahead of the
// clock of the mint.
func (id ID) Time() time.Time { return time.UnixMilli(id.UnixMilli()).UTC() }

// Node returns the node that minted the id, 0 to MaxNode.
func (id ID) Node() int { return int(id.snowflake >> SeqBits & MaxNode) }

// Seq returns the sequence within the millisecond and node, 0 to 4095.
func (id ID) Seq() int { return int(id.snowflake & maxSeq) }

// Hash32 returns the placement hash of the snowflake: the first half of
// MurmurHash3's 64-bit finaliser, cut to its low 32 bits. The namespace does
// not enter it. It spreads; it does not protect.
func (id ID) Hash32() uint32 {
	k := id.snowflake
	k ^= k >> 33
	k *= 0xFF51AFD7ED558CCD
	k ^= k >> 33
	return uint32(k)
}
