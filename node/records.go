package node

import (
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// record journals, with the member's name.
func (n *Node) record(r journal.Record) {
	r.Member = string(n.c.Member)
	n.records.Add(r)
}

func (n *Node) joined(inc cluster.Incarnation) {
	n.sources.admitted(inc)
	n.witness.note(n.c.Clock(), "join", "", inc)
	n.record(journal.Record{Kind: journal.MemberJoined, Token: uint64(inc), Message: string(n.c.Member) + " joined"})
	if n.c.Events.Joined != nil {
		n.c.Events.Joined(inc, time.Since(n.started))
	}
}

func (n *Node) removed(reason string) {
	n.sources.removed()
	n.witness.note(n.c.Clock(), "removed", "", 0)
	n.tally.count(func(s *sums) { s.removals++ })
	n.record(journal.Record{Kind: journal.MemberLeft, Message: "found itself removed", Cause: reason})
	if n.c.Events.Removed != nil {
		n.c.Events.Removed(reason)
	}
}

// refused journals a document that was left out, with its path.
func (n *Node) refused(key, reason string) {
	if !strings.HasPrefix(key, "entry ") {
		key = "document " + key
	}
	n.record(journal.Record{Kind: journal.Refused, Message: key + ": " + reason})
}

func (n *Node) storeLost(err error) {
	n.tally.count(func(s *sums) { s.losses++ })
	n.record(journal.Record{Kind: journal.StoreLost, Message: err.Error()})
	if n.c.Events.StoreLost != nil {
		n.c.Events.StoreLost(err)
	}
}

func (n *Node) storeBack(after time.Duration) {
	n.record(journal.Record{Kind: journal.StoreBack, Message: "after " + after.Round(time.Millisecond).String()})
	if n.c.Events.StoreBack != nil {
		n.c.Events.StoreBack(after)
	}
}

// did journals what this member's own commands did, so that each fact has one record.
func (n *Node) did(v cluster.Value, deeds []protocol.Deed) {
	for _, d := range deeds {
		if d.Result.Accepted {
			n.recordDeed(v, d)
		}
	}
}

func (n *Node) valueChanged(cluster.Value) { n.changed.fire() }

func (n *Node) recordDeed(v cluster.Value, d protocol.Deed) {
	switch c := d.Command.(type) {
	case cluster.LeaveCluster:
		n.record(journal.Record{AtMS: d.AtMS, Kind: journal.MemberLeft, Message: string(c.Member) + " left", Cause: c.Reason})
	case cluster.FinishPartition:
		if p, ok := v.Partition(c.Partition); ok && p.State == cluster.PartitionParked {
			n.record(journal.Record{AtMS: d.AtMS, Kind: journal.Parked, Partition: string(c.Partition), Message: p.Message})
		}
	}
}

// runStarted journals moves: whoever starts a partition that somebody else had tells from whom and why. The gap is measured where the former owner said when it
// stopped, by the clocks of both.
func (n *Node) runStarted(ev work.RunStarted) {
	n.witness.note(ev.At, "start", ev.Partition, ev.Token)
	if n.c.Events.Started != nil {
		n.c.Events.Started(ev)
	}
	n.tellMove(ev)
}

func (n *Node) runStopped(ev work.RunStopped) {
	n.witness.note(ev.At, "stop", ev.Partition, ev.Token)
	if ev.Outcome == work.Failed {
		n.failing.failed()
	}
	if n.c.Events.Stopped != nil {
		n.c.Events.Stopped(ev)
	}
}

func (n *Node) tellMove(ev work.RunStarted) {
	p, ok := n.member.Value().Partition(ev.Partition)
	if !ok || p.Token != ev.Token || p.From == "" || p.From == n.c.Member || !n.tally.first(ev.Partition, ev.Token, n.owns) {
		return
	}
	r := journal.Record{
		Kind: journal.Moved, Partition: string(p.ID), From: string(p.From), To: string(n.c.Member), Cause: p.Cause, Token: uint64(ev.Token),
	}
	if !strings.Contains(p.Cause, " left: ") {
		gap := time.Now().UnixMilli() - p.ChangedMS
		r.GapMS = &gap
	}
	n.tally.move(r.GapMS)
	n.record(r)
}

func (n *Node) owns(id cluster.PartitionID) bool {
	p, ok := n.member.Value().Partition(id)
	return ok && p.Owner == n.c.Member
}

// whyRemoved says why a partition is not this member's any more.
func (n *Node) whyRemoved(id cluster.PartitionID) error {
	v := n.member.Value()
	if m, ok := v.Member(n.c.Member); n.leaving.Load() || ok && m.Draining {
		return work.CauseDrained
	}
	if p, ok := v.Partition(id); !ok || p.Dropped {
		return work.CauseKilled
	}
	return work.CauseMoved
}
