package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// docs is a store of documents that can be told to answer badly.
type docs struct {
	mu   sync.Mutex
	byID map[string]store.Doc
	n    int
	puts int
	// fault is asked before each put; what it returns is answered, and with write the put happens all the same.
	fault func(put int) (write bool, err error)
	// onDelete is asked before each delete; an error is answered, and nothing is deleted.
	onDelete func(key string) error
	// onGet is asked before each read.
	onGet func() error
	// stale is what lists show in place of what is there, once each; nil for the truth.
	stale []store.Doc
	// hints has one after each put; nil for a store that does not hint.
	hints chan struct{}
}

func (d *docs) locked(f func()) { d.mu.Lock(); defer d.mu.Unlock(); f() }

func newDocs() *docs { return &docs{byID: map[string]store.Doc{}} }

func (d *docs) Get(_ context.Context, key string) (store.Doc, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.onGet != nil {
		if err := d.onGet(); err != nil {
			return store.Doc{}, err
		}
	}
	doc, ok := d.byID[key]
	if !ok {
		return store.Doc{}, store.ErrNotFound
	}
	return doc, nil
}

func (d *docs) Put(_ context.Context, doc store.Doc) (store.Version, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.puts++
	write, fault := true, error(nil)
	if d.fault != nil {
		write, fault = d.fault(d.puts)
	}
	if d.byID[doc.Key].Version != doc.Version {
		return "", store.ErrConflict
	}
	if write {
		d.n++
		doc.Version = store.Version(fmt.Sprint(d.n))
		d.byID[doc.Key] = doc
		select {
		case d.hints <- struct{}{}:
		default:
		}
	}
	return doc.Version, fault
}

func (d *docs) Delete(_ context.Context, key string, v store.Version) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.onDelete != nil {
		if err := d.onDelete(key); err != nil {
			return err
		}
	}
	if d.byID[key].Version != v {
		return store.ErrConflict
	}
	delete(d.byID, key)
	return nil
}

func (d *docs) List(_ context.Context, prefix string) (found []store.Doc, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if found, d.stale = d.stale, nil; found != nil {
		return found, nil
	}
	for _, key := range slices.Sorted(maps.Keys(d.byID)) {
		if strings.HasPrefix(key, prefix) {
			found = append(found, d.byID[key])
		}
	}
	return found, nil
}

// Watch hints of all puts, where a test wants hints.
func (d *docs) Watch(context.Context, string) (<-chan struct{}, error) {
	if d.hints == nil {
		return nil, errors.ErrUnsupported
	}
	return d.hints, nil
}

// positionRun runs f under a grant of p and token on a supervisor with those documents.
func positionRun(t *testing.T, d *docs, p string, token cluster.Token, f func(context.Context, *work.Grant)) {
	t.Helper()
	done := make(chan struct{})
	b := newBed(t, typeOf(false, func(ctx context.Context, g *work.Grant) error {
		defer close(done)
		f(ctx, g)
		return nil
	}), func(c *supervisor.Config) {
		if d != nil {
			c.Positions = d
		}
	})
	b.send(grant(p, token, "x", ""))
	<-done
	if err := b.finish(); err != nil {
		t.Error(err)
	}
}

func save(t *testing.T, d *docs, token cluster.Token, positions ...string) error {
	t.Helper()
	var err error
	positionRun(t, d, "j#k", token, func(ctx context.Context, g *work.Grant) {
		for _, p := range positions {
			err = errors.Join(err, g.SavePosition(ctx, []byte(p)))
		}
	})
	return err
}

func load(t *testing.T, d *docs, token cluster.Token) (string, error) {
	t.Helper()
	var position []byte
	var err error
	positionRun(t, d, "j#k", token, func(ctx context.Context, g *work.Grant) { position, err = g.LoadPosition(ctx) })
	return string(position), err
}

