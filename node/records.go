package node

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/work"
)

// record journals, with the member's name.
func (n *Node) record(r journal.Record) {
	r.Member = string(n.c.Member)
	n.records.Add(r)
	for _, c := range n.copies {
		c.Add(r)
	}
}

// dropped is the number of records that were lost, in the journal and in its copies.
func (n *Node) dropped() int64 {
	all := n.records.Dropped()
	for _, c := range n.copies {
		all += c.Dropped()
	}
	return all
}

func (n *Node) joined(inc cluster.Incarnation) {
	n.sources.admitted()
	select {
	case n.rejoined <- struct{}{}:
	default:
	}
	n.witness.note(n.c.Clock(), "join", "", inc)
	n.record(journal.Record{Kind: journal.MemberJoined, Token: uint64(inc), Message: string(n.c.Member) + " joined"})
	if n.c.Events.Joined != nil {
		n.c.Events.Joined(inc, time.Since(n.started))
	}
}

func (n *Node) removed(reason string) {
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

// Asked journals a command that the program around this member has requested.
func (n *Node) Asked(c cluster.Command) { n.record(AskedRecord(c, string(n.c.Member))) }

// AskedRecord is the record of a command that somebody gives: what it says, and the job or task that it is about. A name in the command is not said twice.
func AskedRecord(c cluster.Command, by string) journal.Record {
	r := journal.Record{Kind: journal.Asked, Message: fmt.Sprint(c), Member: by}
	switch c := c.(type) {
	case cluster.KillJob:
		r.Partition = string(c.Job)
	case cluster.PauseJob:
		r.Partition = string(c.Job)
		if c.By == by {
			r.Message = "pause-job " + string(c.Job)
		}
	case cluster.ResumeJob:
		r.Partition = string(c.Job)
	case cluster.UnparkPartition:
		r.Partition = string(c.Partition)
	}
	return r
}

func (n *Node) valueChanged(v cluster.Value) {
	if m, ok := v.Member(n.c.Member); ok && m.State == cluster.MemberPrepared && !n.heldSeen.Swap(true) {
		n.noteHeld(v)
	}
	n.changed.fire()
}

// noteHeld remembers since when nobody runs what was held for this member while it restarted.
func (n *Node) noteHeld(v cluster.Value) {
	now, wall := n.c.Clock(), time.Now().UnixMilli()
	for p := range v.OwnedBy(n.c.Member) {
		if p.State == cluster.PartitionHeld {
			n.tally.stopped(p.ID, now.Add(-time.Duration(max(0, wall-p.ChangedMS))*time.Millisecond))
		}
	}
}

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
	gap, again := n.tally.startsAgain(ev.Partition, ev.At)
	if !n.tellMove(ev) && again {
		n.tellResumed(ev, gap)
	}
}

func (n *Node) runStopped(ev work.RunStopped) {
	n.witness.note(ev.At, "stop", ev.Partition, ev.Token)
	if ev.Outcome == work.Failed {
		n.failing.failed()
	}
	if errors.Is(ev.Cause, work.CauseLeaseLost) || errors.Is(ev.Cause, work.CauseMoved) {
		n.tally.stopped(ev.Partition, ev.Until)
	}
	if n.c.Events.Stopped != nil {
		n.c.Events.Stopped(ev)
	}
}

// tellMove journals a move to this member, once, and tells whether the start is one.
func (n *Node) tellMove(ev work.RunStarted) bool {
	g := ev.Grant
	if g.From == "" || !n.tally.first(ev.Partition, ev.Token, n.owned) || g.From == n.c.Member {
		return false
	}
	r := journal.Record{
		Kind: journal.Moved, Partition: string(ev.Partition), From: string(g.From), To: string(n.c.Member), Cause: g.Cause, Token: uint64(ev.Token),
	}
	n.tally.move()
	if silence, known := heartbeat.SilenceIn(g.Cause); known {
		if p, ok := n.member.Value().Partition(ev.Partition); ok && p.Token == ev.Token {
			silence += time.Duration(time.Now().UnixMilli()-p.ChangedMS) * time.Millisecond
		}
		n.gap(&r, silence)
	}
	n.record(r)
	return true
}

// tellResumed journals that this member runs again what it did not run for a while, and nobody else did.
func (n *Node) tellResumed(ev work.RunStarted, gap time.Duration) {
	r := journal.Record{Kind: journal.Resumed, Partition: string(ev.Partition), To: string(n.c.Member), Token: uint64(ev.Token), Cause: ev.Grant.Cause}
	if !ev.First {
		r.Cause = "its member did not hear of the store for too long"
	}
	n.gap(&r, gap)
	n.record(r)
}

// gap counts a time in which nobody ran a partition.
func (n *Node) gap(r *journal.Record, d time.Duration) {
	ms := d.Milliseconds()
	r.GapMS = &ms
	n.tally.gap(d)
}

// frozen journals that the process was suspended while it ran tasks. Where it lost them by that, what follows has a record of its own.
func (n *Node) frozen(f work.Frozen) {
	runs := 0
	for p := range n.member.Value().OwnedBy(n.c.Member) {
		if p.Owner == n.c.Member {
			runs++
		}
	}
	if runs == 0 {
		return
	}
	what := fmt.Sprint(runs, " tasks")
	if runs == 1 {
		what = "1 task"
	}
	r := journal.Record{Kind: journal.Suspended, Message: "the process did not run; it has " + what}
	n.gap(&r, f.To.Sub(f.From))
	n.record(r)
}

// owned tells what this member owns, by the present value.
func (n *Node) owned() func(cluster.PartitionID) bool {
	v := n.member.Value()
	return func(id cluster.PartitionID) bool {
		p, ok := v.Partition(id)
		return ok && p.Owner == n.c.Member
	}
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
