package zookeeper_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// callers runs fn b.N times in all, from n goroutines at once.
func callers(b *testing.B, n int, fn func(i int64) error) {
	b.Helper()
	var wg sync.WaitGroup
	var next atomic.Int64
	b.ResetTimer()
	for range n {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := fn(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkAppend compares an append of 200 bytes with the bare client's create of a node of 200 bytes, which promises less: no order that others can
// read without a list of all names. The two take turns, a few operations each, so that other load on the machine affects both; the medians are compared.
func BenchmarkAppend(b *testing.B) {
	data := make([]byte, 200)
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			s := openWith(b, zookeeper.Options{Servers: servers(b), Path: freshPath(b)})
			o := zookeeper.Options{Servers: servers(b), Path: freshPath(b)}
			_, err := openWith(b, o).Append(context.Background(), nil) // makes the nodes
			if err != nil {
				b.Fatal(err)
			}
			other := nodesOf(b, o)
			acl := zk.WorldACL(zk.PermAll)
			var made atomic.Uint64
			var store, bare []time.Duration
			b.ResetTimer()
			for range b.N {
				store = append(store, turn(b, n, func() error { _, err := s.Append(context.Background(), data); return err }))
				bare = append(bare, turn(b, n, func() error {
					_, err := other.Create(other.record(1000+made.Add(1)), data, zk.FlagPersistent, acl)
					return err
				}))
			}
			slices.Sort(store)
			slices.Sort(bare)
			ours, theirs := store[len(store)/2], bare[len(bare)/2]
			b.ReportMetric(float64(ours.Microseconds()), "store-µs")
			b.ReportMetric(float64(theirs.Microseconds()), "bare-µs")
			b.ReportMetric(float64(theirs)/float64(ours), "store/bare-rate")
		})
	}
}

// turn returns the time for each of a few operations by n callers.
func turn(b *testing.B, n int, fn func() error) time.Duration {
	b.Helper()
	each := max(8/n, 1)
	began := time.Now()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for range each {
				if err := fn(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began) / time.Duration(n*each)
}

// BenchmarkHandles appends through several handles at once, each with one caller, so that they collide.
func BenchmarkHandles(b *testing.B) {
	for _, n := range []int{2, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			o := zookeeper.Options{Servers: servers(b), Path: freshPath(b)}
			handles := make(chan *zookeeper.Store, n)
			for range n {
				handles <- openWith(b, o)
			}
			data := make([]byte, 200)
			callers(b, n, func(int64) error {
				s := <-handles
				defer func() { handles <- s }()
				_, err := s.Append(context.Background(), data)
				return err
			})
		})
	}
}

func BenchmarkGet(b *testing.B) {
	for name, quorum := range map[string]bool{"sync": false, "quorum": true} {
		for _, n := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, n), func(b *testing.B) {
				s := openWith(b, zookeeper.Options{Servers: servers(b), Path: freshPath(b), QuorumReads: quorum})
				if _, err := s.Put(context.Background(), store.Doc{Key: "a/b"}); err != nil {
					b.Fatal(err)
				}
				callers(b, n, func(int64) error { _, err := s.Get(context.Background(), "a/b"); return err })
			})
		}
	}
}

func BenchmarkPut(b *testing.B) {
	s := openWith(b, zookeeper.Options{Servers: servers(b), Path: freshPath(b)})
	var v store.Version
	callers(b, 1, func(int64) (err error) {
		v, err = s.Put(context.Background(), store.Doc{Key: "a/b", Value: []byte("x"), Version: v})
		return err
	})
}

// BenchmarkRead reads a page of 1000 records.
func BenchmarkRead(b *testing.B) {
	s := openWith(b, zookeeper.Options{Servers: servers(b), Path: freshPath(b)})
	appendN(b, s, 1000)
	callers(b, 1, func(int64) error { _, err := s.Read(context.Background(), 0, 1000); return err })
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/1000/float64(time.Microsecond), "µs/record")
}

// BenchmarkHint measures the time from an append of one handle to the hint and the read of another one.
func BenchmarkHint(b *testing.B) {
	o := zookeeper.Options{Servers: servers(b), Path: freshPath(b)}
	s, watcher := openWith(b, o), openWith(b, o)
	hints, err := watcher.WatchLog(rig.Deadline(b))
	if err != nil {
		b.Fatal(err)
	}
	after := uint64(0)
	callers(b, 1, func(int64) error {
		index, err := s.Append(context.Background(), nil)
		for err == nil && after < index {
			<-hints
			var page store.Page
			page, err = watcher.Read(context.Background(), after, 1000)
			after = page.Head
		}
		return err
	})
}