func TestPositionsGoOnAndAreFenced(t *testing.T) {
	t.Parallel()
	d := newDocs()
	if got, err := load(t, d, 1); got != "" || err != nil {
		t.Fatalf("at first: %q, %v", got, err)
	}
	must.Succeed(t, save(t, d, 3, "one", "two", "three"))
	if got, err := load(t, d, 5); got != "three" || err != nil {
		t.Fatalf("loaded %q, %v", got, err)
	}
	must.Succeed(t, save(t, d, 5, "four"))
	if err := save(t, d, 4, "late"); !errors.Is(err, work.ErrToken) {
		t.Fatalf("an old token saved: %v", err)
	}
	if _, err := load(t, d, 4); !errors.Is(err, work.ErrToken) {
		t.Fatalf("an old token loaded: %v", err)
	}
	if got, _ := load(t, d, 6); got != "four" {
		t.Fatalf("after the late save: %q", got)
	}
}

// TestSomePositions: those of several partitions come in their order, nil for none. One that is damaged is an error: to
// leave it out would be to say that nothing was saved.
func TestSomePositions(t *testing.T) {
	t.Parallel()
	d := newDocs()
	must.Succeed(t, save(t, d, 3, "one"))
	d.byID["position/j=23bad"] = store.Doc{Key: "position/j=23bad", Version: "x", Value: []byte("{")}
	positionRun(t, d, "j#k", 3, func(ctx context.Context, g *work.Grant) {
		host := g.Host.(work.Positions)
		if got, err := host.LoadPositions(ctx, []cluster.PartitionID{"j#none", "j#k"}); err != nil || len(got) != 2 ||
			got[0] != nil || string(got[1]) != "one" {
			t.Errorf("got %q, %v", got, err)
		}
		if got, err := host.LoadPositions(ctx, []cluster.PartitionID{"j#k", "j#bad"}); err == nil {
			t.Errorf("got %q, and no word of the one that is damaged", got)
		}
	})
}

// TestOldOwnerIsFencedWhileItRuns: it has the version cached, and the newer owner wrote meanwhile.
func TestOldOwnerIsFencedWhileItRuns(t *testing.T) {
	t.Parallel()
	d := newDocs()
	var err error
	positionRun(t, d, "j#k", 3, func(ctx context.Context, g *work.Grant) {
		if err := g.SavePosition(ctx, []byte("one")); err != nil {
			t.Error(err)
		}
		if err := save(t, d, 8, "newer"); err != nil {
			t.Error(err)
		}
		err = g.SavePosition(ctx, []byte("two"))
	})
	if !errors.Is(err, work.ErrToken) {
		t.Fatalf("the old owner saved: %v", err)
	}
	if got, _ := load(t, d, 8); got != "newer" {
		t.Fatalf("the position is %q", got)
	}
}

func TestUnknownOutcomesOfPositionsAreSettled(t *testing.T) {
	t.Parallel()
	for _, write := range []bool{true, false} {
		d := newDocs()
		d.fault = func(put int) (bool, error) {
			if put == 2 {
				return write, store.ErrUnknown
			}
			return true, nil
		}
		if err := save(t, d, 3, "one", "two", "three"); err != nil {
			t.Fatalf("written %v: %v", write, err)
		}
		if got, _ := load(t, d, 3); got != "three" {
			t.Fatalf("written %v: the position is %q", write, got)
		}
		if want := map[bool]int{true: 3, false: 4}[write]; d.puts != want {
			t.Fatalf("written %v: %d puts, want %d", write, d.puts, want)
		}
	}
}

func TestPositionErrorsComeBack(t *testing.T) {
	t.Parallel()
	d := newDocs()
	d.fault = func(int) (bool, error) { return false, store.ErrUnavailable }
	if err := save(t, d, 3, "one"); !errors.Is(err, store.ErrUnavailable) ||
		!strings.Contains(err.Error(), "j#k (token 3)") {
		t.Fatalf("unavailable: %v", err)
	}
	d.fault = func(int) (bool, error) { return false, store.ErrUnknown }
	if err := save(t, d, 3, "one"); !errors.Is(err, store.ErrUnknown) || d.puts > 20 {
		t.Fatalf("unknown for ever: %v after %d puts", err, d.puts)
	}
	if err := save(t, nil, 3, "one"); err == nil {
		t.Fatal("saved without a store")
	}
}
