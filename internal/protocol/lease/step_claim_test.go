package lease

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// holder is a member that holds a slot whose release was stored: it did not hear of that.
func holder(t *testing.T, p *paper) *step {
	t.Helper()
	inc := p.join("m/n-0")
	p.offer("pool", cluster.TaskSpec{Name: "t", Spread: cluster.SpreadPool, Min: 1, Max: 1})
	f := learn(p.all())
	if len(f.partitions) != 1 {
		t.Fatalf("%d partitions, want one slot", len(f.partitions))
	}
	id := f.partitions[0].partition.ID
	p.claim(id, "m/n-0", inc)
	x, _ := learn(p.all()).of(partitionKey(id))
	x.partition.State = cluster.PartitionReleasing
	s := &step{State: &State{
		Core: coreIn(member.PhaseMember, member.Params{Member: "m", Nonce: "n"}), known: &facts{},
		held: []*held{{id: id, version: p.docs[x.key].Version, partition: x.partition,
			spec: &cluster.TaskSpec{}}},
	}}
	s.Own.Held, s.Inc = true, inc
	return s
}

// refused lets the member say once more that it has stopped, as the documents are, and gives the answer in.
func (s *step) refused(t *testing.T, docs []store.Doc) {
	t.Helper()
	id, token := s.held[0].id, s.held[0].partition.Token
	s.tell()
	if len(s.tries) != 1 {
		t.Fatalf("%d commands are on their way, want one", len(s.tries))
	}
	if c, ok := s.tries[0].command.(cluster.Stopped); !ok || c.Partition != id || c.Token != token {
		t.Fatalf("the member says %v, want that %s has stopped", s.tries[0].command, id)
	}
	x := s.tries[0]
	x.docs = docs
	s.decide(0, x)
	if len(s.deeds) != 1 || s.deeds[0].Result.Accepted {
		t.Fatalf("it was decided as %+v, want a refusal", s.deeds)
	}
}

// TestARefusalIsReadBack: a release was stored and its maker did not hear of it. The slot is offered to it again under
// the same token: it must not think that it holds it still, or it never accepts the offer.
func TestARefusalIsReadBack(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(p *paper, key string){
		"offered again": func(p *paper, key string) {
			x, _ := learn(p.all()).of(key)
			x.doc.Holder, x.doc.By = "", 0
			x.partition.Offered = true
			x.doc.Task = x.partition.Encode()
			p.put(written(key, p.docs[key].Version, x.doc))
		},
		"gone": func(p *paper, key string) {
			x, _ := learn(p.all()).of(key)
			left := cluster.Partition{ID: x.partition.ID, Token: x.doc.Token}
			x.doc.Holder, x.doc.By, x.doc.State, x.doc.Task = "", 0, gone, left.Encode()
			p.put(written(key, p.docs[key].Version, x.doc))
		},
		"removed": func(p *paper, key string) { delete(p.docs, key) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPaper(t)
			s := holder(t, p)
			id, token, slot := s.held[0].id, s.held[0].partition.Token, s.held[0].partition.Slot
			after(p, partitionKey(id))
			s.refused(t, p.get(needs(cluster.Stopped{Partition: id})...))
			if len(s.held) != 0 {
				t.Fatalf("the member still holds %+v", s.held)
			}
			s.look.members = []cluster.Member{{ID: "m"}}
			s.look.board.Free = []boardFree{{Partition: id, Token: token, First: "m", Only: true, Slot: slot}}
			s.claimSome()
			if len(s.tries) != 1 {
				t.Fatalf("%d commands are on their way, want a claim", len(s.tries))
			}
			if c, ok := s.tries[0].command.(cluster.Claim); !ok || c.Partition != id {
				t.Errorf("the member does %v, want a claim of %s", s.tries[0].command, id)
			}
		})
	}
}

// TestARefusalKeepsWhatIsOurs: the document says that we hold it. Then we go on from what it says.
func TestARefusalKeepsWhatIsOurs(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	s := holder(t, p)
	s.refused(t, p.get(needs(cluster.Stopped{Partition: s.held[0].id})...))
	if len(s.held) != 1 || s.held[0].partition.State != cluster.PartitionGranted {
		t.Errorf("the member holds %+v, want what its document says", s.held)
	}
}

