// Package lossy has a driver on a map whose changes may be lost on their way.
//
// # Purpose
//
// The suites of package drivertest must notice what is wrong with a driver. This driver is right, and so is the map
// behind it; the list of flaws of drivertest plants mistakes into both.
package lossy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
)

// Link makes faults between a handle and its map.
type Link struct {
	planned   bool
	fault     drivertest.Fault
	meanwhile func()
	late      []func()
}

// Next implements drivertest.Link.
func (l *Link) Next(f drivertest.Fault, meanwhile func()) {
	l.planned, l.fault, l.meanwhile = true, f, meanwhile
}

// Arrive implements drivertest.Link.
func (l *Link) Arrive() {
	for _, send := range l.late {
		send()
	}
	l.late = nil
}

// pass sends a change, or makes the fault that is planned; false: there is no answer.
func (l *Link) pass(send func()) (answered bool) {
	if !l.planned {
		send()
		return true
	}
	switch l.planned = false; l.fault {
	case drivertest.LostReply:
		send()
	case drivertest.LateRequest:
		l.late = append(l.late, send)
	}
	l.meanwhile()
	return false
}

// Handle is a handle on a map whose changes pass a link.
type Handle struct {
	drivermap.Seeing
	Link    *Link
	journal *journal
}

// Open opens one.
func Open(m *drivermap.Map) *Handle {
	h, link := m.OpenSeeing(), &Link{}
	return &Handle{h, link, &journal{Journal: h.Journal(), link: link}}
}

// Swap implements driver.Documents. What has no answer is not sent again.
func (h *Handle) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (v driver.Version, err error) {
	if h.Link.pass(func() { v, err = h.Seeing.Swap(ctx, op, with...) }) {
		return v, err
	}
	return "", store.ErrUnknown
}

// Vigil implements driver.Vigils: what is written under it passes the link.
func (h *Handle) Vigil(ctx context.Context, ttl time.Duration) (driver.Vigil, error) {
	v, err := h.Seeing.Vigil(ctx, ttl)
	return vigil{v, h.Link}, err
}

type vigil struct {
	driver.Vigil
	link *Link
}

// Swap implements driver.Hold.
func (v vigil) Swap(ctx context.Context, op driver.Op) (at driver.Version, err error) {
	if !v.link.pass(func() { at, err = v.Vigil.Swap(ctx, op) }) {
		at, err = "", store.ErrUnknown
	}
	return at, err
}

// Journal implements driver.Journals.
func (h *Handle) Journal() driver.Journal { return h.journal }

// Depose answers reads of the log as of now, until it is called off.
func (h *Handle) Depose(on bool) {
	h.journal.then = nil
	if on {
		var p page
		p.records, p.first, p.head, p.err = h.journal.Journal.Read(context.Background(), 0, 1<<20)
		h.journal.then = &p
	}
}

// page is the answer to a read.
type page struct {
	records     []store.Record
	first, head uint64
	err         error
}

// journal is the log of a handle. It refuses a head behind one that it has seen.
type journal struct {
	driver.Journal
	link *Link
	seen uint64
	then *page // what reads are answered with; nil: with what is there
}

// Append implements driver.Journal. What has no answer is not sent again.
func (j *journal) Append(ctx context.Context, records [][]byte) (indexes []uint64, err error) {
	if !j.link.pass(func() { indexes, err = j.Journal.Append(ctx, records) }) {
		return nil, store.ErrUnknown
	}
	if err == nil {
		j.seen = indexes[len(indexes)-1]
	}
	return indexes, err
}

// Read implements driver.Journal.
func (j *journal) Read(ctx context.Context, after uint64, n int) ([]store.Record, uint64, uint64, error) {
	if j.then == nil {
		records, first, head, err := j.Journal.Read(ctx, after, n)
		j.seen = max(j.seen, head)
		return records, first, head, err
	}
	if j.then.head < j.seen {
		return nil, 0, 0, fmt.Errorf("the log ends at %d and has ended at %d: %w", j.then.head, j.seen,
			store.ErrUnavailable)
	}
	behind := slices.DeleteFunc(slices.Clone(j.then.records), func(r store.Record) bool { return r.Index <= after })
	return behind[:min(n, len(behind))], j.then.first, j.then.head, j.then.err
}
