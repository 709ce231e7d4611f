package log

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/internal/adversary"
)

// scenario is a small system of which every interleaving of requests is tried.
type scenario struct {
	name string
	adversary.Model
	seeding bool
}

func appends(data ...string) func(hand) {
	return func(h hand) {
		for _, d := range data {
			h.append(d)
		}
	}
}

func reads(h hand)    { h.readAll() }
func compacts(h hand) { h.compacts() }
func looks(h hand)    { h.looks() }

func together(data ...string) func(hand) { return func(h hand) { h.append(data...) } }
func saves(index uint64) func(hand)      { return func(h hand) { h.saves(index) } }
func trims(index uint64) func(hand)      { return func(h hand) { h.trims(index) } }
func seeds(index uint64) func(hand)      { return func(h hand) { h.seeds(index) } }
func snapshots(h hand) {
	last, err := h.Snapshot(context.Background())
	h.p.Tell(event{op: "snapshot", records: decodeAll(last), err: err})
}
func pageAt(after uint64) func(hand) {
	return func(h hand) { _, _ = h.page(after) }
}

func then(all ...func(hand)) func(hand) {
	return func(h hand) {
		for _, f := range all {
			f(h)
		}
	}
}

func callers(all ...func(hand)) (out []adversary.Script) {
	for _, f := range all {
		out = append(out, script(f))
	}
	return out
}

// scenarios are small enough to be walked with every change. The build tag proof adds larger ones.
func scenarios() []scenario {
	two, four := script(appends("x1", "x2")), script(appends("x1", "x2", "x3", "x4"))
	saved := script(then(appends("x1", "x2", "x3", "x4"), saves(4)))
	return []scenario{
		{"two appenders", adversary.Model{Scripts: callers(appends("a1", "a2"), appends("b1", "b2"))}, false},
		{"three appenders", adversary.Model{Scripts: callers(appends("a1"), appends("b1"), appends("c1")), Before: two},
			false},
		{"two appenders and a reader", adversary.Model{Scripts: callers(appends("a1", "a2"), appends("b1"), reads),
			Before: two}, false},
		{"two appenders of two, mute", adversary.Model{Scripts: callers(together("a1", "a2"), together("b1", "b2")),
			Before: two, Mute: true}, false},
		{"an appender, a trimmer and a reader",
			adversary.Model{Scripts: callers(appends("a1"), trims(3), then(looks, reads)), Before: saved}, false},
		{"an appender and a compacter", adversary.Model{Scripts: callers(then(looks, appends("a1")), compacts),
			Before: four}, false},
		{"a look while it is trimmed", adversary.Model{Scripts: callers(then(looks, pageAt(1)), trims(4)),
			Before: saved}, false},
		{"two trims of one snapshot", adversary.Model{Scripts: callers(trims(2), trims(4), appends("a1")),
			Before: saved}, false},
		{"two savers", adversary.Model{Scripts: callers(saves(2), saves(4)), Before: four}, false},
		{"a saver and a reader of the snapshot", adversary.Model{Scripts: callers(saves(4), snapshots),
			Before: script(then(appends("x1", "x2", "x3", "x4"), saves(2)))}, false},
		{"a seed, an appender and a reader", adversary.Model{Scripts: callers(seeds(7), appends("a1"), reads)}, true},
		{"two seeds", adversary.Model{Scripts: callers(seeds(7), seeds(9))}, true},
		{"an appender, three faults", adversary.Model{Scripts: callers(appends("a1", "a2")), Before: two, Faults: 3},
			false},
		{"two appenders, two faults",
			adversary.Model{Scripts: callers(then(looks, appends("a1")), then(looks, appends("b1"))), Before: two,
				Faults: 2}, false},
		{"two appenders of two, one fault", adversary.Model{Scripts: callers(appends("a1", "a2"), together("b1", "b2")),
			Before: two, Faults: 1, Mute: true}, false},
		{"an appender that is passed, one fault",
			adversary.Model{Scripts: callers(then(looks, appends("a1")), then(together("x5", "x6"), compacts)),
				Before: four, Faults: 1}, false},
		{"an appender that is passed, two faults",
			adversary.Model{Scripts: callers(then(looks, appends("a1")), together("x5", "x6", "x7")), Before: two,
				Faults: 2}, false},
		{"two appenders of blobs and a reader",
			adversary.Model{Scripts: callers(appends("big1"), together("big2", "b3"), reads), Before: two}, false},
		{"an appender of a blob that is passed",
			adversary.Model{Scripts: callers(then(looks, appends("big1")), then(together("x5", "x6"), compacts)),
				Before: script(appends("x1", "big3", "x3", "x4"))}, false},
		{"an appender of a blob and a compacter, one fault",
			adversary.Model{Scripts: callers(appends("big1"), compacts), Before: script(appends("x1", "big3")),
				Faults: 1}, false},
		{"a trim beside an appender of a blob", adversary.Model{Scripts: callers(appends("big1"), trims(4)),
			Before: saved}, false},
		{"a look at a blob while it is trimmed", adversary.Model{Scripts: callers(then(looks, pageAt(1)), compacts),
			Before: script(appends("x1", "big3", "x3", "x4", "x5", "x6"))}, false},
		{"a trim beyond the snapshot", adversary.Model{Scripts: callers(trims(4), saves(2)),
			Before: script(then(appends("x1", "x2", "x3", "x4"), saves(1)))}, false},
		{"a look at what a trim leaves", adversary.Model{Scripts: callers(trims(2), pageAt(2)),
			Before: script(then(appends("x1", "x2", "x3", "x4"), saves(4), appends("x5")))}, false},
		{"a page that comes late", adversary.Model{Scripts: callers(appends("a1"), then(compacts, appends("b1"))),
			Before: two, Faults: 1, Only: "late"}, false},
		{"a trimmer, lists lag", adversary.Model{Scripts: callers(trims(4)), Before: saved, Lags: true}, false},
		{"a trimmer, lists lag, one fault", adversary.Model{Scripts: callers(trims(4)), Before: saved, Faults: 1,
			Lags: true}, false},
		{"an appender and a trimmer, one fault",
			adversary.Model{Scripts: callers(appends("a1"), trims(4)), Before: saved, Faults: 1}, false},
		{"a saver, two faults", adversary.Model{Scripts: callers(saves(4)), Before: four, Faults: 2}, false},
		{"a seed and an appender, one fault", adversary.Model{Scripts: callers(seeds(7), appends("a1")), Faults: 1},
			true},
	}
}

