package publishtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/publish"
)

// Secret is the password or token that a rig gives to its sink. It must never appear in an error or a log.
const Secret = "hunter2-x9"

// Rig opens a sink for a test, with a fake server that does what the script says. It is called in a bubble of
// testing/synctest.
type Rig struct {
	Open func(t *testing.T, s *Script) publish.Sink
	// NoWait says that the server has no way to ask for a time to wait.
	NoWait bool
	// Patient says that a refused login looks like a server that is away, and is waited for without a bound.
	Patient bool
}

// Run runs the suite. Tests of packages that call it need no server.
func Run(t *testing.T, r Rig) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Rig){
		"in order":                    inOrder,
		"a server starts again":       restart,
		"an answer is lost":           lost,
		"a dead server delays nobody": delaysNobody,
		"what is refused is dropped":  refused,
		"a login expires":             expires,
		"a busy server is waited for": busy,
		"the end flushes":             flushes,
		"the end has a bound":         bounded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, r) })
		})
	}
}

// options are small, so that a few samples fill the queue.
var options = publish.Options{Queue: 40, Batch: 5, SendTimeout: 3 * time.Second}

// running is a publisher whose Run was called.
type running struct {
	*publish.Batcher
	t     *testing.T
	s     *Script
	stop  func()
	ended chan error
}

func start(t *testing.T, r Rig) *running {
	s := newScript()
	b := publish.NewBatcher("fake", r.Open(t, s), options)
	ctx, stop := context.WithCancel(t.Context())
	out := &running{b, t, s, stop, make(chan error, 1)}
	go func() { out.ended <- b.Run(ctx) }()
	t.Cleanup(stop)
	return out
}

// quiet lets virtual time pass.
func (r *running) quiet(d time.Duration) {
	time.Sleep(d) // waits: in virtual time
	synctest.Wait()
}

// end stops the publisher and checks the counters, and that no secret was shown.
func (r *running) end(want publish.Stats, fails bool) {
	r.t.Helper()
	r.stop()
	err := <-r.ended
	if (err != nil) != fails {
		r.t.Errorf("Run: %v", err)
	}
	got := r.Stats()
	shown := fmt.Sprintf("%v %+v", err, publish.Sinks(r))
	got.Errors = want.Errors
	if got != want {
		r.t.Errorf("counted %+v, want %+v: %s", got, want, shown)
	}
	if strings.Contains(shown, Secret) {
		r.t.Errorf("a secret is shown: %s", shown)
	}
}

func (r *running) arrived(want []string) {
	r.t.Helper()
	if got := r.s.first(); !slices.Equal(got, want) {
		r.t.Errorf("arrived %v, want %v", got, want)
	}
}

func inOrder(t *testing.T, rig Rig) {
	r := start(t, rig)
	for i := range 23 {
		r.Publish(samples(i, 1)...)
	}
	r.quiet(time.Second)
	if s := r.Sinks()[0]; s.LagMS != 0 || s.LastError != "" || s.Errors != 0 {
		t.Errorf("of a healthy sink: %+v", s)
	}
	r.end(publish.Stats{Sent: 23}, false)
	r.arrived(keys(0, 23))
}

func restart(t *testing.T, rig Rig) {
	r := start(t, rig)
	r.Publish(samples(0, 7)...)
	r.quiet(time.Second)
	r.s.Set(Down)
	r.Publish(samples(7, 12)...)
	r.quiet(time.Minute)
	s := r.Sinks()[0]
	if s.Queued != 12 || s.LagMS < 59_000 || s.LagMS > 61_000 || s.Errors < 5 || s.LastError == "" || s.Dropped != 0 {
		t.Errorf("while the server is away: %+v", s)
	}
	r.s.Set(Up)
	r.quiet(20 * time.Second)
	if s := r.Sinks()[0]; s.LagMS != 0 || s.Queued != 0 {
		t.Errorf("after the server came back: %+v", s)
	}
	r.end(publish.Stats{Sent: 19}, false)
	r.arrived(keys(0, 19))
}

func lost(t *testing.T, rig Rig) {
	r := start(t, rig)
	r.s.Set(Lose)
	r.Publish(samples(0, 8)...)
	r.quiet(30 * time.Second)
	r.s.Set(Up)
	r.quiet(30 * time.Second)
	r.end(publish.Stats{Sent: 8}, false)
	r.arrived(keys(0, 8))
}

