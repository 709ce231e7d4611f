package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// evicts plays what has to do with the end of another member.
func (s *story) evicts(b *bundle, w words) {
	s.t.Helper()
	switch w.do {
	case "knows":
		await(s.t, fmt.Sprint(w.list), func() bool { _, ok := b.Whole().Member(cluster.MemberID(w.at(1))); return ok })
	case "evict": // evict a b drain: what operate.Operator.Evict does
		m, ok := b.Whole().Member(cluster.MemberID(w.at(1)))
		if !ok {
			s.t.Fatalf("%v: not known", w.list)
		}
		must.Succeed(s.t, KeepEvicted(s.t.Context(), b.c.Store, m, "ann@laptop"))
		if w.has("drain") {
			must.Succeed(s.t, must.Err(b.Propose(s.t.Context(), cluster.DrainMember{Member: m.ID, On: true})))
		}
	case "evicted": // its process ends
		select {
		case err := <-b.done:
			close(b.done)
			var e *protocol.EvictedError
			if !errors.As(err, &e) || e.Member != b.c.Member || e.By != "ann@laptop" {
				s.t.Errorf("it ended with %v", err)
			}
		case <-time.After(patience):
			s.t.Fatal("it was evicted and goes on")
		}
	case "forgot": // the word of an eviction is gone
		if _, err := b.c.Store.Get(s.t.Context(), evictPrefix+w.at(1)); !errors.Is(err, store.ErrNotFound) {
			s.t.Errorf("what was for a former start is there: %v", err)
		}
	case "not-held":
		if m, there := b.Whole().Member(cluster.MemberID(w.at(1))); there && m.State == cluster.MemberHeld {
			s.t.Errorf("%s is %s", m.ID, m.State)
		}
	}
}

// journal looks at the journal that a member reads, and at what it has counted.
func (s *story) journal(b *bundle, w words) {
	s.t.Helper()
	kind := func() journal.Kind { return journal.Kind(w.at(1)) }
	switch w.do {
	case "told": // told a moved from=a to=b: there will be such a record
		await(s.t, fmt.Sprint(w), func() bool { return slices.ContainsFunc(b.records(kind()), w.tells) })
	case "records": // records a moved 1 from=a: so many, and all of them such ones
		await(s.t, string(kind())+" is journaled", func() bool { return len(b.records(kind())) >= w.number(2) })
		all := b.records(kind())
		if len(all) != w.number(2) || !allOf(all, w.tells) {
			s.t.Errorf("%v: got %+v", w, all)
		}
	case "gap": // gap a moved 10s 20s: the first record of the kind has a gap of that length
		await(s.t, string(kind())+" is journaled", func() bool { return len(b.records(kind())) > 0 })
		r := b.records(kind())[0]
		least, most := s.length(w.at(2)).Milliseconds(), s.length(w.at(3)).Milliseconds()
		if r.GapMS == nil || *r.GapMS < least || *r.GapMS > most || !w.tells(r) {
			s.t.Errorf("%v: got %s", w, r.Line())
		}
	case "unknown": // unknown a moved: nobody could measure the gap
		await(s.t, string(kind())+" is journaled", func() bool { return len(b.records(kind())) > 0 })
		r := b.records(kind())[0]
		if r.GapMS != nil || r.GapAtLeastMS == nil || !strings.Contains(r.Line(), "gap unknown, at least ") {
			s.t.Errorf("got %s", r.Line())
		}
		if sum := b.stats.read().gap; sum.Count != 0 {
			s.t.Errorf("the metric has %+v", sum)
		}
	case "counted": // counted a removals 1: at once, where the journal is written behind
		sum := b.stats.read()
		all := map[string]int64{"moves": sum.moves, "removals": sum.removals, "losses": sum.losses}
		if n, ok := all[w.at(1)]; !ok || int(n) != w.number(2) {
			s.t.Errorf("%v: it has counted %v", w, all)
		}
	case "ended": // ended a waits: what waited runs
		await(s.t, fmt.Sprint(w), func() bool {
			b.absence.mu.Lock()
			defer b.absence.mu.Unlock()
			return len(b.absence.waits) == 0
		})
	case "longest": // longest a 4s: a gap of that length was counted
		if d := b.stats.read().longest; d < s.length(w.at(1)) {
			s.t.Errorf("the metric says %v", d)
		}
	default:
		s.t.Fatalf("no act is %q", w.do)
	}
}

func allOf(all []journal.Record, holds func(journal.Record) bool) bool {
	return !slices.ContainsFunc(all, func(r journal.Record) bool { return !holds(r) })
}

// tells compares a record with the options of an act. A move has a cause.
func (w words) tells(r journal.Record) bool {
	has := map[string]string{
		"from": r.From, "to": r.To, "by": r.By, "member": r.Member, "partition": r.Partition, "message": r.Message,
	}
	for k, v := range w.set { // order-free: all of them
		switch k {
		case "says":
			if !strings.Contains(r.Line(), v) {
				return false
			}
		case "gap":
			if r.GapMS == nil || fmt.Sprint(*r.GapMS) != v {
				return false
			}
		default:
			if got, ok := has[k]; !ok || got != v {
				return false
			}
		}
	}
	return r.Kind != journal.Moved || r.Cause != ""
}
