// Package audit looks at a live server for what the protocol's verbs never
// leave behind, or leave behind where they should not.
//
// # What it relies on
//
// Every verb is one script, which a server runs whole, so at any instant
// between two scripts these hold for a queue:
//
//	a job has a row with state, attempts and payload, and is in the one set
//	that its state names: pending (the flat set, or the lane of its group),
//	active, schedule or dead; awaiting_children is in none
//	pending, the lanes and dead have scores of 0, active has deadlines
//	the ring has each lane once that has jobs, is not paused and is below its
//	limit, and no other
//	gactive counts the jobs of each group that are active
//	a flow parent that waits has as many children to come as its counter says
//	repeat has a member for each record, and the reverse
//
// What breaks one of them is a [Finding] of one of the [Kinds].
//
// # How it looks
//
// First, every key is seen by SCAN and every row is read once, a step of the
// scan at a time; a row is checked against the set that its state names. Of
// the rows that agree only a count and the sum of hashes is kept, for each
// queue and set. Then the sets are walked. When count and sum of the members
// are those of the rows, members and rows are the same, and no row is read
// again; only otherwise are the rows of the members read.
//
// Nothing of this happens at one instant, so what does not fit is only a
// suspect. Each is looked at twice more, with a pause between, and each time
// all that it depends on is read in one transaction (or, where the user may
// not use MULTI, or the slot is on the move, twice in a row with the same
// replies). It is reported when both looks say the same and nothing that it
// depends on, such as state, attempts and the sets it is in, has changed from
// one to the other. What changes at every look is counted as unsettled. Flow
// parents are looked at by going through all rows again.
//
// # Memory
//
// It does not grow with the number of jobs. Held are: about 1 KiB for each
// queue, about 200 bytes for each lane, 150 for each flow parent that waits
// for children, 150 for each suspect, and some 24,000 keys of the scan with what was read of
// them.
//
// # Only reads
//
// Every command that the package makes is one that only reads.
package audit
