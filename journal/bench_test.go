package journal_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store/file"
)

// BenchmarkRead reads a journal of 100,000 records in a directory, one a second, in documents of the size that single
// appends make.
func BenchmarkRead(b *testing.B) {
	s, err := file.Open(b.Context(), filepath.Join(b.TempDir(), "store"), file.Options{})
	must.Succeed(b, err)
	defer s.Close()
	j := journal.NewDocs(s, "m1", forever)
	const records, each = 100_000, 40 // of 200 bytes
	now := time.Now()
	var batch []journal.Record
	for i := range records {
		at := now.Add(time.Duration(i-records) * time.Second).UnixMilli()
		batch = append(batch, said(at, fmt.Sprintf("checks/t%05d", i),
			"dial tcp 192.0.2.1:443: connect: connection refused, for the third time in a row"))
		if len(batch) < each {
			continue
		}
		must.Succeed(b, j.Append(b.Context(), batch...))
		batch = nil
	}
	for name, q := range map[string]journal.Query{
		"why":     {Partition: "checks/t00077", Limit: 20},
		"journal": {Since: now.Add(-24 * time.Hour), Limit: 50},
		"status":  {Limit: 10_000},
		"all":     {Limit: records},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, err := j.Read(b.Context(), q); err != nil || len(got) == 0 {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}
