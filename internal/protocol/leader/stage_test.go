package leader

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

// led is a stage on which the first one leads, and the others have joined since, one after the other.
func led(t *testing.T, first cluster.MemberID, others ...cluster.MemberID) *stage {
	t.Helper()
	s := newStage(t, first)
	s.until(string(first)+" leads", s.joined(first))
	for _, id := range others {
		s.start(id, "n0")
		s.until(string(id)+" has joined", s.joined(first, id))
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
	case member.CheckLog:
		return member.LogChecked{Now: s.now, Asked: e.At, Has: member.PointOf(s.value())}
	case member.SaveSnapshot:
		return member.SnapshotSaved{Now: s.now}
	}
	s.t.Fatalf("%s: no such call: %T", a.id, e)
	return nil
}

// set writes a document, as the bytes that a store would have.
func (s *stage) set(key string, doc any) store.Version {
	s.t.Helper()
	s.version++
	d := store.Doc{Key: key, Version: store.Version(fmt.Sprint("v", s.version))}
	switch doc := doc.(type) {
	case heartbeat.Text:
		d.Value, _ = json.Marshal(doc.States(ttl, ttl))
	case string:
		d.Value = []byte(doc)
	default:
		data, err := Encode(doc)
		if err != nil {
			s.t.Fatal(err)
		}
		d.Value = data
	}
	s.docs[key] = (&Caller{}).document(d)
	s.hint(key)
	return d.Version
}

func (s *stage) remove(key string) {
	delete(s.docs, key)
	s.hint(key)
}

func (s *stage) get(key string) Doc {
	if d, ok := s.docs[key]; ok {
		return d
	}
	return Doc{Key: key}
}

func (s *stage) below(prefix string) (out []Doc) {
	for key, d := range s.docs {
		if strings.HasPrefix(key, prefix) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Doc) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// hint tells all who watch.
func (s *stage) hint(key string) {
	for _, id := range s.names {
		a := s.members[id]
		prefixes, log := a.Watching()
		if log && key == "" && !a.over {
			a.hinted("")
		}
		for _, prefix := range prefixes {
			if strings.HasPrefix(key, prefix) && !a.over {
				a.hinted(prefix)
			}
		}
	}
}

// hinted notes a hint; the member acts on it with its next event.
func (a *actor) hinted(prefix string) {
	(&step{&a.State}).hinted(prefix)
}

// call makes the oldest call of a member that is like this; false if there is none.
func (s *stage) call(a *actor, like func(member.Effect) bool) bool {
	i := slices.IndexFunc(a.calls, like)
	if i < 0 {
		return false
	}
	e := a.calls[i]
	a.calls = slices.Delete(slices.Clone(a.calls), i, i+1)
	s.give(a, s.make(a, e))
	return true
}

// hold takes a call away from a member, to be made later or never.
func (s *stage) hold(a *actor, like func(member.Effect) bool) member.Effect {
	s.t.Helper()
	i := slices.IndexFunc(a.calls, like)
	if i < 0 {
		s.t.Fatalf("%s has not asked for that: %+v", a.id, a.calls)
	}
	e := a.calls[i]
	a.calls = slices.Delete(slices.Clone(a.calls), i, i+1)
	return e
}

func anyCall(member.Effect) bool { return true }

// until makes all calls and lets time pass until something holds. Members that are left out stand still.
func (s *stage) until(what string, holds func() bool, except ...cluster.MemberID) {
	s.t.Helper()
	for end := s.now.Add(time.Minute); s.now < end; {
		if holds() {
			return
		}
		if s.callOne(except) {
			continue
		}
		s.tick(except)
	}
	s.t.Fatalf("not within a minute: %s\n%s", what, s)
}

func (s *stage) callOne(except []cluster.MemberID) bool {
	for _, id := range s.names {
		if a := s.members[id]; !a.over && !slices.Contains(except, id) && s.call(a, anyCall) {
			return true
		}
	}
	return false
}

// tick lets the time come at which somebody wants to be woken.
func (s *stage) tick(except []cluster.MemberID) {
	next := s.now.Add(ttl)
	for _, id := range s.names {
		if a := s.members[id]; !a.over && !slices.Contains(except, id) {
			next = min(next, max(a.wake, s.now+1))
		}
	}
	s.now = next
	for _, id := range s.names {
		if a := s.members[id]; !a.over && !slices.Contains(except, id) {
			s.give(a, member.Woken{Now: s.now})
		}
	}
}

// pass lets time pass.
func (s *stage) pass(d time.Duration, except ...cluster.MemberID) {
	end := s.now.Add(d)
	for s.now < end {
		if !s.callOne(except) {
			s.tick(except)
		}
	}
}

// kill ends a process and its session: what goes with it is gone.
func (s *stage) kill(id cluster.MemberID) {
	a := s.members[id]
	a.over, a.calls = true, nil
	for key, d := range s.docs {
		h, holds := d.Value.(holderDoc)
		if strings.HasPrefix(key, protocol.HeartbeatPrefix+string(id)+"/") || key == mailboxKey(id) || holds &&
			h.Member == id {
			defer s.remove(key)
		}
	}
}

// value is the log, folded.
func (s *stage) value() (v cluster.Value) {
	for _, r := range s.log {
		e, err := cluster.DecodeEntry(cluster.Index(r.Index), r.Data)
		if err != nil {
			s.t.Fatal(err)
		}
		v, _ = v.Apply(e)
	}
	return v
}

func (s *stage) partition(id cluster.PartitionID) cluster.Partition {
	p, _ := s.value().Partition(id)
	return p
}

// runs reports whether a member is told to run a task.
func (a *actor) runs(p cluster.PartitionID) bool {
	return slices.ContainsFunc(a.last.Grants, func(g *protocol.Grant) bool { return g.Partition == p })
}

// rules is who rules.
func (s *stage) rules() *actor {
	for _, id := range s.names {
		if a := s.members[id]; !a.over && a.rule.at == ruleRuling {
			return a
		}
	}
	return nil
}

func (s *stage) joined(ids ...cluster.MemberID) func() bool {
	return func() bool {
		for _, id := range ids {
			if s.members[id].Is != member.PhaseMember {
				return false
			}
		}
		return s.rules() != nil
	}
}

func (s *stage) ask(id cluster.MemberID, commands ...cluster.Command) {
	s.give(s.members[id], member.Proposed{Now: s.now, ID: uint64(s.now), Commands: commands})
}

func (s *stage) String() string {
	out := s.value().String()
	for _, id := range s.names {
		a := s.members[id]
		out += fmt.Sprintf("%s: phase %d, %d, over %v, calls %+v\n", id, a.Is, a.rule.at, a.over, a.calls)
	}
	for _, d := range s.below("") {
		out += fmt.Sprintf("%s %+v\n", d.Key, d.Value)
	}
	return out
}

func single(id cluster.JobID) cluster.Command {
	return cluster.SubmitJob{Job: id, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}}
}