// TestAnOldCopyAfterALostWrite: a partition was given up by a write that nobody has answered, and may run elsewhere. An
// old copy of the store shows that it is ours: it runs again only when all reads say so for a TTL.
func TestAnOldCopyAfterALostWrite(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	s := holder(t, p)
	s.At, s.Params.TTL = 1, 10*time.Second
	docs := p.get(needs(cluster.Stopped{Partition: s.held[0].id})...)
	s.tell()
	x := s.tries[0]
	x.docs, x.lost = docs, true
	s.decide(0, x)
	silence := s.Silence(heartbeat.Observation{})
	for _, after := range []time.Duration{0, silence - 1, silence} {
		if s.At = protocol.Instant(1).Add(after); after > 0 {
			s.ownReadBack(docs, s.held[0].id, false)
		}
		if runs := s.held[0].partition.State == cluster.PartitionGranted; runs != (after == silence) {
			t.Errorf("after %s it runs: %t", after, runs)
		}
	}
}

// TestWhatIsDoneIsNotBegunAgain: a copy of the store that was cut off shows that a partition is to be given up, and its
// supervisor forgets that it is done there. That was never acknowledged: later its document says again what it said
// before. It does not begin again under its token, and is said to be done.
func TestWhatIsDoneIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	s := holder(t, p)
	id, dirty := s.held[0].id, *s.held[0]
	x, _ := learn(p.all()).of(partitionKey(id))
	s.held[0].partition, s.held[0].spec, s.Given.Version, s.Reported = x.partition, &cluster.TaskSpec{}, 1, 0
	s.Reports = []protocol.Report{{Partition: id, Token: x.doc.Token, State: protocol.RunFinished}}
	s.tell() // of an assignment before the present one: it is done all the same
	s.hold(dirty)
	s.Reports, s.Reported = nil, 1
	s.ownChanged(p.docs[partitionKey(id)])
	if len(s.held) != 1 || s.held[0].partition.State != cluster.PartitionGranted {
		t.Fatalf("it holds %+v: the story is another one", s.held)
	}
	if g := s.grants(); len(g) != 0 {
		t.Errorf("it begins %+v again", g[0])
	}
	s.tell()
	if len(s.tries) != 1 {
		t.Fatalf("%d commands are on their way, want one", len(s.tries))
	}
	if c, ok := s.tries[0].command.(cluster.FinishPartition); !ok || c.Token != x.doc.Token ||
		c.Outcome != cluster.OutcomeDone {
		t.Fatalf("it says %v, want that it is done", s.tries[0].command)
	}
	try := s.tries[0]
	try.docs = p.get(needs(try.command)...)
	s.decide(0, try)
	s.tryWritten(Written{ID: s.tries[0].id, Outcome: outbox.Done, Version: "9"})
	if len(s.held) != 0 || len(s.ended) != 0 {
		t.Errorf("it holds %+v and notes %v when that was acknowledged", s.held, s.ended)
	}
}

