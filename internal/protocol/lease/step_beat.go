package lease

import (
	"errors"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Drop implements member.Dropper: it gives up what was of a session that has ended. What it has claimed may be claimed
// by others now. Requests of others go on.
func (s *step) Drop() {
	s.held, s.ended, s.lead = nil, nil, lead{}
	s.tries = slices.DeleteFunc(slices.Clone(s.tries), func(t try) bool { return t.request == 0 })
	s.Revoke(s.value.Index(), 0)
}

// nameCheck makes sure that no live process has our name.
type nameCheck struct {
	call
	seen  heartbeat.Observation
	fence call
	clear bool // nobody has it
	// replaces is the incarnation of the start that was found dead.
	replaces cluster.Incarnation
}

// checkName reads the Node List and the heartbeat of the member that has our name there.
func (s *step) checkName() {
	if !s.name.due(s.At) || s.name.fence.busy {
		return
	}
	keys := []string{keyNodes}
	if s.name.seen.Key != "" {
		keys = append(keys, s.name.seen.Key)
	}
	s.fetch(&s.name.call, keys...)
}

func (s *step) nameRead(ev Fetched) {
	s.name.call = call{next: s.At.Add(s.Poll)}
	if ev.Err != "" || s.Is != member.PhaseNaming {
		return
	}
	f := s.known.learn(ev.Docs)
	if err := f.problem(keyNodes); err != nil {
		s.complain(err)
		return
	}
	was := f.member(s.Member)
	if s.name.replaces = was.Incarnation; was.ID == "" || was.State == cluster.MemberHeld {
		s.name.clear = true
		return
	}
	if len(ev.Docs) < 2 || ev.Docs[1].Key != was.Heartbeat {
		s.name.seen, s.name.next = heartbeat.Observation{Key: was.Heartbeat}, s.At
		return
	}
	s.otherStart(ev, s.Ours(session(was)))
}

// otherStart judges the heartbeat of another start under our name: it fences that session when it is dead, and gives up
// when it is alive.
func (s *step) otherStart(ev Fetched, ours bool) {
	d := ev.Docs[1]
	n, err := read[nodeDoc](d)
	if err != nil {
		s.complain(err)
		return
	}
	if d.Version == "" || n.State == heartbeat.Fenced {
		s.name.clear = true
		return
	}
	was := s.name.seen
	s.name.seen = was.Read(d.Version, heartbeat.StatedTTL(d.Value), ev.Sent, s.At)
	switch {
	case ours || s.Dead(s.name.seen):
		s.write(&s.name.fence, s.fenced(d, n))
	case was.Known && was.Version != d.Version:
		s.Halt(s.value.Index(), &protocol.NameTakenError{Member: s.Member})
	}
}

// fenced is the write of a session's document after which its owner cannot renew it. A document that goes with its
// process is removed: nobody else may write it, and its key is never used again.
func (s *step) fenced(d store.Doc, n nodeDoc) leadWrite {
	if n.Tied {
		return leadWrite{doc: store.Doc{Key: d.Key, Version: d.Version}, remove: true}
	}
	n.State, n.Write = heartbeat.Fenced, s.writeName()
	return leadWrite{doc: written(d.Key, d.Version, n)}
}

// silent is when the owner of a heartbeat may have been silent for long enough, if that is not over.
func (s *step) silent(o heartbeat.Observation) protocol.Instant {
	if end := o.Since.Add(s.Silence(o)); o.Known && o.Looked < end {
		return end
	}
	return s.At.Add(s.Poll)
}

// complain reports a document that cannot be used; one that a newer Rota wrote ends the member.
func (s *step) complain(err error) {
	r := member.Refusing{Reason: err.Error()}
	if damaged, ok := errors.AsType[*damagedError](err); ok {
		r = member.Refusing{Key: damaged.Key, Reason: damaged.Err.Error()}
	}
	if newer, ok := errors.AsType[*cluster.FormatError](err); ok {
		s.Halt(s.value.Index(), newer)
		return
	}
	s.Emit(r)
}

// Stand implements member.Machine: what our own acknowledged writes prove. A session that is lost ends the membership,
// and nothing else does.
func (s *step) Stand() member.Stand {
	switch {
	case s.Is == member.PhaseNaming && !s.name.clear:
		s.checkName()
	case s.Is == member.PhaseJoining && s.Inc == 0 && !s.trying(""):
		c := s.Join
		c.Heartbeat, c.Replaces = s.Own.Key, s.name.replaces
		s.try(c, s.name.seen.Key)
	}
	return member.Stand{Free: s.name.clear || s.Is == member.PhaseRemoved, In: s.Inc != 0, Joined: true, Inc: s.Inc}
}

// Again implements member.Machine.
func (s *step) Again() { s.name = nameCheck{} }

// joinTried takes in how our entry into the Node List ended.
func (s *step) joinTried(t try) {
	if !t.result.Accepted {
		// another start was quicker or has left, or an entry of ours was stored of which we did not hear
		if s.Is == member.PhaseJoining && s.Lost("its entry into the Node List was refused") {
			s.Drop()
		}
		return
	}
	f := learn([]store.Doc{t.put})
	if m := f.member(s.Member); m.ID != "" {
		s.Inc = m.Incarnation
	}
	s.look.index, s.look.members = f.nodes.Index, f.members
}

// settle ends the member when the Node List is without it. What it had claimed is free then.
func (s *step) settle() {
	if s.Is != member.PhaseLeaving || !s.Idle() {
		return
	}
	switch {
	case s.trying(""):
	case s.Inc == 0:
		s.Gone()
	default:
		s.try(cluster.LeaveCluster{Member: s.Member, Incarnation: s.Inc, Reason: s.Stop})
		s.advanceTries()
	}
}
