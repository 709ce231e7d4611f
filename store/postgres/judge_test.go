package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// numbers is a row as the server sends it.
func numbers(all ...int64) (r row) {
	for _, n := range all {
		r = append(r, binary.BigEndian.AppendUint64(nil, uint64(n))) //nolint:gosec // as the server has it
	}
	return r
}

// TestNotice: a session that the server does not name any more is over, also where it names none.
func TestNotice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct { // order-free: each is judged alone
		alive []row
		lost  [2]bool
	}{"both": {[]row{numbers(2), numbers(1)}, [2]bool{}}, "one": {[]row{numbers(2), numbers(7)}, [2]bool{true, false}},
		"none": {nil, [2]bool{true, true}}} {
		asked := []*vigil{{id: 1, ended: make(chan struct{})}, {id: 2, ended: make(chan struct{})}}
		notice(asked, c.alive)
		var lost [2]bool
		for i, v := range asked {
			select {
			case <-v.ended:
				lost[i] = true
			default:
			}
		}
		if lost != c.lost {
			t.Errorf("%s are alive: lost are %v, want %v", name, lost, c.lost)
		}
	}
}

// TestObserve: a session counts as silent from its newest sign of life on, and not sooner than one that shows itself
// seldom.
func TestObserve(t *testing.T) {
	t.Parallel()
	j, began := &judge{}, time.Now() // it has no server: who is ended makes it panic
	seen := j.observe(nil, []row{numbers(1, 1000, 5), numbers(2, 1000, 5)}, began)
	later := began.Add(silentFor*beatMost - 1)
	seen = j.observe(seen, []row{numbers(1, 1000, 6), numbers(2, 1000, 5)}, later)
	if len(seen) != 2 || seen[1].since != later || seen[2].since != began {
		t.Errorf("seen %+v", seen)
	}
	seen = j.observe(seen, []row{numbers(1, 1000, 6)}, later.Add(silentFor*beatMost-1))
	if len(seen) != 1 || seen[1].since != later {
		t.Errorf("seen %+v", seen)
	}
}

// TestHowOftenASessionShowsItself: as often as the one with the shortest ttl needs, within bounds.
func TestHowOftenASessionShowsItself(t *testing.T) {
	t.Parallel()
	w := &wire{vigils: map[int64]*vigil{}}
	for i, c := range []struct{ ttl, want time.Duration }{{time.Hour, beatMost}, {2 * time.Second, 6 * time.Second},
		{5 * time.Second, 6 * time.Second}, {time.Millisecond, beatLeast}} {
		w.vigils[int64(i)] = &vigil{ttl: c.ttl}
		if got := (&judge{w: w}).every(); got != c.want {
			t.Errorf("with a ttl of %v: every %v, want %v", c.ttl, got, c.want)
		}
	}
}

// TestNamesAreQuoted: no name of a schema is taken for more than a name.
func TestNamesAreQuoted(t *testing.T) {
	t.Parallel()
	if got, want := newLayout(`a"b'c`).text("~rows ^"), `"a""b'c".rows 'rota:a"b''c'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// On a slow machine a process gets more time to prove that it lives, and a dead one is not waited for without a bound.
func TestGraceGrowsWithARequest(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for took, want := range map[time.Duration]time.Duration{0: 150 * ms, 10 * ms: 200 * ms, 170 * ms: time.Second,
		5 * time.Second: time.Second} {
		if got := graceAfter(took); got != want {
			t.Errorf("after a request of %v: %v, want %v", took, got, want)
		}
	}
}

// TestWatchIsThere: a watch hears of what comes from its first hint on, until it has ended.
func TestWatchIsThere(t *testing.T) {
	t.Parallel()
	w := newWire(Options{Logger: slog.New(slog.DiscardHandler), Connections: lineConnections})
	w.line.once.Do(func() {})
	w.line.now = &lineConn{}
	var there []int
	ctx, cancel := context.WithCancel(t.Context())
	_ = (&schema{wire: w}).Watch(ctx, "a/", func() { there = append(there, len(w.hub.watches)); cancel() })
	if there = append(there, len(w.hub.watches)); !slices.Equal(there, []int{1, 0}) {
		t.Errorf("at the first hint, and after the end, there are %d watches", there)
	}
}

// TestBackWithTheCalls: a server was away for so long that attempts to listen to it, and to hear of the end of others,
// have become rare. They are made when a call has connected.
func TestBackWithTheCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire(Options{Logger: slog.New(slog.DiscardHandler), Connections: lineConnections + 1, Timeout: time.Second})
		var attempts atomic.Int32
		var connects atomic.Bool // the next call
		away := errors.New("no server")
		w.dial = func(context.Context, pgconn.NotificationHandler) (*conn, error) {
			if connects.CompareAndSwap(true, false) {
				return &conn{}, nil
			}
			attempts.Add(1)
			return nil, away
		}
		w.life.Begin(w.line.run)
		w.life.Begin(w.judge.wait)
		time.Sleep(time.Minute) // waits: in virtual time, until the pauses are as long as they become
		synctest.Wait()
		for range 2 {
			before := attempts.Load()
			if _, err := w.workers.get(t.Context()); !errors.Is(err, away) || attempts.Load() != before+1 {
				t.Fatalf("a call that cannot connect: %v, and %d attempts", err, attempts.Load()-before)
			}
		}
		before := attempts.Load()
		connects.Store(true)
		if _, err := w.workers.get(t.Context()); err != nil {
			t.Fatal(err)
		}
		if synctest.Wait(); attempts.Load() != before+2 {
			t.Errorf("%d attempts when a call has connected, want one to listen and one of the judge", attempts.Load()-before)
		}
		w.life.End()
	})
}

// TestHub: who watches gets a hint of what lies below the prefix, and of nothing else.
func TestHub(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string][3]int{ // the log, all rows, those below w/
		"l": {1, 0, 0}, "dw/a": {0, 1, 1}, "dx/a": {0, 1, 0}, "dw": {0, 1, 0}, "*": {0, 1, 1},
		"": {1, 1, 1}, "what a later version says": {},
	} {
		h := newHub()
		var got [3]int
		all := []*watch{{log: true}, {}, {prefix: "w/"}}
		for i, w := range all {
			w.hint = func() { got[i]++ }
			h.add(w)
		}
		h.heard(payload)
		if got != want {
			t.Errorf("%q: hints %d, want %d", payload, got, want)
		}
		for _, w := range all {
			h.remove(w)
		}
		if h.heard(payload); got != want {
			t.Errorf("%q: hints after the end", payload)
		}
	}
}
