package memory_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

const (
	session   = 10 * time.Second
	rebalance = 7 * time.Second
)

// groupWorld drives a group at random, and keeps what its contract says of the answers.
type groupWorld struct {
	t     *rapid.T
	group memory.Group
	at    time.Duration
	calls map[uint64]memory.GroupCall
	next  uint64
	sent  map[uint64]time.Duration

	ids    []string
	seats  []store.Seat
	joins  map[store.Seat]store.Membership
	facts  map[uint64]string        // generation → leader, of those that were synced
	kept   map[string]time.Duration // until when a member is promised to stay
	left   map[string]bool
	gone   map[string]bool // of those that left: a failure of the server does not bring them back
	newest uint64
}

func (w *groupWorld) step(c memory.GroupCall) {
	if c.Join != nil || c.Sync != nil || c.Beat != nil || c.Leave != "" {
		w.next++
		c.Call = w.next
		w.calls[c.Call], w.sent[c.Call] = c, w.at
	}
	if c.Leave != "" {
		w.left[c.Leave] = true
	}
	before := w.group.String()
	after, answers := w.group.Step(w.at, c)
	if w.group.String() != before {
		w.t.Fatalf("the step changed its receiver: %s, was %s", w.group, before)
	}
	w.group = after
	if strings.HasPrefix(after.String(), "empty") { // that nobody is left is a fact at once
		w.gone = maps.Clone(w.left)
	}
	for _, a := range answers {
		call, ok := w.calls[a.Call]
		if !ok {
			w.t.Fatalf("answer to call %d, which does not wait", a.Call)
		}
		delete(w.calls, a.Call)
		w.answered(call, a)
	}
	if at, ok := w.group.Deadline(); ok && at <= w.at && c.Call == 0 {
		w.t.Fatalf("at %v, after a step, the deadline %v has passed: %s", w.at, at, w.group)
	}
}

func (w *groupWorld) answered(c memory.GroupCall, a memory.GroupAnswer) {
	id := c.Leave
	switch {
	case c.Join != nil && a.Err == nil:
		w.joined(c, a.Membership)
	case c.Join != nil:
		id = c.Join.ID
	case c.Sync != nil:
		if id = c.Sync.ID; a.Err == nil {
			w.synced(*c.Sync, c.Call)
		}
	case c.Beat != nil:
		if id = c.Beat.ID; a.Err == nil && w.facts[c.Beat.Generation] != "" {
			w.kept[id] = max(w.kept[id], w.sent[c.Call]+min(session, rebalance))
		}
	}
	if errors.Is(a.Err, store.ErrSession) && !w.left[id] && w.at < w.kept[id] {
		w.t.Fatalf("%s is out at %v, was promised to stay until %v", id, w.at, w.kept[id])
	}
}

func (w *groupWorld) joined(c memory.GroupCall, m store.Membership) {
	if c.Join.ID != "" && m.ID != c.Join.ID {
		w.t.Fatalf("%q joined, and became %q", c.Join.ID, m.ID)
	}
	if w.left[m.ID] {
		w.t.Fatalf("%s has left, and is a member of generation %d", m.ID, m.Generation)
	}
	if !slices.Contains(w.ids, m.ID) {
		w.ids = append(w.ids, m.ID)
	}
	w.seats = append(w.seats, m.Seat)
	if m.Leads() != (m.Members != nil) {
		w.t.Fatalf("%+v: the leader, and nobody else, gets the list", m)
	}
	w.joins[m.Seat] = m
}

// synced checks that a generation that is a fact has one leader, for ever, and that facts grow.
func (w *groupWorld) synced(s store.Seat, call uint64) {
	leader := w.joins[s].Leader
	if known := w.facts[s.Generation]; known != "" && known != leader {
		w.t.Fatalf("generation %d has the leaders %s and %s", s.Generation, known, leader)
	}
	if s.Generation < w.newest {
		w.t.Fatalf("generation %d is a fact after %d", s.Generation, w.newest)
	}
	w.newest = s.Generation
	w.gone = maps.Clone(w.left)
	w.facts[s.Generation] = leader
	w.kept[s.ID] = max(w.kept[s.ID], w.sent[call]+min(session, rebalance))
}

func (w *groupWorld) act() {
	id, seat := "", store.Seat{ID: "m1", Generation: 1}
	if len(w.ids) > 0 {
		id = rapid.SampledFrom(w.ids).Draw(w.t, "id")
		seat = rapid.SampledFrom(w.seats).Draw(w.t, "seat")
		if rapid.Bool().Draw(w.t, "recent") {
			seat = w.seats[len(w.seats)-1-rapid.IntRange(0, min(3, len(w.seats)-1)).Draw(w.t, "back")]
		}
	}
	switch rapid.IntRange(0, 11).Draw(w.t, "act") {
	case 0:
		id = ""
		fallthrough
	case 1, 2, 3:
		data := []byte(rapid.SampledFrom([]string{"x", "y"}).Draw(w.t, "data"))
		w.step(memory.GroupCall{Join: &store.JoinRequest{ID: id, Data: data, Session: session, Rebalance: rebalance}})
	case 4, 5, 6:
		w.step(memory.GroupCall{Sync: &seat,
			Give: []store.GroupMember{{ID: seat.ID, Data: []byte("g")}, {ID: "nobody"}}})
	case 7, 8:
		w.step(memory.GroupCall{Beat: &seat})
	case 9:
		if rapid.IntRange(0, 3).Draw(w.t, "leave") == 0 && id != "" {
			w.step(memory.GroupCall{Leave: id})
		}
	case 10:
		w.pass(time.Duration(rapid.IntRange(1, 4000).Draw(w.t, "ms")) * time.Millisecond)
	case 11:
		if rapid.IntRange(0, 5).Draw(w.t, "fail") == 0 {
			w.step(memory.GroupCall{Fail: true})
			w.left = maps.Clone(w.gone) // that somebody left is forgotten until a generation without him is a fact
		}
	}
}

