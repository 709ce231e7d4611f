package file_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

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
		must.Succeed(b, err)
		sum += time.Duration(n)
	}
	return sum
}

// BenchmarkProcesses lets 8 processes append for a while.
func BenchmarkProcesses(b *testing.B) {
	for _, helper := range []string{"append", "bare"} {
		b.Run(helper, func(b *testing.B) {
			dir := place(b)
			must.Succeed(b, os.Mkdir(dir, 0o700))
			createBare(b, dir)
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

// openBare opens an SQLite database with the same durability and nothing around it.
func openBare(dir string) (*sql.DB, error) {
	query := url.Values{"_pragma": {"busy_timeout(60000)", "synchronous(full)"}}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?"+query.Encode())
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func createBare(b *testing.B, dir string) {
	b.Helper()
	db, err := openBare(dir)
	must.Succeed(b, err)
	defer db.Close()
	if _, err := db.Exec(`PRAGMA journal_mode = wal; CREATE TABLE log (idx INTEGER PRIMARY KEY, data BLOB NOT NULL)`); err != nil {
		b.Fatal(err)
	}
}

// helpBare is helpAppend on a bare database.
func helpBare(ctx context.Context, dir string, out io.Writer) error {
	db, err := openBare(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	insert, err := db.Prepare(`INSERT INTO log (data) VALUES (?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for ctx.Err() == nil {
		if _, err := insert.Exec(make([]byte, 200)); err != nil {
			return err
		}
		fmt.Fprintln(out, 1)
	}
	return nil
}

// helpIdle has a watch of the log and one of a prefix with 8 sessions, and nothing to do.
func helpIdle(ctx context.Context, dir string, out io.Writer) error {
	s, err := file.Open(ctx, dir, file.Options{})
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
			dir := place(b)
			s := openIn(b, dir, file.Options{})
			for i := range sessions {
				session, err := s.OpenSession(context.Background(), time.Minute)
				must.Succeed(b, err)
				must.Succeed(b, must.Err(session.Put(context.Background(), store.Doc{Key: fmt.Sprint("s/", i), Value: make([]byte, 200)})))
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
