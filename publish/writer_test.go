package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sample(name string, v float64) Sample {
	return Sample{Name: name, Tags: map[string]string{"b": "2", "a": "1"},
		Points: []Point{{AtMS: 1795190400123, Value: v}}}
}

func TestLineIsTheJSONOfTheDocument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   Sample
		want string
	}{
		"tags sorted": {sample("host.load1", 0.42),
			`{"name":"host.load1","tags":{"a":"1","b":"2"},"points":[[1795190400123,0.42]]}`},
		"empty": {Sample{Name: "x"}, `{"name":"x","tags":{},"points":[]}`},
		"not finite": {Sample{Name: "x", Points: []Point{{1, math.Inf(1)}, {2, math.Inf(-1)}, {3, math.NaN()}}},
			`{"name":"x","tags":{},"points":[[1,null],[2,null],[3,null]]}`},
		"plain html": {Sample{Name: "a<b>&c"}, `{"name":"a<b>&c","tags":{},"points":[]}`},
		"newline":    {Sample{Name: "a\nb"}, `{"name":"a\nb","tags":{},"points":[]}`},
	} {
		var buf bytes.Buffer
		appendLine(&buf, c.in)
		line, err := c.in.Line()
		if got := buf.String(); got != c.want+"\n" || string(line) != c.want || err != nil {
			t.Errorf("%s: got %q, want %q and a newline; the line is %q, %v", name, got, c.want, line, err)
		}
	}
	for _, wrong := range []string{`[1]`, `[1,2,3]`, `[null,1]`, `{}`} {
		if p := new(Point); p.UnmarshalJSON([]byte(wrong)) == nil {
			t.Errorf("%s is read as %+v", wrong, *p)
		}
	}
	if p := new(Point); p.UnmarshalJSON([]byte(`[7,null]`)) != nil || p.AtMS != 7 || !math.IsNaN(p.Value) {
		t.Errorf("a value that is null is read as %+v", *p)
	}
}

// writes is an io.Writer that tells when each write came.
type writes struct{ at chan time.Time }

func (w writes) Write(b []byte) (int, error) { w.at <- time.Now(); return len(b), nil }

func TestFirstSampleAtOnceThenBatches(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		to := writes{make(chan time.Time, 10)}
		w := NewWriter("test", to, Options{Batch: 3})
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		start := time.Now()
		w.Publish(sample("a", 1))
		if got := (<-to.at).Sub(start); got != 0 {
			t.Errorf("first sample written after %v, want at once", got)
		}
		w.Publish(sample("b", 1))
		w.Publish(sample("c", 1))
		if got := (<-to.at).Sub(start); got != 100*time.Millisecond {
			t.Errorf("second write after %v, want 100ms", got)
		}
		synctest.Wait()
		second := time.Now()
		w.Publish(sample("d", 1), sample("e", 1), sample("f", 1))
		if got := (<-to.at).Sub(second); got != 0 {
			t.Errorf("a full batch was written after %v, want at once", got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run after a stop: %v", err)
		}
		if got, want := w.Stats(), (Stats{Sent: 6}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// blocked never takes anything until released.
type blocked struct {
	entered wait.Wake
	release chan struct{}
}

func (w blocked) Write(b []byte) (int, error) {
	w.entered.Set()
	<-w.release
	return len(b), nil
}

func TestBlockedSinkNeverBlocksPublish(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		to := blocked{make(chan struct{}, 1), make(chan struct{})}
		w := NewWriter("test", to, Options{Queue: 100})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		w.Publish(sample("a", 0))
		<-to.entered
		for range 150 {
			w.Publish(sample("a", 1))
		}
		if got, want := w.Stats(), (Stats{Queued: 100, Dropped: 51}); got != want {
			t.Errorf("while blocked: got %+v, want %+v", got, want)
		}
		stop()
		err := <-ended // at FlushTimeout and a quarter by the bubble's clock
		if !errors.Is(err, errStuck) || !strings.Contains(err.Error(), "100 samples") {
			t.Errorf("got %v, want that the sink is stuck and 100 samples were dropped", err)
		}
		if got, want := w.Stats(), (Stats{Dropped: 151}); got != want {
			t.Errorf("at the end: got %+v, want %+v", got, want)
		}
		close(to.release)
	})
}

// unread is a pipe that nobody reads: a write ends with its deadline.
type unread struct{ over chan struct{} }

func (u unread) Write([]byte) (int, error) { <-u.over; return 0, os.ErrDeadlineExceeded }

func (u unread) SetWriteDeadline(time.Time) error { close(u.over); return nil }

func TestPipeNobodyReadsEndsWithinTheBound(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		w, began := NewWriter("pipe", unread{make(chan struct{})}, Options{}), time.Now()
		w.Publish(sample("a", 1))
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := w.Run(ctx); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 2*time.Second {
			t.Errorf("after %v: %v, want that the write is given up", time.Since(began), err)
		}
		if got := w.Stats(); got.Dropped != 1 || got.Sent != 0 || got.Queued != 0 {
			t.Errorf("got %+v, want one dropped", got)
		}
	})
}

