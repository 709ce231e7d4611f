package leader

import (
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

const ttl = time.Second

// stage is a store and members whose calls the test makes, one by one: nothing happens that it does not do.
type stage struct {
	t       *testing.T
	now     protocol.Instant
	docs    map[string]Doc
	version int
	log     []store.Record
	members map[cluster.MemberID]*actor
	names   []cluster.MemberID
	bad     []string // documents that were refused
	watched func()   // called after each entry of the log
}

// actor is one member, and the calls that it has asked for and that were not made.
type actor struct {
	State
	id    cluster.MemberID
	calls []member.Effect
	last  protocol.Assignment
	over  bool
	wake  protocol.Instant
	obeys bool // its supervisor does at once what it is told
}

func newStage(t *testing.T, names ...cluster.MemberID) *stage {
	t.Helper()
	s := &stage{t: t, now: 1, docs: make(map[string]Doc), members: make(map[cluster.MemberID]*actor)}
	for _, id := range names {
		s.start(id, "n0")
	}
	return s
}

func (s *stage) start(id cluster.MemberID, nonce string) *actor {
	p := member.Params{
		Member: id, Join: cluster.PrepareJoin{Slots: 2}, Nonce: nonce,
		Timing: heartbeat.Timing{TTL: ttl, Rho: 50, Margin: ttl / 20},
		Hints:  member.Hints{Docs: true}, Poll: ttl / 20, Hold: time.Minute, SnapshotEvery: 1000,
	}
	if id[0] == 'p' {
		p.Join.Labels = []cluster.Label{{Key: "peer", Value: "yes"}}
	}
	if _, ok := s.members[id]; !ok {
		s.names = append(s.names, id)
	}
	a := &actor{State: NewState(p, Role{Offer: 2 * ttl, StandBys: 2, Audit: true}), id: id, obeys: true}
	s.members[id] = a
	s.give(a, member.Woken{Now: s.now})
	return a
}

// give is one event for a member.
func (s *stage) give(a *actor, ev member.Event) {
	for _, e := range Step(&a.State, ev) {
		switch e := e.(type) {
		case member.Assign:
			a.last = e.Assignment
			if a.obeys {
				s.obey(a)
			}
		case member.WakeAt:
			a.wake = e.At
		case member.Left, member.Halt:
			a.over = true
		case member.Refusing:
			s.bad = append(s.bad, e.Key)
		case member.Reply, member.Applying, member.Joining, member.Removing, member.StoreChanged:
		default:
			a.calls = append(a.calls, e)
		}
	}
}

// obey runs exactly what is assigned.
func (s *stage) obey(a *actor) {
	var reports []protocol.Report
	for _, g := range a.last.Grants {
		reports = append(reports, protocol.Report{Partition: g.Partition, Token: g.Token, Attempt: g.Attempt})
	}
	s.give(a, member.Reported{Now: s.now, Version: a.last.Version, Reports: reports})
}

// make makes a call and returns its answer.
func (s *stage) make(a *actor, e member.Effect) member.Event {
	switch e := e.(type) {
	case member.ReadLog:
		page := store.Page{Head: uint64(len(s.log))}
		page.Records = append(page.Records, s.log[min(int(e.After), len(s.log)):]...)
		return member.Read{Now: s.now, Page: page}
	case member.Append:
		data := e.Entry.Encode()
		s.log = append(s.log, store.Record{Index: uint64(len(s.log) + 1), Data: data})
		s.hint("")
		if s.watched != nil {
			s.watched()
		}
		return member.Appended{Now: s.now, Seq: e.Entry.Seq, Outcome: outbox.Done, Index: cluster.Index(len(s.log)),
			Data: data}
	case member.Renew:
		s.set(e.Key, heartbeat.Text{})
		return member.Renewed{Now: s.now, Sent: s.now, Key: e.Key, Outcome: outbox.Done}
	case Get:
		return Got{Now: s.now, Sent: s.now, Doc: s.get(e.Key)}
	case List:
		return Listed{Now: s.now, Prefix: e.Prefix, Docs: s.below(e.Prefix)}
	case Put:
		if s.docs[e.Key].Version != e.Version {
			return Wrote{Now: s.now, Key: e.Key, Outcome: outbox.NotDone, Conflict: true, Err: "conflict"}
		}
		return Wrote{Now: s.now, Key: e.Key, Version: s.set(e.Key, e.Doc)}
	case Delete:
		if d, ok := s.docs[e.Key]; ok && d.Version != e.Version {
			return Wrote{Now: s.now, Key: e.Key, Outcome: outbox.NotDone, Conflict: true, Err: "conflict"}
		}
		s.remove(e.Key)
		return Wrote{Now: s.now, Key: e.Key}
	case member.SaveSnapshot:
		return member.SnapshotSaved{Now: s.now}
	}
	s.t.Fatalf("%s: no such call: %T", a.id, e)
	return nil
}
