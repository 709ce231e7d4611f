package cluster

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
	if self, ok := v.members.Get(m); !ok || self.State == MemberHeld {
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
	v.members.From(m, pick)
	if next == "" {
		v.members.Each(pick)
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
	v.members.BackFrom(m, pick)
	if prev == "" {
		v.members.Back(pick)
	}
	return prev
}

// Rank is the member's place, from 0, in the order in which members report the watched one: the ring order after the watched member's predecessor.
// The predecessor has rank 0.
func (v Value) Rank(self, watched MemberID) int {
	rank := 0
	for m := v.before(watched); m != "" && m != self && rank < v.members.Len(); m = v.before(m) {
		if m == watched {
			continue
		}
		rank++
	}
	return rank
}
