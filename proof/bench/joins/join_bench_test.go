package replica_test

import (
	"context"
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
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/doclog"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/nats"
)

// What BenchmarkJoin fills a log with.
const (
	joinEntries = 20_000 // unless ROTA_JOIN_ENTRIES says how many
	joinJobs    = 1_000  // that are there at a time
	joinEvery   = 2_000  // entries between snapshots, as is the default
	joinWriters = 50
)

// BenchmarkJoin measures how long a member takes from its start to being in the cluster, when so many entries were appended before it, and every
// 2,000 of them a snapshot was saved and what lies before the former one trimmed, as the members do. It also tells what is kept.
//
//	ROTA_JOIN_ENTRIES=1000000 go test -run '^$' -bench Join/memory -benchtime 5x ./protocol/replica
func BenchmarkJoin(b *testing.B) {
	for _, s := range []struct {
		name string
		open func(b *testing.B) (st protocol.Store, size func() float64)
	}{
		{"memory", onJoinMemory}, {"file", onJoinFile}, {"nats", onJoinNATS}, {"etcd", onJoinEtcd}, {"zookeeper", onJoinZooKeeper},
		{"documents of memory", documents(onJoinMemory)}, {"documents of file", documents(onJoinFile)},
	} {
		b.Run(s.name, func(b *testing.B) { benchmarkJoin(b, s.open) })
	}
}

func onJoinMemory(b *testing.B) (protocol.Store, func() float64) {
	s := memory.New().Open()
	b.Cleanup(func() { s.Close() })
	before := heap()
	return s, func() float64 { return heap() - before }
}

// heap is what the process has in use, in bytes.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func onJoinFile(b *testing.B) (protocol.Store, func() float64) {
	dir := b.TempDir()
	s, err := file.Open(b.Context(), dir, file.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s, func() float64 { return sizeOf(b, dir) }
}

func onJoinNATS(b *testing.B) (protocol.Store, func() float64) {
	dir := b.TempDir()
	c, err := server.Start(b.Context(), server.Options{Dir: dir, Nodes: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Stop)
	s, err := nats.Open(b.Context(), nats.Options{URLs: c.URLs(), Bucket: "join"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s, func() float64 { return sizeOf(b, dir) }
}

// documents is a store whose log is made of documents.
func documents(open func(*testing.B) (protocol.Store, func() float64)) func(*testing.B) (protocol.Store, func() float64) {
	return func(b *testing.B) (protocol.Store, func() float64) {
		docs, size := open(b)
		s, err := doclog.New(docs, doclog.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return s, size
	}
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
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

func benchmarkJoin(b *testing.B, open func(*testing.B) (protocol.Store, func() float64)) {
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
func join(b *testing.B, st protocol.Store, n int) (leave func()) {
	b.Helper()
	joined := make(chan struct{}, 1)
	m, err := replica.New(protocol.Config{
		Member: cluster.MemberID(fmt.Sprint("joiner-", n)), Store: st, SnapshotEvery: joinEvery,
		Events: protocol.Events{Joined: func(cluster.Incarnation) { joined <- struct{}{} }},
	})
	if err != nil {
		b.Fatal(err)
	}
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
		if err := <-over; err != nil {
			b.Fatal(err)
		}
	}
}

// fill appends entries that submit and kill jobs, and saves and trims as a member does. It returns the size of the last snapshot.
func fill(b *testing.B, st protocol.Store, entries int) (snapshot int) {
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
		if err := st.SaveSnapshot(b.Context(), store.Record{Index: index, Data: data}); err != nil {
			b.Fatal(err)
		}
		if err := st.Trim(b.Context(), former); err != nil {
			b.Fatal(err)
		}
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
				e := cluster.Entry{Writer: cluster.WriterID(fmt.Sprint("writer-", w)), Seq: uint64(i + 1), Format: cluster.Format, AtMS: 1_700_000_000_000, Commands: []cluster.Command{churn(i)}}
				_, errs[w] = st.Append(b.Context(), e.Encode())
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
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
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range page.Records {
			e, err := cluster.DecodeEntry(cluster.Index(r.Index), r.Data)
			if err != nil {
				b.Fatal(err)
			}
			value, _ = value.Apply(e)
		}
		if uint64(value.Index()) == page.Head {
			return value
		}
	}
}
