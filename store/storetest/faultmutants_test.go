//go:build proof

package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/storetest"
)

// faultMutants maps what a driver does wrong to the rule that must fail.
var faultMutants = map[string]string{
	"unknown said not done":         "docs/cut in the middle",
	"writes again":                  "docs/cut in the middle",
	"lost is done":                  "docs/cut in the middle",
	"deaf":                          "docs/works again",
	"cause swallowed":               "docs/works again",
	"empty when away":               "docs/works again",
	"reads unknown":                 "docs/works again",
	"dead after a cut":              "docs/works again",
	"stale after a cut":             "docs/linearizable",
	"append said not done":          "log/cut in the middle",
	"appends again":                 "log/cut in the middle",
	"append lost is done":           "log/cut in the middle",
	"log dead after a cut":          "log/works again",
	"snapshot torn":                 "log/snapshot cut in the middle",
	"page lost after a cut":         "log/linearizable",
	"watch dies":                    "watch/hint after the link was cut",
	"session put said not done":     "sessions/cut in the middle",
	"owner learns from the server":  "sessions/expires while cut off",
	"session documents outlive it":  "sessions/expires while half open",
	"ended session tries":           "sessions/expires while cut off",
	"close says done":               "sessions/close while half open",
	"session ends with its network": "sessions/survives a reset",
	"never sent is unknown":         "never sent",
	"kept for the next connection":  "never sent",
	"empty log is a new one":        "crashes/emptied",
	"versions begin anew":           "crashes/emptied",
	"crash loses documents":         "crashes/kept",
	"crash loses records":           "crashes/kept",
}

// TestFaultsOfASoundDriver runs the suites over a driver that keeps all rules.
func TestFaultsOfASoundDriver(t *testing.T) {
	t.Parallel()
	storetest.Faults(t, openRemote(""))
}

// TestCrashesOfASoundServer runs the rules over a server that loses nothing when it is killed.
func TestCrashesOfASoundServer(t *testing.T) {
	t.Parallel()
	storetest.Crashes(t, openRemote(""))
}

// hidden is an error of another kind with the text of err, that wraps nothing of it.
func hidden(kind error, err error) error { return fmt.Errorf("%w (%v)", kind, err) } //nolint:errorlint // that it is not wrapped is what is broken

func (r *remote) wasCut() bool {
	_, cuts, _ := r.link.is()
	return cuts > 0
}

func (r *remote) put(ctx context.Context, d store.Doc,
	put func(context.Context, store.Doc) (store.Version, error)) (store.Version, error) {
	if r.broken == "deaf" {
		ctx = context.WithoutCancel(ctx)
	}
	v, err := put(ctx, d)
	if r.broken == "versions begin anew" && d.Key == "e" && err == nil {
		return "1", nil
	}
	if !errors.Is(err, store.ErrUnknown) {
		return v, err
	}
	switch r.broken {
	case "unknown said not done", "session put said not done":
		return "", hidden(store.ErrUnavailable, err)
	case "cause swallowed":
		return "", hidden(store.ErrUnknown, err)
	case "writes again":
		return put(ctx, d)
	case "lost is done":
		return "made-up", nil
	}
	return v, err
}

// Put implements store.Docs.
func (r *remote) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return r.put(ctx, d, r.Faulty.Put)
}

// Get implements store.Docs.
func (r *remote) Get(ctx context.Context, key string) (store.Doc, error) {
	if r.broken == "dead after a cut" && r.wasCut() {
		return store.Doc{}, store.ErrUnavailable
	}
	d, err := r.Faulty.Get(ctx, key)
	switch {
	case r.broken == "empty when away" && errors.Is(err, store.ErrUnavailable):
		return store.Doc{}, store.ErrNotFound
	case r.broken == "reads unknown" && errors.Is(err, store.ErrUnavailable):
		return store.Doc{}, hidden(store.ErrUnknown, err)
	case r.broken == "stale after a cut" && err == nil:
		if old, ok := r.cached.Load(key); ok && r.wasCut() {
			return old.(store.Doc), nil
		}
		r.cached.Store(key, d)
	}
	return d, err
}

// Delete implements store.Docs.
func (r *remote) Delete(ctx context.Context, key string, v store.Version) error {
	if r.broken == "versions begin anew" {
		d, _ := r.server.Get(ctx, key)
		v = d.Version
	}
	return r.Faulty.Delete(ctx, key, v)
}

// Append implements store.Log.
func (r *remote) Append(ctx context.Context, data []byte) (uint64, error) {
	index, err := r.Faulty.Append(ctx, data)
	switch {
	case r.broken == "never sent is unknown" && errors.Is(err, store.ErrUnavailable):
		return 0, hidden(store.ErrUnknown, err)
	case r.broken == "kept for the next connection" && errors.Is(err, store.ErrUnavailable):
		_, _ = r.server.Append(context.Background(), data) // as good as later
	}
	if !errors.Is(err, store.ErrUnknown) {
		return index, err
	}
	switch r.broken {
	case "append said not done":
		return 0, hidden(store.ErrUnavailable, err)
	case "appends again":
		return r.Faulty.Append(ctx, data)
	case "append lost is done":
		page, err := r.server.Read(context.Background(), 0, 1)
		return page.Head, err
	}
	return index, err
}

// Read implements store.Log.
func (r *remote) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if r.broken == "log dead after a cut" && r.wasCut() {
		return store.Page{}, store.ErrUnavailable
	}
	page, err := r.Faulty.Read(ctx, after, limit)
	if r.broken == "empty log is a new one" && err == nil && len(page.Records) == 0 {
		page.Head = 0
	}
	if r.broken == "page lost after a cut" && r.wasCut() && len(page.Records) > 1 {
		page.Records = page.Records[1:]
	}
	return page, err
}

// SaveSnapshot implements store.Log.
func (r *remote) SaveSnapshot(ctx context.Context, s store.Record) error {
	err := r.Faulty.SaveSnapshot(ctx, s)
	if r.broken == "snapshot torn" && errors.Is(err, store.ErrUnknown) {
		s.Data = s.Data[:len(s.Data)/2]
		_ = r.server.SaveSnapshot(context.Background(), s)
	}
	return err
}

// A failing suite fails its test, so each broken driver runs in a process of its own; this variable names it.
const mutantVariable = "ROTA_STORETEST_MUTANT"

// TestSuitesFindWhatIsBroken runs the rule of each driver that is broken where its network is. What else may be broken
// about a store is in testdata/flaws.txt.
func TestSuitesFindWhatIsBroken(t *testing.T) {
	t.Parallel()
	for broken, rule := range faultMutants { // order-free: each is a process of its own
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			rule := strings.ReplaceAll("faults/"+rule, " ", "_")
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

// TestMutant runs the suites of faults on one broken driver, in the process that was started for it.
func TestMutant(t *testing.T) {
	broken := os.Getenv(mutantVariable)
	if broken == "" {
		t.Skip("runs in the processes that TestSuitesFindWhatIsBroken starts")
	}
	storetest.SetPatience(2 * time.Second)
	storetest.SetStormTime(2 * time.Second)
	storetest.SetGrace(150 * time.Millisecond)
	t.Run("faults", func(t *testing.T) {
		storetest.Faults(t, openRemote(broken))
		t.Run("crashes", func(t *testing.T) { storetest.Crashes(t, openRemote(broken)) })
	})
}
