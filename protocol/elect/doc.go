// Package elect decides when a process may try to be the one leader of a place, over one document that names the leader. It is pure: time comes in as
// instants of the caller's own clock, and the caller makes the calls.
//
// # Purpose
//
// The document says who leads and under which heartbeat. Whoever finds none, or whose holder's heartbeat is dead, may write its own name. [Election] says
// which call to make next.
//
// # State
//
//	           no document ─────────────────────────┐
//	unknown ──→ ours: we lead                       ├──→ claim (a create: one of many succeeds)
//	           another's ──→ its heartbeat is dead ──→ remove it, at the version that was read
//
// A candidate has a rank: those behind the first wait a little for each before them, so that one claims and not all.
//
// # Guarantees
//
//   - A live holder is not removed: only one whose heartbeat is gone or was silent for T(1+ρ), as package heartbeat counts it, and only at the version of
//     the document that named it.
//   - A claim of unknown outcome is resolved by a look. The document names the heartbeat of one start of one process, so a winner knows itself.
//
// # What is not guaranteed
//
// That there is one leader at every instant: a leader that was suspended believes in itself until it looks. What it then does must be refused by the term
// that its writes carry: see cluster.Lead. The election is about who tries, the order of the log about who leads.
//
// # Failures
//
// A look that fails is no look. A claim that fails or conflicts is followed by a look. A document that nobody can read counts as that of a dead holder
// after T(1+ρ) at one version: nobody who could lead wrote it.
//
// # Where it comes from
//
// The lock at /leader of the source document coalesce, and the stand-by coordinators of coordinator-internals.
package elect
