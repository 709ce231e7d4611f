package leader

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

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
		if key == "" && !a.over {
			a.hinted("")
			continue
		}
		for _, prefix := range []string{leaderPrefix, rosterPrefix, headFolder(id),
			planFolder(cluster.WriterID(string(id) + "-" + a.Nonce + "-ask")), MailboxPrefix, planPrefix} {
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
