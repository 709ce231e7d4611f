package sync

import (
	"cmp"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
)

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not
// change.
type State struct {
	fold.Reader
	epochAt protocol.Instant // when the present epoch was applied
	passed  protocol.Instant

	group    group
	shares   []cluster.Share // as of sharedAt
	sharedAt cluster.Index
	told     told
	rest     protocol.Instant // something of ours was refused: no epoch and no share before
}

// NewState is a member that has just started.
func NewState(p member.Params) State {
	return State{Reader: fold.Reader{Core: member.NewCore(p, member.Resume)}}
}

// Step takes one event in. It changes the state and nothing else: the same state and event give the same state and
// effects.
func Step(s *State, ev member.Event) []member.Effect {
	st := &step{s}
	return st.Step(st, ev)
}

// step is one call of Step.
type step struct{ *State }

// Take implements member.Machine.
func (s *step) Take(ev member.Event) {
	was, _ := s.Log.Value.Epoch()
	switch ev := ev.(type) {
	case member.Hinted:
		s.Log.Hint = true
	case member.Read, member.SnapshotRead, member.Appended, member.LogChecked, member.SnapshotSaved, member.Proposed:
		pending := s.Log.Out.Pending
		if err := s.Log.Take(&s.Core, s, ev); err != nil {
			s.Halt(s.Log.Value.Index(), err)
		}
		if a, ok := ev.(member.Appended); ok && a.Outcome == outbox.NotDone {
			s.unannounced(pending)
		}
	default:
		s.heardGroup(ev)
	}
	if now, _ := s.Log.Value.Epoch(); now != was {
		s.epochAt = s.At
	}
}

// Advance implements member.Machine.
func (s *step) Advance() {
	s.Log.Look(&s.Core, false)
	s.walk()
	s.keepGroup()
	s.Log.Check(&s.Core)
	if !s.Log.History.Doubted { // else nothing begins, and nothing is said, before the store has said which history it has
		if s.Is == member.PhaseMember {
			s.Work.Assign(&s.Core, s.Log.Value)
		}
		was := s.Log.Out.Pending
		s.Log.Pass(&s.Core)
		s.unannounced(was)
		if e, ok := s.Log.Say(&s.Core, s.Is < member.PhaseMember, s.wanted); ok {
			s.Emit(Append{Entry: e, Epoch: epochOf(s.Log.Value)})
		}
		s.Log.Save(&s.Core, 0, s.Writes)
	}
	_, in := s.present() // the group is left by the caller's Close
	s.Log.Settle(&s.Core, in)
	w := s.Waking()
	s.Log.Due(&w)
	w.Due(s.group.busy, s.group.next)
	s.WakeAt(w)
}

// unannounced notes that an entry was given up: an epoch that it had in it is to be announced yet.
func (s *step) unannounced(was *outbox.Pending) {
	if was != nil && s.Log.Out.Pending == nil && slices.ContainsFunc(was.Entry.Commands, is[cluster.Epoch]) {
		s.group.begun = 0
	}
}

// wanted are the commands that the state asks for.
func (s *step) wanted() []cluster.Command {
	switch s.Is {
	case member.PhaseJoining:
		return s.announce()
	case member.PhaseMember:
		out := append(s.announce(), s.Work.Releases(&s.Core, s.Log.Value)...)
		out = append(out, s.Work.Steps(&s.Core)...)
		out = append(out, s.shared()...)
		return append(out, s.own()...)
	case member.PhaseLeaving:
		return s.Leaves(s.present())
	default:
	}
	return nil
}

// Took notes what our own entry has said.
func (s *step) Took(a protocol.Applied) {
	if !a.Duplicate && a.Entry.Writer == s.Writer() {
		s.spoke(a.Entry, a.Results)
	}
}

// announce is the epoch of the generation that this member leads; nil where there is nothing to announce. Several
// generations that follow each other within a poll are announced by the last one alone.
func (s *step) announce() []cluster.Command {
	g := &s.group
	if !g.leads || g.need != needBeat || s.At.Sub(g.fact) < s.Poll || s.At < s.rest || s.announced() {
		return nil
	}
	e, _ := s.Log.Value.Epoch()
	start := max(1, e.Start)
	if !e.Above(start, g.generation) {
		if s.Own.Acked < s.epochAt {
			return nil // it may be that a later generation was announced: a heartbeat after that epoch says whether ours is the present one
		}
		start = e.Start + 1 // the group was forgotten, and began again
	}
	g.begun = start
	return []cluster.Command{cluster.Epoch{Start: start, Generation: g.generation, Leader: s.Member,
		Members: s.named()}}
}

