package replica_test

import (
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/store"
)

// proposing is a joined member that was asked for something, and has not appended it yet. A read of the log is under
// way.
func proposing(t *testing.T) *bench {
	b := newBench(t)
	b.read()
	b.renew()
	b.written()
	b.phase(member.PhaseMember)
	b.fx = nil
	b.step(member.Hinted{Now: b.now})
	b.step(member.Proposed{Now: b.now, ID: 7, Commands: []cluster.Command{cluster.Configure{Retention: 5}}})
	return b
}

// replies are the answers to proposals since the last look.
func (b *bench) replies() (n int) {
	for _, e := range b.fx {
		if r, ok := e.(member.Reply); ok && r.ID == 7 && r.Err == "" && len(r.Results) == 1 && r.Results[0].Accepted {
			n++
		}
	}
	return n
}

// TestOwnEntryNeedsNoRead: what stands right behind the member's value and was written by itself is known without
// reading it.
func TestOwnEntryNeedsNoRead(t *testing.T) {
	t.Parallel()
	b := proposing(t)
	head := uint64(b.state.Value().Index())
	b.written()
	if got := uint64(b.state.Value().Index()); got != head+1 || b.replies() != 1 {
		t.Fatalf("applied up to %d with %d answers, want %d and one", got, b.replies(), head+1)
	}
	b.step(member.Read{Now: b.now, Page: store.Page{Head: head}}) // sent before
	b.phase(member.PhaseMember)
	b.other()
	b.step(member.Hinted{Now: b.now})
	if r := take[member.ReadLog](b); uint64(r.After) != head+1 {
		t.Errorf("reads behind %d, want %d", r.After, head+1)
	}
	b.read()
	if got := uint64(b.state.Value().Index()); got != head+2 || b.replies() != 0 {
		t.Errorf("applied up to %d with %d more answers, want %d and none", got, b.replies(), head+2)
	}
}

// TestOwnEntryIsReadOnceMore: a read that was sent before the append may bring the entry again, alone or among others.
func TestOwnEntryIsReadOnceMore(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, 2} {
		b := proposing(t)
		b.written()
		v := b.state.Value()
		for range others {
			b.other()
		}
		b.fx = nil
		b.step(member.Read{Now: b.now, Page: store.Page{Records: b.log, Head: uint64(len(b.log))}})
		if got := int(b.state.Value().Index() - v.Index()); got != others || b.replies() != 0 {
			t.Errorf("applied %d more with %d more answers, want %d and none", got, b.replies(), others)
		}
		if others == 0 && b.state.Value().Digest() != v.Digest() {
			t.Error("reading the entry again changed the value")
		}
	}
}

// TestOwnEntryBehindOthers: where somebody else's entry stands before it, the log is read.
func TestOwnEntryBehindOthers(t *testing.T) {
	t.Parallel()
	b := proposing(t)
	v := b.state.Value()
	b.other()
	b.written()
	if got := b.state.Value(); got.Index() != v.Index() || b.replies() != 0 {
		t.Fatalf("applied up to %d with %d answers: an entry before it is not known", got.Index(), b.replies())
	}
	b.read()
	if got := b.state.Value(); got.Index() != v.Index()+2 || b.replies() != 1 {
		t.Errorf("applied up to %d with %d answers, want %d and one", got.Index(), b.replies(), v.Index()+2)
	}
}

// TestShorterLog: a log that ends before what the member had applied when it asked has lost its end.
func TestShorterLog(t *testing.T) {
	t.Parallel()
	b := proposing(t)
	b.written()
	head := uint64(b.state.Value().Index())
	b.step(member.Read{Now: b.now, Page: store.Page{Head: head}})
	b.step(member.Hinted{Now: b.now})
	b.step(member.Read{Now: b.now, Page: store.Page{Head: head - 1}})
	b.phase(member.PhaseHalted)
}

// TestFormats: behind entries of ours, a record of an older format is garbage; one of a newer format ends the member,
// which says what to do.
func TestFormats(t *testing.T) {
	t.Parallel()
	b := proposing(t)
	of := func(format byte) {
		b.log = append(b.log, store.Record{Index: uint64(len(b.log) + 1), Data: []byte{0xE7, format, 1, 'x'}})
	}
	of(1)
	b.other()
	b.read()
	b.phase(member.PhaseMember)
	if v := b.state.Value(); v.Index() != cluster.Index(len(b.log)) || v.Settings().Retention != 9 {
		t.Fatalf("applied up to %d of %d, retention %d", v.Index(), len(b.log), v.Settings().Retention)
	}
	of(99)
	b.step(member.Hinted{Now: b.now})
	b.read()
	b.phase(member.PhaseHalted)
}
