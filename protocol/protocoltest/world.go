package protocoltest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// patience bounds every wait of a story: far above what is promised, since these are tests of behaviour and not of
// speed.
const patience = time.Minute

// Handle is a member and its connection to the store.
type Handle struct {
	Member protocol.Member
	// Clock is the clock of Member; default protocol.Now.
	Clock func() protocol.Instant
	// Crash closes the handle without a word, as the death of the process does.
	Crash func()
	// Away disconnects this member from the store (true), or connects it again (false).
	Away func(bool)
	// Break makes this member's calls fail in one of several ways, by number, and returns how; Away(false) ends that.
	// Only Storm needs it.
	Break func(which uint64) string
}

// Setup is how a protocol is tested on a store.
type Setup struct {
	// Open makes a fresh store for one story; the function it returns makes members on it.
	Open func(t *testing.T) func(t *testing.T, id cluster.MemberID, ttl time.Duration) Handle
	// TTL of the members.
	TTL time.Duration
	// Virtual runs each story in a bubble of testing/synctest: its time passes only while all of it waits, so no
	// machine is too slow for it. Open is called in the bubble and gives its members protocol.NewProcessClock(). Only a
	// store without I/O can be tested so.
	Virtual bool
	// Seed of a storm; 0 for a random one.
	Seed uint64
	// Many is the number of members in the story of many members; 0 skips it.
	Many int
}

// world is one story.
type world struct {
	t       *testing.T
	setup   Setup
	open    func(t *testing.T, id cluster.MemberID, ttl time.Duration) Handle
	ledger  *ledger
	peers   map[cluster.MemberID]*peer
	handles map[cluster.MemberID]Handle
	fails   string // of the peers that start
}

func newWorld(t *testing.T, s Setup) *world {
	w := &world{
		t: t, setup: s, open: s.Open(t), ledger: newLedger(), peers: make(map[cluster.MemberID]*peer),
		handles: make(map[cluster.MemberID]Handle),
	}
	t.Cleanup(w.close)
	return w
}

func (w *world) close() {
	for _, p := range w.peers {
		p.die()
	}
	for _, p := range w.peers {
		p.wg.Wait()
	}
	for _, f := range w.ledger.faults {
		w.t.Error(f)
	}
}

// start starts members; one that ran before under the name must have died or left.
func (w *world) start(ids ...cluster.MemberID) {
	w.t.Helper()
	for _, id := range ids {
		if old, ok := w.peers[id]; ok {
			old.wg.Wait()
		}
		h := w.open(w.t, id, w.setup.TTL)
		if h.Clock == nil {
			if w.setup.Virtual {
				w.t.Fatal("a member in virtual time needs a clock that reads it: set Handle.Clock")
			}
			h.Clock = protocol.Now
		}
		p := &peer{id: id, m: h.Member, clock: h.Clock, crash: h.Crash, ledger: w.ledger, fails: w.fails}
		w.peers[id], w.handles[id] = p, h
		p.begin(context.Background())
	}
}

// submit proposes through any live member.
func (w *world) submit(via cluster.MemberID, commands ...cluster.Command) []cluster.Result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := w.peers[via].m.Propose(ctx, commands...)
	if err != nil {
		w.t.Fatalf("propose through %s: %v", via, err)
	}
	return res
}

// asOwner proposes what names the token of a partition until it is accepted: a member that stood still for its TTL has
// got it under another one since.
func (w *world) asOwner(via cluster.MemberID, id cluster.PartitionID,
	commands func(cluster.Partition) []cluster.Command) {
	w.t.Helper()
	var results []cluster.Result
	for end := time.Now().Add(patience); time.Now().Before(end); {
		p, _ := w.peers[via].m.Value().Partition(id)
		results = w.submit(via, commands(p)...)
		if !slices.ContainsFunc(results, func(r cluster.Result) bool { return !r.Accepted }) {
			return
		}
		time.Sleep(20 * time.Millisecond) // waits: between two attempts, with a deadline
	}
	w.t.Fatalf("not accepted for %s: %+v", patience, results)
}

// tasks submits single tasks named t00, t01, ...
func (w *world) tasks(via cluster.MemberID, n int) {
	w.t.Helper()
	commands := make([]cluster.Command, n)
	for i := range commands {
		commands[i] = cluster.SubmitJob{
			Job:  cluster.JobID(fmt.Sprintf("t%02d", i)),
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}},
		}
	}
	for i, r := range w.submit(via, commands...) {
		if !r.Accepted {
			w.t.Fatalf("%v: %s", commands[i], r.Reason)
		}
	}
}

// shares waits until the members run exactly so many partitions each, and nobody else any.
func (w *world) shares(want map[cluster.MemberID]int) {
	w.t.Helper()
	w.until(fmt.Sprintf("shares %v", want), func(got map[cluster.MemberID]int) bool { return maps.Equal(got, want) })
}

// drains drains a member until the shares are so: one that stood still for its TTL has joined again since, and is not
// draining.
func (w *world) drains(via, id cluster.MemberID, want map[cluster.MemberID]int) {
	w.t.Helper()
	got, _ := w.ledger.shares()
	for end := time.Now().Add(patience); !maps.Equal(got, want); got, _ = w.ledger.shares() {
		if time.Now().After(end) {
			w.t.Fatalf("not within %s: shares %v while %s drains; got %v\n%s", patience, want, id, got, w.values())
		}
		if m, ok := w.peers[via].m.Value().Member(id); ok && !m.Draining {
			w.submit(via, cluster.DrainMember{Member: id, On: true})
		}
		time.Sleep(20 * time.Millisecond) // waits: between two looks, with a deadline
	}
}

// until waits until what runs is as told.
func (w *world) until(what string, ok func(map[cluster.MemberID]int) bool) {
	w.t.Helper()
	deadline := time.After(patience)
	for {
		got, changed := w.ledger.shares()
		if ok(got) {
			return
		}
		select {
		case <-changed:
		case <-time.After(20 * time.Millisecond): // a value changes also where no share does
		case <-deadline:
			w.t.Fatalf("not within %s: %s; got %v\n%s", patience, what, got, w.values())
		}
	}
}

func (w *world) values() string {
	s := ""
	for id, p := range w.peers {
		s += fmt.Sprintf("--- %s\n%s", id, p.m.Value())
	}
	return s
}
