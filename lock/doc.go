// Package lock holds named locks and semaphores over the documents of a store.
//
// # Purpose
//
// “One of us does this”, without another server: processes that share a store take turns by a name.
//
//	locks, err := lock.NewClient(store, lock.Options{TTL: 10 * time.Second})
//	held, err := locks.Lock("reports/daily").Acquire(ctx)
//	write(held.Context(), held.Token()) // ends, and is refused, when the lock is lost
//	held.Release(ctx)
//
// # State
//
// One document for each name says who holds it and who waits, in order: the table. One document for each process that holds or waits says that it lives:
// its pulse, renewed each third of the TTL, through a session where the store has them.
//
//	lock/NAME/table, semaphore/NAME/table    {size, token, holders: [{id, pulse, token}], waiters: [{id, pulse}]}
//	lock-pulse/RANDOM/alive                  rewritten by its process; gone or silent when that is dead
//
// Every change of a table is one conditional write. Whoever takes an entry out, of himself or of somebody dead, lets in the first of the line in the same
// write and raises the token. What a claim and a pulse do is decided by pure functions (step.go, step_life.go); the rest of the package does it.
//
// A pulse that its process does not trust any more is never renewed: the process begins another one under another key. So “dead” stays true once it is
// known, and an entry with a dead pulse can be removed at any time later.
//
// # Guarantees
//
// At most one holder (a semaphore: as many as it has places) trusts itself at a time. A holder trusts its pulse until T(1−ρ) − margin after the last
// acknowledged renewal was sent, by its own clock, which goes on while the machine sleeps; then [Held.Context] ends with [ErrLost], and looking at it after
// a suspension tells at once. Others remove a holder when its pulse is gone, or when they have seen the same version of it for T(1+ρ) + margin by their
// own clocks. ρ is 5 %, the margin T/20. Nobody compares two clocks. Each holder has a larger token than all before it.
//
// The line is first come, first served, in the order in which the store has made the writes; who loses his pulse while he waits stands at the end again.
// A lock of a process that died is free at once where the store's sessions end with the process, else after T(1+ρ) + margin and a look, at most another
// tenth of T or two seconds. Who stops waiting, or releases, leaves nothing behind: a write whose outcome is unknown is looked up, and one that may still
// be on its way is made impossible by a write that takes its version away.
//
// The model in model_test.go runs the same decisions through every order of events with crashes, suspensions, late writes and lost answers (TestProof), and
// finds each of the flaws that are put in on purpose (TestFlaws).
//
// # What is not guaranteed
//
// A holder that does not look at its context, or is suspended between its look and its act, can act after it has lost the lock. Give [Held.Token] to the
// resource and let it refuse smaller ones.
//
// The table of a name stays in the store for ever, since the token must not begin again: some hundred bytes for each name that was ever used. Removing it
// by hand while somebody holds the lock breaks the promises. Names are for things that exist, not one for each request.
//
// Locks are not re-entrant. TryAcquire does not take a lock from a silent process before somebody has watched the silence. A semaphore changes its number
// of places only while nobody uses it. At most 1000 claims wait for one name.
//
// # Failures
//
// While the store is away nobody gets a lock, and who holds one loses it when the trust has run out. Acquire goes on trying until its context ends, and
// its error names what the store said last. A document that this package did not write is refused and left as it is.
//
// # Where it comes from
//
// Fencing tokens and the holder's own deadline are from the literature on leases (Gray and Cheriton 1989; Burrows, Chubby, 2006; Kleppmann 2016). That others
// wait by their own clocks for a version that does not change is how Kubernetes elects leaders. See docs/decisions 14 and 22.
package lock
