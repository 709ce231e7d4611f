// Package chaos does to a cluster of real processes what happens to processes and disks, and judges what they wrote down.
//
// # Purpose
//
// `rotachaos` starts members of the binary rota on a fresh store of the kind `file`, deals faults from a seeded deck, heals everything at the
// end, and lets package history decide whether the promises G1–G6 were kept, and whether all was running again in time (G9).
//
// # State
//
// One directory holds all there is: the store (on a small tmpfs where that can be had), task files, a log and a witness file for each start of a
// member, and the acts of all witness tasks, in the order in which they were done. It is removed when all went well.
//
// # What is not guaranteed
//
// The seed fixes which faults come in which order and how long they last, not how the processes run: the same seed is another run. Faults that
// the machine cannot do (no root, no strace, no tmpfs) are left out, said, and counted.
package chaos
