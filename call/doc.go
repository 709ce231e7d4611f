// Package call runs registered functions with serializable arguments: a call is a document in the cluster's store, not
// an entry of its log.
//
// # Purpose
//
// Callers write code as if for threads: submit a function with an argument, wait for the result, cancel it, map it over
// many arguments. No code is transferred: the caller and the runner have a function of the same name ([NewFunc]), and
// the call contains its name and its argument as JSON. A process that can write to the store can call every function
// that members have, so a function must validate its argument as untrusted input.
//
// # State
//
// One document per call, call/<queue>/<page>/<number>. A queue is a caller. A page is up to 128 calls of one client, so
// that no member has to list 100,000 at once; its document callpage/<queue>/<page> is written before its first call,
// and a call runs only while the page exists.
//
//	         claim                return
//	queued ─────────▶ running ─────────────▶ done
//	  ▲  │            │  │  │
//	  │  │            │  │  └── fail, attempts used up ──▶ failed, or queued as a call of OnFailure
//	  │  │            │  └───── fail, after a wish to cancel ──▶ cancelled
//	  │  │            │
//	  │  │            └── fail: one attempt less, rests first; release: no attempt used
//	  │  └── a wish ──▶ cancelled
//	  └───────────────┘
//
// step.go decides all transitions, and is pure. Every arrow is one conditional write of the document. Members with idle
// slots look for calls: they list the pages, serve the queues in turn, and each begins a page at a different call.
// Watches are hints; polling finds what they miss.
//
// The outcome stays in the document until a caller collects it ([Call.Wait], which removes the document), or until its
// retention ends, measured by one member's clock from its first observation.
//
// # Messages
//
// An unknown outcome of a write is resolved by reading the document. A claim carries a nonce, so that its writer
// recognizes it. A submission has no version that would refuse a late write, when a second attempt was run, collected
// and removed meanwhile. So a submission that is not found is marked void in its page, under a version, before the next
// attempt. A member reads the page after it has listed the calls, and skips void ones.
//
// # Guarantees
//
// A submitted call is run until it is done, cancelled, or out of attempts, whichever processes die: the caller, the
// runner, all members. An outcome never changes.
//
// Runs of one call do not overlap. Another member claims a running call only after the cluster has removed its runner's
// incarnation. That happens only after that member's lease has expired by its own clock, and then the ctx of its runs
// has ended. A ctx's Err checks the clock, so a process that was suspended notices it before its timers do. The limits
// are those of the clocks of the whole cluster.
//
// OnFailure is submitted exactly once: the write that ends the call turns the document into a call of OnFailure.
//
// # What is not guaranteed
//
// A call runs at least once, not exactly once: a member may die, or its lease may expire, after the function's effect
// and before the result is written. [TokenOf] returns a number that grows with each run of a call. A resource that
// refuses smaller numbers than it has seen is safe from replaced runs, even from a function that ignores its ctx.
//
// Waiters get the result at least once, while it is kept. A caller that dies between the removal of the document and
// its own use of the result has lost it. If the result must not be lost, the function itself must write it to its
// destination.
//
// A submission whose process stalls for a minute in the middle of it may end with store.ErrUnknown: its outcome cannot
// be determined any more.
//
// Order: calls of one caller begin roughly in the order of their submission, without a guarantee. A caller with long
// calls may use all slots; other callers get the next free slot.
//
// # Failures
//
// A panic is a failed attempt, with its stack in the journal. A result above the limit is an error of the call. Calls
// of a function that no member has stay queued; [Offered] lists the functions of a member. An unreachable store delays
// everything and loses nothing. Functions continue while their member's lease is valid, and a delayed outcome is still
// written, unless another member has claimed the call by then. A document that cannot be decoded is left unchanged and
// counted. A process that dies between opening a page and its first call leaves an empty page, which members remove.
//
// # Where it comes from
//
// The design note on cluster state in Elasticsearch ("Task serialization"): execute a closure on another node and get a
// future with handlers for failure, completion and cancellation. Its lock documents with a holder and a version are the
// documents here; its wall-clock expiry times are the incarnations.
package call