// pass lets time pass, with a step at each deadline, as the shell does.
func (w *groupWorld) pass(d time.Duration) {
	for end := w.at + d; ; {
		at, ok := w.group.Deadline()
		if !ok || at > end {
			w.at = end
			return
		}
		w.at = max(w.at, at)
		w.step(memory.GroupCall{})
	}
}

// TestGroupContract drives the group at random, with deaths of its server. Without them, all calls get an answer in the
// end.
func TestGroupContract(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &groupWorld{
			t: t, group: memory.NewGroup(time.Duration(rapid.IntRange(0, 3000).Draw(t, "delay")) * time.Millisecond),
			calls: map[uint64]memory.GroupCall{}, sent: map[uint64]time.Duration{},
			joins: map[store.Seat]store.Membership{},
			facts: map[uint64]string{}, kept: map[string]time.Duration{}, left: map[string]bool{},
			gone: map[string]bool{},
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			w.act()
		}
		w.pass(time.Minute)
		if len(w.calls) != 0 {
			t.Fatalf("after a minute %d calls have no answer: %s", len(w.calls), w.group)
		}
	})
}

// TestGroupForgets: what was no fact when the server dies is forgotten, and its number is given again.
func TestGroupForgets(t *testing.T) {
	t.Parallel()
	g := memory.NewGroup(0)
	ask := func(c memory.GroupCall) memory.GroupAnswer {
		t.Helper()
		var answers []memory.GroupAnswer
		c.Call = 1
		if g, answers = g.Step(0, c); len(answers) != 1 {
			t.Fatalf("%d answers: %v", len(answers), answers)
		}
		return answers[0]
	}
	join := func(id, data string) store.Membership {
		return ask(memory.GroupCall{Join: &store.JoinRequest{ID: id, Data: []byte(data), Session: session,
			Rebalance: rebalance}}).Membership
	}
	first := join("", "a")
	if a := ask(memory.GroupCall{Sync: &first.Seat}); a.Err != nil {
		t.Fatal(a.Err)
	}
	second := join(first.ID, "b")
	g, _ = g.Step(0, memory.GroupCall{Fail: true})
	if a := ask(memory.GroupCall{Beat: &second.Seat}); !errors.Is(a.Err, store.ErrGeneration) {
		t.Fatalf("heartbeat in the generation that was forgotten: %v, want ErrGeneration", a.Err)
	}
	if again := join(first.ID, "c"); again.Generation != second.Generation {
		t.Fatalf("generation %d after the failure, want %d again", again.Generation, second.Generation)
	}
	if a := ask(memory.GroupCall{Leave: first.ID}); a.Err != nil {
		t.Fatal(a.Err)
	}
	g, _ = g.Step(0, memory.GroupCall{Forget: true})
	if m := join("", "d"); m.Generation != 1 || m.ID == first.ID {
		t.Fatalf("%s after the group was forgotten: want generation 1 and a new ID", fmt.Sprint(m.Seat))
	}
}

// TestGroupWaits: a member that waits for others has asked, and is not silent, however short its session is.
func TestGroupWaits(t *testing.T) {
	t.Parallel()
	const short = 2 * time.Second
	g, next := memory.NewGroup(0), uint64(0)
	answers := map[uint64]memory.GroupAnswer{}
	step := func(at time.Duration, c memory.GroupCall) uint64 {
		next++
		c.Call = next
		var now []memory.GroupAnswer
		g, now = g.Step(at, c)
		for _, a := range now {
			answers[a.Call] = a
		}
		return c.Call
	}
	join := func(at time.Duration, data string) uint64 {
		return step(at, memory.GroupCall{Join: &store.JoinRequest{Data: []byte(data), Session: short,
			Rebalance: rebalance}})
	}
	first := answers[join(0, "a")].Membership
	if a := answers[step(0, memory.GroupCall{Sync: &first.Seat})]; a.Err != nil {
		t.Fatal(a.Err)
	}
	waits := join(0, "b")
	for at := time.Second; at < rebalance; at += time.Second {
		step(at, memory.GroupCall{Beat: &first.Seat}) // it lives, and does not join again
		if a, ok := answers[waits]; ok {
			t.Fatalf("at %v the one that waits has the answer %+v", at, a)
		}
	}
	step(rebalance, memory.GroupCall{Beat: &first.Seat})
	if a := answers[waits]; a.Err != nil || a.Membership.Leader != a.Membership.ID {
		t.Errorf("after %v: %+v; want a generation that it leads", rebalance, a)
	}
}
