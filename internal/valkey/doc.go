// Package valkey runs verbs on a live Valkey or Redis: one server, or a
// cluster. It is the only package that imports the client library.
//
// # The connection
//
// [Open] dials one address and says HELLO. A server that answers that it is
// part of a cluster is asked for its shards; from then on every command goes
// to the primary that owns the slot of its first key, and MOVED and ASK are
// followed. The commands of a connection are, in order,
//
//	AUTH      with a user or a password only
//	HELLO 2   RESP2: replies are integers, strings, arrays, null and errors
//	SELECT    for a database that is not 0 only
//	HELLO     by Open only, which a server answers whatever the rights: its mode is read
//	CLUSTER SHARDS   by Open in a cluster, and when a slot has moved or a node is gone
//	GET {emq}:version   with HoldFence, before the first call of every connection
//
// A batch goes out as soon as the one before it is written: the replies of both
// are awaited together. So a server need not wait for us between them.
//
// There is nothing else: no CLIENT TRACKING, SETINFO or SETNAME, no PING, so that a
// user who may run one verb may run it here.
//
// # What came of a call
//
// No command is sent twice unless the first surely did not run. A connection
// counts the bytes that it hands to the operating system, and a batch knows
// where in them each of its commands ends: a command whose last byte was not
// handed over cannot have run. So [Client.Run] answers
//
//	replied   a reply came
//	refused   the verb, or the native command, answered with its error
//	failed    the command was not handed over whole, or the server answered
//	          that it does not run it: NOPERM, READONLY, OOM, BUSY, LOADING,
//	          MISCONF, CLUSTERDOWN, CROSSSLOT, an unknown command, NOSCRIPT
//	          again after the script was loaded eight times, MOVED too
//	          often; or the fence, with HoldFence, does not admit it
//	unknown   it was handed over whole and no reply came; or the script ended
//	          in an error of the server's after it may have written
//
// The last is no theory: a user who may HSET but not ZADD stores an enqueue's
// row and then fails, and the row stays.
//
// # Secrets
//
// No error of this package holds a password, or any part of an address from
// which one could not be told apart; what a server says is withheld when it
// repeats the password.
package valkey
