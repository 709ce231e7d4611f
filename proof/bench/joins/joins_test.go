// Package joins_test measures how long a member takes to join a cluster with a long log, on each kind of store. It has
// a benchmark and nothing else.
package joins_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/proof/bench/internal/place"
	"github.com/rota-run/rota/proof/server"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

func TestMain(m *testing.M) {
	if server.Child() {
		return
	}
	os.Exit(m.Run())
}

// What BenchmarkJoin fills a log with.
const (
	joinEntries = 20_000 // unless ROTA_JOIN_ENTRIES says how many
	joinJobs    = 1_000  // that are there at a time
	joinEvery   = 2_000  // entries between snapshots, as is the default
	joinWriters = 50
)

// BenchmarkJoin measures how long a member takes from its start to being in the cluster, when so many entries were
// appended before it, and every 2,000 of them a snapshot was saved and what lies before the former one trimmed, as the
// members do. It also tells what is kept.
//
//	ROTA_JOIN_ENTRIES=1000000 go test -run '^$' -bench Join/memory -benchtime 5x ./bench/joins
func BenchmarkJoin(b *testing.B) {
	for _, kind := range place.Kinds() {
		b.Run(kind, func(b *testing.B) { benchmarkJoin(b, on(kind)) })
	}
}

// opener opens a fresh store; size is how many bytes it keeps.
type opener func(b *testing.B) (st store.Full, size func() float64)

// on opens a fresh store of a kind.
func on(kind string) opener {
	return func(b *testing.B) (store.Full, func() float64) {
		p, err := place.Make(b.Context(), kind)
		if errors.Is(err, place.ErrMissing) {
			b.Skipf("NOT MEASURED: %v", err)
		}
		must.Succeed(b, err)
		b.Cleanup(func() {
			if err := p.Close(); err != nil {
				b.Error(err)
			}
		})
		s, err := p.Open(b.Context(), "join")
		must.Succeed(b, err)
		b.Cleanup(func() { s.Close() })
		if kind == "memory" {
			before := heap()
			return s, func() float64 { return heap() - before }
		}
		return s, func() float64 { return sizeOf(b, p.Dir) }
	}
}

// heap is what the process has in use, in bytes.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// sizeOf is the size of all files below a directory.
func sizeOf(b *testing.B, dir string) (bytes float64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += float64(info.Size())
		}
		return err
	})
	must.Succeed(b, err)
	return bytes
}

func benchmarkJoin(b *testing.B, open func(*testing.B) (store.Full, func() float64)) {
	entries := joinEntries
	if text := os.Getenv("ROTA_JOIN_ENTRIES"); text != "" {
		var err error
		if entries, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	st, size := open(b)
	began := time.Now()
	snapshot := fill(b, st, entries)
	filled := time.Since(began)
	kept := size()
	for n := 0; b.Loop(); n++ {
		leave := join(b, st, n)
		b.StopTimer()
		leave()
		b.StartTimer()
	}
	b.ReportMetric(0, "B/op")
	b.ReportMetric(float64(entries)/filled.Seconds(), "entries/s-fill")
	b.ReportMetric(kept, "B-kept")
	b.ReportMetric(float64(snapshot), "B-snapshot")
}

// join starts a member and returns when it is in the cluster; leave ends it in order.
func join(b *testing.B, st store.Full, n int) (leave func()) {
	b.Helper()
	joined := make(chan struct{}, 1)
	m, err := replica.Protocol{}.New(protocol.Config{
		Member: cluster.MemberID(fmt.Sprint("joiner-", n)), Store: st, SnapshotEvery: joinEvery,
		Events: protocol.Events{Joined: func(cluster.Incarnation) { joined <- struct{}{} }},
	})
	must.Succeed(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- m.Run(ctx) }()
	go func() {
		for a := range m.Assignments() { // a member that leaves waits to hear that nothing runs
			m.Report(a.Version, nil)
		}
	}()
	select {
	case <-joined:
	case err := <-over:
		b.Fatalf("the member ended: %v", err)
	case <-time.After(5 * time.Minute):
		b.Fatal("the member does not join")
	}
	return func() {
		cancel()
		must.Succeed(b, <-over)
	}
}

// fill appends entries that submit and kill jobs, and saves and trims as a member does. It returns the size of the last
// snapshot.
func fill(b *testing.B, st store.Full, entries int) (snapshot int) {
	b.Helper()
	var value cluster.Value
	former := uint64(0)
	for done := 0; done < entries; done += joinEvery {
		appendAll(b, st, done, min(joinEvery, entries-done))
		value = fold(b, st, value)
		data, index := value.Snapshot(), uint64(value.Index())
		if done+joinEvery >= entries {
			return snapshot // the last entries are to be read by who joins
		}
		must.Succeed(b, st.SaveSnapshot(b.Context(), store.Record{Index: index, Data: data}))
		must.Succeed(b, st.Trim(b.Context(), former))
		snapshot, former = len(data), index
	}
	return snapshot
}

// appendAll appends n entries behind the first so many, several at a time.
func appendAll(b *testing.B, st store.Log, first, n int) {
	b.Helper()
	var wg sync.WaitGroup
	errs := make([]error, joinWriters)
	for w := range joinWriters {
		wg.Go(func() {
			for i := first + w; i < first+n && errs[w] == nil; i += joinWriters {
				e := cluster.Entry{Writer: cluster.WriterID(fmt.Sprint("writer-", w)), Seq: uint64(i + 1),
					AtMS: 1_700_000_000_000, Commands: []cluster.Command{churn(i)}}
				_, errs[w] = st.Append(b.Context(), e.Encode())
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		must.Succeed(b, err)
	}
}

// churn submits a thousand jobs, kills them, submits them again, and so on.
func churn(i int) cluster.Command {
	job := cluster.JobID(fmt.Sprint("job-", i%joinJobs))
	if i/joinJobs%2 == 1 {
		return cluster.KillJob{Job: job}
	}
	return cluster.SubmitJob{Job: job, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{
		Type: "http", Definition: []byte(`{"url":"https://example.com/health","every":"10s"}`),
		Selector: []cluster.Label{{Key: "for", Value: "nobody"}}, // what is measured is joining, not taking over a thousand tasks and giving them back
	}}}}
}

// fold applies what was appended.
func fold(b *testing.B, st store.Log, value cluster.Value) cluster.Value {
	b.Helper()
	for {
		page, err := st.Read(b.Context(), uint64(value.Index()), 2_000)
		must.Succeed(b, err)
		for _, r := range page.Records {
			e, err := cluster.DecodeEntry(cluster.Index(r.Index), r.Data)
			must.Succeed(b, err)
			value, _ = value.Apply(e)
		}
		if uint64(value.Index()) == page.Head {
			return value
		}
	}
}
