package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestLogInTheAPI shows the newest entries, or pages of those that follow an index.
func TestLogInTheAPI(t *testing.T) {
	t.Parallel()
	l := newLog(t, 2, 1000, 2000, 3000, 4000, 5000)
	c := api.Config{Value: func() cluster.Value { return l.values[5] }, Past: &view.Past{Historian: l}}
	for query, want := range map[string]string{
		"": "[3 4 5]", "?limit=2": "[4 5]", "?after=0&limit=1": "[3 4 5]", "?after=3&limit=1": "[4 5]",
		"?after=3&limit=2": "[4 5]", "?after=9": "[]",
	} { // order-free: each by itself
		if got, _ := follow(t, api.Handler(c), "/v1/log"+query, "index", func() {}); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	said := body(t, request(c, "GET", "/v1/log?limit=1", nil))
	for _, want := range []string{`"writer":"w"`, `"at_ms":5000`, `"said":"submit-job j5`, `"accepted":`} {
		if !strings.Contains(said, want) {
			t.Errorf("%s has no %s", said, want)
		}
	}
}

// TestCallsInTheAPI pages through calls, of a state where it is asked for, shows no argument, and counts what cannot be
// read.
func TestCallsInTheAPI(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	client, err := call.NewClient(docs, call.ClientOptions{Queue: "importer"})
	must.Succeed(t, err)
	defer client.Close()
	var ids []string
	for i := range 3 {
		h, err := client.Submit(t.Context(), "resize", []byte(`{"password":"hidden"}`),
			call.Options{Key: fmt.Sprint(i)})
		must.Succeed(t, err)
		ids = append(ids, h.ID())
	}
	c := api.Config{Value: func() cluster.Value { return cluster.Value{} },
		Lookout: view.NewLookout(docs, protocol.Now)}
	for query, want := range map[string]string{"limit=2": fmt.Sprint(ids), "limit=1&state=queued": fmt.Sprint(ids),
		"state=running": "[]"} { // order-free: each by itself
		if got, _ := follow(t, api.Handler(c), "/v1/calls?"+query, "call", func() {}); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	at, _, _ := strings.Cut(ids[0], "/")
	page := strings.Split(ids[0], "/")[1]
	_, err = docs.Put(t.Context(), store.Doc{Key: "call/" + at + "/" + page + "/zzz", Value: []byte("{")})
	must.Succeed(t, err)
	r := request(c, "GET", "/v1/calls", nil)
	if r.Header.Get("Rota-Unreadable") != "1" {
		t.Errorf("one cannot be read, and it says %q", r.Header.Get("Rota-Unreadable"))
	}
	if got := body(t, r); strings.Contains(got, "hidden") || !strings.Contains(got, `"f":"resize"`) {
		t.Errorf("it shows %s", got)
	}
}
