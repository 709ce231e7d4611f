package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// TestAsked plays testdata/asked.txt: whom is asked, the method, the path, headers NAME=VALUE ("_" is a space) and
// body=TEXT, and behind "=>" the status and what the answer says.
func TestAsked(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("testdata/asked.txt"))(t)
	all := askable(t)
	_, rows, _ := strings.Cut(string(text), "\n\n")
	for row := range strings.Lines(rows) {
		if row = strings.TrimSpace(row); row == "" || row[0] == '#' {
			continue
		}
		question, said := stories.Cut(row, "$LONG", strings.Repeat("x", 1<<20+1), "$MANY", strings.Repeat("1s", 5000),
			"$NULS", strings.Repeat("%00", 3000))
		w := strings.Fields(question)
		r := request(all[w[0]], w[1], w[2], func(r *http.Request) {
			for _, more := range w[3:] {
				switch name, value, _ := strings.Cut(more, "="); name {
				case "body":
					r.Body = io.NopCloser(strings.NewReader(value))
				case "Host":
					r.Host = value
				default:
					r.Header.Set(name, strings.ReplaceAll(value, "_", " "))
				}
			}
		})
		if h := r.Header; (h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff") &&
			!strings.HasPrefix(w[2], "/healthz") {
			t.Errorf("%.200s: %v", row, h)
		}
		if got := fmt.Sprint(r.StatusCode, " ", body(t, r)); !said.In(got) {
			t.Errorf("%.200s\ngot %.500s", row, got)
		}
	}
}

// askable are those who are asked.
func askable(t *testing.T) map[string]api.Config {
	t.Helper()
	nobody := func() cluster.Value { return cluster.Value{} }
	closed := config(t)
	closed.Token = "secret"
	past := newLog(t, 2, 1000, 2000, 3400, 4000)
	docs := memory.New().Open()
	t.Cleanup(func() { docs.Close() })
	refuses := &acting{answer: cluster.Result{Reason: "there is no such job"}}
	hangs := &acting{err: context.DeadlineExceeded}
	return map[string]api.Config{
		"open":    config(t),
		"closed":  closed,
		"empty":   {Value: nobody},
		"past":    {Value: func() cluster.Value { return past.values[4] }, Past: &view.Past{Historian: past}},
		"logless": {Value: nobody, Store: "file:x", Protocol: "lease"},
		"placed": {Value: nobody, Member: "a", Store: "file:x", Place: "the_place",
			Local: func() any { return nobody }},
		"journal": {Value: nobody, Journal: journal.NewMemory(1)},
		"calls":   {Value: nobody, Lookout: view.NewLookout(docs, protocol.Now)},
		"acts":    refuses.config(t),
		"hangs":   hangs.config(t),
	}
}
