package api

import (
	"fmt"
	"iter"
	"net/http"
	"strconv"
)

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

// list answers with a page of what is sorted by name. It goes through all twice, to know the end of the page before the first byte is sent, and
// holds no part of the list.
func list[E, S any](h *handler, w http.ResponseWriter, r *http.Request, all iter.Seq[E], name func(E) string, show func(E) S) {
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
