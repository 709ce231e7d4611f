package file

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

var record = make([]byte, 200)

// bare opens an SQLite database with the same durability and nothing around it.
func bare(b *testing.B, dir string) *sql.DB {
	b.Helper()
	query := url.Values{"_pragma": {"busy_timeout(60000)", "synchronous(full)", "journal_mode(wal)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?"+query.Encode())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE IF NOT EXISTS log (idx INTEGER PRIMARY KEY, data BLOB NOT NULL)`); err != nil {
		b.Fatal(err)
	}
	return db
}

// BenchmarkAppend compares one caller after the other with a bare insert.
func BenchmarkAppend(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("ours/callers=%d", callers), func(b *testing.B) {
			s := openIn(b, b.TempDir(), Options{})
			share(b, callers, func() error { _, err := s.Append(context.Background(), record); return err })
		})
		b.Run(fmt.Sprintf("bare/callers=%d", callers), func(b *testing.B) {
			db := bare(b, b.TempDir())
			insert, err := db.Prepare(`INSERT INTO log (data) VALUES (?)`) //nolint:sqlclosecheck // closed below
			if err != nil {
				b.Fatal(err)
			}
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

func doc(key string) store.Doc { return store.Doc{Key: key, Value: record} }

// processorTime is what all threads of a process have used so far, by the scheduler's own account.
func processorTime(b *testing.B, pid int) (sum time.Duration) {
	b.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		b.Skip("NOT MEASURED: no schedstat here")
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		used, _, _ := strings.Cut(string(stat), " ")
		n, err := strconv.ParseInt(used, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(n)
	}
	return sum
}

// BenchmarkRatio is ours against bare for one caller, in turns of 100, so that what else the machine does hits both alike;
// the figure is of the median turns.
func BenchmarkRatio(b *testing.B) {
	s := openIn(b, b.TempDir(), Options{})
	insert, err := bare(b, b.TempDir()).Prepare(`INSERT INTO log (data) VALUES (?)`) //nolint:sqlclosecheck // closed below
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	turn := func(call func() error) float64 {
		began := time.Now()
		for range 100 {
			if err := call(); err != nil {
				b.Fatal(err)
			}
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

// BenchmarkPut is a renewal of one document.
func BenchmarkPut(b *testing.B) {
	s := openIn(b, b.TempDir(), Options{})
	d := doc("a/b")
	for b.Loop() {
		v, err := s.Put(context.Background(), d)
		if err != nil {
			b.Fatal(err)
		}
		d.Version = v
	}
}

func BenchmarkGet(b *testing.B) {
	s := openIn(b, b.TempDir(), Options{})
	if _, err := s.Put(context.Background(), doc("a/b")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Get(context.Background(), "a/b"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads pages of 1000 records, or none at the head.
func BenchmarkRead(b *testing.B) {
	s := openIn(b, b.TempDir(), Options{})
	for range 1000 {
		o := newOp(0, func(tx *tx) error {
			_, err := insertRecord(tx, record)
			return err
		})
		if err := s.writer.submit(o); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.Append(context.Background(), record); err != nil {
		b.Fatal(err)
	}
	for name, after := range map[string]uint64{"page": 0, "head": 1001} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Read(context.Background(), after, 1000); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkProcesses lets 8 processes append for a while.
func BenchmarkProcesses(b *testing.B) {
	for _, helper := range []string{"append", "bare"} {
		b.Run(helper, func(b *testing.B) {
			dir := b.TempDir()
			bare(b, dir).Close()
			lines := make(chan int, 1024)
			var readers sync.WaitGroup
			var all []*process
			for i := range 8 {
				p := start(b, helper, dir)
				all = append(all, p)
				readers.Go(func() {
					for {
						if _, ok := p.line(); !ok {
							return
						}
						lines <- i
					}
				})
			}
			for range 8 {
				<-lines
			}
			counts := make([]int, 8)
			b.ResetTimer()
			for range b.N {
				counts[<-lines]++
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			b.Log(counts)
			for _, p := range all {
				p.stdin.Close()
			}
			go func() {
				readers.Wait()
				close(lines)
			}()
			for range lines {
			}
		})
	}
}

// helpBare is helpAppend on a bare database.
func helpBare(ctx context.Context, dir string, out io.Writer) error {
	query := url.Values{"_pragma": {"busy_timeout(60000)", "synchronous(full)"}}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?"+query.Encode())
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	insert, err := db.Prepare(`INSERT INTO log (data) VALUES (?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for ctx.Err() == nil {
		if _, err := insert.Exec(record); err != nil {
			return err
		}
		fmt.Fprintln(out, 1)
	}
	return nil
}

// helpIdle has a watch of the log and one of a prefix with 8 sessions, and nothing to do.
func helpIdle(ctx context.Context, dir string, out io.Writer) error {
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.WatchLog(ctx); err != nil {
		return err
	}
	if _, err := s.Watch(ctx, "s/"); err != nil {
		return err
	}
	fmt.Fprintln(out, "idle")
	<-ctx.Done()
	return nil
}

// BenchmarkIdle reports what an idle process costs, in percent of one core. Run it with -benchtime=1x.
func BenchmarkIdle(b *testing.B) {
	for _, sessions := range []int{0, 8, 100} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			dir := b.TempDir()
			s := openIn(b, dir, Options{})
			for i := range sessions {
				session, err := s.OpenSession(context.Background(), 0)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := session.Put(context.Background(), doc(fmt.Sprint("s/", i))); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				p := start(b, "idle", dir)
				p.line()
				time.Sleep(time.Second) // waits: the process's start is not what is measured
				began, before := time.Now(), processorTime(b, p.cmd.Process.Pid)
				time.Sleep(5 * time.Second) // waits: this is the time that is measured
				used := processorTime(b, p.cmd.Process.Pid) - before
				b.ReportMetric(100*used.Seconds()/time.Since(began).Seconds(), "%core")
				p.kill()
			}
		})
	}
}
