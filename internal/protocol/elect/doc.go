// Package elect decides when a process may try to become the one leader of a place, through one document that names the
// leader. It is pure: times are instants of the caller's own clock, and the caller makes the calls.
//
// # Purpose
//
// The document names the leader and its heartbeat. A process that finds no document, or a dead holder, may write its
// own name. [Election] returns the next call to make.
//
// # State
//
//	           no document ─────────────────────────┐
//	unknown ──→ ours: we lead                       ├──→ claim (a create: one of many succeeds)
//	           another's ──→ its heartbeat is dead ──→ remove it, at the version that was read
//
// Candidates have ranks: all but the first wait briefly for each one before them, so that usually only one claims.
//
// # Guarantees
//
//   - A live holder is not removed: only one whose heartbeat is gone or was silent for T(1+ρ), as package heartbeat
//     counts it, and only at the version of the document that named it.
//   - A claim with an unknown outcome is resolved by a read. The document names the heartbeat of one start of one
//     process, so a winner recognizes itself.
//
// # What is not guaranteed
//
// It does not guarantee a single leader at every instant: a suspended leader believes in itself until it checks. Its
// later writes must be refused by the term that they carry: see cluster.Lead. The election decides who tries to lead,
// the order of the log who leads.
//
// # Failures
//
// A failed read decides nothing. A claim that fails or conflicts is followed by a read. A document that cannot be
// decoded counts as that of a dead holder after T(1+ρ) at one version: no possible leader wrote it.
//
// # Where it comes from
//
// The lock at /leader of the source document coalesce, and the stand-by coordinators of coordinator-internals.
package elect
