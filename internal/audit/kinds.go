package audit

// Kind is the stable name of a kind of finding.
type Kind string

// The kinds of findings.
const (
	MemberWithoutRow Kind = "member-without-row"
	RowInNoSet       Kind = "row-in-no-set"
	IDInTwoSets      Kind = "id-in-two-sets"
	StateMismatch    Kind = "state-mismatch"
	WrongLane        Kind = "wrong-lane"
	GhostRow         Kind = "ghost-row"
	LeaseExpired     Kind = "lease-expired"
	Score            Kind = "score"
	MemberID         Kind = "member-id"
	Ring             Kind = "ring"
	GActive          Kind = "gactive"
	FlowCounter      Kind = "flow-counter"
	FlowStranded     Kind = "flow-stranded"
	FlowOrphan       Kind = "flow-orphan"
	Outbox           Kind = "outbox"
	Repeat           Kind = "repeat"
	StoreType        Kind = "store-type"
	StrayKey         Kind = "stray-key"
	Slots            Kind = "slots"
	FenceKind        Kind = "fence"
)

// KindDoc is what is to be said of every finding of a kind.
type KindDoc struct {
	Kind  Kind
	Title string // what was found, as a phrase
	Why   string // why it matters
	Mend  string // the verb that mends it, or that none does
}

// Kinds returns every kind with what it means: the one table that help, the
// documents and the records are made from.
func Kinds() []KindDoc {
	return []KindDoc{
		{MemberWithoutRow, "a member of a set has no row",
			"the next claim makes a ghost of it, a row without a payload, and hands that to a worker",
			"in a lane gdrain, which clears the whole lane; in pending drain likewise; elsewhere no verb: ZREM"},
		{RowInNoSet, "a job has a row and is in no set",
			"nobody will ever claim it, and its id is taken: enqueueing it again answers duplicate",
			"remove_job takes the row away, and then the job can be enqueued again"},
		{IDInTwoSets, "a job is in two sets at once",
			"it can be claimed twice, or run again after it was settled",
			"complete or remove_job of the job, once it is done; what stays in a lane only gdrain clears"},
		{StateMismatch, "a row's state is not that of the set the job is in",
			"whoever reads the row is told something else than what the queue will do",
			"the next claim, retry or promote writes the state anew; remove_job ends the job"},
		{WrongLane, "a job with a group waits outside the lane of its group",
			"it is served past the ceiling and the pause of its group, and when it is settled gactive counts one down that was never counted up",
			"no verb puts it back; remove_job and a new genqueue, while it waits in pending"},
		{GhostRow, "a row lacks state, attempts or payload",
			"a worker gets a job without a payload, or the job can never be settled",
			"remove_job takes the row and its place in pending, active, schedule and dead"},
		{LeaseExpired, "a lease has been over for longer than the grace",
			"no reaper runs for this queue, so the jobs of dead workers are never given to others",
			"reap, or sweep_stalled, which counts the lapses"},
		{Score, "a score that has to be 0 is not",
			"order in pending, lanes and dead is by id only while all scores are 0; this job jumps the queue or starves",
			"no verb but the job's own course: a claim takes it out"},
		{MemberID, "a member of a set is no id of a job",
			"no host takes it: it cannot name a row that a host reads, and stops the worker that claims it",
			"no verb: ZREM"},
		{Ring, "the ring and the lanes disagree",
			"a lane that is missing is not served, one that should not be there costs claims or breaks its pause or ceiling",
			"gresume puts a lane with jobs back; gpause takes one out; an empty one the next gclaim takes out"},
		{GActive, "gactive is not the number of active jobs of a group",
			"too high, and a group with a limit closes a slot for ever; too low, and it runs above its limit",
			"no verb: HSET or HDEL of the field while the group is idle"},
		{FlowCounter, "a flow parent's counter and its children disagree",
			"the parent is released too early, or never; a child that is completed between a reap and its next claim does it",
			"no verb: SET of the counter, or the flow is added again with new ids"},
		{FlowStranded, "a flow parent waits, and no child is left to report",
			"it is in no set, so nothing lists it, and it waits for ever; a child that is completed between a reap and its next claim does it",
			"no verb releases it; remove_job takes it away"},
		{FlowOrphan, "a child's flow parent has no row",
			"when the child is settled, its parent comes back as a ghost without a payload",
			"remove_job of the child, or of the ghost that comes"},
		{Outbox, "an entry of the flow outbox is malformed",
			"the pump stops at it, at every pass: no report behind it is ever delivered",
			"no verb: LPOP once it is the head"},
		{Repeat, "a repeat registration and its record disagree",
			"without a record nothing is enqueued; without a registration it never fires, and registering it again answers exists",
			"repeat_cancel, and repeat_register again"},
		{StoreType, "a key holds another type than the grammar's",
			"every verb that touches it ends in WRONGTYPE, some after they have written",
			"no verb: RENAME it away, or DEL"},
		{StrayKey, "a key of the prefix is not of the grammar",
			"no verb reads or deletes it; it is a mistyped key, or a leftover of another version",
			"no verb: DEL, once it is known whose it is"},
		{Slots, "keys that are meant for one queue fall on several slots",
			"in a cluster no script can touch them together; the braces of the queue's name do not hold them",
			"no verb: the name of the queue has to change"},
		{FenceKind, "the fences of the databases differ, or one is no version",
			"hosts of another version refuse to start on such a database, or two versions write side by side",
			"no verb: it is decided by hand which is right"},
	}
}

// DocOf returns what the table says of a kind.
func DocOf(k Kind) (KindDoc, bool) {
	for _, d := range Kinds() {
		if d.Kind == k {
			return d, true
		}
	}
	return KindDoc{}, false
}
