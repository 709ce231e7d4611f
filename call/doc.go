// Package call runs registered functions with serializable arguments: a call is a document in the cluster's store, not an entry of its log.
//
// # Purpose
//
// Code can be written as if for threads: submit a function with an argument, wait for the result, cancel it, map it over many arguments. No code
// travels: who calls and who runs have a function of the same name ([NewFunc]), and what travels is its name and its argument as JSON. Whoever can
// write the store can call every function that members have; a function checks its argument as one from outside.
//
// # State
//
// One document per call, call/<queue>/<page>/<number>. A queue is a caller. A page is up to 128 calls of one client, so that nobody has to list 100,000 at
// once; its document callpage/<queue>/<page> is written before its first call, and a call runs only while it is there.
//
//	         Claim                Return
//	queued ─────────▶ running ─────────────▶ done
//	  ▲  │            │  │  │
//	  │  │            │  │  └── Fail, attempts used up ──▶ failed, or queued as a call of OnFailure
//	  │  │            │  └───── Fail, after a wish to cancel ──▶ cancelled
//	  │  │            │
//	  │  │            └── Fail: one attempt less, rests first; Release: no attempt used
//	  │  └── RequestCancel ──▶ cancelled
//	  └───────────────┘
//
// [Step] is all of it, and pure. Every arrow is one conditional write of the document. Members with idle slots look for calls: they list the pages,
// serve the queues in turn, and of a page begin each with another call. Watches are hints; what they miss is found by a look from time to time.
//
// The outcome stands in the document until somebody collects it ([Call.Wait], which removes the document), or until it was kept long enough, counted by the clock of
// one member from when it saw it first.
//
// # Messages
//
// An unknown outcome of a write is resolved by reading the document. A claim carries a nonce, so that its maker knows it. A submission has no version that
// would refuse a late one, when a second try was run, collected and removed in between; so a submission that is not found is made void in its page,
// under a version, before another is made. A member reads the page after it has listed the calls, and passes over what is void.
//
// # Guarantees
//
// A call that was submitted is run until it is done, cancelled, or out of attempts, whoever dies: caller, runner, all members. Once there is an outcome it
// does not change.
//
// Runs of one call do not overlap. A running call is claimed by another member only when the cluster has counted its runner's incarnation out, and that
// happens only when that member's trust in itself is over; then the ctx of its runs has ended. A ctx's Err looks at the clock, so that a process
// which was suspended notices it before its timers do. The limits are those of the whole cluster's clocks.
//
// OnFailure is submitted exactly once: the write that ends the call turns the document into a call of it.
//
// # What is not guaranteed
//
// A call runs at least once, not exactly once: a member may die, or lose its trust, after the function's effect and before the result is written. [TokenOf] gives
// a number that grows with each run of a call: a resource that refuses a smaller one than it has seen is safe from runs that were replaced, also
// from a function that ignores its ctx.
//
// The result is given to who waits at least once, as long as it is kept: a caller that dies between the removal of the document and its own use of the result
// has lost it. A caller that must not lose it writes it where it belongs in the function itself.
//
// A submission that is made by a process which stands still in the middle of it for a minute may end with store.ErrUnknown: nobody can tell any more what became of it.
//
// Order: calls of one caller begin about in the order of their submission, no more. A caller whose calls take long may have all slots; others get the next that
// becomes free.
//
// # Failures
//
// A panic is a failed attempt, with its stack in the journal. A result above the limit is an error of the call. A function that no member has leaves its calls
// queued; [Offered] tells who has what. A store that is away delays everything and loses nothing; functions go on while their member's trust lasts, and an outcome
// that could be written later is, unless the call was claimed anew by then. A document that cannot be decoded is left alone and counted. A process that dies between
// opening a page and its first call leaves an empty page, which members remove.
//
// # Where it comes from
//
// The design note on cluster state in Elasticsearch ("Task serialization"): execute a closure on another node and get a future with handlers for failure, for
// done and to cancel. Its lock documents with a holder and a version are the documents here; its expiry times by wall clock are the incarnations of the cluster.
package call
