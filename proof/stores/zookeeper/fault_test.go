package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// brief returns a context that ends soon.
func brief(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestDataSurvivesKill kills the only server and starts it again.
func TestDataSurvivesKill(t *testing.T) {
	t.Parallel()
	c := ownServers(t, server.Options{})
	s, ctx := openWith(t, zookeeper.Options{Servers: c.Servers()}), rig.Deadline(t)
	v, err := s.Put(ctx, store.Doc{Key: "a/b", Value: []byte("kept")})
	must.Succeed(t, err)
	index, err := s.Append(ctx, []byte("kept"))
	must.Succeed(t, err)
	c.Kill(0)
	if _, err := s.Get(brief(t, 200*time.Millisecond), "a/b"); !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("get without a server: %v", err)
	}
	if _, err := s.Append(brief(t, 200*time.Millisecond), nil); err == nil {
		t.Errorf("append without a server: no error")
	}
	must.Succeed(t, c.Restart(ctx, 0))
	d, err := s.Get(ctx, "a/b")
	if err != nil || string(d.Value) != "kept" || d.Version != v {
		t.Errorf("after the restart: %+v, %v", d, err)
	}
	next, err := s.Append(ctx, []byte("next"))
	if err != nil || next <= index {
		t.Errorf("append after the restart: index %d after %d, %v", next, index, err)
	}
	page, err := s.Read(ctx, 0, 10)
	if err != nil || len(page.Records) < 2 || string(page.Records[0].Data) != "kept" {
		t.Errorf("read after the restart: %+v, %v", page, err)
	}
}

// writer appends records and counts in a document, and notes what was acknowledged.
type writer struct {
	s            *zookeeper.Store
	id           int
	acknowledged map[uint64]string
	unknown      map[string]bool
	counted      int // increments that were acknowledged
	maybe        int // increments with an unknown outcome
}

func (w *writer) step(ctx context.Context, n int) {
	data := fmt.Sprintf("%d/%d", w.id, n)
	index, err := w.s.Append(ctx, []byte(data))
	switch {
	case err == nil:
		w.acknowledged[index] = data
	case errors.Is(err, store.ErrUnknown):
		w.unknown[data] = true
	}
	key := fmt.Sprintf("count/%d", w.id)
	d, err := w.s.Get(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return
	}
	_, err = w.s.Put(ctx, store.Doc{Key: key, Value: append(d.Value, 'x'), Version: d.Version})
	switch {
	case err == nil:
		w.counted++
	case errors.Is(err, store.ErrUnknown):
		w.maybe++
	}
}

// check compares what the store holds with what was acknowledged.
func (w *writer) check(t *testing.T, ctx context.Context, records []store.Record) {
	t.Helper()
	times := map[string]int{}
	for _, r := range records {
		times[string(r.Data)]++
		if want, ok := w.acknowledged[r.Index]; ok && want != string(r.Data) {
			t.Errorf("record %d is %q, acknowledged was %q", r.Index, r.Data, want)
		}
	}
	for index, data := range w.acknowledged {
		if times[data] != 1 {
			t.Errorf("%q, acknowledged at %d, is in the log %d times", data, index, times[data])
		}
	}
	for data := range w.unknown {
		if times[data] > 1 {
			t.Errorf("%q, unknown, is in the log %d times", data, times[data])
		}
	}
	d, err := w.s.Get(ctx, fmt.Sprintf("count/%d", w.id))
	if n := len(d.Value); err != nil || n < w.counted || n > w.counted+w.maybe {
		t.Errorf("writer %d: %d increments are there, %d were acknowledged and %d are unknown, %v", w.id, n, w.counted, w.maybe, err)
	}
}

// TestLeaderDiesUnderWriters kills the leader of three twice while clients write.
func TestLeaderDiesUnderWriters(t *testing.T) {
	t.Parallel()
	c, ctx := ownServers(t, server.Options{Nodes: 3}), rig.LongDeadline(t)
	writers := make([]*writer, 4)
	stop, progress := make(chan struct{}), make(chan int, 1024)
	var wg sync.WaitGroup
	for i := range writers {
		w := &writer{s: openWith(t, zookeeper.Options{Servers: c.Servers()}), id: i, acknowledged: map[uint64]string{}, unknown: map[string]bool{}}
		writers[i] = w
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				before := len(w.acknowledged)
				w.step(ctx, n)
				if len(w.acknowledged) > before {
					select {
					case progress <- i:
					case <-stop:
						return
					}
				}
			}
		})
	}
	advance := func() { // until each writer has had ten acknowledgements
		left := map[int]int{}
		for i := range writers {
			left[i] = 10
		}
		for len(left) > 0 {
			select {
			case i := <-progress:
				if left[i]--; left[i] <= 0 {
					delete(left, i)
				}
			case <-ctx.Done():
				t.Fatalf("no progress: missing %v", left)
			}
		}
	}
	for range 2 {
		advance()
		leader, err := c.Leader(ctx)
		must.Succeed(t, err)
		c.Kill(leader)
		for len(progress) > 0 {
			<-progress
		}
		advance()
		must.Succeed(t, c.Restart(ctx, leader))
	}
	close(stop)
	wg.Wait()
	var records []store.Record
	for {
		after := uint64(0)
		if len(records) > 0 {
			after = records[len(records)-1].Index
		}
		var page store.Page
		rig.Eventually(t, "a read", func() bool {
			var err error
			page, err = writers[0].s.Read(ctx, after, 1000)
			if err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Fatal(err)
			}
			return err == nil
		})
		records = append(records, page.Records...)
		if len(page.Records) == 0 {
			break
		}
	}
	for _, w := range writers {
		w.check(t, ctx, records)
		t.Logf("writer %d: %d appends acknowledged, %d unknown; %d increments, %d unknown", w.id, len(w.acknowledged), len(w.unknown), w.counted, w.maybe)
	}
}

// TestMajorityLostAndBack kills two of three servers, then starts one again.
func TestMajorityLostAndBack(t *testing.T) {
	t.Parallel()
	c, ctx := ownServers(t, server.Options{Nodes: 3}), rig.LongDeadline(t)
	s := openWith(t, zookeeper.Options{Servers: c.Servers()})
	first, err := s.Append(ctx, []byte("first"))
	must.Succeed(t, err)
	c.Kill(0)
	c.Kill(1)
	_, err = s.Append(brief(t, time.Second), []byte("second"))
	if !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append without a majority: %v", err)
	}
	if _, err := s.Get(brief(t, time.Second), "a"); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("get without a majority: %v, want a failure of the store", err)
	}
	must.Succeed(t, c.Restart(ctx, 0))
	third, err := s.Append(ctx, []byte("third"))
	if err != nil || third <= first {
		t.Fatalf("append with a majority again: index %d after %d, %v", third, first, err)
	}
}
