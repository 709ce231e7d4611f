package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/tasks"
)

// receiver takes batches. It is away for the first requests, and refuses what has the word "bad".
type receiver struct {
	mu     sync.Mutex
	away   int
	keys   map[string]bool
	taken  []string
	faults []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	key := req.Header.Get("Idempotency-Key")
	if err != nil || req.Method != http.MethodPost || key == "" || req.Header.Get("X-Who") != "me" {
		r.faults = append(r.faults, fmt.Sprint(req.Method, req.Header, err))
	}
	if r.away++; r.away <= 3 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if strings.Contains(string(body), "bad") {
		http.Error(w, "I take nothing bad", http.StatusUnprocessableEntity)
		return
	}
	var in []string
	if err := json.Unmarshal(body, &in); err != nil {
		r.faults = append(r.faults, err.Error())
	}
	if !r.keys[key] { // as the header means: a request that is sent again counts once
		r.keys[key] = true
		r.taken = append(r.taken, in...)
	}
}

// A server that is away gets every segment when it is back; what it refuses is a dead letter, and the others go on.
func TestPostsSegments(t *testing.T) {
	t.Parallel()
	r := &receiver{keys: map[string]bool{}}
	server := httptest.NewServer(r)
	defer server.Close()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\nbad\nfour\n"), 0o600))
	var types []rota.Type
	for _, typ := range tasks.Builtin(tasks.Options{TailAllow: []string{dir}}) {
		types = append(types, typ)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // only a failure waits for it
	defer cancel()
	store := memory.New().Open()
	m, err := rota.Join(ctx, rota.Config{Member: "m", Store: store, Slots: 2, Types: types})
	must.Succeed(t, err)
	defer m.Leave(ctx)
	job := fmt.Sprintf(`id: post
tasks:
- {name: read, type: files.lines, config: {paths: [%q]}}
- {name: send, type: http.post, from: read, config: {url: %q, headers: {X-Who: me}, allow: [127.0.0.0/8]}}
`, filepath.Join(dir, "*.txt"), server.URL)
	must.Succeed(t, must.Err(m.SubmitFile(ctx, "post.yaml", []byte(job))))
	must.Succeed(t, m.Wait(ctx, "post"))
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := strings.Join(r.taken, " "); got != "one two four" || len(r.faults) > 0 {
		t.Errorf("the server has %q, faults %q", got, r.faults)
	}
	if r.away <= 3 {
		t.Errorf("the server got %d requests", r.away)
	}
}

// What is wrong with the config is said at submission, with its place.
func TestBadPosts(t *testing.T) {
	t.Parallel()
	table := tasks.Builtin(tasks.Options{})
	for config, want := range map[string]string{
		"{}":                                    "config.url: missing",
		"{url: ftp://example.org/}":             `the scheme is "ftp"`,
		"{url: 'http://127.0.0.1/'}":            "it is loopback",
		"{url: 'https://a.org/', timeout: -1s}": "config.timeout",
		"{url: 'https://a.org/', headers: {Content-Length: '1'}}": "the client sets this header itself",
	} {
		job := "tasks:\n- {name: read, type: noop}\n- {name: x, type: http.post, from: read, config: " + config + "}\n"
		_, _, err := source.ParseJob("job.yaml", []byte(job), table, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", config, err, want)
		}
	}
}
