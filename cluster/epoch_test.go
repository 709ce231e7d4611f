package cluster

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// epochCommand is one of all that members of a group can say about v.
func (c *choices) epochCommand(v Value) Command {
	all := slices.Collect(v.Partitions())
	switch c.n(6) {
	case 0:
		return c.epoch(v)
	case 1:
		if shares := v.Shares(c.member()); len(shares) > 0 {
			return shares[c.n(len(shares))]
		}
	case 2:
		if len(all) > 0 {
			p := all[c.n(len(all))]
			return Share{p.ID, c.near(p.Token), pick[MemberID](c, "a", "b", "c", "d", "")}
		}
	case 3:
		m, _ := v.Member(c.member())
		own := Own{Member: m.ID, Incarnation: c.near(m.Incarnation), Full: c.bool()}
		for p := range v.OwnedBy(m.ID) {
			own.Partitions = append(own.Partitions, Owned{p.ID, c.near(p.Token)})
		}
		return own
	}
	return c.anyCommand(v)
}

// epoch is the next one mostly, or one that comes late.
func (c *choices) epoch(v Value) Command {
	now, _ := v.Epoch()
	e := Epoch{Start: max(1, now.Start), Generation: now.Generation + uint64(pick(c, 1, 1, 1, 2, 0))}
	if c.n(6) == 5 {
		e.Start, e.Generation = now.Start+1, 1
	}
	for _, id := range []MemberID{"a", "b", "c", "d"} {
		if c.n(3) == 0 {
			continue
		}
		m := EpochMember{Join: PrepareJoin{Member: id, Heartbeat: "g/" + string(id), Capacity: pick[int64](c, 0, 0, 2)}}
		if old, ok := v.Member(id); ok && c.n(5) > 0 {
			m.Incarnation, m.Join.Heartbeat = old.Incarnation, old.Heartbeat
		} else if c.bool() {
			m.Join.Heartbeat += "/again"
		}
		e.Members = append(e.Members, m)
	}
	if len(e.Members) > 0 {
		e.Leader = e.Members[c.n(len(e.Members))].Join.Member
	}
	return e
}

// inEpochs plays a story under epochs.
func inEpochs(t interface{ Fatalf(string, ...any) }, story string) Value {
	c, v := &choices{[]byte(story)}, Value{}
	for seq := uint64(1); len(c.data) > 0 && seq < 150; seq++ {
		e := Entry{Index: v.index + 1, Writer: pick[WriterID](c, "w", "w2"), Seq: seq, AtMS: int64(seq)}
		if !v.shared() {
			e.Commands = []Command{Place{PlacementShared}}
		}
		for range 1 + c.n(2) {
			e.Commands = append(e.Commands, c.epochCommand(v))
		}
		next, did := mustApply(t, v, e)
		mustBeInEpoch(t, v, next, e, did)
		v = next
	}
	return v
}

// mustBeInEpoch: the epoch goes up, its members are those that it names, and what a survivor owns moves by a share of
// its own alone.
func mustBeInEpoch(t interface{ Fatalf(string, ...any) }, was, v Value, e Entry, did Applied) {
	before, _ := was.Epoch()
	now, _ := v.Epoch()
	if now != before && !before.Above(now.Start, now.Generation) {
		t.Fatalf("%v: from the epoch %v to %v", e, before, now)
	}
	shared := map[PartitionID]bool{}
	for i, c := range e.Commands {
		switch c := c.(type) {
		case Epoch:
			if did.Results[i].Accepted && len(e.Commands) == 1 {
				mustBeNamed(t, was, v, c)
			}
		case Share:
			shared[c.Partition] = did.Results[i].Accepted
		case Own:
			if did.Results[i].Accepted && len(e.Commands) == 1 && len(v.recent.notes) > 0 {
				t.Fatalf("%v changed records", e)
			}
		}
	}
	if len(e.Commands) != 1 {
		return
	}
	for p := range was.Partitions() {
		next, ok := v.Partition(p.ID)
		m, in := v.Member(p.Owner)
		old, _ := was.Member(p.Owner)
		if _, epoch := e.Commands[0].(Epoch); epoch && ok && in && m.Incarnation == old.Incarnation &&
			p.State == PartitionGranted && next.Token != p.Token {
			t.Fatalf("%v moved %v, whose owner is in it, to %v", e, p, next)
		}
		if _, share := e.Commands[0].(Share); share && !shared[p.ID] && next.Token != p.Token {
			t.Fatalf("%v is void, and moved %v to %v", e, p, next)
		}
	}
}

func mustBeNamed(t interface{ Fatalf(string, ...any) }, was, v Value, c Epoch) {
	for m := range v.Members() {
		i, ok := findMember(c.Members, m.ID)
		if m.State == MemberJoined && (!ok || c.Members[i].Join.Heartbeat != m.Heartbeat) {
			t.Fatalf("%v has the member %v", c, m)
		}
	}
	for _, m := range c.Members {
		got, ok := v.Member(m.Join.Member)
		if m.Incarnation == 0 && (!ok || got.State != MemberJoined || got.Heartbeat != m.Join.Heartbeat) {
			t.Fatalf("%v has %v for %s", c, got, m.Join.Member)
		}
		if old, had := was.Member(m.Join.Member); had && old.Heartbeat == m.Join.Heartbeat &&
			old.State == MemberJoined && old.Incarnation != got.Incarnation {
			t.Fatalf("%v made of %v another incarnation: %v", c, old, got)
		}
	}
}

func TestWhateverIsSaidInEpochs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		v := inEpochs(rt, string(rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(rt, "story")))
		got, err := DecodeSnapshot(v.Snapshot())
		if err != nil || got.String() != v.String() || got.Digest() != v.Digest() {
			rt.Fatalf("a snapshot of\n%s\nis read as\n%s, %v", v, got, err)
		}
	})
}

func oneTask(spread Spread, handover Handover) JobSpec {
	return JobSpec{Tasks: []TaskSpec{{Type: "noop", Spread: spread, Handover: handover}}}
}
