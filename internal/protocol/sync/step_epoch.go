package sync

import (
	"cmp"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/outbox"
)

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

func announces(c cluster.Command) bool {
	_, ok := c.(cluster.Epoch)
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
			if announces(c) {
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

func drains(r outbox.Request) bool {
	return slices.ContainsFunc(r.Commands, func(c cluster.Command) bool {
		_, ok := c.(cluster.DrainMember)
		return ok
	})
}
