// Package decode reads and builds the keys of EchoMQ.
//
// A key is bytes. There are two kinds:
//
//	emq:{<queue>}:<suffix>    a key of a queue
//	{emq}:<suffix>            a key of the reserve, which belongs to no queue
//
// The queue is what stands between the first brace pair, and is the hash tag
// of the key; a '{' may stand in it and a '}' may not. The suffixes that the
// protocol registers are listed by [Types], each with the type of the value
// that the store holds under it. In a pattern:
//
//	<id>         a branded id of 14 bytes, checked in full; it runs from
//	             "job:" to the next colon or the end
//	<metric>     completed or failed
//	<group> ...  any bytes, colons too
//
// The empty suffix is the base: scripts are handed it to derive keys from,
// and nothing is ever stored there. stream:<x>:archived is read as the
// watermark of stream <x>, though a stream could be called "<x>:archived":
// only the store's TYPE tells the two apart.
//
// [Parse] refuses, in this order, each at the offset of the first wrong byte:
//
//	prefix        neither emq: nor {emq}:
//	braces        no '{' after emq:, or no '}' after that
//	empty-queue   nothing between the braces: such a key has no hash tag
//	separator     no ':' after the closing brace
//	type          nothing after {emq}:
//	length, namespace, charset, range
//	              the id at a job position, see package brandedid
//
// It does not refuse what the grammar merely does not list. A suffix of no
// registered pattern is a key of type [Unregistered], and what breaks a rule
// of the protocol without breaking the grammar is reported by [Key.Notes].
//
// emq:{quotes}:job:JOB0KHTOWnGLuC is the row of job JOB0KHTOWnGLuC in the
// queue quotes: a hash.
package decode
