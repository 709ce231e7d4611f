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
