package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
)

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
