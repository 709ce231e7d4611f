package file

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
)

var record = make([]byte, 200)

// bare opens an SQLite database with the same durability and nothing around it.
func bare(b *testing.B, dir string) *sql.DB {
	b.Helper()
	query := url.Values{"_pragma": {"busy_timeout(60000)", "synchronous(full)", "journal_mode(wal)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?"+query.Encode())
	must.Succeed(b, err)
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	must.Succeed(b, must.Err(db.Exec(`CREATE TABLE IF NOT EXISTS log (idx INTEGER PRIMARY KEY, data BLOB NOT NULL)`)))
	return db
}

// BenchmarkAppend compares one caller after the other with a bare insert.
func BenchmarkAppend(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("ours/callers=%d", callers), func(b *testing.B) {
			s := openIn(b, place(b), Options{})
			share(b, callers, func() error { _, err := s.Append(context.Background(), record); return err })
		})
		b.Run(fmt.Sprintf("bare/callers=%d", callers), func(b *testing.B) {
			db := bare(b, b.TempDir())
			insert, err := db.Prepare(`INSERT INTO log (data) VALUES (?)`) //nolint:sqlclosecheck // closed below
			must.Succeed(b, err)
			defer insert.Close()
			share(b, callers, func() error { _, err := insert.Exec(record); return err })
		})
	}
}

// share lets callers do b.N calls together.
func share(b *testing.B, callers int, call func() error) {
	b.Helper()
	b.ResetTimer()
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := c; i < b.N; i += callers {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkRatio is ours against bare for one caller, in turns of 100, so that what else the machine does hits both alike;
// the figure is of the median turns.
func BenchmarkRatio(b *testing.B) {
	s := openIn(b, place(b), Options{})
	insert, err := bare(b, b.TempDir()).Prepare(`INSERT INTO log (data) VALUES (?)`) //nolint:sqlclosecheck // closed below
	must.Succeed(b, err)
	defer insert.Close()
	turn := func(call func() error) float64 {
		began := time.Now()
		for range 100 {
			must.Succeed(b, call())
		}
		return time.Since(began).Seconds() * 1e4 // microseconds a call
	}
	var ours, theirs []float64
	for b.Loop() {
		ours = append(ours, turn(func() error { _, err := s.Append(context.Background(), record); return err }))
		theirs = append(theirs, turn(func() error { _, err := insert.Exec(record); return err }))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	b.ReportMetric(ours[len(ours)/2], "ours-µs")
	b.ReportMetric(theirs[len(theirs)/2], "bare-µs")
	b.ReportMetric(theirs[len(theirs)/2]/ours[len(ours)/2], "ratio")
}
