package protocoltest

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

// timesTTL is the TTL of rota demo.
const timesTTL = 4 * time.Second

// rounds is how often each thing happens: each time at another distance from what the members do by their clocks.
const rounds = 8

// Bounds are how long all tasks may take to run on the members that are left, on each kind of store.
type Bounds struct {
	Crash, Suspension, Leave, Join time.Duration
}

// Times plays what happens to members, on each kind of store, in virtual time, and holds the protocol to its promises of time. Who is hit is each of the members in
// turn, so it is a leader too.
func Times(t *testing.T, p protocol.Protocol) {
	for _, k := range kinds {
		for _, row := range []struct {
			what  string
			hit   func(*timed, cluster.MemberID)
			back  func(*timed, cluster.MemberID)
			bound time.Duration
		}{
			{"crash", (*timed).crash, (*timed).restart, k.crash},
			{"suspension", (*timed).suspend, (*timed).resume, timesTTL + 500*time.Millisecond},
			{"leave", (*timed).leave, (*timed).restart, 500 * time.Millisecond},
			//{"join", k.leave, k.restart, 500 * time.Millisecond},
		} {
			t.Run(k.name+"/"+row.what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := &timed{links: make(map[cluster.MemberID]*storetest.FaultyGroup)}
					w.world = newWorld(t, w.setup(p, k))
					w.start("a", "b", "c")
					w.tasks("a", 12)
					for i := range rounds {
						for _, who := range []cluster.MemberID{"a", "b", "c"} {
							w.settle()
							time.Sleep(4*timesTTL + time.Duration(i)*timesTTL/3/rounds) // waits: in virtual time, until all is quiet
							began := time.Now()
							row.hit(w, who)
							if w.since.After(began) {
								began = w.since
							}
							w.until("the others run all", func(got map[cluster.MemberID]int) bool {
								return len(got) == 2+got[who] && got["a"]+got["b"]+got["c"]-got[who] == 12
							})
							took := time.Since(began)
							w.longest(fmt.Sprintf("%s %s", row.what, who), took)
							back := time.Now()
							row.back(w, who)
							w.settle()
							w.longest("back", time.Since(back))
						}
					}
					t.Log(w.worst)
				})
			})
		}
	}
}

type timed struct {
	*world
	links map[cluster.MemberID]*storetest.FaultyGroup
	since time.Time
	worst map[string]time.Duration
}

func (w *timed) longest(what string, took time.Duration) {
	if w.worst == nil {
		w.worst = make(map[string]time.Duration)
	}
	w.worst[what] = max(w.worst[what], took)
}

func (w *timed) settle() { w.shares(map[cluster.MemberID]int{"a": 4, "b": 4, "c": 4}) }

func (w *timed) crash(id cluster.MemberID) { w.peers[id].die() }

func (w *timed) leave(id cluster.MemberID) { w.peers[id].end(w.t) }

func (w *timed) restart(id cluster.MemberID) { w.start(id) }

// suspend lets a member reach the store no more from right after its next renewal on.
func (w *timed) suspend(id cluster.MemberID) {
	gone := make(chan struct{})
	over := false
	w.links[id].SetPlan(func(c storetest.Call) storetest.Outcome {
		if over {
			return storetest.Refused
		}
		if c.Op == "beat" || (c.Op == "put" || c.Op == "sessionput") && isHeartbeat(c.Key) {
			over = true
			close(gone)
		}
		return storetest.Pass
	})
	<-gone
	w.since = time.Now()
}

func (w *timed) resume(id cluster.MemberID) { w.links[id].Away(false) }

func (w *timed) setup(p protocol.Protocol, k kind) Setup {
	return Setup{Virtual: true, TTL: timesTTL, Open: func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) Handle {
		server, clock := memory.New(), protocol.NewProcessClock()
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) Handle {
			t.Helper()
			f := storetest.NewFaultyGroup(&kindly{server.Open(), k}, nil)
			t.Cleanup(func() { _ = f.Close() })
			w.links[id] = f
			c := protocol.Config{Member: id, Store: f, TTL: ttl, NoSessions: k.plain, Clock: clock, Events: logged(t, id)}
			if k.plain {
				c.Store = without{f, f}
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
