package file_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
)

// BenchmarkProcesses lets 8 processes append for a while.
func BenchmarkProcesses(b *testing.B) {
	for _, helper := range []string{"append", "bare"} {
		b.Run(helper, func(b *testing.B) {
			dir := place(b)
			must.Succeed(b, os.Mkdir(dir, 0o700))
			createBare(b, dir)
			lines := make(chan int, 1024)
			var readers sync.WaitGroup
			var all []*rig.Process
			for i := range 8 {
				p := start(b, helper, dir)
				all = append(all, p)
				readers.Go(func() {
					for {
						if _, ok := p.Line(); !ok {
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
				p.Stdin.Close()
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
	db := must.Get(openBare(dir))(b)
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
