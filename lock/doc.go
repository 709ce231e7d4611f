// Package lock holds named locks and semaphores over the documents of a store.
//
// # Purpose
//
// Processes that share a store take turns by a name, so that only one of them does something at a time. No other server
// is needed.
//
//	locks, err := lock.NewClient(store, lock.Options{TTL: 10 * time.Second})
//	held, err := locks.Lock("reports/daily").Acquire(ctx)
//	write(held.Context(), held.Token()) // ends, and is refused, when the lock is lost
//	held.Release(ctx)
//
// # State
//
// One document for each name, the table, lists the holders and the waiters, in order. One document for each process
// that holds or waits is its heartbeat, renewed each third of the TTL, through a session if the store has them.
//
//	locks/NAME/table, semaphores/NAME/table  {size, token, holders: [{id, heartbeat, token}], waiters: [{id, heartbeat}]}
//	lock-pulse/RANDOM/alive                  rewritten by its process; gone or silent when that is dead
//
// Every change of a table is one conditional write. A process that removes an entry, its own or that of a dead process,
// admits the first waiter in the same write and raises the token. Pure functions decide about claims and heartbeats
// (step.go, step_life.go); the rest of the package executes.
//
// A heartbeat whose lease has expired is never renewed: the process starts another one under another key. So a dead
// heartbeat stays dead, and its entries can be removed at any later time.
//
// # Guarantees
//
// At most one holder (of a semaphore: as many as it has places) has a valid lease at a time. A lease is valid until
// T(1−ρ) − margin after the last acknowledged renewal was sent, by the holder's own clock, which advances while the
// machine sleeps. Then [Held.Context] ends with [ErrLost]; checking it after a suspension reports that at once. Others
// remove a holder when its heartbeat is gone, or when they have observed the same version of it for T(1+ρ) + margin by
// their own clocks. ρ is 5 %, the margin T/20. No two clocks are compared. Each holder has a larger token than all
// before it.
//
// The queue is first come, first served, in the order of the store's writes. A process whose heartbeat is lost while it
// waits goes to the end of the queue. The lock of a dead process is released at once if the store's sessions end with
// the process, else after T(1+ρ) + margin and a poll, at most another tenth of T or two seconds. A process that stops
// waiting, or releases, leaves nothing in the store: a write with an unknown outcome is looked up, and one that may
// still be in flight is invalidated by a write that changes its version.
//
// The model in model_test.go runs the same decisions through every order of events with crashes, suspensions, late
// writes and lost answers (TestProof), and detects each of the flaws that are put in on purpose (TestFlaws).
//
// # What is not guaranteed
//
// A holder that does not check its context, or is suspended between the check and the action, can act after it has lost
// the lock. Give [Held.Token] to the resource and let it refuse smaller ones.
//
// The table of a name stays in the store for ever, because the token must not start again: some hundred bytes for each
// name ever used. Removing it by hand while a process holds the lock breaks the promises. Name things that exist, not
// requests.
//
// Locks are not re-entrant. TryAcquire does not take a lock from a silent process before some process has observed the
// silence. A semaphore changes its size only while it is unused. At most 1000 claims wait for one name.
//
// # Failures
//
// While the store is unreachable no lock is granted, and holders lose theirs when their lease expires. Acquire retries
// until its context ends, and its error contains the last error of the store. A document that this package did not
// write is refused and left unchanged.
//
// # Where it comes from
//
// Fencing tokens and the holder's own deadline are from the literature on leases (Gray and Cheriton 1989; Burrows,
// Chubby, 2006; Kleppmann 2016). Waiting by one's own clock for a version that does not change is how Kubernetes elects
// leaders. See docs/decisions 14 and 22.
package lock
