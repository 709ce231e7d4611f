package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/work"
)

func (h *handler) read(r *http.Request, q journal.Query) ([]journal.Record, error) {
	if h.c.Journal == nil {
		return []journal.Record{}, nil
	}
	records, err := h.c.Journal.Read(r.Context(), q)
	if records == nil {
		records = []journal.Record{}
	}
	return records, err
}

// journal shows the newest records, and the page before them to those that go on from there.
func (h *handler) journal(w http.ResponseWriter, r *http.Request) {
	q, c, err := journalQuery(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	at, shown, err := positionOf(c.after)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	q.Limit = c.limit + shown + 1 // one more, to know whether there is more
	if c.after != "" {            // later than the page before, so until is further on by now
		q.Until = time.UnixMilli(at + 1)
	}
	records, err := h.read(r, q)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	records = records[:max(0, len(records)-shown)]
	page := records[max(0, len(records)-c.limit):]
	c.say(w, r, position(page, at, shown), len(page) < len(records))
	stream(h, w, r, slices.Values(page))
}

// A position in the journal is the time of the oldest record shown, in milliseconds, and how many of that time were
// shown.
func position(page []journal.Record, at int64, shown int) string {
	if len(page) == 0 {
		return ""
	}
	first, n := page[0].AtMS, 0
	for n < len(page) && page[n].AtMS == first {
		n++
	}
	if first == at {
		n += shown
	}
	return fmt.Sprintf("%d.%d", first, n)
}

func positionOf(after string) (at int64, shown int, err error) {
	if after == "" {
		return 0, 0, nil
	}
	ms, n, _ := strings.Cut(after, ".")
	at, badTime := strconv.ParseInt(ms, 10, 64)
	shown, badCount := strconv.Atoi(n)
	if badTime != nil || badCount != nil || shown < 0 || shown > maxSame || at == 1<<63-1 {
		return 0, 0, fmt.Errorf("after=%q is not a position in the journal: take it from the Link of the page before",
			after)
	}
	return at, shown, nil
}

// maxSame bounds how many records of one millisecond can be paged through.
const maxSame = 1_000_000

// journalQuery reads ?task=…&kind=…&since=…&until=… and what bounds a page.
func journalQuery(r *http.Request) (journal.Query, cursor, error) {
	q, now := recordsOf(r), time.Now()
	since, err := agoOf(r, "since", now)
	if err != nil {
		return q, cursor{}, err
	}
	until, err := agoOf(r, "until", now)
	if err != nil {
		return q, cursor{}, err
	}
	if !since.IsZero() && !until.IsZero() && !since.Before(until) {
		return q, cursor{}, errors.New("until is not below since: ask for since=2h&until=1h")
	}
	q.Since, q.Until = since, until
	c, err := cursorOf(r)
	return q, c, err
}

// recordsOf reads of which tasks and kinds records are.
func recordsOf(r *http.Request) journal.Query {
	v := r.URL.Query()
	q := journal.Query{Partition: v.Get("task")}
	for _, k := range slices.DeleteFunc(v["kind"], func(k string) bool { return k == "" }) {
		q.Kinds = append(q.Kinds, journal.Kind(k))
	}
	return q
}

// agoOf is the time so long ago as a parameter says, or zero.
func agoOf(r *http.Request, name string, now time.Time) (time.Time, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return time.Time{}, nil
	}
	var d work.Duration
	if err := d.UnmarshalText([]byte(s)); err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("%s=%.40q is not a duration such as 1h", name, s)
	}
	return now.Add(-time.Duration(d)), nil
}

// log shows the newest entries of the log, or those that follow an index.
func (h *handler) log(w http.ResponseWriter, r *http.Request) {
	c, err := cursorOf(r)
	after, bad := uint64(0), error(nil)
	if c.after != "" {
		after, bad = strconv.ParseUint(c.after, 10, 63)
	}
	switch {
	case bad != nil:
		fail(w, http.StatusBadRequest, fmt.Sprintf("after=%.40q is not an index of the log", c.after))
		return
	case err != nil:
		fail(w, http.StatusBadRequest, err.Error())
		return
	case h.c.Past == nil:
		none := view.NoLogError{Store: h.c.Store, Protocol: h.c.Protocol}
		fail(w, http.StatusNotFound, none.Error()+"; try: GET /v1/journal")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), replayWithin)
	defer cancel()
	var entries []view.Entry
	more := false
	if c.after == "" {
		entries, _, err = h.c.Past.Newest(ctx, c.limit)
	} else {
		entries, more, err = h.c.Past.After(ctx, cluster.Index(after), c.limit)
	}
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	last := ""
	if more {
		last = strconv.FormatUint(entries[len(entries)-1].Index, 10)
	}
	c.say(w, r, last, more)
	stream(h, w, r, slices.Values(entries))
}

// calls shows the calls that the store has, and says in a header how many more cannot be read.
func (h *handler) calls(w http.ResponseWriter, r *http.Request) {
	calls, unreadable, err := h.viewer().Calls(r.Context(), r.URL.Query().Get("state"))
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if unreadable > 0 {
		w.Header().Set("Rota-Unreadable", strconv.Itoa(unreadable))
	}
	list(h, w, r, slices.Values(calls), func(c view.Call) string { return c.ID }, view.Call.Outside)
}
