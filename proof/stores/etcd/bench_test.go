package etcd_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
)

// record is of a usual size.
var record = make([]byte, 200)

// BenchmarkAppend compares appends through one handle with puts of the bare client. With ROTA_ETCD_SYNC=1 the server syncs to disk.
func BenchmarkAppend(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("ours/callers=%d", callers), func(b *testing.B) {
			s := openWith(b, options())
			share(b, callers, func(int) error { _, err := s.Append(context.Background(), record); return err })
		})
		b.Run(fmt.Sprintf("bare/callers=%d", callers), func(b *testing.B) {
			c, prefix := bare(b, shared.Endpoints()), options().Prefix
			share(b, callers, func(i int) error {
				_, err := c.Put(context.Background(), fmt.Sprintf("%s/%020d", prefix, i), string(record))
				return err
			})
		})
	}
	b.Run("bare transaction/callers=1", func(b *testing.B) { // what an append with dense indexes costs the server
		c, prefix, head := bare(b, shared.Endpoints()), options().Prefix, int64(0)
		share(b, 1, func(i int) error {
			r, err := c.Txn(context.Background()).If(clientv3.Compare(clientv3.ModRevision(prefix), "=", head)).
				Then(clientv3.OpPut(fmt.Sprintf("%s/%020d", prefix, i), string(record)), clientv3.OpPut(prefix, "1")).Commit()
			if err == nil {
				head = r.Header.Revision
			}
			return err
		})
	})
}

// BenchmarkPutWithSession is a heartbeat: renew the lease, then write the document.
func BenchmarkPutWithSession(b *testing.B) {
	s := openWith(b, options())
	session, err := s.OpenSession(context.Background(), rig.Patience)
	must.Succeed(b, err)
	var v store.Version
	for b.Loop() {
		if v, err = session.Put(context.Background(), store.Doc{Key: "a", Value: record, Version: v}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads a log of ten thousand records to its end.
func BenchmarkRead(b *testing.B) {
	const records = 10_000
	s := openWith(b, options())
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			for range records / 100 {
				if _, err := s.Append(context.Background(), record); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for b.Loop() {
		for after := uint64(0); after < records; {
			page, err := s.Read(context.Background(), after, 2000)
			must.Succeed(b, err)
			after = page.Records[len(page.Records)-1].Index
		}
	}
	b.ReportMetric(float64(b.N)*records/b.Elapsed().Seconds(), "records/s")
}

// share divides b.N calls among callers.
func share(b *testing.B, callers int, call func(i int) error) {
	b.Helper()
	b.ResetTimer()
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := c; i < b.N; i += callers {
				if err := call(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