// TestAForgottenClaimIsConfirmed: a claim was stored and its maker gave up on it before it heard of that. It holds the
// partition when the document was written once more, and does not claim what it has released since.
func TestAForgottenClaimIsConfirmed(t *testing.T) {
	t.Parallel()
	for _, released := range []bool{false, true} {
		p := newPaper(t)
		s := holder(t, p)
		id, key := s.held[0].id, partitionKey(s.held[0].id)
		s.value, s.held = p.value(), nil
		if released {
			x, _ := learn(p.all()).of(key)
			x.doc.Holder, x.doc.By, x.partition.State, x.partition.Owner = "", 0, cluster.PartitionWaiting, ""
			x.doc.Task = x.partition.Encode()
			p.put(written(key, p.docs[key].Version, x.doc))
		}
		before := p.docs[key]
		s.claimAgain()
		s.claimAgain()
		if len(s.tries) != 1 {
			t.Fatalf("%d commands are on their way, want a claim", len(s.tries))
		}
		x := s.tries[0]
		x.docs = p.get(needs(x.command)...)
		s.decide(0, x)
		if len(s.held) != 0 {
			t.Fatalf("it holds %+v before that was acknowledged", s.held)
		}
		if released {
			if len(s.tries) != 0 || !slices.Contains(s.shuns, grantID{id, x.command.(cluster.Claim).Token}) {
				t.Errorf("it does %+v, and shuns %v", s.tries, s.shuns)
			}
			if s.claimAgain(); len(s.tries) != 0 {
				t.Errorf("what was refused is claimed again: %+v", s.tries)
			}
			continue
		}
		if put := s.tries[0].put; put.Version != before.Version || string(put.Value) == string(before.Value) {
			t.Errorf("it writes %+v over %+v, want the same under another name", put, before)
		}
		if s.tryWritten(Written{ID: s.tries[0].id, Outcome: outbox.Unknown}); len(s.tries) != 1 || len(s.held) != 0 {
			t.Fatalf("it holds %+v by a write of unknown outcome", s.held)
		}
		x = s.tries[0]
		x.docs = p.get(needs(x.command)...)
		s.decide(0, x)
		s.tryWritten(Written{ID: s.tries[0].id, Outcome: outbox.Done, Version: "9"})
		if len(s.held) != 1 || s.held[0].version != "9" {
			t.Errorf("it holds %+v after the acknowledgement", s.held)
		}
	}
}

// TestOwnTasksTakeNoRoom: a member of capacity 1 claims one task beside what Rota runs for itself, whatever comes
// first.
func TestOwnTasksTakeNoRoom(t *testing.T) {
	t.Parallel()
	free := func(id cluster.PartitionID) boardFree {
		return boardFree{Partition: id, Token: 1, First: "m", Only: true}
	}
	s := &step{State: &State{
		Core: coreIn(member.PhaseMember,
			member.Params{Member: "m", Nonce: "n", Join: cluster.PrepareJoin{Member: "m", Capacity: 1}}),
		known: &facts{},
		held:  []*held{{id: "rota.source.held/run"}},
	}}
	s.Own.Held = true
	s.look.members = []cluster.Member{{ID: "m"}}
	s.look.board.Free = []boardFree{free("a/run"), free("b/run"), free("rota.source.x/run"), free("rota.source.y/run")}
	s.claimSome()
	var claimed []cluster.PartitionID
	for _, x := range s.tries {
		claimed = append(claimed, x.command.(cluster.Claim).Partition)
	}
	if want := []cluster.PartitionID{"a/run", "rota.source.x/run", "rota.source.y/run"}; !slices.Equal(claimed, want) {
		t.Errorf("it claims %v, want %v", claimed, want)
	}
}

// TestARefusedReportPauses: a run has failed, and a copy of the store that was cut off shows the partition as it is
// beside a Node List from before its holder joined. The report is refused, and is not made again at once: each try is a
// request.
func TestARefusedReportPauses(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	before := p.get(keyNodes)[0]
	s := holder(t, p)
	s.Params.TTL, s.Rho, s.Poll, s.At = 10*time.Second, 50, time.Second, 1000
	id := s.held[0].id
	x, _ := learn(p.all()).of(partitionKey(id))
	s.held[0].partition = x.partition
	s.Reports = []protocol.Report{{Partition: id, Token: x.doc.Token, State: protocol.RunFailed,
		Attempt: x.partition.Attempts}}
	for range 3 {
		s.tell()
		if len(s.tries) != 1 {
			t.Fatalf("%d commands are on their way, want the report", len(s.tries))
		}
		try := s.tries[0]
		for _, d := range p.get(needs(try.command)...) {
			if d.Key == keyNodes {
				d = before
			}
			try.docs = append(try.docs, d)
		}
		s.deeds = nil
		s.decide(0, try)
		if len(s.deeds) != 1 || s.deeds[0].Result.Accepted || len(s.held) != 1 {
			t.Fatalf("it was decided as %+v and %d are held, want a refusal and one", s.deeds, len(s.held))
		}
		s.At = s.At.Add(s.Poll - 1)
		if s.tell(); len(s.tries) != 0 {
			t.Fatal("it makes the report again within a poll")
		}
		s.At++
	}
}
