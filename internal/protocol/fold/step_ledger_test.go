package fold

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// logReader is a member that reads the log of a test.
type logReader struct {
	Reader
	first bool
	took  []cluster.Index
	log   []store.Record
	whole cluster.Value // of the log
	other cluster.Hash  // writers have another history than this one
}

func (p *logReader) Took(a protocol.Applied) { p.took = append(p.took, a.Entry.Index) }
func (p *logReader) First() bool             { return p.first }

const pollEvery = 10

func newLogReader() *logReader {
	return &logReader{Reader: Reader{Core: member.NewCore(member.Params{Member: "a", Nonce: "n", Poll: pollEvery,
		SnapshotEvery: 2 * cluster.BaseEvery}, member.RenewLate)}}
}

// writes makes the next entry of the log by somebody else.
func (p *logReader) writes() {
	n := uint64(len(p.log) + 1)
	e := cluster.Entry{Writer: "w", Seq: n, BaseIndex: p.whole.Index(), BaseChain: p.whole.Chain() + p.other,
		Commands: []cluster.Command{cluster.Configure{Retention: int64(n) + 5}}}
	p.log = append(p.log, store.Record{Index: n, Data: e.Encode()})
	e.Index = cluster.Index(n)
	p.whole, _ = p.whole.Apply(e)
}

// reads answers a read with the records from one to another.
func (p *logReader) reads(t *testing.T, from, to int) {
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
	p := newLogReader()
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
	p.At += pollEvery
	look("a poll later", true)
	must.Succeed(t, p.Log.Take(&p.Core, p, member.Read{Err: "away"}))
	look("after a failure without a hint", false)
	p.At += pollEvery
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
	p := newLogReader()
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
	p := newLogReader()
	last := 0
	saves := func(what string, want int) {
		t.Helper()
		p.End()
		p.Log.Save(&p.Core, 0, func() bool { return true })
		got := 0
		for _, e := range p.End() {
			got = int(e.(member.SaveSnapshot).Value.Index())
			if trims := int(e.(member.SaveSnapshot).TrimTo); trims != last {
				t.Errorf("%s it frees what is up to %d, want %d", what, trims, last)
			}
			last = got
		}
		if got != want || p.Log.Saving != (want > 0) {
			t.Errorf("%s it takes one at %d, want %d", what, got, want)
		}
		must.Succeed(t, p.Log.Take(&p.Core, p, member.SnapshotSaved{}))
	}
	p.reads(t, 1, window)
	saves("after half as many", 0)
	p.reads(t, window+1, 2*window+1)
	saves("of a page that ends later", 2*window)
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
	p.reads(t, 8*window+1, 9*window)
	each := p.Log.cost / window // entries that cost all the same
	for name, c := range map[string]struct {
		cost   int
		saving bool
		writes bool
		want   bool
	}{
		"it is dear":                {window * each, false, true, true},
		"it is a bit too cheap":     {window*each + 1, false, true, false},
		"one is being written":      {window * each, true, true, false},
		"another one writes them":   {window * each, false, false, false},
		"there is no bound of cost": {0, false, true, false},
	} {
		p := *p
		p.End()
		p.Log.Saving = c.saving
		p.Log.Save(&p.Core, c.cost, func() bool { return c.writes })
		if got := len(p.End()) == 1; got != c.want || got && p.Log.cost != 0 {
			t.Errorf("%s: it takes one: %t, and %d is left", name, got, p.Log.cost)
		}
	}
}

