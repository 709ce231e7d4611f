package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
)

// wire is a connection that carries events; it has what was sent.
type wire struct {
	output.Text
}

func (*wire) Header() http.Header             { return http.Header{} }
func (*wire) WriteHeader(int)                 {}
func (*wire) Flush()                          {}
func (*wire) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline notes how long the next write may take.
func (w *wire) SetWriteDeadline(t time.Time) error {
	_, err := fmt.Fprintf(w, ": within %v\n", time.Until(t))
	return err
}

func (w *wire) has(what string) int { return strings.Count(w.String(), what) }

func (w *wire) counts(events ...string) (s string) {
	for _, e := range events {
		s += fmt.Sprint(w.has("event: "+e+"\n"), " ", e, ", ")
	}
	return s + fmt.Sprint(w.has(": beat\n"), " beats")
}

// streaming follows a path in virtual time; what it returns lets time pass, and waits until all was sent.
func streaming(t *testing.T, h http.Handler, path string, header ...string) (*wire, func(time.Duration)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1"+path, nil))(t)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w, done := &wire{}, make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(w, r)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return w, func(d time.Duration) {
		time.Sleep(d) // waits: in virtual time
		synctest.Wait()
	}
}

// TestAQuietStream: where nothing changes it says every 5 seconds that it lives, and nothing else.
func TestAQuietStream(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		v := world(t)
		var away atomic.Bool
		ready := func() []string {
			if away.Load() {
				return []string{"the store does not answer"}
			}
			return nil
		}
		h := api.Handler(api.Config{Value: func() cluster.Value { return v }, Ready: ready})
		w, pass := streaming(t, h, "/v1/events")
		check := func(d time.Duration, want string) {
			t.Helper()
			pass(d)
			if got := w.counts("begin", "changed", "ready", "reset"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		check(4999*time.Millisecond, "1 begin, 0 changed, 0 ready, 0 reset, 0 beats")
		check(time.Millisecond, "1 begin, 0 changed, 0 ready, 0 reset, 1 beats")
		check(55*time.Second, "1 begin, 0 changed, 0 ready, 0 reset, 12 beats")
		away.Store(true)
		check(250*time.Millisecond, "1 begin, 0 changed, 1 ready, 0 reset, 12 beats")
		check(4*time.Second, "1 begin, 0 changed, 1 ready, 0 reset, 12 beats")
		away.Store(false)
		check(250*time.Millisecond, "1 begin, 0 changed, 2 ready, 0 reset, 12 beats")
		if n := w.has(": within 30s\n"); n != 15 {
			t.Errorf("%d of 15 writes have a bound", n)
		}
		w, pass = streaming(t, h, "/v1/events", "Last-Event-ID", "6") // where nothing has changed
		check(5*time.Second, "0 begin, 0 changed, 0 ready, 0 reset, 1 beats")
	})
}

// TestAStreamSaysWhetherItsUserActs: the page offers what changes the cluster to those who may do it.
func TestAStreamSaysWhetherItsUserActs(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c := (&acting{}).config(t)
		var err error
		c.Users, err = api.ParseUsers(userLine("eve", "read", "r") + userLine("ann", "operate", "o"))
		must.Succeed(t, err)
		for token, acts := range map[string]string{"r": "false", "o": "true", c.Token: "true"} { // order-free: each by itself
			w, pass := streaming(t, api.Handler(c), "/v1/events", "Authorization", "Bearer "+token)
			if pass(time.Second); w.has(`"acts":`+acts) != 1 {
				t.Errorf("by %s: %s", token, w)
			}
		}
		c.Token, c.Users = "", nil
		w, pass := streaming(t, api.Handler(c), "/v1/events")
		if pass(time.Second); w.has(`"acts":false`) != 1 {
			t.Errorf("where nobody has a token: %s", w)
		}
	})
}

