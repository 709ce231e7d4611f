package api

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
)

// Fault is the body of an answer that is an error.
type Fault struct {
	Error string `json:"error"`
}

func fail(w http.ResponseWriter, code int, message string) { write(w, code, Fault{message}) }

func answer(w http.ResponseWriter, v any) { write(w, http.StatusOK, v) }

func write(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		code, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(b, '\n')) // the client may have gone; nobody is left to tell
}

func text(w http.ResponseWriter, code int, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(s))
}

// maxTurns is how many answers are encoded at a time: a flood of requests must not take the processor from the member's
// own work.
const maxTurns = 2

// chunk is how much of a list is encoded before it is sent.
const chunk = 16 << 10

// stream sends a list element by element. It encodes only while it has one of the handler's turns, and sends without: a
// slow reader keeps neither the list nor a turn.
func stream[E any](h *handler, w http.ResponseWriter, r *http.Request, items iter.Seq[E]) {
	w.Header().Set("Content-Type", "application/json")
	buf := []byte{'['}
	if !h.take(r) {
		return
	}
	first := true
	for item := range items {
		b, err := json.Marshal(item)
		if err != nil {
			<-h.turns
			panic(http.ErrAbortHandler) // the list must not look complete
		}
		if !first {
			buf = append(buf, ',')
		}
		first, buf = false, append(buf, b...)
		if len(buf) < chunk {
			continue
		}
		<-h.turns
		if _, err := w.Write(buf); err != nil || !h.take(r) {
			return
		}
		buf = buf[:0]
	}
	<-h.turns
	_, _ = w.Write(append(buf, ']', '\n')) // the client may have gone
}

// take waits for a turn, unless the client goes away.
func (h *handler) take(r *http.Request) bool {
	select {
	case h.turns <- struct{}{}:
		return true
	case <-r.Context().Done():
		return false
	}
}

// The number of elements in an answer that is a list.
const (
	usualPage = 1_000
	maxPage   = 10_000
)

// cursor is the part of a list that a request asks for: the first limit elements after a name.
type cursor struct {
	after string
	limit int
}

// cursorOf reads ?after=…&limit=….
func cursorOf(r *http.Request) (cursor, error) {
	v := r.URL.Query()
	c := cursor{after: v.Get("after"), limit: usualPage}
	if s := v.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxPage {
			return c, fmt.Errorf("limit=%q is not a number from 1 to %d", s, maxPage)
		}
		c.limit = n
	}
	return c, nil
}

// say writes the limit into the header of the answer, and the address of the next page if there is one.
func (c cursor) say(w http.ResponseWriter, r *http.Request, last string, more bool) {
	w.Header().Set("Rota-Limit", strconv.Itoa(c.limit))
	if !more {
		return
	}
	next := r.URL.Query()
	next.Set("after", last)
	next.Set("limit", strconv.Itoa(c.limit))
	w.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.EscapedPath(), next.Encode()))
}

// list answers with a page of what is sorted by name. It goes through all twice, to know the end of the page before the
// first byte is sent, and holds no part of the list.
func list[E, S any](h *handler, w http.ResponseWriter, r *http.Request, all iter.Seq[E], name func(E) string,
	show func(E) S) {
	c, err := cursorOf(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if !h.take(r) {
		return
	}
	last, more := pageEnd(all, name, c)
	<-h.turns
	c.say(w, r, last, more)
	stream(h, w, r, func(yield func(S) bool) {
		for e := range all {
			switch id := name(e); {
			case id <= c.after:
			case id > last || !yield(show(e)):
				return
			}
		}
	})
}

// pageEnd is the last name of a page, and whether a name follows it.
func pageEnd[E any](all iter.Seq[E], name func(E) string, c cursor) (last string, more bool) {
	n := 0
	for e := range all {
		id := name(e)
		if id <= c.after {
			continue
		}
		if n == c.limit {
			return last, true
		}
		last, n = id, n+1
	}
	return last, false
}