// TestAnotherHistory: one member reports entries of another history, and names the newest. A history keeps its newest
// points, and a copy of it is independent.
func TestAnotherHistory(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{false, true} {
		p := newLogReader()
		p.first = first
		p.reads(t, 1, 3)
		p.other = 1
		p.End()
		p.reads(t, 4, 5)
		var told []string
		for _, e := range p.End() {
			if r, ok := e.(member.Refusing); ok && strings.HasPrefix(r.Reason, cluster.OtherHistory) {
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

// TestADoubtIsResolved by the store, which is asked once at a time: it has the same history, or another one, or cannot
// tell yet. Then an entry of another history is its writer's fault for a while.
func TestADoubtIsResolved(t *testing.T) {
	t.Parallel()
	p := newLogReader()
	p.reads(t, 1, 3)
	at := member.PointOf(p.Log.Value)
	doubt := func() bool {
		p.End()
		p.other = 1
		p.reads(t, len(p.log)+1, len(p.log)+1)
		p.other = 0
		p.End()
		p.Log.Check(&p.Core)
		return slices.Contains(p.End(), member.Effect(member.CheckLog{At: p.Log.Value.Index()}))
	}
	p.End()
	if p.Log.Check(&p.Core); len(p.End()) != 0 {
		t.Error("it asks without a doubt")
	}
	if !doubt() {
		t.Fatal("it does not ask")
	}
	if p.Log.Check(&p.Core); len(p.End()) != 0 {
		t.Error("it asks twice")
	}
	now := member.PointOf(p.Log.Value)
	for _, c := range []struct {
		has   member.Point
		err   string
		ends  bool
		doubt bool
	}{
		{at, "away", false, true},
		{member.Point{Index: now.Index + 9}, "", false, true}, // a newer snapshot
		{member.Point{Index: now.Index - 1}, "", true, true},
		{member.Point{Index: now.Index, Chain: now.Chain + 1}, "", true, true},
		{now, "", false, false},
	} {
		p.Log.History.asking = true
		err := p.Log.Take(&p.Core, p, member.LogChecked{Asked: now.Index, Has: c.has, Err: c.err})
		if (err != nil) != c.ends || p.Log.History.Doubted != c.doubt {
			t.Errorf("the store has %+v: %v, doubt %t", c.has, err, p.Log.History.Doubted)
		}
		p.End() // what it reports of the store
		if p.Log.Check(&p.Core); len(p.End()) != 0 {
			t.Error("it asks again before a poll is over")
		}
	}
	if doubt() {
		t.Error("what was sure a moment ago is doubted")
	}
	if p.At += pollEvery; !doubt() {
		t.Error("what was sure a poll ago is not doubted")
	}
}

// TestWhatTheLogLacks: what was trimmed is read of the snapshot, which is taken where it is newer; a log that is
// shorter than what was read of it ends the member; and what is acknowledged further on has to be read first.
func TestWhatTheLogLacks(t *testing.T) {
	t.Parallel()
	p := newLogReader()
	p.Log.Look(&p.Core, false)
	must.Succeed(t, p.Log.Take(&p.Core, p, member.Read{Truncated: true}))
	if !slices.Contains(p.End(), member.Effect(member.ReadSnapshot{})) || !p.Log.Busy || !p.Log.Snap {
		t.Errorf("it does not read the snapshot: %+v", p.Log)
	}
	for range 3 {
		p.writes()
	}
	older := p.whole
	p.writes()
	halt := errors.New("of a newer format")
	for _, c := range []struct {
		read member.SnapshotRead
		at   cluster.Index
		err  error
	}{
		{member.SnapshotRead{Err: "away"}, 0, nil},
		{member.SnapshotRead{}, 0, nil},
		{member.SnapshotRead{Found: true, Value: p.whole}, 4, nil},
		{member.SnapshotRead{Found: true, Value: older}, 4, nil},
		{member.SnapshotRead{Halt: halt, Found: true, Value: p.whole}, 4, halt},
	} {
		p.Log.Busy, p.Log.Snap = true, true
		if err := p.Log.Take(&p.Core, p, c.read); !errors.Is(err, c.err) || p.Log.Value.Index() != c.at || p.Log.Busy ||
			p.Log.Snap {
			t.Errorf("by %+v: %v, at %d", c.read, err, p.Log.Value.Index())
		}
	}
	p.Log.Hint = false
	kill := func() []cluster.Command { return []cluster.Command{cluster.KillJob{Job: "x"}} }
	p.Log.Append(&p.Core, false, kill)
	must.Succeed(t, p.Log.Take(&p.Core, p, member.Appended{Seq: 1, Outcome: outbox.Done, Index: 6}))
	if !p.Log.Hint || p.Log.Out.Pending == nil || p.Log.Out.Pending.Known != 6 {
		t.Errorf("its entry has index 6, and it has read 4: %+v", p.Log)
	}
	if e, ok := p.Log.Say(&p.Core, false, kill); ok {
		t.Errorf("it appends %v again before it has read it", e.Commands)
	}
	p.Log.Look(&p.Core, false)
	var other *protocol.DivergedError
	if err := p.Log.Take(&p.Core, p, member.Read{Page: store.Page{Head: 3}}); !errors.As(err, &other) {
		t.Errorf("of a log that is shorter: %v", err)
	}
	odd := store.Record{Index: 5, Data: []byte{0xE7, 99, 1, 'x'}}
	if err := p.Log.Take(&p.Core, p, member.Read{Page: store.Page{Head: 5, Records: []store.Record{odd}}}); err == nil {
		t.Error("an entry of a newer format is passed over")
	}
}

// TestWhoLeaves says so once nothing runs, if it is in; and of all that are joined one comes first.
func TestWhoLeaves(t *testing.T) {
	t.Parallel()
	p := newLogReader()
	p.log = append(p.log, store.Record{Index: 1, Data: cluster.Entry{Writer: "w", Seq: 1,
		Commands: []cluster.Command{cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a/1"}}}.Encode()})
	p.reads(t, 1, 1)
	m, _ := p.Log.Value.Member("a")
	if !p.Reader.First() || (&logReader{Reader: Reader{Core: member.NewCore(member.Params{Member: "b"}, member.Confirm),
		Log: p.Log}}).Reader.First() {
		t.Error("the first of those that are joined is another one")
	}
	if got := p.Leaves(m, true); len(got) != 1 || got[0].(cluster.LeaveCluster).Member != "a" {
		t.Errorf("it leaves by %v", got)
	}
	p.Given.Version = 1 // its supervisor has yet to hear
	if got := append(p.Leaves(m, true), p.Leaves(m, false)...); len(got) != 0 {
		t.Errorf("it leaves by %v", got)
	}
}