func TestFullDiskIsTriedAgainAndCounted(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatalf("this test needs /dev/full: %v", err)
	}
	defer full.Close()
	synctest.Test(t, func(t *testing.T) { // by the bubble's clock, however busy the machine is
		w := NewWriter("full", struct{ io.Writer }{full},
			Options{FlushTimeout: 50 * time.Millisecond, RetryMin: time.Millisecond, RetryMax: 2 * time.Millisecond})
		w.Publish(sample("a", 1))
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := w.Run(ctx); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v, want ENOSPC as the reason", err)
		}
		if got := w.Stats(); got.Dropped != 1 || got.Errors < 20 {
			t.Errorf("got %+v, want one dropped and a try each 2 ms", got)
		}
	})
}

// moody takes some bytes and then has an error that passes.
type moody struct {
	bytes.Buffer
	t *rapid.T
}

func (w *moody) Write(b []byte) (int, error) {
	switch rapid.SampledFrom([]string{"all", "all", "part", "none"}).Draw(w.t, "mood") {
	case "part":
		n := rapid.IntRange(0, len(b)-1).Draw(w.t, "n")
		w.Buffer.Write(b[:n])
		return n, syscall.ENOSPC
	case "none":
		return 0, syscall.EAGAIN
	}
	return w.Buffer.Write(b)
}

func TestNoLineTornLostOrDoubledByPassingErrors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		to := &moody{t: rt}
		w := NewWriter("moody", to, Options{Batch: rapid.IntRange(1, 5).Draw(rt, "batch"), RetryMin: 1, RetryMax: 1,
			FlushEvery: 1, FlushTimeout: time.Minute})
		n := rapid.IntRange(0, 12).Draw(rt, "samples")
		var want bytes.Buffer
		for i := range n {
			w.Publish(sample("s", float64(i)))
			appendLine(&want, sample("s", float64(i)))
		}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		must.Succeed(rt, w.Run(ctx))
		if to.String() != want.String() {
			rt.Fatalf("got\n%swant\n%s", to.String(), want.String())
		}
		if s := w.Stats(); s.Sent != int64(n) || s.Queued+s.Dropped != 0 {
			rt.Fatalf("got %+v, want %d sent", s, n)
		}
	})
}

func TestCountersAddUp(t *testing.T) {
	t.Parallel()
	w := NewWriter("discard", io.Discard, Options{Queue: 50, Batch: 7, FlushEvery: time.Microsecond})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				w.Publish(sample("a", 1), sample("b", 2))
			}
		})
	}
	all.Wait()
	stop()
	must.Succeed(t, <-ended)
	if s := w.Stats(); s.Queued != 0 || s.Sent+s.Dropped != 8000 || s.Sent == 0 {
		t.Errorf("got %+v, want none queued and 8000 sent or dropped", s)
	}
}

func TestRunTwice(t *testing.T) {
	t.Parallel()
	w := NewWriter("x", io.Discard, Options{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	must.Succeed(t, w.Run(ctx))
	if err := w.Run(ctx); !errors.Is(err, errTwice) {
		t.Errorf("got %v, want errTwice", err)
	}
}

func TestFileAppendsAndMendsATornLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "samples.jsonl")
	must.Succeed(t, os.WriteFile(path, []byte(`{"name":"to`), 0o600))
	for i := range 2 {
		w := must.Get(NewFile(path, Options{}))(t)
		w.Publish(sample("s", float64(i)))
		ctx, stop := context.WithCancel(t.Context())
		stop()
		must.Succeed(t, w.Run(ctx))
	}
	b := must.Get(os.ReadFile(path))(t)
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) != 3 || lines[0] != `{"name":"to` {
		t.Fatalf("got lines %q, want the torn one and two more", lines)
	}
	for i, l := range lines[1:] {
		var s Sample
		if err := json.Unmarshal([]byte(l), &s); err != nil || s.Points[0].Value != float64(i) {
			t.Errorf("line %q: %v, value %v, want %d", l, err, s.Points, i)
		}
	}
	for name, want := range map[string]error{path: syscall.ENOTDIR, t.TempDir(): os.ErrNotExist} { // order-free
		_, err := NewFile(filepath.Join(name, "no", "such"), Options{})
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "open file for samples") {
			t.Errorf("below %s: %v", name, err)
		}
	}
}

// A file is renamed by those who rotate logs; after Reopen samples go into a new one, and none is lost.
func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "samples")
	w := must.Get(NewFile(path, Options{FlushEvery: time.Millisecond}))(t)
	gone := must.Get(os.MkdirTemp(t.TempDir(), ""))(t)
	lost := must.Get(NewFile(filepath.Join(gone, "samples"), Options{}))(t)
	must.Succeed(t, os.RemoveAll(gone))
	first := w.to.(*file).f
	must.Succeed(t, must.Err(first.WriteString("kept\n")))
	must.Succeed(t, w.Reopen()) // it was not renamed
	if err := first.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the former file is kept open: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	lines := func(name string) int {
		b := must.Get(os.ReadFile(name))(t)
		return bytes.Count(b, []byte("\n"))
	}
	const n = 200
	for i := range n {
		w.Publish(sample("up", float64(i)))
		if i == n/2 {
			must.Succeed(t, os.Rename(path, path+".1"))
			if err := Fanout(lost, w).(fanout).Reopen(); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the directory of one file is gone: %v", err)
			}
		}
	}
	stop()
	must.Succeed(t, errors.Join(<-done, lost.end()))
	if was, is := lines(path+".1"), lines(path); was+is != 1+n || is == 0 {
		t.Errorf("%d lines in the first file and %d in the second one, of %d", was, is, 1+n)
	}
	if err := NewWriter("stdout", io.Discard, Options{}).Reopen(); err != nil {
		t.Errorf("of a sink without a file: %v", err)
	}
}
