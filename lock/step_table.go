package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
)

// The limits of a table. At these limits its document has about 500 kB.
const (
	maxSize    = 1000 // places of a semaphore
	maxWaiting = 1000
	maxText    = 128 // bytes of an id, a heartbeat's key or an owner
)

// format is written into each document, so that a later one can be told from this one.
const format = 1

// table is the document of a lock or a semaphore: its holders and waiters. It is a value: changes make a new one.
type table struct {
	Format  int           `json:"format"`
	Size    int           `json:"size"`   // the number of places
	Token   cluster.Token `json:"token"`  // the newest token
	Writes  uint64        `json:"writes"` // makes each write change the document
	Holders []entry       `json:"holders,omitempty"`
	Waiters []entry       `json:"waiters,omitempty"` // in order of arrival
}

// entry is one claim.
type entry struct {
	ID        string        `json:"id"`    // random for each claim
	Heartbeat string        `json:"pulse"` // key of the heartbeat document of its process
	TTLMS     int64         `json:"ttl_ms"`
	Owner     string        `json:"owner,omitempty"` // for people
	Token     cluster.Token `json:"token,omitempty"` // of a holder
}

func (e entry) ttl() time.Duration { return time.Duration(e.TTLMS) * time.Millisecond }

// holder finds a claim among the holders.
func (t table) holder(id string) (entry, bool) { return find(t.Holders, id) }

// waits reports whether a claim is in the queue.
func (t table) waits(id string) bool { _, ok := find(t.Waiters, id); return ok }

func (t table) has(id string) bool { _, holds := t.holder(id); return holds || t.waits(id) }

func find(entries []entry, id string) (entry, bool) {
	i := slices.IndexFunc(entries, func(e entry) bool { return e.ID == id })
	if i < 0 {
		return entry{}, false
	}
	return entries[i], true
}

// idle: nobody holds it, and nobody waits.
func (t table) idle() bool { return len(t.Holders) == 0 && len(t.Waiters) == 0 }

// free: a new claim gets it at once.
func (t table) free() bool { return t.idle() || len(t.Holders) < t.Size && len(t.Waiters) == 0 }

// with adds a claim at the end of the queue, and admits those that can hold it.
func (t table) with(e entry) table {
	t.Holders, t.Waiters = slices.Clone(t.Holders), append(slices.Clone(t.Waiters), e)
	return t.advance()
}

// without removes claims, and admits those that can hold it then.
func (t table) without(ids ...string) table {
	out := func(e entry) bool { return slices.Contains(ids, e.ID) }
	t.Holders = slices.DeleteFunc(slices.Clone(t.Holders), out)
	t.Waiters = slices.DeleteFunc(slices.Clone(t.Waiters), out)
	return t.advance()
}

// advance lets in the first of the line while there is room, each under a token of its own. t's slices are its own.
func (t table) advance() table {
	for len(t.Holders) < t.Size && len(t.Waiters) > 0 {
		first := t.Waiters[0]
		t.Token++
		first.Token = t.Token
		t.Holders, t.Waiters = append(t.Holders, first), t.Waiters[1:]
	}
	return t.touched()
}

// touched changes the document and nothing that it says.
func (t table) touched() table {
	t.Format = format
	t.Writes++
	return t
}

func (t table) encode() ([]byte, error) { return json.Marshal(t) }

// decodeTable reads a document; none is a table that nobody has used.
func decodeTable(data []byte) (table, error) {
	var t table
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return table{}, fmt.Errorf("read the document: %w", err)
	}
	if d.More() {
		return table{}, errors.New("read the document: data after its end")
	}
	return t, t.check()
}

// check finds what this package never writes.
func (t table) check() error {
	switch {
	case t.Format != format:
		return fmt.Errorf("its format is %d, and this version of Rota knows %d: update it", t.Format, format)
	case t.Size < 1 || t.Size > maxSize || len(t.Holders) > t.Size:
		return fmt.Errorf("%d holders on %d places: the document is damaged", len(t.Holders), t.Size)
	case len(t.Waiters) > maxWaiting || len(t.Waiters) > 0 && len(t.Holders) < t.Size:
		return fmt.Errorf("%d claims wait, %d of %d places are taken: the document is damaged", len(t.Waiters),
			len(t.Holders), t.Size)
	}
	seen := make(map[string]bool, len(t.Holders)+len(t.Waiters))
	tokens := make(map[cluster.Token]bool, len(t.Holders))
	for i, e := range slices.Concat(t.Holders, t.Waiters) {
		holds := i < len(t.Holders)
		if !e.sound() || seen[e.ID] {
			return fmt.Errorf("claim %d, %.40q: the document is damaged", i+1, e.ID)
		}
		if holds != (e.Token > 0) || e.Token > t.Token || holds && tokens[e.Token] {
			return fmt.Errorf("claim %.40q has token %d, the newest is %d: the document is damaged", e.ID, e.Token,
				t.Token)
		}
		seen[e.ID], tokens[e.Token] = true, true
	}
	return nil
}

// sound: the texts and the TTL are such as this package writes.
func (e entry) sound() bool {
	return e.ID != "" && e.Heartbeat != "" && max(len(e.ID), len(e.Heartbeat), len(e.Owner)) <= maxText &&
		e.ttl() > 0 && e.TTLMS <= maxTTL.Milliseconds()
}
