package tasks

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// TestAnEndlessBodyIsCut: a server that never ends its answer holds a check for no longer than it takes to send
// max_body.
func TestAnEndlessBodyIsCut(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for line := "n{l=\"" + strings.Repeat("x", 1000) + "\"} 1\n"; r.Context().Err() == nil; {
			if _, err := fmt.Fprint(w, line); err != nil {
				return
			}
		}
	})
	h, err := round(t, local, "http",
		object{"url": s.URL, "max_body": 100_000, "expect": object{"body": "no such text"}})
	wantDown(t, h, "http", "body", err)
	h, err = round(t, local, "scrape", object{"url": s.URL, "max_bytes": 100_000})
	wantDown(t, h, "scrape", "limit", err)
	h, _ = round(t, local, "http", object{"url": s.URL, "max_body": 100_000}) // nobody looks at it
	if up := h.LastValue(t, "http.up"); up != 1 {
		t.Errorf("up is %v for an endless body that nobody looks at, want 1", up)
	}
}

// TestTheFirstCertificateToEndCounts: a chain is as good as its shortest link, and a server as its best chain.
func TestTheFirstCertificateToEndCounts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	chain := func(days ...int) (out []*x509.Certificate) {
		for _, d := range days {
			out = append(out, &x509.Certificate{NotAfter: now.Add(time.Duration(d) * 24 * time.Hour)})
		}
		return out
	}
	for _, c := range []struct {
		chains [][]*x509.Certificate
		want   float64
	}{
		{[][]*x509.Certificate{chain(90, 5, 900)}, 5},
		{[][]*x509.Certificate{chain(3, 5, 900)}, 3},
		{[][]*x509.Certificate{chain(90, 5), chain(90, 40)}, 40},
		{[][]*x509.Certificate{chain(90, 40), chain(90, 5)}, 40},
	} {
		if got, ok := daysLeft(c.chains, now); !ok || got != c.want {
			t.Errorf("%v days, want %v", got, c.want)
		}
	}
	if _, ok := daysLeft(nil, now); ok {
		t.Error("no certificate ends some time")
	}
}

// TestAFileThatStillGrowsIsKept: a program may write to a file for long after its rotation. It is closed when it has
// not grown for a while, not when a while has passed.
func TestAFileThatStillGrowsIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.log.1")
	write(t, path, "")
	open := must.Get(os.Open(path))(t)
	defer open.Close()
	s := &tailSession{t: &tailRunner{rotateWait: time.Minute}}
	moved := time.Now()
	f := &tailFile{f: open, moved: moved, grew: moved.Add(10 * time.Minute)}
	if s.abandon(f, moved.Add(10*time.Minute+59*time.Second)) {
		t.Error("closed 59 s after it grew")
	}
	f.grew = moved.Add(-time.Hour) // and was quiet
	if s.abandon(f, moved.Add(59*time.Second)) {
		t.Error("closed 59 s after it was moved: its writer may not have noticed")
	}
	f.moved = time.Time{}
	if s.abandon(f, moved.Add(time.Hour)) {
		t.Error("closed although it was not moved")
	}
}

// TestNothingIsLostOfAnEmptyFile: of a file that is gone what was not read may be lost, unless there was nothing to
// read.
func TestNothingIsLostOfAnEmptyFile(t *testing.T) {
	t.Parallel()
	g, _ := worktest.NewGrant(t, work.Definition{})
	r, dir := &tailRunner{allowed: below}, t.TempDir()
	s := &tailSession{t: r, g: g, batch: newTailBatch(r, g),
		marks: []tailMark{{Path: filepath.Join(dir, "a")}, {Path: filepath.Join(dir, "b"), Offset: 5}}}
	s.orphans()
	if len(s.marks) != 0 || len(s.batch.series) != 1 ||
		s.batch.in("tail.lost_files", map[string]string{"file": filepath.Join(dir, "b")}).count != 1 {
		t.Errorf("%d marks are left, %d series, want that b is lost", len(s.marks), len(s.batch.series))
	}
}

// TestLinesOfJSON: a line is a segment as it is, and one that is no JSON ends the read.
func TestLinesOfJSON(t *testing.T) {
	t.Parallel()
	r := &linesRunner{json: true}
	if got, err := r.segment(`{"a": 1}`); err != nil || string(got) != `{"a": 1}` {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := r.segment("a line"); err == nil {
		t.Errorf("%s is taken for JSON", got)
	}
}
