package heartbeat

import (
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Observation is what a watcher knows of the heartbeat of another owner. It is a value: its methods return another one.
type Observation struct {
	Key     string
	Version store.Version    // "" when there is no document
	TTL     time.Duration    // that its owner states; 0: none
	Since   protocol.Instant // when this version was seen first
	Before  protocol.Instant // Since of the version before this one, 0 if there was none: for people alone, it decides nothing
	Looked  protocol.Instant // an instant before a read that proves that it is still this version
	Known   bool             // read at least once, by a read that decides
	Listed  bool             // in the last list: a hint
	Missing bool             // left out by the last list: a hint too
	Seen    protocol.Instant // in a list for the last time; set by those who list rarely
}

// Read takes in a read that was sent at an instant and answered now.
func (o Observation) Read(version store.Version, ttl time.Duration, sent, now protocol.Instant) Observation {
	if o.fresh(version) {
		o.Before, o.Version, o.TTL, o.Since = o.Since, version, ttl, now
	}
	o.Known, o.Looked = true, max(sent, o.Since)
	o.Missing = o.Missing && version == "" // a list that left out what is there was made before it, or lags
	return o
}

// InList takes in a listed version, which may be an old one and proves nothing: it can only put the beginning of a silence later.
func (o Observation) InList(version store.Version, ttl time.Duration, now protocol.Instant) Observation {
	if o.fresh(version) {
		o.Before, o.Version, o.TTL, o.Since, o.Looked, o.Known = o.Since, version, ttl, now, now, false
	}
	o.Listed, o.Missing = true, false
	return o
}

// NotInList takes in a list without it, which may be an old list and proves nothing.
func (o Observation) NotInList() Observation {
	o.Listed, o.Missing = false, true
	return o
}

// Hinted takes in that it may have changed: a read from before proves nothing.
func (o Observation) Hinted() Observation {
	o.Looked = 0
	return o
}

// fresh: this version was not the last that was seen.
func (o Observation) fresh(version store.Version) bool {
	return !o.Known && !o.Listed || o.Version != version
}

// Gone reports whether a read found no document.
func (o Observation) Gone() bool { return o.Known && o.Version == "" }

// Dead reports whether the owner is dead or its lease has provably lapsed. It stays so, since a key is never used again.
func (o Observation) Dead(silence time.Duration) bool {
	return o.Gone() || o.Known && o.Looked.Sub(o.Since) >= silence
}

// Suspect reports whether lists leave it out, or have shown it unchanged until an instant, so that a read must decide.
func (o Observation) Suspect(until protocol.Instant, silence time.Duration) bool {
	return o.Missing && !o.Gone() || o.Listed && until.Sub(o.Since) >= silence && !o.Dead(silence)
}
