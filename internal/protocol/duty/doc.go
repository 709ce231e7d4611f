// Package duty derives what a member runs from its duties in the value, and what it has to say about them from the
// reports of its supervisor.
//
// # Purpose
//
// A protocol decides who may change a record; what a duty means is the same for all. Grants and steps are derived here,
// for every protocol whose members know the value; those that know only their own documents make their grants
// themselves, and share the comparison.
//
// # State
//
// [Work]: what the newest value asks of a member, what of that the supervisor was given, and whether there is anything
// to say of it. [Calm]: since when a partition runs here whose former owners have died.
//
// # Guarantees
//
// Pure functions of their arguments; a Work is a value. Duties and reports are sorted by partition, and so is what is
// returned.
//
// # What is not guaranteed
//
// That a step is accepted: the value judges it. It is derived again until the value shows it.
//
// # Failures
//
// None. A duty of a job or a task that the value does not have is left out.
//
// # Where it comes from
//
// It was written in the package replica, and again in the package sync; what each kept beside it is [Work]
// (docs/decisions, 100).
package duty
