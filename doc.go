// Package rota keeps every task of a cluster running on exactly one live member. This package is the front door for
// programs that are members themselves; the command rota is one such program.
//
// # Purpose
//
// A service joins a cluster with [Join], brings task types as Go functions ([NewType]), and submits tasks
// ([Member.Submit]). Members agree through a store that they share; package store/file is one for the processes of a
// machine, store/memory one for the members of a process.
//
// What is too much to be submitted at once (files, objects, pages) is listed by a [NewPartitioner], a window at a time;
// a pool whose members divide an input among themselves is told its shares ([Task], Repartition).
//
// # Guarantees
//
// A task runs on one member at a time, under a token that grows with each owner; its context ends before another member
// may start it. What was submitted is granted again and again until it is done, killed or parked with a reason.
//
// # What is not guaranteed
//
// A task may run again after a crash: at least once, not exactly once. A function that ignores its context may overlap
// with its successor: give the token to what it changes, or ask [Grant.Valid] right before.
//
// # Failures
//
// A member that cannot reach the store stops its tasks before others may start them, and rejoins when the store answers
// again.
package rota
