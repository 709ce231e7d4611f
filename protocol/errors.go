package protocol

import (
	"cmp"
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// NameTakenError reports that a live process is in the cluster under this member's name.
type NameTakenError struct{ Member cluster.MemberID }

// Error names the member.
func (e *NameTakenError) Error() string {
	return fmt.Sprintf("member %q is already running in this cluster", e.Member)
}

// EvictedError reports that a person has ended this start of the member: it comes back when it is started again.
type EvictedError struct {
	Member cluster.MemberID
	By     string // who; "" where nobody says
}

// Error says who was evicted, and by whom.
func (e *EvictedError) Error() string {
	return fmt.Sprintf("member %q was evicted by %s, and has left", e.Member, cmp.Or(e.By, "a person"))
}

// OtherProtocolError reports that the members of this store use another protocol.
type OtherProtocolError struct{ Has, Asked string }

// Error names both protocols.
func (e *OtherProtocolError) Error() string {
	return fmt.Sprintf("the cluster uses the protocol %q, not %q: all members of a cluster use one", e.Has, e.Asked)
}

// OtherQueueError reports that the members of this store keep the segments of flows in another queue.
type OtherQueueError struct{ Has, Asked string }

// Error names both places.
func (e *OtherQueueError) Error() string {
	return fmt.Sprintf("the cluster keeps its flows in %s, not in %s: all members of a cluster use one queue",
		queueText(e.Has), queueText(e.Asked))
}

func queueText(place string) string {
	if place == OwnQueue {
		return "its store"
	}
	return place
}

// DivergedError says that the store lost or rewrote part of the log: this member's history and the log's are two.
type DivergedError struct {
	Index  cluster.Index
	Reason string
}

// Error names the place and the reason.
func (e *DivergedError) Error() string {
	return fmt.Sprintf("the log was rewritten at or after index %d: %s", e.Index, e.Reason)
}
