package cluster

// PartitionState is the state of a partition.
type PartitionState uint8

// The states.
const (
	PartitionWaiting   PartitionState = iota // no owner; Value.Why returns the reason
	PartitionGranted                         // Owner runs it under Token
	PartitionReleasing                       // at-most-one move: Owner must stop; then Next gets it
	PartitionAdopting                        // no-gap move: Owner runs it; Next has NextToken and must start; then Owner loses it
	PartitionHeld                            // Owner announced a restart; no member runs it
	PartitionParked                          // failed too often; no member runs it until it is unparked or its job updated
	PartitionFinished                        // finished for ever
	PartitionBlocked                         // waits until all its parents are finished
)

// Partition is the unit of ownership. It is a value: do not change the contents of its slices.
type Partition struct {
	ID        PartitionID
	State     PartitionState
	Dropped   bool // its job or task has ended: it is removed as soon as its owner has stopped
	Offered   bool // granted, but its owner has not accepted it yet, and does not run it: see AcceptOffer
	Owner     MemberID
	Token     Token
	Next      MemberID // target of a move
	NextToken Token    // of the target of a no-gap move; without a target: Owner still runs a former partition of this name
	From      MemberID // former owner, for the journal
	Cause     string   // why its owner got it, for the journal
	Attempts  int64    // failures in a row
	Message   string   // of the last failure
	Deaths    int64    // number of owners in a row that died while they ran it
	Parents   []string // keys within its task
	// Slot is the number of the slot of its owner that it occupies until it is removed, from 1; 0 if its task is not of spread pool.
	Slot int64
	// ListedBy is the key of the partitioner whose window contains this item, Input its input; see [AdvanceWindow]. "" for others.
	ListedBy string
	Input    []byte
	// Index and Count are the share of a slot of a task with Repartition: it is number Index, from 0, of Count slots. Count is 0 for others.
	Index, Count int64
	// Step is the number of steps of this partition, a partitioner, and Cursor the place where its next listing begins.
	Step   int64
	Cursor []byte
	// ChangedMS is the wall clock, in ms, of the writer of the entry that last changed it; for people.
	ChangedMS int64
}
