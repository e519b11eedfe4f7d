// Package look reads what a live server holds under the keys of EchoMQ. It
// sends read commands only.
//
// # A key
//
// [Looker.Keys] looks at many keys together: what is asked of all of them goes
// out in one go. There are three rounds.
//
//  1. TYPE, PTTL, MEMORY USAGE, and CLUSTER KEYSLOT in a cluster
//  2. by type: the cardinality, the first and last members, the small fields of
//     a row and the lengths of its large ones, the sets that hold the job, the
//     pause, ceiling and activity of a lane
//  3. what had to be known to be small first: values of strings, the payload, the
//     error and the progress of a row; and the lane of a job with a group
//
// A server runs other commands between these, so what moves while it is looked
// at can show in two places or in none.
//
// What the user may not ask is an error of that key alone, but for MEMORY
// USAGE and CLUSTER KEYSLOT: they are asked for once, and not again when the
// answer is NOPERM. A server that has failed is asked twice more and then no
// longer.
//
// # Jobs
//
// [Jobs] goes through the members of one sorted set in mint order, which is the
// byte order of ids, and reads the row of each. Where every score is 0, as in
// pending, dead and a lane, the bounds in time are bounds of ids, and the
// server takes a BYLEX range. In active and schedule the scores are times of
// another kind, so that all members are read, in chunks, and the first of the
// window are kept, at most 50,000 of them in a heap; for more the set is read
// again.
package look