// announced reports whether the present epoch is the one that this member has announced for its generation.
func (s *step) announced() bool {
	e, ok := s.Log.Value.Epoch()
	return ok && e.Leader == s.Member && e.Generation == s.group.generation && e.Start == s.group.begun
}

// is reports whether a command is of a kind.
func is[C cluster.Command](c cluster.Command) bool {
	_, ok := c.(C)
	return ok
}

// named are the members of our generation as the epoch names them: of two under one name, the one that is in the value,
// else the first.
func (s *step) named() []cluster.EpochMember {
	out := make([]cluster.EpochMember, 0, len(s.group.members))
	for _, c := range s.group.members {
		if c.Bad {
			continue
		}
		m := cluster.EpochMember{Join: c.Join}
		if old, ok := s.Log.Value.Member(c.Join.Member); ok && old.Heartbeat == c.Join.Heartbeat &&
			old.State == cluster.MemberJoined {
			m = cluster.EpochMember{Incarnation: old.Incarnation,
				Join: cluster.PrepareJoin{Member: old.ID, Heartbeat: old.Heartbeat}}
		}
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b cluster.EpochMember) int {
		return cmp.Or(cmp.Compare(a.Join.Member, b.Join.Member), -cmp.Compare(a.Incarnation, b.Incarnation))
	})
	return slices.CompactFunc(out, func(a, b cluster.EpochMember) bool { return a.Join.Member == b.Join.Member })
}

// told is what the member has said of itself.
type told struct {
	epoch cluster.Index // Announcement.Since of the epoch in which it has listed all
	upTo  cluster.Index // what came to it at this index or before is said
}

// own lists all that the member owns, once in each epoch, and then what others have shared with it.
func (s *step) own() []cluster.Command {
	e, _ := s.Log.Value.Epoch()
	c := cluster.Own{Member: s.Member, Incarnation: s.Inc, Full: s.told.epoch != e.Since}
	if !c.Full && s.Work.Changed <= s.told.upTo {
		return nil
	}
	for _, d := range s.Work.Duties {
		if d.Role == cluster.RoleAdopt {
			continue
		}
		c.Count++
		if len(c.Partitions) < cluster.MaxOwned && (c.Full || d.Token > s.told.upTo && s.fromOther(d.Partition.From)) {
			c.Partitions = append(c.Partitions, cluster.Owned{Partition: d.Partition.ID, Token: d.Token})
		}
	}
	if !c.Full && len(c.Partitions) == 0 {
		return nil
	}
	return []cluster.Command{c}
}

// fromOther reports whether the former owner is another member, which lives.
func (s *step) fromOther(id cluster.MemberID) bool {
	_, ok := s.Log.Value.Member(id)
	return ok && id != s.Member
}

// spoke notes what our own entry has said. Whether it was accepted does not matter: what has changed since is said
// again.
func (s *step) spoke(e cluster.Entry, results []cluster.Result) {
	for i, c := range e.Commands {
		if !results[i].Accepted { // what asked for it may ask for the same again
			s.rest = s.At.Add(s.Poll)
			if is[cluster.Epoch](c) {
				s.group.begun = 0 // one of this number, by our name, is that of a former start
			}
		}
		if o, ok := c.(cluster.Own); ok && o.Member == s.Member {
			s.told.upTo = e.BaseIndex // what came to it while the entry was on its way is not in it
			if now, _ := s.Log.Value.Epoch(); o.Full && e.BaseIndex >= now.Since {
				s.told.epoch = now.Since
			}
		}
	}
}

// shared are the shares of what is ours. Nothing is shared between a change of the group and its epoch, nor in an entry
// that drains a member or ends that: requests come last in it, and what is shared should neither go where they drain
// nor leave where they do not any more.
func (s *step) shared() []cluster.Command {
	if !s.seated() || s.At < s.rest || slices.ContainsFunc(s.Log.Out.Queue, drains) {
		return nil
	}
	if s.sharedAt != s.Log.Value.Index() {
		s.shares, s.sharedAt = s.Log.Value.Shares(s.Member), s.Log.Value.Index()
	}
	out := make([]cluster.Command, 0, len(s.shares))
	for _, c := range s.shares {
		out = append(out, c)
	}
	return out
}

func drains(r outbox.Request) bool { return slices.ContainsFunc(r.Commands, is[cluster.DrainMember]) }
