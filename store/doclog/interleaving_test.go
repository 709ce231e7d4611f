package doclog

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/store"
)

func appends(data ...string) script {
	return func(p *player) {
		for _, d := range data {
			p.append(d)
		}
	}
}

func reads(p *player) { p.readAll() }

// page reads once.
func page(after uint64) script {
	return func(p *player) {
		page, err := p.log.Read(context.Background(), after, 5)
		p.events = append(p.events, event{op: "read", after: after, records: page.Records, head: page.Head, err: err})
	}
}

func compacts(p *player) { p.compact() }

// saves saves what is known to stand up to an index: x1, x2, ...
func saves(index uint64) script {
	return func(p *player) {
		var all []store.Record
		for i := uint64(1); i <= index; i++ {
			all = append(all, store.Record{Index: i, Data: fmt.Append(nil, "x", i)})
		}
		err := p.log.SaveSnapshot(context.Background(), store.Record{Index: index, Data: encodeAll(all)})
		p.events = append(p.events, event{op: "save", err: err})
	}
}

func trims(index uint64) script {
	return func(p *player) {
		p.events = append(p.events, event{op: "trim", err: p.log.Trim(context.Background(), index)})
	}
}

// seeds makes the log begin behind an index.
func seeds(index uint64) script {
	return func(p *player) {
		p.events = append(p.events, event{op: "seed", index: index, err: p.log.SeedLog(context.Background(), index)})
	}
}

func then(all ...script) script {
	return func(p *player) {
		for _, s := range all {
			s(p)
		}
	}
}

// scenario is a small system of which every interleaving of requests is tried.
type scenario struct {
	name string
	model
}

// scenarios are small enough to be walked with every change. The build tag proof adds larger ones.
func scenarios() []scenario {
	one, two := appends("x1"), appends("x1", "x2")
	saved := then(two, saves(2))
	return []scenario{
		{"two appenders", model{scripts: []script{appends("a1", "a2"), appends("b1", "b2")}}},
		{"two appenders and a reader", model{scripts: []script{appends("a1", "a2"), appends("b1"), reads}}},
		{"three appenders", model{scripts: []script{appends("a1"), appends("b1"), appends("c1")}, before: one, known: []uint64{1, 1}}},
		{"an appender and a trimmer", model{scripts: []script{appends("a1"), compacts}, before: two, known: []uint64{1}}},
		{"an appender, a trimmer and a reader", model{scripts: []script{appends("a1"), trims(2), reads}, before: saved, known: []uint64{1, 0, 1}}},
		{"an appender that is passed", model{scripts: []script{appends("a1"), compacts, reads}, before: one, known: []uint64{1, 1, 1}}},
		{"two appenders and a reader, lists lag", model{scripts: []script{appends("a1", "a2"), appends("b1"), reads}, listLags: true}},
		{"a trimmer, lists lag", model{scripts: []script{appends("a1"), trims(2)}, before: saved, listLags: true}},
		{"a look while it is trimmed", model{scripts: []script{page(1), trims(2)}, before: saved, known: []uint64{1, 2}}},
		{"a reader ahead of its memory", model{scripts: []script{page(2), trims(2), appends("a1")}, before: saved, known: []uint64{1, 2, 2}}},
		{"a seed, an appender and a reader", model{scripts: []script{seeds(7), appends("a1"), reads}, seeding: true}},
		{"a seed of a log in use", model{scripts: []script{seeds(7), then(two, saves(2), trims(2))}, seeding: true}},
		{"two appenders, two faults", model{scripts: []script{appends("a1"), appends("b1")}, faults: 2}},
		{"two appenders of two, one fault", model{scripts: []script{appends("a1", "a2"), appends("b1")}, faults: 1}},
		{"an appender and a trimmer, one fault", model{scripts: []script{appends("a1"), compacts}, before: one, known: []uint64{1}, faults: 1}},
		{"an appender and a trimmer, lists lag, one fault", model{scripts: []script{appends("a1"), trims(2)}, before: saved, faults: 1, listLags: true}},
	}
}

// TestEveryInterleaving tries all orders of the requests of a few processes, and all places of a fault. What is found is in the log.
func TestEveryInterleaving(t *testing.T) {
	t.Parallel()
	explore(t, scenarios())
}

// TestEveryInterleavingOneByOne is the same where each document is a request of its own.
func TestEveryInterleavingOneByOne(t *testing.T) {
	t.Parallel()
	explore(t, oneByOne(scenarios()))
}

func oneByOne(all []scenario) []scenario {
	for i := range all {
		all[i].single = true
	}
	return all
}

func explore(t *testing.T, all []scenario) {
	t.Helper()
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			r := check.Explore[world](s.model, check.Options{States: 400_000, Violations: 1})
			t.Logf("%d states, %d moves, depth %d", r.States, r.Moves, r.Depth)
			for _, v := range r.Violations {
				t.Errorf("%s\n\t%s", v.Promise, strings.Join(v.Trace, "\n\t"))
			}
			if len(r.Violations) == 0 && !r.Complete {
				t.Errorf("not all states were visited")
			}
		})
	}
}
