package tasks_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/tasks"
)

// receiver takes batches. It is away for the first requests, refuses what has the word "bad", and is elsewhere for
// "moved".
type receiver struct {
	mu     sync.Mutex
	away   []int // what it answers at first: each says that a request may succeed later
	came   []time.Time
	first  string // the key of the first request
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
	r.came = append(r.came, time.Now())
	if n := len(r.came); n <= len(r.away) {
		if r.first = cmp.Or(r.first, key); key != r.first {
			r.faults = append(r.faults, "a batch that is sent again has another key")
		}
		w.WriteHeader(r.away[n-1])
		return
	}
	if strings.Contains(string(body), "moved") {
		http.Redirect(w, req, "/elsewhere", http.StatusSeeOther)
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

// take runs a flow that posts lines to the receiver, until it has ended.
func (r *receiver) take(t *testing.T, text, who string, log io.Writer) {
	t.Helper()
	r.keys = map[string]bool{}
	server := httptest.NewServer(r)
	defer server.Close()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text), 0o600))
	var types []rota.Type
	for _, typ := range tasks.Builtin(tasks.Options{TailAllow: []string{dir}}) {
		types = append(types, typ)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // only a failure waits for it
	defer cancel()
	m, err := rota.Join(ctx, rota.Config{
		Member: "m", Store: memory.New().Open(), Slots: 2, Types: types,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	must.Succeed(t, err)
	defer m.Leave(ctx)
	job := fmt.Sprintf(`id: post
tasks:
- {name: read, type: files.lines, config: {paths: [%q]}}
- {name: send, type: http.post, from: read, config: {url: %q, headers: {X-Who: %q}, allow: [127.0.0.0/8]}}
`, filepath.Join(dir, "*.txt"), server.URL, who)
	must.Succeed(t, must.Err(m.SubmitFile(ctx, "post.yaml", []byte(job))))
	must.Succeed(t, m.Wait(ctx, "post"))
	server.Close() // what it has is ours now
}

// A server that is away gets every segment when it is back; what it refuses is a dead letter, and the others go on.
func TestPostsSegments(t *testing.T) {
	t.Parallel()
	r := &receiver{away: []int{
		http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusBadGateway,
	}}
	r.take(t, "one\ntwo\nbad\n four \nmoved\n", "me", io.Discard)
	if got := strings.Join(r.taken, " "); got != "one two  four " || len(r.faults) > 0 {
		t.Errorf("the server has %q, faults %q", got, r.faults)
	}
	pause := 100 * time.Millisecond
	for n := range r.away {
		if got := r.came[n+1].Sub(r.came[n]); got < pause {
			t.Errorf("request %d was sent again after %v, want at least %v", n+1, got, pause)
		}
		pause *= 2
	}
}

// secret is a file that appears when somebody has told for the fourth time that it is missing.
type secret struct {
	path string
	told atomic.Int64
}

func (s *secret) Write(log []byte) (int, error) {
	if strings.Contains(string(log), "read secret file:"+s.path) && s.told.Add(1) == 4 {
		return len(log), os.WriteFile(s.path, []byte("me"), 0o600)
	}
	return len(log), nil
}

// A secret that cannot be read is waited for, longer than a batch that fails has attempts.
func TestPostWaitsForASecret(t *testing.T) {
	t.Parallel()
	r, who := &receiver{}, &secret{path: filepath.Join(t.TempDir(), "who")}
	r.take(t, "one\n", "file:"+who.path, who)
	if got := strings.Join(r.taken, " "); got != "one" || len(r.faults) > 0 {
		t.Errorf("the server has %q, faults %q", got, r.faults)
	}
}
