package cluster

import (
	"fmt"

	"github.com/rota-run/rota/internal/schedule"
)

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
	// Slot is the number of the slot of its owner that it occupies until it is removed, from 1; 0 if its task is not of
	// spread pool.
	Slot int64
	// ListedBy is the key of the partitioner whose window contains this item, Input its input; see [AdvanceWindow]. ""
	// for others.
	ListedBy string
	Input    []byte
	// Index and Count are the share of a slot of a task with Repartition: it is number Index, from 0, of Count slots.
	// Count is 0 for others.
	Index, Count int64
	// Step is the number of steps of this partition, a partitioner, and Cursor the place where its next listing begins.
	Step   int64
	Cursor []byte
	// ChangedMS is the wall clock, in ms, of the writer of the entry that last changed it; for people.
	ChangedMS int64
}

type partitionRecord struct {
	Partition
	hash  Hash
	class *schedule.Class // nil for a partition of spread every or pool
	own   *maker          // of the draft that made it
}

// owned returns why a command of an owner does not count, "" if it does.
func (p *partitionRecord) owned(token Token) string {
	switch {
	case p.Owner == "":
		return "it has no owner"
	case p.Token != token:
		return "the token is not its owner's"
	case p.State == PartitionHeld:
		return "it is held"
	case p.Offered:
		return "its offer has not been accepted"
	case p.former():
		return "it was resubmitted: its owner runs the former one, and only has to stop"
	}
	return ""
}

// holder is the member whose load the partition counts to; "" if none.
func (p *Partition) holder() MemberID {
	switch p.State {
	case PartitionGranted:
		return p.Owner
	case PartitionReleasing, PartitionAdopting:
		return p.Next
	}
	return ""
}

// open reports whether the job of the partition cannot be complete without it.
func (p *Partition) open() bool {
	return p.State != PartitionFinished && !p.Dropped && (p.Slot == 0 || p.former())
}

// former reports whether the owner runs a former partition of this name, which was dropped and added again before it
// had stopped.
func (p *Partition) former() bool {
	return p.State == PartitionReleasing && p.Next == "" && p.NextToken != 0
}

func (p *Partition) job() JobID {
	job, _, _ := p.ID.Split()
	return job
}

func (p *Partition) moving() bool {
	return p.Next != "" && (p.State == PartitionReleasing || p.State == PartitionAdopting)
}

// inWindow reports whether the partition is an item of a window, or has one.
func (p *Partition) inWindow() bool {
	return p.ListedBy != "" || p.Step != 0 || len(p.Input) > 0 || len(p.Cursor) > 0
}

// String returns the partition on one line.
func (p Partition) String() string {
	s := fmt.Sprintf("partition %s %s", p.ID, p.State)
	if p.Offered {
		s += " offered"
	}
	if p.Owner != "" {
		s += fmt.Sprintf(" %s/%d", p.Owner, p.Token)
	}
	if p.Next != "" {
		s += fmt.Sprintf(" → %s", p.Next)
	}
	if p.NextToken != 0 {
		s += fmt.Sprintf("/%d", p.NextToken)
	}
	if p.Attempts > 0 {
		s += fmt.Sprintf(" failed %d×", p.Attempts)
	}
	if p.Deaths > 0 {
		s += fmt.Sprintf(" %d owners died", p.Deaths)
	}
	if p.Count > 0 {
		s += fmt.Sprintf(" share %d of %d", p.Index, p.Count)
	}
	if p.ListedBy != "" {
		s += fmt.Sprintf(" listed by %s", p.ListedBy)
	}
	if p.Step > 0 {
		s += fmt.Sprintf(" step %d at %q", p.Step, p.Cursor)
	}
	if p.Dropped {
		s += " dropped"
	}
	return s
}

// grant makes the member the owner under a new token.
func (d *draft) grant(p *partitionRecord, to MemberID, cause string) {
	d.toOwner(p, to, cause)
	d.setPartition(p)
	d.replan = true
}

// grantFree gives a partition that waits, often since this draft has freed it, to a member; false if it is not there.
func (d *draft) grantFree(id PartitionID, to MemberID) bool {
	if old, p, ok := d.editInPlace(id); ok {
		d.toOwner(p, to, p.Cause)
		d.setAfter(old, p)
		d.replan = true
		return true
	}
	p, ok := d.edit(id)
	if ok {
		d.grant(p, to, p.Cause)
	}
	return ok
}

// toOwner changes a record alone.
func (d *draft) toOwner(p *partitionRecord, to MemberID, cause string) {
	if p.Owner != "" {
		p.From = p.Owner
	}
	p.State, p.Owner, p.Token, p.Next, p.NextToken = PartitionGranted, to, d.at, "", 0
	p.Cause, p.Offered = cause, d.settings.Placement == PlacementOffered || d.claimed()
}

// adopted ends a no-gap move: the new owner runs.
func (d *draft) adopted(p *partitionRecord, cause string) {
	p.From, p.Owner, p.Token = p.Owner, p.Next, p.NextToken
	p.State, p.Next, p.NextToken, p.Cause = PartitionGranted, "", 0, cause
	d.setPartition(p)
	d.replan = true
}

// free leaves the partition without an owner: it waits for one, or for its parents.
func (d *draft) free(p *partitionRecord, cause string) {
	if p.Owner != "" {
		p.From = p.Owner
	}
	p.State, p.Owner, p.Next, p.NextToken, p.Slot, p.Cause = PartitionWaiting, "", "", 0, 0, cause
	p.Offered = false
	if !d.startable(p) {
		p.State = PartitionBlocked
	}
	d.setPartition(p)
	d.replan = true
}

func (d *draft) handOver(p *partitionRecord, to MemberID, cause string) {
	h := d.handover(p.ID)
	switch {
	case p.Offered && to != "": // nobody runs it
		d.grant(p, to, cause)
	case p.Offered:
		d.free(p, cause)
	case to == "" || h == HandoverAtMostOne || d.claimed():
		p.State, p.Next, p.Cause = PartitionReleasing, to, cause
		d.setPartition(p)
	case h == HandoverNoGap && p.Token < d.at: // nobody runs yet what this entry has granted, and two owners never share a token
		p.State, p.Next, p.NextToken, p.Cause = PartitionAdopting, to, d.at, cause
		d.setPartition(p)
	default:
		d.grant(p, to, cause)
	}
}
