package api

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/rota-run/rota/internal/view"
)

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
