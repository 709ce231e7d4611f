package elect

import (
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/store"
)

// Seen is the document as a read has found it. The zero value: there is none.
type Seen struct {
	Version   store.Version
	Holder    string // who leads, for people
	Heartbeat string // of the holder; "" where the document cannot be read
}

// Election is what one process knows of who leads. It is a value: its methods return another one.
type Election struct {
	Known  bool // the document was read at least once since something happened to it
	Seen   Seen
	Holder heartbeat.Observation // of the holder's heartbeat; of the document itself where that cannot be read
	Vacant protocol.Instant      // since when there is known to be no live holder; 0: there is one, or that is not known
}

// Move is what to do next.
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

// Read takes in a read of the document that was answered now.
func (e Election) Read(seen Seen, now protocol.Instant) Election {
	if seen.Heartbeat != e.Holder.Key || seen.Heartbeat == "" && seen.Version != e.Seen.Version {
		e.Holder = heartbeat.Observation{Key: seen.Heartbeat}
	}
	if seen.Heartbeat == "" { // garbage has no heartbeat: its version is watched instead
		e.Holder = e.Holder.Read(seen.Version, 0, now, now)
	}
	e.Known, e.Seen = true, seen
	if seen.Version != "" {
		e.Vacant = 0
	} else if e.Vacant == 0 {
		e.Vacant = now
	}
	return e
}

// Probed takes in a read of the holder's heartbeat that was sent at an instant and answered now.
func (e Election) Probed(key string, version store.Version, ttl time.Duration, sent, now protocol.Instant) Election {
	if key == e.Holder.Key && key != "" {
		e.Holder = e.Holder.Read(version, ttl, sent, now)
	}
	return e
}

// Stale takes in that the document may have changed: a hint, or a write of ours whose outcome is not known.
func (e Election) Stale() Election {
	e.Known = false
	return e
}

// Dead reports whether the holder is known to be dead.
func (e Election) Dead(silence time.Duration) bool {
	return e.Known && e.Seen.Version != "" && e.Holder.Dead(silence)
}

// Next is the next move of a candidate with this heartbeat, that has waited for its turn where others come first. Silence is how long the holder must have
// been silent.
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
