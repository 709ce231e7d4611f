package cluster

import (
	"encoding/binary"
	"strconv"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// MemberState is the state of a member.
type MemberState uint8

// The states. A member that left is not in the value, unless its grants are held.
const (
	MemberPrepared MemberState = iota // in the ring, watched and watching, without permission to work
	MemberJoined                      // may be granted partitions
	MemberHeld                        // left with hold: not in the ring; its grants wait for its restart
)

// Member is one member of the cluster. It is a value: do not change the contents of its slices.
type Member struct {
	ID          MemberID
	Incarnation Incarnation
	State       MemberState
	Draining    bool
	Revoked     bool // it did not answer an offer: it gets no offers until it is confirmed; see RevokeOffer
	Slots       int64
	Weight      int64
	Capacity    int64
	Labels      []Label // sorted by key
	Heartbeat   string
	Address     string
	Version     string
	// Changed is the index of the last entry that changed the duties of this member.
	Changed Index
	// Since is the wall clock, in ms, of the writer of the entry by which it joined; for people.
	SinceMS int64
}

// The ring is computed, never stored: all members, prepared and joined, sorted by ID; each watches its successor.
// The source document stores pairs and edits them, which breaks (docs/decisions).

// Successor returns the member that m watches in the ring; "" if m is alone or not in the ring.
func (v Value) Successor(m MemberID) MemberID {
	if self, ok := ordered.Get(&v.members, m); !ok || self.State == MemberHeld {
		return ""
	}
	return v.after(m)
}

// after is the first member of the ring after the name, wrapping at the end; "" if there is none but itself.
func (v Value) after(m MemberID) MemberID {
	var next MemberID
	pick := func(id MemberID, rec memberRecord) bool {
		if rec.State == MemberHeld || id == m {
			return true
		}
		next = id
		return false
	}
	ordered.From(&v.members, m, pick)
	if next == "" {
		ordered.Each(&v.members, pick)
	}
	return next
}

// before is the last member of the ring before the name, wrapping at the start; "" if there is none but itself.
func (v Value) before(m MemberID) MemberID {
	var prev MemberID
	pick := func(id MemberID, rec memberRecord) bool {
		if rec.State == MemberHeld || id == m {
			return true
		}
		prev = id
		return false
	}
	ordered.BackFrom(&v.members, m, pick)
	if prev == "" {
		ordered.Back(&v.members, pick)
	}
	return prev
}

// Rank is the member's place, from 0, in the order in which members report the watched one: the ring order after the
// watched member's predecessor. The predecessor has rank 0.
func (v Value) Rank(self, watched MemberID) int {
	rank := 0
	for m := v.before(watched); m != "" && m != self && rank < ordered.Len(&v.members); m = v.before(m) {
		rank++
	}
	return rank
}

// heldSlot is a slot that a partition of spread pool takes, until it is gone.
type heldSlot struct {
	slot    schedule.Slot
	id      PartitionID
	token   Token
	leaving bool // its work has yet to stop
}

// slotKey sorts slots by member and number.
func slotKey(m MemberID, n int64) string {
	return string(binary.BigEndian.AppendUint64(append([]byte(m), 0), uint64(n)))
}

// slotID is the partition of a task that takes a slot.
func slotID(job JobID, task string, s schedule.Slot) PartitionID {
	return NewPartitionID(job, task, s.Member+":"+strconv.FormatInt(s.Number, 10))
}

// slots is how many slots a member has to give: those that are joined and not draining have some. The limit is checked
// where members join; a snapshot of another make may say anything.
func (m *Member) slots() int64 {
	if m.State != MemberJoined || m.Draining || m.Revoked {
		return 0
	}
	return min(MaxSlots, max(0, m.Slots))
}

// indexSlots updates the index of a member's free slots, of which it had that many before.
func (d *derived) indexSlots(m MemberID, had, has int64) {
	for n := had + 1; n <= has; n++ {
		if key := slotKey(m, n); !d.occupied(key) {
			ordered.Set(&d.free, key, schedule.Slot{Member: string(m), Number: n})
		}
	}
	for n := has + 1; n <= had; n++ {
		ordered.Remove(&d.free, slotKey(m, n))
	}
}

func (d *derived) occupied(key string) bool {
	_, ok := ordered.Get(&d.held, key)
	return ok
}

// indexSlot adds (by = 1) or removes (by = −1) a partition of spread pool. Its slot becomes free if its member has it
// still.
func (d *draft) indexSlot(p *partitionRecord, by int) {
	key := slotKey(p.Owner, p.Slot)
	slot := schedule.Slot{Member: string(p.Owner), Number: p.Slot}
	d.allocate = true
	if by > 0 {
		ordered.Set(&d.derived.held, key, heldSlot{
			slot: slot, id: p.ID, token: p.Token, leaving: p.State != PartitionGranted || p.Dropped,
		})
		ordered.Remove(&d.derived.free, key)
		return
	}
	ordered.Remove(&d.derived.held, key)
	if m, ok := ordered.Get(&d.Value.members, p.Owner); ok && p.Slot <= m.slots() {
		ordered.Set(&d.derived.free, key, slot)
	}
}

// vacate takes the slot from a partition of spread pool: at once, or when its owner has said that it has stopped.
func (d *draft) vacate(id PartitionID, cause string) {
	p, ok := d.edit(id)
	if !ok || p.Dropped {
		return
	}
	if p.Offered || p.Owner == "" || d.handover(id) == HandoverFast && !d.claimed() {
		d.removePartition(id)
		return
	}
	p.State, p.Next, p.NextToken, p.Dropped, p.class, p.Cause = PartitionReleasing, "", 0, true, nil, cause
	d.setPartition(p)
}
