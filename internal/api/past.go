package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
)

// The bounds of history: each answer folds the log from its beginning.
const (
	maxReplays   = 2
	replayWithin = 20 * time.Second
)

func (h *handler) pastOperations(few room) []operation {
	codes := map[int]string{http.StatusNotFound: "the log does not hold that",
		http.StatusServiceUnavailable: "the store does not answer, or there are too many requests of this kind at a time"}
	ops := []operation{
		{path: "/v1/log", summary: "The newest entries of the log, or those that follow an index: who said what, and what it did", shape: listed, answer: view.Entry{}, handle: few.bound(h.log), params: []parameter{
			paged[0], {name: "after",
				summary: "the index that they follow, also where the log holds it no longer; 0 for the oldest that it holds", kind: "integer"},
		}, codes: map[int]string{http.StatusNotFound: "the protocol keeps no log",
			http.StatusServiceUnavailable: codes[http.StatusServiceUnavailable]}},
	}
	if h.c.Past == nil {
		return ops
	}
	return append(ops, []operation{
		{path: "/v1/history", summary: "The cluster at an index of the log, or at a time; without either: now, and how far back the log goes", answer: view.Moment{}, codes: codes, handle: few.bound(h.history), params: []parameter{
			{name: "index", summary: "of the log", kind: "integer"},
			{name: "at", summary: "a time such as 2026-11-22T14:02:00Z, looked up by the clocks of the entries' writers", kind: "string"},
			{name: "limit", summary: "how many tasks at most, from 1 to 10000; 1000 unless said", kind: "integer"},
		}},
		{path: "/v1/history/diff", summary: "What changed between two indexes of the log", answer: view.Difference{},
			codes: codes, handle: few.bound(h.historyDiff), params: []parameter{
				{name: "from", summary: "the first index", kind: "integer", required: true},
				{name: "to", summary: "the second one", kind: "integer", required: true},
			}},
	}...)
}

func (h *handler) history(w http.ResponseWriter, r *http.Request) {
	c, err := cursorOf(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	ask, err := h.pastOf(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), replayWithin)
	defer cancel()
	m, err := ask(ctx)
	if err != nil {
		failPast(w, err)
		return
	}
	m.Tasks = m.Tasks[:min(len(m.Tasks), c.limit)]
	answer(w, m)
}

// pastOf is the question of a request.
func (h *handler) pastOf(r *http.Request) (func(ctx context.Context) (view.Moment, error), error) {
	index, at := r.URL.Query().Get("index"), r.URL.Query().Get("at")
	switch {
	case index != "" && at != "":
		return nil, errors.New("index and at exclude each other")
	case index != "":
		n, err := strconv.ParseUint(index, 10, 63)
		if err != nil {
			return nil, fmt.Errorf("index=%q is not an index of the log", index)
		}
		return func(ctx context.Context) (view.Moment, error) { return h.c.Past.At(ctx, cluster.Index(n)) }, nil
	case at != "":
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return nil, fmt.Errorf("at=%q is not a time such as 2026-11-22T14:02:00Z", at)
		}
		return func(ctx context.Context) (view.Moment, error) { return h.c.Past.AsOf(ctx, t.UnixMilli()) }, nil
	}
	return func(ctx context.Context) (view.Moment, error) { return h.c.Past.AsOf(ctx, 1<<63-1) }, nil
}

func (h *handler) historyDiff(w http.ResponseWriter, r *http.Request) {
	from, bad := strconv.ParseUint(r.URL.Query().Get("from"), 10, 63)
	to, worse := strconv.ParseUint(r.URL.Query().Get("to"), 10, 63)
	if bad != nil || worse != nil || from > to {
		fail(w, http.StatusBadRequest, "from and to are two indexes of the log, the lower one first")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), replayWithin)
	defer cancel()
	d, err := h.c.Past.Diff(ctx, cluster.Index(from), cluster.Index(to))
	if err != nil {
		failPast(w, err)
		return
	}
	answer(w, d)
}

// failPast separates what the log does not hold from a store that does not answer.
func failPast(w http.ResponseWriter, err error) {
	var out *view.OutOfLogError
	if errors.As(err, &out) || errors.Is(err, view.ErrEmpty) {
		fail(w, http.StatusNotFound, err.Error())
		return
	}
	fail(w, http.StatusServiceUnavailable, err.Error())
}

// looks is the value as streams see it: one look serves all of them for a while. Where the store hangs streams alone
// wait.
type looks struct {
	mu    sync.Mutex
	at    time.Time
	value cluster.Value
}

// now is the value, at most so old.
func (l *looks) now(look func() cluster.Value, old time.Duration) cluster.Value {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) >= old {
		l.value, l.at = look(), time.Now()
	}
	return l.value
}

// recent keeps some values by their index. The zero value is ready.
type recent struct {
	mu     sync.Mutex
	values []cluster.Value // oldest first
}

func (r *recent) keep(v cluster.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.values); n > 0 && r.values[n-1].Index() >= v.Index() {
		return
	}
	r.values = append(r.values, v)
	if len(r.values) > maxRecent {
		r.values = append([]cluster.Value(nil), r.values[1:]...)
	}
}

// find is the value of an event's identifier.
func (r *recent) find(id string) (cluster.Value, bool) {
	index, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return cluster.Value{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.values {
		if uint64(v.Index()) == index {
			return v, true
		}
	}
	return cluster.Value{}, false
}
