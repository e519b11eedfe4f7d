// Package trace reads a Lua script for Valkey or Redis and says, without
// running it, which store commands it issues, in which order and under which
// conditions, and for every key where that key comes from.
//
// # How a script is read
//
// The script is cut into tokens as Lua 5.1 does, its nesting is bounded, and it
// is parsed. The walk over the tree is an interpretation without values: for
// every value it keeps the pieces it is made of (literal bytes, KEYS[n],
// ARGV[n], a reply, a number, or something not known and why). The arms of a
// branch are walked from one state and their ends joined, so that a key may
// be one of several; a loop's body is walked until nothing new comes of it; a
// local function is walked where it is called, a recursive one until its
// arguments say nothing new. Code behind an unconditional return is dead and
// not listed; a condition that is surely true or false has one arm.
//
// # Origins
//
//   - declared: KEYS[n] as it is.
//   - derived: put together in the script. From names what it is made of, the
//     root first: a declared key (KEYS[1] .. ':logs'), an argument that the
//     header declares as a base (ARGV[3] .. 'ring'), any other argument, a
//     part of a decoded argument, a popped member, a row's field, a ring's
//     element. An argument that is a whole key is derived too: it is a
//     finding when no header declares it as a base.
//   - data: a whole key out of a reply.
//   - literal: spelled out.
//   - unknown: nothing can be told; Reason says why.
//
// An argument that may be a key or something else (after a numkeys that is
// not known, say) is listed with Maybe; it is a finding like any other key,
// unless a declared key may stand there as well. Never is a key guessed, and
// never left out in silence: where the walk gives up, and where it cannot tell
// what is called, a [Note] says what is missing.
//
// Patterns name what they do not know by what it came from: with a header,
// <id> is the argument of that name and emq:{q}: the queue base; a row's
// field is <group>; a popped member at a job's position is <id>, elsewhere it
// has the name of the local it was put in. Without a header a pattern begins
// with <KEYS[1]> or <ARGV[1]>. What was cut out of a key is <part of KEYS[1]>.
//
// # Bounds
//
// A script has at most [MaxSource] bytes and [MaxNesting] levels of brackets,
// blocks and operators that bind to the right; past them it is an [*Error], as
// is goto, which Lua 5.1 does not have. The walk does a bounded amount of
// work (400,000 expressions with calls inlined, 20,000 steps, 60 calls deep,
// 2,000 expressions deep); past it a note says where it gave up.
//
// # Example
//
//	local popped = redis.call('ZPOPMIN', KEYS[1])
//	redis.call('HSET', ARGV[1] .. popped[1], 'state', 'active')
//
// has two steps: ZPOPMIN on the declared KEYS[1], and HSET on a key derived
// from ARGV[1] and the popped member of that ZPOPMIN.
package trace
