package api

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/journal"
)

// The pace of /v1/journal/events.
const (
	tailPace = time.Second
	// tailBack is how far back a look goes: a record may come late, and clocks of members differ.
	tailBack = 10 * time.Minute
	// tailAgain is how far before the last event a stream that goes on begins.
	tailAgain = time.Minute
	maxTails  = 16
)

// tail sends records of the journal as they come, until the client goes. The identifier of an event is the record's
// time in ms and a hash of it. With one as Last-Event-ID the stream begins a minute before it, so that what came late
// is not left out: what the client has by its identifier it drops.
func (h *handler) tail(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		fail(w, http.StatusNotImplemented, "this connection cannot carry events")
		return
	}
	f := &follower{h: h, r: r, w: w, said: time.Now()}
	begin := time.Now()
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		ms, _, _ := strings.Cut(last, ".")
		n, err := strconv.ParseInt(ms, 10, 64)
		if err != nil || n < 0 || n >= 1<<53 {
			fail(w, http.StatusBadRequest, fmt.Sprintf("Last-Event-ID: %q is not the identifier of a record", last))
			return
		}
		begin = time.UnixMilli(n).Add(-tailAgain)
	}
	t := &journalTail{follower: f, wanted: recordsOf(r), shown: map[string]int64{}}
	before, err := t.read(begin.Add(-tailBack))
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, x := range before {
		if x.AtMS < begin.UnixMilli() {
			t.note(x)
		}
	}
	tick := time.NewTicker(tailPace)
	defer tick.Stop()
	for ok := f.write(": begin\n\n") && t.send(before); ok; {
		select {
		case <-tick.C:
			ok = t.look()
		case <-r.Context().Done():
			return
		case <-h.c.done:
			return
		}
	}
}

// journalTail sends each record once.
type journalTail struct {
	*follower
	wanted journal.Query    // tasks and kinds
	shown  map[string]int64 // identifiers, with their time in ms
}

// read returns the records since a time, some of them twice. A page has the newest records: if it is full and even the
// oldest one is new, more came than fit, and the page before it is read too.
func (t *journalTail) read(since time.Time) ([]journal.Record, error) {
	q := t.wanted
	q.Since, q.Limit = since, maxPage
	var out []journal.Record
	for {
		page, err := t.h.read(t.r, q)
		out = append(page, out...)
		if err != nil || len(page) < q.Limit {
			return out, err
		}
		if id, _ := identify(page[0]); t.has(id) {
			return out, nil
		}
		until := time.UnixMilli(page[0].AtMS + 1)
		if until.Equal(q.Until) { // all of one millisecond, the smallest step
			q.Limit *= 2
		}
		q.Until = until
	}
}

// identify returns the identifier of a record, and its text.
func identify(r journal.Record) (id string, data []byte) {
	data, err := json.Marshal(r)
	if err != nil {
		return "", nil
	}
	hash := fnv.New64a()
	_, _ = hash.Write(data) // never fails
	return fmt.Sprintf("%d.%016x", r.AtMS, hash.Sum64()), data
}

func (t *journalTail) has(id string) bool {
	_, shown := t.shown[id]
	return shown
}

// note returns the identifier of a record, its text, and whether it is new.
func (t *journalTail) note(r journal.Record) (id string, data []byte, isNew bool) {
	id, data = identify(r)
	isNew = id != "" && !t.has(id)
	t.shown[id] = r.AtMS
	return id, data, isNew
}

// look sends what is new; false if the client cannot be reached. A store that is away is waited for.
func (t *journalTail) look() bool {
	since := time.Now().Add(-tailBack)
	records, err := t.read(since)
	if err != nil && !t.write(": the store does not answer\n\n") {
		return false
	}
	if !t.send(records) {
		return false
	}
	maps.DeleteFunc(t.shown, func(_ string, at int64) bool { return at < since.Add(-tailBack).UnixMilli() })
	return time.Since(t.said) < beat || t.write(": beat\n\n")
}

func (t *journalTail) send(records []journal.Record) bool {
	for _, r := range records {
		if id, data, isNew := t.note(r); isNew &&
			!t.write(fmt.Sprintf("id: %s\nevent: record\ndata: %s\n\n", id, data)) {
			return false
		}
	}
	return true
}
