package fence_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock/fence"
)

// TestSQL: a transaction of a former owner changes nothing.
func TestSQL(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "db")+"?_pragma=busy_timeout(5000)")
	must.Succeed(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), fence.Table+"; CREATE TABLE report (body TEXT)")
	must.Succeed(t, err)
	write := func(resource string, token cluster.Token, body string) error {
		tx := must.Get(db.BeginTx(t.Context(), nil))(t)
		defer func() { _ = tx.Rollback() }() // nothing after the commit
		if err := fence.SQL(t.Context(), tx, resource, token); err != nil {
			return err
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO report VALUES ($1)", body); err != nil {
			return err
		}
		return tx.Commit()
	}
	must.Succeed(t, write("a", 7, "first"))
	must.Succeed(t, write("a", 7, "again"))
	must.Succeed(t, write("a", 9, "next"))
	if err := write("a", 7, "late"); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a former owner: %v", err)
	}
	must.Succeed(t, write("b", 1, "other"))
	var bodies string
	must.Succeed(t, db.QueryRowContext(t.Context(), "SELECT group_concat(body) FROM report").Scan(&bodies))
	if bodies != "first,again,next,other" {
		t.Errorf("the table has %s", bodies)
	}
	_, err = db.ExecContext(t.Context(), "DROP TABLE rota_fence")
	must.Succeed(t, err)
	if err := write("a", 9, "x"); err == nil || errors.Is(err, fence.ErrStale) {
		t.Errorf("without the table: %v", err)
	}
}

// TestFile: an owner that is paused in the middle of its write changes nothing that is read, and leaves nothing.
func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	must.Succeed(t, root.Mkdir("out", 0o700))
	if _, _, err := fence.ReadFile(root, "out/report"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before anybody has written: %v", err)
	}
	reads := func(body string, token cluster.Token) {
		t.Helper()
		data, by, err := fence.ReadFile(root, "out/report")
		if err != nil || string(data) != body || by != token {
			t.Errorf("it reads %q of %d, %v; want %q of %d", data, by, err, body, token)
		}
	}
	must.Succeed(t, fence.WriteFile(root, "out/report", 7, []byte("first")))
	must.Succeed(t, fence.WriteFile(root, "out/report", 7, []byte("again")))
	reads("again", 7)
	must.Succeed(t, fence.WriteFile(root, "out/report", 12, []byte("next")))
	// What an owner leaves that had looked before the next one wrote, and writes after it.
	must.Succeed(t, root.WriteFile("out/report.00000000000000000007", []byte("late"), 0o600))
	reads("next", 12)
	if err := fence.WriteFile(root, "out/report", 7, []byte("late")); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a former owner: %v", err)
	}
	must.Succeed(t, root.WriteFile("out/report.txt", nil, 0o600))
	must.Succeed(t, root.WriteFile("out/report.00000000000000000013.new", []byte("what a crash has left"), 0o600))
	must.Succeed(t, fence.WriteFile(root, "out/report", 13, []byte("last")))
	reads("last", 13)
	var names []string
	all := must.Get(os.ReadDir(filepath.Join(dir, "out")))(t)
	for _, e := range all {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"report.00000000000000000013", "report.txt"}) {
		t.Errorf("the directory has %s", names)
	}
}

// TestHandler: a request that was sent before, and comes after that of a newer owner, is refused; also one that came
// while the newer one was served.
func TestHandler(t *testing.T) {
	t.Parallel()
	inside, go1 := make(chan string, 1), make(chan bool)
	h := fence.Handler(func(r *http.Request) string { return r.URL.Path },
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			inside <- r.Header.Get(fence.Header)
			<-go1
		}))
	ask := func(path, token string) <-chan int {
		code := make(chan int, 1)
		go func() {
			r, w := httptest.NewRequest(http.MethodPut, path, strings.NewReader("")), httptest.NewRecorder()
			if token != "" {
				r.Header.Set(fence.Header, token)
			}
			h.ServeHTTP(w, r)
			code <- w.Code
		}()
		return code
	}
	next := ask("/a", "12")
	if token := <-inside; token != "12" {
		t.Fatalf("token %s is served", token)
	}
	former, other := ask("/a", "7"), ask("/b", "1")
	if token := <-inside; token != "1" {
		t.Errorf("beside it token %s is served, want that of another resource", token)
	}
	go1 <- true
	go1 <- true
	for who, want := range map[<-chan int]int{next: 200, former: 412, other: 200} { // order-free: each alone
		if code := <-who; code != want {
			t.Errorf("answered %d, want %d", code, want)
		}
	}
	close(go1)
	for token, want := range map[string]int{"": 400, "x": 400, "11": 412, "12": 200} { // order-free: each alone
		if code := <-ask("/a", token); code != want {
			t.Errorf("token %q is answered %d, want %d", token, code, want)
		}
	}
}

func TestElastic(t *testing.T) {
	t.Parallel()
	if got := fence.Elastic(17).Encode(); got != "version=17&version_type=external_gte" {
		t.Errorf("parameters %s", got)
	}
}
