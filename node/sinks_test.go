package node

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// fakeSinks is a publisher whose sinks say what a test wants.
type fakeSinks struct {
	publish.Publisher
	mu  sync.Mutex
	all []publish.Status
}

func (f *fakeSinks) Publish(...publish.Sample)     {}
func (f *fakeSinks) Run(ctx context.Context) error { <-ctx.Done(); return nil }
func (f *fakeSinks) Stats() publish.Stats          { return publish.Stats{} }

func (f *fakeSinks) Sinks() []publish.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all
}

func (f *fakeSinks) say(all ...publish.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = all
}

// TestWhatSinksSayIsADocument: written when something changes that matters, and seldom while a server is away; what a
// killed process has left goes.
func TestWhatSinksSayIsADocument(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := memory.New()
		look := s.Open()
		defer look.Close()
		if _, err := look.Put(t.Context(), store.Doc{Key: SinksPrefix + "a", Value: []byte(`{"member":"a","sinks":[{"name":"old"}]}`)}); err != nil {
			t.Fatal(err)
		}
		f := &fakeSinks{}
		f.say(publish.Status{Name: "stdout", Stats: publish.Stats{Sent: 9}})
		c := &putCounter{Store: s.Open(), key: SinksPrefix + "a"}
		t.Cleanup(func() { c.Store.Close() })
		a := start(t, s, "a", func(conf *Config) { conf.Store, conf.Publisher = c, f })
		after := func(d time.Duration, writes int64, want ...Sink) {
			t.Helper()
			time.Sleep(d) // waits: in a bubble
			synctest.Wait()
			d0, err := look.Get(t.Context(), SinksPrefix+"a")
			var got Sinks
			if err == nil {
				err = json.Unmarshal(d0.Value, &got)
			}
			if n := c.writes.Swap(0); err != nil || n != writes || len(got.Sinks)+len(want) > 0 && !reflect.DeepEqual(got.Sinks, want) {
				t.Errorf("%d writes, want %d: %+v, %v; want %+v", n, writes, got, err, want)
			}
		}
		after(0, 1) // the old one is gone
		f.say(publish.Status{Name: "kafka://k:1"})
		after(sinksRest+sinksLook, 1, Sink{Name: "kafka://k:1"})
		f.say(publish.Status{Name: "kafka://k:1", Stats: publish.Stats{Queued: 5, Sent: 100}, LagMS: 40_000})
		after(time.Hour, 0, Sink{Name: "kafka://k:1"})
		go func() { // the server is away: each second one more attempt fails
			for i := range int64(600) {
				f.say(publish.Status{Name: "kafka://k:1", Stats: publish.Stats{Dropped: i, Errors: i}, LagMS: 70_000, LastError: "away"})
				time.Sleep(time.Second) // waits: in a bubble
			}
		}()
		after(10*time.Minute+sinksRest, 18, Sink{Name: "kafka://k:1", Dropped: 599, Errors: 599, Late: true, LastError: "away"})
		a.leave()
		if _, err := look.Get(t.Context(), SinksPrefix+"a"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a member that has left has left the document behind: %v", err)
		}
	})
}

// putCounter counts the writes of one document.
type putCounter struct {
	*memory.Store
	key    string
	writes atomic.Int64
}

func (c *putCounter) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if d.Key == c.key {
		c.writes.Add(1)
	}
	return c.Store.Put(ctx, d)
}
