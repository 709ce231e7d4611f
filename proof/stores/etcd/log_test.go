package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/etcd"
)

func fill(t *testing.T, s *etcd.Store, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range 50 {
		wg.Go(func() {
			for i := w; i < n; i += 50 {
				if _, err := s.Append(rig.Deadline(t), record); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := openWith(t, options())
	ctx := rig.Deadline(t)
	exact, over := make([]byte, etcd.MaxRecord), make([]byte, etcd.MaxRecord+1)
	_, putErr := s.Put(ctx, store.Doc{Key: "a", Value: exact})
	_, appendErr := s.Append(ctx, exact)
	if err := errors.Join(putErr, appendErr); err != nil {
		t.Fatalf("the largest value: %v", err)
	}
	_, putErr = s.Put(ctx, store.Doc{Key: "b", Value: over})
	_, appendErr = s.Append(ctx, over)
	_, sessionErr := openSession(t, s, rig.Patience).Put(ctx, store.Doc{Key: "b", Value: over})
	for call, err := range map[string]error{
		"put": putErr, "append": appendErr, "put with session": sessionErr,
		"save": s.SaveSnapshot(ctx, store.Record{Index: 1, Data: make([]byte, etcd.MaxSnapshot+1)}),
	} {
		if !errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error %v, want ErrTooLarge", call, err)
		}
	}
}

// TestLargeRecords checks that a reader with a high limit does not get everything at once, and that many large records share no request.
func TestLargeRecords(t *testing.T) {
	t.Parallel()
	s := openWith(t, options())
	const n = 12
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, err := s.Append(rig.Deadline(t), make([]byte, etcd.MaxRecord-100)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := s.Read(rig.Deadline(t), 0, 1); err != nil { // from here on it knows how large they are
		t.Fatal(err)
	}
	page, err := s.Read(rig.Deadline(t), 0, n)
	if err != nil || len(page.Records) > 8 || page.Head != n {
		t.Fatalf("%d records, head %d, %v", len(page.Records), page.Head, err)
	}
	if got := len(logged(t, s)); got != 1 {
		t.Fatalf("%d different records, want one", got)
	}
}

// TestCallersShareTransactions counts by the server's revision, which grows by one with each transaction.
func TestCallersShareTransactions(t *testing.T) {
	t.Parallel()
	o := onServer(t, server.Options{})
	s, raw := openWith(t, o), rawOf(t, o)
	before := raw.revision(t)
	fill(t, s, 1000)
	took := raw.revision(t) - before
	if took > 700 || headOf(t, s) != 1000 {
		t.Fatalf("%d transactions, head %d", took, headOf(t, s))
	}
	t.Logf("%d transactions for 1000 records of 50 callers", took)
}

// TestServerWithFewOperations has a server that takes smaller transactions than others.
func TestServerWithFewOperations(t *testing.T) {
	t.Parallel()
	s := openWith(t, onServer(t, server.Options{TxnOps: 8}))
	fill(t, s, 500)
	if n := len(logged(t, s)[string(record)]); n != 500 {
		t.Fatalf("%d records, want 500", n)
	}
}

// trimMost is how many records one request removes at most: the server serves nobody else while it does.
const trimMost = 2000

func TestTrimInSteps(t *testing.T) {
	t.Parallel()
	const n = 2*trimMost + 500
	o := options()
	s, raw := openWith(t, o), rawOf(t, o)
	fill(t, s, n)
	save(t, s, store.Record{Index: n - 1})
	began := raw.revision(t)
	if err := s.Trim(rig.Deadline(t), n); err != nil {
		t.Fatal(err)
	}
	if left := raw.count(t, raw.records()); left != 1 {
		t.Fatalf("%d records are left, want 1", left)
	}
	removed := map[int64]int{} // by revision: each request has its own
	total := 0
	for r := range raw.Watch(rig.Deadline(t), raw.records(), clientv3.WithPrefix(), clientv3.WithRev(began+1)) {
		for _, e := range r.Events {
			removed[e.Kv.ModRevision]++
			total++
		}
		if total >= n-1 {
			break
		}
	}
	if total != n-1 || len(removed) < 3 || slices.Max(slices.Collect(maps.Values(removed))) > trimMost {
		t.Errorf("records removed by each request: %v, want %d in all, at most %d at once", removed, n-1, trimMost)
	}
	if _, err := s.Read(rig.Deadline(t), n-2, 10); !errors.Is(err, store.ErrTruncated) {
		t.Errorf("read: error %v, want ErrTruncated", err)
	}
	if page, err := s.Read(rig.Deadline(t), n-1, 10); err != nil || len(page.Records) != 1 {
		t.Errorf("read: %d records, %v; want 1", len(page.Records), err)
	}
}

// TestFullServer fills a server up to its quota.
func TestFullServer(t *testing.T) {
	t.Parallel()
	o := onServer(t, server.Options{Quota: 4 << 20})
	s := openWith(t, o)
	ctx := rig.Deadline(t)
	if _, err := s.Append(ctx, record); err != nil {
		t.Fatal(err)
	}
	save(t, s, snapshotOf(1, 1))
	v, err := s.Put(ctx, store.Doc{Key: "a"})
	head := uint64(1)
	for err == nil {
		var index uint64
		if index, err = s.Append(ctx, make([]byte, etcd.MaxRecord)); err == nil {
			head = index
		}
	}
	// The append that crossed the quota was made, and answered like those that were not.
	if got := headOf(t, s); got != head && (got != head+1 || !errors.Is(err, store.ErrUnknown)) {
		t.Errorf("head %d, acknowledged %d: error %v", got, head, err)
	}
	head = headOf(t, s)
	_, appendErr := s.Append(ctx, record)
	_, putErr := s.Put(ctx, store.Doc{Key: "b"})
	_, updateErr := s.Put(ctx, store.Doc{Key: "a", Version: v})
	_, sessionErr := s.OpenSession(ctx, rig.Patience)
	for call, err := range map[string]error{
		"append": appendErr, "put": putErr, "update": updateErr, "session": sessionErr,
		"save": s.SaveSnapshot(ctx, snapshotOf(2, 1)), "save in chunks": s.SaveSnapshot(ctx, snapshotOf(2, 2*chunkBytes)),
		"trim": s.Trim(ctx, 1),
	} {
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error %v, want ErrUnavailable alone", call, err)
		}
	}
	if err := s.Delete(ctx, "a", v); err != nil {
		t.Errorf("make room: %v", err)
	}
	if got := headOf(t, s); got != head {
		t.Errorf("head %d, want %d", got, head)
	}
	if s, err := etcd.Open(ctx, o); err == nil {
		s.Close()
		t.Error("a full server was opened for writing")
	} else if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("open: error %v, want ErrUnavailable", err)
	}
	o.ReadOnly = true
	if got := headOf(t, openWith(t, o)); got != head {
		t.Errorf("an observer reads head %d, want %d", got, head)
	}
}

// TestManyRequestsWhileCompacting reads what takes several requests, while the server forgets each instant as soon as it is over.
func TestManyRequestsWhileCompacting(t *testing.T) {
	t.Parallel()
	o := onServer(t, server.Options{})
	s, raw := openWith(t, o), rawOf(t, o)
	ctx := rig.LongDeadline(t)
	const docs = 3*listPage - 1
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < docs; i += 16 {
				if _, err := s.Put(ctx, store.Doc{Key: fmt.Sprintf("d/%06d", i), Value: record}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	fill(t, s, 1)
	want := snapshotOf(1, 5*chunkBytes)
	save(t, s, want)
	compacting, stop := context.WithCancel(ctx)
	wg.Go(func() {
		for compacting.Err() == nil {
			r, err := raw.Put(compacting, "elsewhere", "")
			if err == nil {
				_, _ = raw.Compact(compacting, r.Header.Revision) // the reads are what is tested
			}
		}
	})
	for range 5 {
		if all, err := s.List(ctx, "d/"); err != nil || len(all) != docs {
			t.Errorf("list: %d documents, %v; want %d", len(all), err, docs)
		}
		wantSnapshot(t, s, want)
	}
	stop()
	wg.Wait()
}
