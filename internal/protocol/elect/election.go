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

import (
	"cmp"
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Seen is the document as found by a read. The zero value: there is none.
type Seen struct {
	Version   store.Version
	Heartbeat string // of the holder; "" if the document cannot be decoded
}

// Election is what one process knows about the leader. It is a value: its methods return another one.
type Election struct {
	Known  bool // the document was read at least once since it may have changed
	Seen   Seen
	Holder heartbeat.Observation // of the holder's heartbeat; of the document itself if that cannot be decoded
	Vacant protocol.Instant      // when it became known that there is no live holder; 0 if there is one, or if it is unknown
}

// Move is the next step.
type Move uint8

// The moves.
const (
	Wait   Move = iota
	Look        // read the document
	Probe       // read the holder's heartbeat
	Remove      // remove the document at Seen.Version: its holder is dead
	Claim       // create it
	Lead        // it is ours
)

// Read records a read of the document that was answered now.
func (e Election) Read(seen Seen, now protocol.Instant) Election {
	if seen.Heartbeat != e.Holder.Key || seen.Heartbeat == "" && seen.Version != e.Seen.Version {
		e.Holder = heartbeat.Observation{Key: seen.Heartbeat}
	}
	if seen.Heartbeat == "" { // garbage has no heartbeat: its version is watched instead
		e.Holder = e.Holder.Read(seen.Version, 0, now, now)
	}
	e.Known, e.Seen, e.Vacant = true, seen, cmp.Or(e.Vacant, now)
	if seen.Version != "" {
		e.Vacant = 0
	}
	return e
}

// Probed records a read of the holder's heartbeat that was sent at an instant and answered now.
func (e Election) Probed(key string, version store.Version, ttl time.Duration, sent, now protocol.Instant) Election {
	if key == e.Holder.Key && key != "" {
		e.Holder = e.Holder.Read(version, ttl, sent, now)
	}
	return e
}

// Stale records that the document may have changed: after a hint, or a write of ours with an unknown outcome.
func (e Election) Stale() Election {
	e.Known = false
	return e
}

// Next is the next move of a candidate with this heartbeat, which has waited for the candidates before it. Silence is
// how long the holder must have been silent.
func (e Election) Next(own string, turn time.Duration, silence time.Duration, now protocol.Instant) Move {
	switch {
	case !e.Known:
		return Look
	case e.Seen.Version == "" && now.Sub(e.Vacant) >= turn:
		return Claim
	case e.Seen.Version == "":
		return Wait
	case e.Seen.Heartbeat == own && own != "":
		return Lead
	case e.Holder.Dead(silence):
		return Remove
	case e.Seen.Heartbeat == "":
		return Look
	}
	return Probe
}
