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

// A suite is worth its name if a store that breaks one rule fails it, by the rule's name. A failing suite fails its
// test, so each broken store runs in a process of its own; this variable names it.
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

// mutants maps what is broken about a store to the rule that must fail.
var mutants = map[string]string{
	"create overwrites":         "docs/stale changes refused",
	"stale write taken":         "docs/stale changes refused",
	"version from count":        "docs/version never comes back",
	"delete ignores version":    "docs/stale changes refused",
	"get of deleted is empty":   "docs/stale changes refused",
	"list unsorted":             "docs/list",
	"list ignores prefix":       "docs/list",
	"refresh does nothing":      "docs/refreshed list",
	"cancelled put is done":     "docs/cancelled before the call",
	"reads stale":               "docs/linearizable",
	"closed get answers":        "docs/closed",
	"append lost":               "log/linearizable",
	"append twice":              "log/linearizable",
	"limit ignored":             "log/paging",
	"head behind":               "log/linearizable",
	"older snapshot taken":      "log/snapshot",
	"trim beyond snapshot":      "log/trim never beyond the snapshot",
	"truncation silent":         "log/trim",
	"append keeps the slice":    "log/caller keeps its bytes",
	"no first hint":             "watch/one hint from the start",
	"watch never ends":          "watch/ends with its ctx",
	"session documents stay":    "sessions/documents go with their session",
	"ended session writes":      "sessions/documents go with their session",
	"session put unconditional": "sessions/writes are conditional",
	"put does not renew":        "sessions/an acknowledged put renews",
	"gets leaves out":           "getmany/round trip",
	"gets backwards":            "getmany/in their order",
	"gets stale":                "getmany/in their order",
}

// TestSuitesFindWhatIsBroken runs the rule of each broken store, and of each driver that is broken where its network
// is. That the rules of queues find what is broken is shown by the flaws of store/internal/logqueue.
func TestSuitesFindWhatIsBroken(t *testing.T) {
	t.Parallel()
	all := maps.Clone(mutants)
	for broken, rule := range faultMutants {
		all[broken] = "faults/" + rule
	}
	if want := len(mutants) + len(faultMutants); len(all) != want {
		t.Errorf("%d mutants have names of their own, of %d", len(all), want)
	}
	for broken, rule := range all { // order-free: each is a process of its own
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			rule := strings.ReplaceAll(rule, " ", "_")
			cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestMutant$/^"+
				strings.ReplaceAll(rule, "/", "$/^")+"$")
			cmd.Env = append(os.Environ(), mutantVariable+"="+broken)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestMutant/"+rule+" ") {
				t.Fatalf("the rule %q does not fail on a store with %q: %v\n%s", rule, broken, err, out)
			}
		})
	}
}

// TestMutant runs all suites on one broken store, in the process that was started for it.
func TestMutant(t *testing.T) {
	broken := os.Getenv(mutantVariable)
	if broken == "" {
		t.Skip("runs in the processes that TestSuitesFindWhatIsBroken starts")
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
	storetest.SetStormTime(2 * time.Second)
	storetest.SetGrace(150 * time.Millisecond)
	t.Run("faults", func(t *testing.T) {
		storetest.Faults(t, openRemote(broken))
		t.Run("crashes", func(t *testing.T) { storetest.Crashes(t, openRemote(broken)) })
	})
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
	case m.broken == "create overwrites" && d.Version == "", m.broken == "stale write taken" && d.Version != "" &&
		current.Version != "":
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
	if current, err := m.Store.Get(ctx, key); err == nil &&
		(m.broken == "delete ignores version" || m.broken == "version from count") {
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
