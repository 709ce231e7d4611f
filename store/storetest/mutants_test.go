//go:build proof

package storetest_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

// A suite is worth its name if a store that breaks one rule fails it, by the rule's name. A failing suite fails its test, so
// each broken store runs in a process of its own; this variable names it.
const mutantVariable = "ROTA_STORETEST_MUTANT"

// mutant is a store that breaks a rule: hooks replace what memory does.
type mutant struct {
	*memory.Store
	shared *shared
	broken string
}

// shared is what all handles of a broken store share.
type shared struct {
	mu       sync.Mutex
	versions map[string]int
}

// mutants maps what is broken to the rules of which at least the first must fail.
var mutants = map[string]string{
	"create overwrites":         "create_wins_once",
	"stale write taken":         "stale_write_refused",
	"version from count":        "version_never_comes_back",
	"delete ignores version":    "delete",
	"get of deleted is empty":   "not_found",
	"list unsorted":             "list",
	"list ignores prefix":       "list",
	"refresh does nothing":      "refreshed_list",
	"cancelled put is done":     "cancelled_before_the_call",
	"reads stale":               "linearizable",
	"closed get answers":        "closed",
	"append lost":               "concurrent_appenders",
	"append twice":              "concurrent_appenders",
	"limit ignored":             "paging",
	"head behind":               "read_your_appends",
	"older snapshot taken":      "snapshot",
	"trim beyond snapshot":      "trim_never_beyond_the_snapshot",
	"truncation silent":         "trim",
	"append keeps the slice":    "caller_keeps_its_bytes",
	"no first hint":             "one_hint_from_the_start",
	"watch never ends":          "ends_with_its_ctx",
	"session documents stay":    "documents_go_with_their_session",
	"ended session writes":      "ended",
	"session put unconditional": "writes_are_conditional",
	"put does not renew":        "an_acknowledged_put_renews",
	"gets leaves out":           "round_trip",
	"gets backwards":            "in_their_order",
	"gets stale":                "linearizable",
}

func TestSuitesFindBrokenStores(t *testing.T) {
	t.Parallel()
	if os.Getenv(mutantVariable) != "" {
		t.Skip("this is the process of a broken store")
	}
	all := queueMutants()
	maps.Copy(all, mutants)
	for broken, rule := range all {
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run", "^TestMutant$", "-test.v")
			cmd.Env = append(os.Environ(), mutantVariable+"="+broken)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("the suites pass a store with %q", broken)
			}
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "--- FAIL: TestMutant/") && strings.Contains(line, "/"+rule+" ") {
					return
				}
			}
			t.Fatalf("the rule %q does not fail on a store with %q:\n%s", rule, broken, out)
		})
	}
}

// TestMutant runs all suites on one broken store, in the process that was started for it.
func TestMutant(t *testing.T) {
	broken := os.Getenv(mutantVariable)
	if broken == "" {
		t.Skip("runs in the processes that TestSuitesFindBrokenStores starts")
	}
	open := func(*testing.T) func(t *testing.T) *mutant {
		server, all := memory.New(), &shared{versions: map[string]int{}}
		return func(*testing.T) *mutant { return &mutant{Store: server.Open(), shared: all, broken: broken} }
	}
	storetest.SetPatience(2 * time.Second)
	t.Run("docs", func(t *testing.T) { storetest.Docs(t, open) })
	t.Run("getmany", func(t *testing.T) { storetest.GetMany(t, open) })
	t.Run("log", func(t *testing.T) { storetest.Log(t, open) })
	t.Run("watch", func(t *testing.T) { storetest.Watch(t, open) })
	t.Run("sessions", func(t *testing.T) { storetest.Sessions(t, open) })
	t.Run("queue", func(t *testing.T) { storetest.Queue(t, open) })
	t.Run("queue joins", func(t *testing.T) { storetest.QueueJoins(t, open) })
}

func (m *mutant) Get(ctx context.Context, key string) (store.Doc, error) {
	d, err := m.Store.Get(ctx, key)
	switch {
	case m.broken == "get of deleted is empty" && ctx.Err() == nil && err != nil:
		return store.Doc{Key: key}, nil //nolint:nilerr // this is what is broken
	case m.broken == "closed get answers" && ctx.Err() == nil && err != nil:
		return store.Doc{}, store.ErrNotFound
	case m.broken == "reads stale" && err == nil && m.count("reads")%5 == 4:
		return store.Doc{}, store.ErrNotFound
	}
	return d, err
}

func (m *mutant) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	docs, err := m.Store.Gets(ctx, keys)
	switch {
	case err != nil:
	case m.broken == "gets leaves out":
		docs = slices.DeleteFunc(docs, func(d store.Doc) bool { return d.Version == "" })
	case m.broken == "gets backwards":
		for i := len(keys) - 1; i >= 0; i-- {
			time.Sleep(time.Millisecond) // waits: what is broken takes its time
			d, _ := m.Store.Get(ctx, keys[i])
			docs[i] = store.Doc{Key: keys[i], Value: d.Value, Version: d.Version}
		}
	case m.broken == "gets stale" && m.count("gets")%5 == 4:
		for i, key := range keys {
			docs[i] = store.Doc{Key: key}
		}
	}
	return docs, err
}

