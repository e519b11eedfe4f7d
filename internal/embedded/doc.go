// Package embedded is the store of a rehearsal: miniredis, in process. A verb
// runs in it as the real script on real commands, and what it left and touched
// can be told afterwards. Nothing outlives the process.
//
// # No port
//
// miniredis can listen on a loopback port or serve connections in memory. A
// port would be open to every user of the machine, without a password, for as
// long as a rehearsal lasts, so this store has none: it is started without a
// listener, and commands are handed to its dispatcher, one at a time.
//
// # What it says and what it does not
//
// A rehearsal is no proof: miniredis is another program, and its Lua is
// another Lua. Known differences from Valkey 8.0.1, which matter to other
// scripts than the ones carried here:
//
//   - numbers: redis.call prints a float as Go does, Valkey with 17 digits, and
//     tostring of an integer beyond 14 digits is not rounded
//   - cjson.encode({}) is [] and not {}; cmsgpack, bit and struct are missing
//   - a #! line is a syntax error
//   - dofile, loadfile and require read files of the host
//   - a TTL is at most 292 years
//   - an endless loop is not stopped: there is no busy-script limit
//   - undeclared keys and keys on different slots are always allowed
//   - an error of a command inside a script reads otherwise, as does NOSCRIPT
//
// Therefore the store runs the scripts that emqctl carries, compared byte for
// byte, and refuses every other as [KindForeign]: none of them loops without
// bound, opens a file or prints a float. Every command of a script asks the
// context, so that a call that is given up ends at its next command.
//
// # EMQ.ENQUEUE
//
// The native command is a command of this store too:
//
//	EMQ.ENQUEUE 2 emq:{q}:job:<id> emq:{q}:pending <id> <payload>
//
// Its checks come in the published order, which is not the script's:
//
//  1. shape: seven words, two keys
//  2. row: KEYS[1] is exactly emq:{q}:job: and the id, where {q} is what KEYS[2]
//     has before :pending
//  3. fence: the value of {emq}:version is the one demanded, when one is
//  4. namespace: the id begins with JOB
//
// Only the text of the last is published. The others begin with EMQSHAPE,
// EMQROW and EMQFENCE, and each says that its words are emqctl's own. That the
// command then replies 1 and 0 as the script does is an inference as well.
package embedded
