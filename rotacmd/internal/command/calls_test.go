package command

import (
	"testing"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/internal/proof/must"
)

// TestListOfCalls: what was submitted and is not collected is listed.
func TestListOfCalls(t *testing.T) {
	w := newWritten(t, nil)
	w.shows("function list", exitOK, "no calls")
	c, err := call.NewClient(w.st, call.ClientOptions{Queue: "importer"})
	must.Succeed(t, err)
	defer c.Close()
	for range 2 {
		must.Succeed(t, must.Err(c.Submit(t.Context(), "resize", []byte(`{"file":"a.png"}`), call.Options{Key: "a.png"})))
	}
	h, err := c.Submit(t.Context(), "shrink", nil, call.Options{})
	must.Succeed(t, err)
	w.shows("function list", exitOK, "CALL", "importer/", "resize", "shrink", "queued", h.ID())
	w.shows("function list --state running", exitOK, "no calls")
	w.shows("function list --state runing", exitUsage, "try: --state running") //nolint:misspell // what is tried
	w.shows("function list -o json", exitOK, `"queue":"importer"`, `"state":"queued"`)
}