func (m *mutant) count(what string) int {
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	m.shared.versions[what]++
	return m.shared.versions[what]
}

func (m *mutant) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	current, _ := m.Store.Get(context.Background(), d.Key)
	switch {
	case m.broken == "create overwrites" && d.Version == "", m.broken == "stale write taken" && d.Version != "" && current.Version != "":
		d.Version = current.Version
	case m.broken == "cancelled put is done":
		ctx = context.WithoutCancel(ctx)
	}
	if m.broken != "version from count" {
		return m.Store.Put(ctx, d)
	}
	if current.Version != "" && d.Version == "2" {
		d.Version = current.Version
	}
	_, err := m.Store.Put(ctx, d)
	return "2", err
}

func (m *mutant) Delete(ctx context.Context, key string, v store.Version) error {
	if current, err := m.Store.Get(ctx, key); err == nil && (m.broken == "delete ignores version" || m.broken == "version from count") {
		v = current.Version
	}
	return m.Store.Delete(ctx, key, v)
}

func (m *mutant) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	if m.broken == "list ignores prefix" && prefix == "b/" {
		prefix = ""
	}
	docs, err := m.Store.List(ctx, prefix)
	switch {
	case m.broken == "list unsorted":
		slices.Reverse(docs)
	case m.broken == "refresh does nothing" && prefix == "fresh/" && len(docs) > 3:
		docs = docs[:3]
	}
	return docs, err
}

// Refresh has nothing to do: the lists of memory are never stale.
func (m *mutant) Refresh(context.Context) error { return nil }

func (m *mutant) Append(ctx context.Context, data []byte) (uint64, error) {
	n := m.count("appends")
	switch {
	case m.broken == "append lost" && n%20 == 19:
		page, err := m.Store.Read(ctx, 0, 1)
		return page.Head + 1, err
	case m.broken == "append twice" && n%20 == 19:
		if _, err := m.Store.Append(ctx, data); err != nil {
			return 0, err
		}
	}
	return m.Store.Append(ctx, data)
}

func (m *mutant) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if m.broken == "limit ignored" && limit > 0 {
		limit = 1000
	}
	page, err := m.Store.Read(ctx, after, limit)
	switch {
	case m.broken == "head behind" && len(page.Records) == 1:
		return store.Page{Head: after}, err
	case m.broken == "append keeps the slice" && len(page.Records) == 1 && string(page.Records[0].Data) == "mine":
		page.Records[0].Data = []byte("XXXX")
	case m.broken == "truncation silent" && err != nil && limit > 0 && ctx.Err() == nil:
		return store.Page{}, nil
	}
	return page, err
}

func (m *mutant) SaveSnapshot(ctx context.Context, s store.Record) error {
	if m.broken == "older snapshot taken" && string(s.Data) == "older" {
		s.Index += 2
	}
	return m.Store.SaveSnapshot(ctx, s)
}

func (m *mutant) Trim(ctx context.Context, index uint64) error {
	if page, err := m.Store.Read(ctx, 0, 10); m.broken == "trim beyond snapshot" && err == nil && page.Head > 0 {
		if err := m.Store.SaveSnapshot(ctx, store.Record{Index: min(index, page.Head)}); err != nil {
			return err
		}
	}
	return m.Store.Trim(ctx, index)
}

func (m *mutant) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if m.broken == "watch never ends" && ctx.Err() == nil {
		ctx = context.WithoutCancel(ctx)
	}
	hints, err := m.Store.Watch(ctx, prefix)
	if m.broken == "no first hint" && err == nil {
		<-hints
	}
	return hints, err
}

func (m *mutant) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	s, err := m.Store.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	if m.broken == "put does not renew" && ttl < 10*time.Second {
		time.AfterFunc(ttl*3/2, func() { _ = s.Close(context.Background()) }) // half of the ttl after the second put
	}
	return &brokenSession{Session: s, store: m}, nil
}

// SessionsExpire implements store.Sessions.
func (m *mutant) SessionsExpire() bool { return m.broken == "put does not renew" }

type brokenSession struct {
	store.Session
	store *mutant
}

func (s *brokenSession) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	switch s.store.broken {
	case "session documents stay", "ended session writes":
		if _, err := s.Session.Put(ctx, d); err == nil {
			current, _ := s.store.Store.Get(ctx, d.Key)
			d.Version = current.Version
		}
		if s.store.broken == "session documents stay" || closed(s.Done()) {
			return s.store.Store.Put(ctx, d)
		}
		current, err := s.store.Store.Get(ctx, d.Key)
		return current.Version, err
	case "session put unconditional":
		current, _ := s.store.Store.Get(ctx, d.Key)
		d.Version = current.Version
	}
	return s.Session.Put(ctx, d)
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