// walk is a model for package check.
type walk struct{ adversary.Model }

func (m walk) Next(w adversary.World) (out []check.Move[adversary.World]) {
	for _, move := range m.Moves(w) {
		out = append(out, check.Move[adversary.World]{Name: move.Name, To: move.To})
	}
	return out
}

// TestEveryInterleaving tries all orders of the requests of a few callers, and all places of a fault. What is found is
// in the log.
func TestEveryInterleaving(t *testing.T) {
	t.Parallel()
	explore(t, scenarios())
}

// TestEveryInterleavingWith is the same where records are written with the head.
func TestEveryInterleavingWith(t *testing.T) {
	t.Parallel()
	all := append(scenarios(),
		scenario{"an appender and a reader, lists lag", adversary.Model{Scripts: callers(appends("a1"), reads),
			Before: script(appends("x1", "x2")), Lags: true}, false})
	for i := range all {
		all[i].With = 4
	}
	explore(t, all)
}

// TestEveryInterleavingByNames is the same where they are read by their keys.
func TestEveryInterleavingByNames(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(scenarios(), func(s scenario) bool {
		return !strings.Contains(s.name, "read") && !strings.Contains(s.name, "look") &&
			!strings.Contains(s.name, "compact")
	})
	for i := range all {
		all[i].With, all[i].Names = 4, true
	}
	explore(t, all)
}

// TestEveryInterleavingJournal is the same where the store orders the log.
func TestEveryInterleavingJournal(t *testing.T) {
	t.Parallel()
	all := scenarios()
	for i := range all {
		all[i].Order = true
	}
	explore(t, all)
}

// TestEveryInterleavingValues is the same where the store keeps snapshots as values beside its log.
func TestEveryInterleavingValues(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(scenarios(), func(s scenario) bool {
		return !strings.Contains(s.name, "save") && !strings.Contains(s.name, "compact")
	})
	four := script(appends("x1", "x2", "x3", "x4"))
	all = append(all,
		scenario{"three savers", adversary.Model{Scripts: callers(saves(2), saves(3), saves(4)), Before: four}, false},
		scenario{"two savers, one fault", adversary.Model{Scripts: callers(saves(2), saves(4)), Before: four,
			Faults: 1}, false})
	for i := range all {
		all[i].Order, all[i].Values = true, true
	}
	explore(t, all)
}

func explore(t *testing.T, all []scenario) {
	t.Helper()
	walks := map[string]check.Model[adversary.World]{}
	for _, s := range all {
		s.Judge, s.After, s.Final = newJudge(s.seeding), script(audit), swept
		walks[s.name] = walk{s.Model}
	}
	mutanttest.Prove(t, 1_000_000, walks)
}

// end is told by the audit: all that is in the log.
type end struct{ all map[string]bool }

// audit is somebody new who appends, reads all, and cleans up.
func audit(h hand) {
	last, err := h.Snapshot(context.Background())
	if !errors.Is(err, store.ErrNotFound) {
		h.p.Tell(event{op: "snapshot", records: decodeAll(last), err: err})
	}
	h.p.Tell(event{op: "newest", index: last.Index})
	h.append("end")
	all, ok := h.readAll()
	if !ok {
		h.p.Tell(event{op: "audit", err: ErrDamaged})
		return
	}
	found := end{map[string]bool{}}
	for _, r := range all {
		found.all[string(r.Data)] = true
	}
	h.p.Tell(found)
	h.compacts()
}

// swept is what is left after a trim of all that should not be.
func swept(m adversary.Model, rows adversary.Rows) string {
	if m.Order {
		return sweptJournal(m, rows)
	}
	head, err := decodeState(rows.All()["l/main/head"].Value)
	for key := range rows.All() { // order-free: one is enough
		var hint uint64
		_, no := fmt.Sscanf(key, "l/main/b/%d-", &hint)
		stays := key == "l/main/head" || key == "l/main/snap" || strings.Contains(key, "/s/") &&
			strings.Contains(key, "-after.") || no == nil && hint+small > head.base
		if err != nil || !stays && (!m.Lags || m.Faults == 0 && strings.Contains(key, "/p/")) {
			return fmt.Sprint("after the last trim there is still ", key, err)
		}
	}
	return ""
}

// sweptJournal is swept where the store orders the log.
func sweptJournal(m adversary.Model, rows adversary.Rows) string {
	if records, base := rows.Log(); len(records) > 0 || base == 0 {
		return fmt.Sprintf("after the last trim the log begins at %d, and has %d records", base, len(records))
	}
	if values := rows.Values(); len(values) > 1 {
		return fmt.Sprint("after the last trim there are still values of ", len(values), " snapshots")
	}
	for key := range rows.All() { // order-free: one is enough
		if !m.Lags && key != "l/main/snap" && (!strings.Contains(key, "/s/") || !strings.Contains(key, "-after.")) {
			return fmt.Sprint("after the last trim there is still ", key)
		}
	}
	return ""
}

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	t.Parallel()
	mutanttest.AreFound(t, "store/engine/log")
}
