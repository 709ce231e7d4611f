// Package duty derives what a member runs from its duties in the value, and what it has to say about them from the reports of its supervisor.
//
// # Purpose
//
// A protocol decides who may change a record; what a duty means is the same for all. Grants and steps are derived here, for every protocol whose members
// know the value; those that know only their own documents make their grants themselves, and share the comparison.
//
// # State
//
// [Calm]: since when a partition runs here whose former owners have died.
//
// # Guarantees
//
// Pure functions of their arguments. Duties and reports are sorted by partition, and so is what is returned.
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
// It was written in the package replica, and again in the package sync.
package duty
