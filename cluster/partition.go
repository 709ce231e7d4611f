package cluster

// PartitionState is where a partition stands.
type PartitionState uint8

// The states.
const (
	PartitionWaiting   PartitionState = iota // no owner; Value.Why tells the reason
	PartitionGranted                         // Owner runs it under Token
	PartitionReleasing                       // at-most-one move: Owner must stop; then Next gets it
	PartitionAdopting                        // no-gap move: Owner runs it; Next has been given NextToken and must start; then Owner loses it
	PartitionHeld                            // Owner announced a restart; nobody runs it
	PartitionParked                          // failed too often; nobody runs it until it is unparked or its job updated
	PartitionFinished                        // done for ever
	PartitionBlocked                         // waits until all its parents are finished
)

// Partition is the unit of ownership. It is a value: do not change what its slices hold.
type Partition struct {
	ID        PartitionID
	State     PartitionState
	Offered   bool // granted, but its owner has yet to accept it, and does not run it: see AcceptOffer
	Owner     MemberID
	Token     Token
	Next      MemberID // target of a move
	NextToken Token    // of the target of a no-gap move; without a target: Owner still runs a former partition of this name
	From      MemberID // former owner, for the journal
	Cause     string   // why it came to its owner, for the journal
	Attempts  int64    // failures in a row
	Message   string   // of the last failure
	Deaths    int64    // how many owners have died in a row while they ran it; since format 2
	Parents   []string // keys within its task
	Dropped   bool     // its job or task has ended: it goes as soon as its owner has stopped
	// Slot is the number of the slot of its owner that it takes, from 1; 0 where its task is not of spread pool. It takes it until it is gone.
	Slot int64
	// ListedBy is the key of the partitioner whose window this is an item of, Input what it is to work on; see [AdvanceWindow]. "" else.
	ListedBy string
	Input    []byte
	// Index and Count are the share of a slot of a task with Repartition: it is number Index, from 0, of Count slots. Count is 0 else.
	Index, Count int64
	// Step counts how often this partition, a partitioner, has advanced its window, and Cursor is how far it has listed.
	Step   int64
	Cursor []byte
	// ChangedMS is the wall clock, in ms, of the writer of the entry that last changed it; for people.
	ChangedMS int64
}