// TestStreamsShareALook: many of them ask for the value no more often than one does.
func TestStreamsShareALook(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		v := world(t)
		var looks atomic.Int64
		h := api.Handler(api.Config{Value: func() cluster.Value { looks.Add(1); return v }})
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for range 20 {
			r := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/v1/events", nil))(t)
			all.Go(func() { h.ServeHTTP(&wire{}, r) })
		}
		time.Sleep(time.Minute) // waits: in virtual time
		cancel()
		all.Wait()
		if n := looks.Load(); n > 4*60+2 {
			t.Errorf("20 streams looked %d times in a minute", n)
		}
	})
}

// TestTheLargestChange: 2,000 records are listed, one more makes the stream begin again.
func TestTheLargestChange(t *testing.T) {
	t.Parallel()
	for jobs, want := range map[int]string{
		1000: "1 begin, 1 changed, 0 reset, 0 beats",
		1001: "1 begin, 0 changed, 1 reset, 0 beats",
	} {
		synctest.Test(t, func(t *testing.T) {
			var value atomic.Value
			value.Store(cluster.Value{})
			w, pass := streaming(t, api.Handler(api.Config{Value: func() cluster.Value { return value.Load().(cluster.Value) }}), "/v1/events")
			pass(time.Second)
			var submit []cluster.Command
			for i := range jobs { // each with one partition; in the place of the last one too many a member
				if i == 1000 {
					submit = append(submit, cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a"})
					continue
				}
				submit = append(submit, cluster.SubmitJob{Job: cluster.JobID(fmt.Sprint("j", i)),
					Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
			}
			value.Store(after(submit...))
			pass(time.Second)
			if got := w.counts("begin", "changed", "reset"); got != want {
				t.Errorf("%d jobs: got %s, want %s", jobs, got, want)
			}
		})
	}
}

// fresh is a journal that is away or has one record, as new as the clock said when it was made.
type fresh struct {
	at   int64
	away atomic.Bool
}

func (*fresh) Append(context.Context, ...journal.Record) error { return nil }

func (f *fresh) Read(_ context.Context, q journal.Query) ([]journal.Record, error) {
	if f.away.Load() {
		return nil, store.ErrUnavailable
	}
	if f.at < q.Since.UnixMilli() {
		return nil, nil
	}
	return []journal.Record{{AtMS: f.at, Kind: journal.Moved, Partition: "x"}}, nil
}

// TestAQuietJournal: a record is sent once though it is read again and again, and a journal that is away is waited for.
func TestAQuietJournal(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		j := &fresh{at: time.Now().UnixMilli()}
		w, pass := streaming(t, api.Handler(api.Config{Value: func() cluster.Value { return cluster.Value{} },
			Journal: j}), "/v1/journal/events")
		for _, id := range []string{"-5.x", "9007199254740992.x"} {
			bad, wait := streaming(t, api.Handler(api.Config{Value: func() cluster.Value { return cluster.Value{} },
				Journal: j}), "/v1/journal/events", "Last-Event-ID", id)
			if wait(time.Second); bad.has("not the identifier of a record") != 1 ||
				bad.has("record\n")+bad.has(": begin") != 0 {
				t.Errorf("after no event it is sent %s", bad)
			}
		}
		pass(57 * time.Second)
		if got := w.counts("record"); got != "1 record, 11 beats" {
			t.Errorf("got %s", got)
		}
		pass(time.Hour)
		if got := w.has("event: record"); got != 1 {
			t.Errorf("the record was sent %d times", got)
		}
		j.away.Store(true)
		pass(3 * time.Second)
		if got := w.has(": the store does not answer\n"); got != 3 {
			t.Errorf("said %d times in 3 s that the store does not answer", got)
		}
		j.away.Store(false)
		pass(10 * time.Second)
		if got := w.has(": the store does not answer\n"); got != 3 {
			t.Errorf("it is said again though the store answers: %d times", got)
		}
	})
}