func delaysNobody(t *testing.T, rig Rig) {
	for _, m := range []Mood{Down, Hang} {
		dead, well := newScript(), newScript()
		dead.Set(m)
		a, b := publish.NewBatcher("dead", rig.Open(t, dead), options),
			publish.NewBatcher("well", rig.Open(t, well), options)
		all := publish.Fanout(a, b)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- all.Run(ctx) }()
		for i := range 60 {
			before := time.Now()
			all.Publish(samples(i, 1)...)
			if d := time.Since(before); d != 0 {
				t.Errorf("Publish took %v", d)
			}
			time.Sleep(time.Second) // waits: in virtual time
		}
		synctest.Wait()
		if got := a.Stats(); got.Queued != 40 || got.Dropped != 20 || got.Sent != 0 {
			t.Errorf("the dead one: %+v", got)
		}
		if got := b.Stats(); got != (publish.Stats{Sent: 60}) || !slices.Equal(well.first(), keys(0, 60)) {
			t.Errorf("the other one: %+v, %v", got, well.first())
		}
		stop()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "40 samples were dropped") {
			t.Errorf("Run: %v", err)
		}
		if got := a.Stats(); got.Dropped != 60 || got.Queued != 0 {
			t.Errorf("the dead one at the end: %+v", got)
		}
	}
}

func refused(t *testing.T, rig Rig) {
	r := start(t, rig)
	r.s.Set(Refuse)
	r.Publish(samples(0, 7)...)
	r.quiet(time.Minute)
	if s := r.Sinks()[0]; s.Dropped != 7 || s.Queued != 0 || s.LastError == "" {
		t.Errorf("what the server refuses: %+v", s)
	}
	r.s.Set(Up)
	r.Publish(samples(7, 3)...)
	r.quiet(time.Second)
	r.end(publish.Stats{Sent: 3, Dropped: 7}, false)
	r.arrived(keys(7, 3))
}

// expires: what was measured while the sink did not let the publisher in arrives when it does again, unless that takes
// too long.
func expires(t *testing.T, rig Rig) {
	r := start(t, rig)
	r.Publish(samples(0, 3)...)
	r.quiet(time.Second)
	r.s.Set(Expel)
	r.Publish(samples(3, 7)...)
	r.quiet(9 * time.Minute)
	if s := r.Sinks()[0]; s.Queued != 7 || s.Dropped != 0 || s.LastError == "" {
		t.Errorf("while the login is refused: %+v", s)
	}
	r.s.Set(Up)
	r.quiet(20 * time.Second)
	r.s.Set(Expel)
	r.Publish(samples(10, 2)...)
	r.quiet(11 * time.Minute)
	if s := r.Sinks()[0]; !rig.Patient && (s.Queued != 0 || s.Dropped != 2) {
		t.Errorf("after a long time: %+v", s)
	}
	r.s.Set(Up)
	r.Publish(samples(12, 1)...)
	r.quiet(20 * time.Second)
	if rig.Patient {
		r.end(publish.Stats{Sent: 13}, false)
		return
	}
	r.end(publish.Stats{Sent: 11, Dropped: 2}, false)
	r.arrived(append(keys(0, 10), keys(12, 1)...))
}

func busy(t *testing.T, rig Rig) {
	r := start(t, rig)
	r.s.Set(Busy)
	if !rig.NoWait {
		r.s.wait = 20 * time.Second
	}
	r.Publish(samples(0, 4)...)
	r.quiet(19 * time.Second)
	if n := r.s.requests(); !rig.NoWait && n != 1 {
		t.Errorf("%d requests within the time that the server asked for", n)
	}
	r.s.Set(Up)
	r.quiet(time.Minute)
	r.end(publish.Stats{Sent: 4}, false)
	r.arrived(keys(0, 4))
}

func flushes(t *testing.T, rig Rig) {
	r := start(t, rig)
	r.s.Set(Down)
	r.Publish(samples(0, 17)...)
	r.quiet(time.Minute)
	r.s.Set(Up)
	before := time.Now()
	r.end(publish.Stats{Sent: 17}, false)
	if d := time.Since(before); d > 2500*time.Millisecond {
		t.Errorf("the flush took %v", d)
	}
	r.arrived(keys(0, 17))
}

func bounded(t *testing.T, rig Rig) {
	for _, m := range []Mood{Down, Hang} {
		r := start(t, rig)
		r.s.Set(m)
		r.Publish(samples(0, 17)...)
		r.quiet(time.Minute)
		before := time.Now()
		r.end(publish.Stats{Dropped: 17}, true)
		if d := time.Since(before); d > 2500*time.Millisecond {
			t.Errorf("the end took %v, the bound is 2s and a quarter more", d)
		}
	}
}
