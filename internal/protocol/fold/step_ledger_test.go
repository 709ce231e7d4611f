package fold

import (
	"slices"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// pupil is a member that reads a log which the test tells it.
type pupil struct {
	Reader
	first bool
	took  []cluster.Index
	log   []store.Record
	whole cluster.Value // of the log
	other cluster.Hash  // writers have another history than this one
}

func (p *pupil) Took(a protocol.Applied) { p.took = append(p.took, a.Entry.Index) }
func (p *pupil) First() bool             { return p.first }

const pupilPoll = 10

func newPupil() *pupil {
	return &pupil{Reader: Reader{Core: member.NewCore(member.Params{Member: "a", Nonce: "n", Poll: pupilPoll,
		SnapshotEvery: 2 * cluster.BaseEvery}, member.RenewLate)}}
}

// writes makes the next entry of the log by somebody else.
func (p *pupil) writes() {
	n := uint64(len(p.log) + 1)
	e := cluster.Entry{Writer: "w", Seq: n, BaseIndex: p.whole.Index(), BaseChain: p.whole.Chain() + p.other,
		Commands: []cluster.Command{cluster.Configure{Retention: int64(n) + 5}}}
	p.log = append(p.log, store.Record{Index: n, Data: e.Encode()})
	e.Index = cluster.Index(n)
	p.whole, _ = p.whole.Apply(e)
}

// reads answers a read with the records from one to another.
func (p *pupil) reads(t *testing.T, from, to int) {
	t.Helper()
	for len(p.log) < to {
		p.writes()
	}
	must.Succeed(t, p.Log.Take(&p.Core, p, member.Read{Page: store.Page{Records: p.log[from-1 : to],
		Head: uint64(len(p.log))}}))
}

// TestWhenTheLogIsRead: at once where there is more, else after a poll; after a failure no hint hurries it.
func TestWhenTheLogIsRead(t *testing.T) {
	t.Parallel()
	p := newPupil()
	look := func(what string, want bool) {
		t.Helper()
		if got := p.Log.Look(&p.Core, false); got != want {
			t.Errorf("%s: it reads: %t, want %t", what, got, want)
		}
	}
	look("at first", true)
	look("while it reads", false)
	p.Log.Hint = true
	must.Succeed(t, p.Log.Take(&p.Core, p, member.Read{Err: "away"}))
	look("after a failure with a hint", false)
	p.At += pupilPoll
	look("a poll later", true)
	must.Succeed(t, p.Log.Take(&p.Core, p, member.Read{Err: "away"}))
	look("after a failure without a hint", false)
	p.At += pupilPoll
	look("a poll later", true)
	for range 3 {
		p.writes()
	}
	if p.reads(t, 1, 2); p.Log.Whole() {
		t.Error("it has read two of three, and believes that this is all")
	}
	look("while there is more", true)
	if p.reads(t, 3, 3); !p.Log.Whole() {
		t.Error("it has read all, and does not know it")
	}
	look("when all is read", false)
	kill := func() []cluster.Command { return []cluster.Command{cluster.KillJob{Job: "x"}} }
	for outcome, want := range map[outbox.Outcome]bool{outbox.NotDone: false, outbox.Unknown: true} {
		p := *p
		p.Log.Append(&p.Core, false, kill)
		must.Succeed(t, p.Log.Take(&p.Core, &p, member.Appended{Seq: 1, Outcome: outcome, Err: "x"}))
		if got := p.Log.Look(&p.Core, false); got != want {
			t.Errorf("after an append of outcome %d it reads: %t, want %t", outcome, got, want)
		}
	}
}

// TestARecordIsAppliedOnce, though a page has it again; and a member that leaves hears first what became of its own.
func TestARecordIsAppliedOnce(t *testing.T) {
	t.Parallel()
	p := newPupil()
	p.reads(t, 1, 2)
	p.reads(t, 2, 3)
	if want := []cluster.Index{1, 2, 3}; !slices.Equal(p.took, want) || p.Log.Value.Chain() != p.whole.Chain() {
		t.Errorf("it has applied %v, want %v", p.took, want)
	}
	p.Log.Append(&p.Core, false, func() []cluster.Command { return []cluster.Command{cluster.KillJob{Job: "x"}} })
	p.Is = member.PhaseLeaving
	if p.Log.Settle(&p.Core, false); p.Is == member.PhaseGone {
		t.Error("it is gone before its entry is answered")
	}
	must.Succeed(t, p.Log.Take(&p.Core, p, member.Appended{Seq: 1, Outcome: outbox.NotDone}))
	if p.Log.Settle(&p.Core, false); p.Is != member.PhaseGone {
		t.Error("it stays when all is answered")
	}
}

// TestWhenASnapshotIsTaken: of the newest value at which a window of bases begins, when so many entries have come since
// the last one, or since the one that was read.
func TestWhenASnapshotIsTaken(t *testing.T) {
	t.Parallel()
	const window = int(cluster.BaseEvery)
	p := newPupil()
	saves := func(what string, want int) {
		t.Helper()
		p.End()
		p.Log.Save(&p.Core, 0, func() bool { return true })
		got := 0
		for _, e := range p.End() {
			got = int(e.(member.SaveSnapshot).Value.Index())
		}
		if got != want {
			t.Errorf("%s it takes one at %d, want %d", what, got, want)
		}
		p.Log.Saving = false
	}
	p.reads(t, 1, window)
	saves("after half as many", 0)
	p.reads(t, window+1, 2*window+1)
	saves("of a page that goes on", 2*window)
	p.reads(t, 2*window+2, 4*window)
	saves("after as many again", 4*window)
	old := p.Log.History.points[0]
	for len(p.log) < 6*window {
		p.writes()
	}
	must.Succeed(t, p.Log.Take(&p.Core, p, member.SnapshotRead{Found: true, Value: p.whole}))
	if !p.Log.History.agrees(cluster.Entry{BaseIndex: old.Index, BaseChain: old.Chain + 1}, nil) {
		t.Error("what was before the snapshot that was read is held against others")
	}
	if e := (cluster.Entry{BaseIndex: p.whole.Index(), BaseChain: p.whole.Chain() + 1}); p.Log.History.agrees(e, nil) {
		t.Error("the snapshot that was read is not")
	}
	p.reads(t, 6*window+1, 7*window)
	saves("a window after one that was read", 0)
	p.reads(t, 7*window+1, 8*window)
	saves("two windows after one that was read", 8*window)
}

// TestAnotherHistory is told by one member, with its newest entry; a copy of a history, which keeps the newest points,
// is independent.
func TestAnotherHistory(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{false, true} {
		p := newPupil()
		p.first = first
		p.reads(t, 1, 3)
		p.other = 1
		p.End()
		p.reads(t, 4, 5)
		var told []string
		for _, e := range p.End() {
			if r, ok := e.(member.Refusing); ok {
				told = append(told, r.Key)
			}
		}
		if want := []string{"entry 5 and 1 before it"}; p.Log.History.Foreign != 2 || first != slices.Equal(told, want) ||
			!first && told != nil {
			t.Errorf("first %t: %d are foreign, it tells %q, want %q", first, p.Log.History.Foreign, told, want)
		}
	}
	var h history
	for n := range 2 * historyKept {
		h.note(0, []member.Point{{Index: cluster.Index(n), Chain: cluster.Hash(n)}}, foreign{})
	}
	h.points = append(make([]member.Point, 0, 2*historyKept), h.points...)[:historyKept-1]
	a, b := h, h
	a.note(0, []member.Point{{Index: 9000, Chain: 1}}, foreign{})
	b.note(0, []member.Point{{Index: 9000, Chain: 2}}, foreign{})
	kept, was := cluster.Index(historyKept), cluster.Index(historyKept-1)
	for _, c := range []struct {
		e     cluster.Entry
		newer []member.Point
		want  bool
	}{
		{cluster.Entry{BaseIndex: 9000, BaseChain: 1}, nil, true},
		{cluster.Entry{BaseIndex: 9000, BaseChain: 2}, nil, false},
		{cluster.Entry{BaseIndex: kept}, nil, false},
		{cluster.Entry{BaseIndex: was}, nil, true}, // is not kept
		{cluster.Entry{BaseIndex: 9001}, []member.Point{{Index: 9001, Chain: 7}}, false},
	} {
		if got := a.agrees(c.e, c.newer); got != c.want {
			t.Errorf("base %d with chain %d: %t, want %t", c.e.BaseIndex, c.e.BaseChain, got, c.want)
		}
	}
}
