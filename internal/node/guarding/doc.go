// Package guarding decides what a guardian does, and when.
//
// # Purpose
//
// A guardian ends the session of a dead process. Ended wrongly, a live member loses its work. So the decisions are pure
// and small, and the simulator and the checker run them as they are: package guardian only makes the system calls.
//
//	parent:  [Book] has the sessions that each new guardian must hear of
//	child:   [State] says by Next what to do now
//
// # Guarantees
//
// Nothing is ended before two things agree: the line to the parent is closed, and its process has ended. Programs end
// before sessions; where one of them may be left, no session is ended. A session is known by the key that its parent
// gave it, never by the name of a member.
//
// # What is not guaranteed
//
// That it happens at all: a guardian that is lost, late or suspended leaves the session to its TTL.
//
// # Failures
//
// A session whose end was not acknowledged stays on the list. To end it twice is harmless.
//
// # Where it comes from
//
// The rule that two witnesses must agree is that of package guardian.
package guarding
