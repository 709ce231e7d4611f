package protocoltest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// timesTTL is the TTL of rota demo.
const timesTTL = 4 * time.Second

// rounds is how often each member is hit, each time at another distance from what the others do by their clocks.
const rounds = 5

// bounds are how long all tasks may take until they run on the members that are there.
type bounds struct{ crash, suspension, leave, join time.Duration }

// bounds are what is promised on a store of this kind. Silence is noticed within the TTL, half a second later at most.
func (k kind) bounds() bounds {
	const ms = time.Millisecond
	b := bounds{crash: 500 * ms, suspension: timesTTL + 500*ms, leave: 200 * ms, join: time.Second}
	if k.expires || k.plain {
		b.crash = b.suspension // nobody but the clock tells of a death
	}
	if k.plain {
		b.leave = 500 * ms
	}
	return b
}

// Times holds a protocol to its promises of time, exactly: what happens to members takes place in virtual time, on each
// kind of store. Each of the members is hit, so the leader is too. idle is how many requests all of them together make
// in a TTL in which nothing happens, on each kind of store.
func Times(t *testing.T, p protocol.Protocol, idle map[string]float64) {
	for _, k := range kinds {
		if p.Fits(without{}) != nil && !k.expires {
			continue // the group that it needs ends the memberships of those that are silent, as sessions end there
		}
		t.Run(k.name+"/idle", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { newTimed(t, p, k).idle(idle[k.name]) })
		})
		b := k.bounds()
		for _, row := range []struct {
			what      string
			hit, back func(*timed, cluster.MemberID)
			bound     time.Duration // until others run what the member ran
			join      time.Duration // until it is back and runs its share; 0: not promised
		}{
			{"crash", (*timed).crash, (*timed).restart, b.crash, 0},
			{"suspension", (*timed).suspend, (*timed).resume, b.suspension, 0},
			{"leave and join", (*timed).leave, (*timed).restart, b.leave, b.join},
		} {
			t.Run(k.name+"/"+row.what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newTimed(t, p, k)
					for i := range rounds {
						for _, who := range []cluster.MemberID{"a", "b", "c"} {
							// waits: in virtual time, until all is quiet
							time.Sleep(4*timesTTL + time.Duration(i)*timesTTL/3/rounds)
							w.within(row.bound, who, false, func() { row.hit(w, who) })
							w.within(row.join, who, true, func() { row.back(w, who) })
						}
					}
				})
			})
		}
	}
}

// timed is a story of three members whose times are measured.
type timed struct {
	*world
	links  map[cluster.MemberID]*faults.FaultyGroup
	opened []*faults.FaultyGroup
}

func newTimed(t *testing.T, p protocol.Protocol, k kind) *timed {
	w := &timed{links: make(map[cluster.MemberID]*faults.FaultyGroup)}
	t.Cleanup(func() { // after the members: to others, one whose handle is closed is dead
		for _, f := range w.opened {
			_ = f.Close()
		}
	})
	w.world = newWorld(t, w.setup(p, k))
	w.three()
	return w
}

func (w *timed) setup(p protocol.Protocol, k kind) Setup {
	return Setup{Virtual: true, TTL: timesTTL,
		Open: func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) Handle {
			t.Helper()
			server, clock := memory.New(), protocol.NewProcessClock()
			return func(t *testing.T, id cluster.MemberID, ttl time.Duration) Handle {
				t.Helper()
				inner := &kindly{server.Open(), k}
				f := faults.NewFaultyGroup(inner, nil)
				w.links[id], w.opened = f, append(w.opened, f)
				c := protocol.Config{Member: id, Store: f, TTL: ttl, NoSessions: k.plain, Clock: clock,
					Events: logged(t, id)}
				if k.plain {
					c.Store = without{f, f, f, inner}
				}
				m, err := p.New(c)
				if err != nil {
					t.Fatal(err)
				}
				crash := func() { _ = f.Close() }
				if k.expires || k.plain { // what it had stays until its time is over
					crash = func() { f.Away(true) }
				}
				return Handle{Member: m, Clock: clock, Crash: crash, Away: f.Away, Break: f.Break}
			}
		}}
}

// idle counts requests.
func (w *timed) idle(most float64) {
	const ttls = 30
	time.Sleep(time.Minute) // waits: in virtual time, until all is quiet
	before := w.requests()
	time.Sleep(ttls * timesTTL) // waits: in virtual time
	got := float64(w.requests()-before) / ttls
	w.t.Logf("%.1f requests in a TTL", got)
	if got > most {
		w.t.Errorf("%.1f requests in a TTL, want at most %.1f", got, most)
	}
}

func (w *timed) requests() (n int) {
	for _, l := range w.links { // order-free: it is a sum
		n += l.Count(faults.Pass)
	}
	return n
}

// within does something to a member, and measures how long it takes until all members run their shares, or the two
// others all tasks. A bound of 0 is none.
func (w *timed) within(bound time.Duration, who cluster.MemberID, there bool, do func()) {
	w.t.Helper()
	do()
	began := time.Now()
	want := map[cluster.MemberID]int{"a": 6, "b": 6, "c": 6}
	if delete(want, who); there {
		want = map[cluster.MemberID]int{"a": 4, "b": 4, "c": 4}
	}
	w.shares(want)
	took := time.Since(began)
	w.t.Logf("%s, there: %t: %s", who, there, took)
	if bound > 0 && took > bound {
		w.t.Errorf("%s, there: %t: %s, want at most %s", who, there, took, bound)
	}
}

func (w *timed) crash(id cluster.MemberID) { w.peers[id].die() }

func (w *timed) leave(id cluster.MemberID) { w.peers[id].end(w.t) }

func (w *timed) restart(id cluster.MemberID) { w.start(id) }

// suspend takes a member away from its store right after a renewal: its silence then lasts longest.
func (w *timed) suspend(id cluster.MemberID) {
	renewed, over := make(chan struct{}), false
	w.links[id].SetPlan(func(c faults.Call) faults.Outcome {
		if over {
			return faults.Refused
		}
		if c.Op == "beat" || (c.Op == "put" || c.Op == "sessionput") && isHeartbeat(c.Key) {
			over = true
			close(renewed)
		}
		return faults.Pass
	})
	<-renewed
}

func (w *timed) resume(id cluster.MemberID) { w.links[id].Away(false) }
