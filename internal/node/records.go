package node

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// record journals, with the member's name unless it is about another one.
func (n *Node) record(r journal.Record) {
	r.Member = cmp.Or(r.Member, string(n.c.Member))
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
	n.first.CompareAndSwap(0, uint64(inc))
	n.rejoined.Set()
	n.suspect.Set()
	n.witness.note(n.c.Clock(), "join", "", inc)
	n.record(journal.Record{Kind: journal.MemberJoined, Token: uint64(inc), Message: string(n.c.Member) + " joined"})
	if n.c.Events.Joined != nil {
		n.c.Events.Joined(inc, time.Since(n.started))
	}
}

func (n *Node) removed(reason string) {
	_ = n.readEvicted() // before it joins again; else it is read again then
	n.witness.note(n.c.Clock(), "removed", "", 0)
	n.stats.count(func(s *sums) { s.removals++ })
	n.record(journal.Record{Kind: journal.MemberLeft, Message: string(n.c.Member) + " found itself removed",
		Cause: reason})
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
	n.stats.count(func(s *sums) { s.losses++ })
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
	ended := map[cluster.JobID]cluster.Index{}
	for _, d := range deeds {
		if !d.Result.Accepted {
			continue
		}
		n.recordDeed(v, d)
		n.recordEnd(v, d, ended)
	}
}

// Record journals what somebody has asked of the cluster at this member.
func (n *Node) Record(r journal.Record) { n.record(r) }

func (n *Node) valueChanged(v cluster.Value) {
	n.absence.look(v, n.c.Member, n.c.Clock())
	m, ok := v.Member(n.c.Member)
	if ok && m.State == cluster.MemberPrepared && !n.heldSeen.Swap(true) {
		n.noteHeld(v)
	}
	if ok && m.Draining {
		n.suspect.Set()
	}
	n.changed.Fire()
}

// noteHeld remembers since when nobody runs what was held for this member while it restarted.
func (n *Node) noteHeld(v cluster.Value) {
	now, wall := n.c.Clock(), time.Now().UnixMilli()
	for p := range v.OwnedBy(n.c.Member) {
		if p.State == cluster.PartitionHeld {
			n.stats.stopped(p.ID, now.Add(-time.Duration(max(0, wall-p.ChangedMS))*time.Millisecond))
		}
	}
}

func (n *Node) recordDeed(v cluster.Value, d protocol.Deed) {
	switch c := d.Command.(type) {
	case cluster.LeaveCluster:
		r := journal.Record{AtMS: d.AtMS,
			Kind: journal.MemberLeft, Member: string(c.Member), Message: string(c.Member) + " left", Cause: c.Reason}
		if c.Member != n.c.Member {
			r.Message, r.By = string(c.Member)+" was removed", string(n.c.Member)
		}
		n.record(r)
	case cluster.FinishPartition:
		if p, ok := v.Partition(c.Partition); ok && p.State == cluster.PartitionParked {
			n.record(journal.Record{AtMS: d.AtMS, Kind: journal.Parked, Partition: string(c.Partition),
				Message: p.Message})
		}
	}
}

// recordEnd journals the end of a job, by the member whose command ended it. What people or sources end has a record of
// theirs. Several commands of one entry may be about the job that it ends: ended has the entry that ended each job.
func (n *Node) recordEnd(v cluster.Value, d protocol.Deed, ended map[cluster.JobID]cluster.Index) {
	var id cluster.PartitionID
	switch c := d.Command.(type) {
	case cluster.FinishPartition:
		id = c.Partition
	case cluster.Stopped:
		id = c.Partition
	}
	job, _, _ := id.Split()
	j, ok := v.Job(job)
	if !ok || j.SpecIndex != d.Index || ended[job] == d.Index || j.State != cluster.JobCompleted &&
		j.State != cluster.JobFailed {
		return
	}
	ended[job] = d.Index
	n.record(journal.Record{AtMS: d.AtMS, Kind: journal.JobEnded, Partition: string(job), Message: "the job is " +
		j.State.String(), Cause: j.Message})
}

// runStarted journals moves: the member that starts a partition of another one says whose it was and why.
func (n *Node) runStarted(ev supervisor.RunStarted) {
	n.witness.note(ev.At, "start", ev.Partition, ev.Token)
	if n.c.Events.Started != nil {
		n.c.Events.Started(ev)
	}
	idle, again := n.stats.startsAgain(ev.Partition, ev.At)
	first := ev.Grant.From != "" && n.stats.first(ev.Partition, ev.Token, n.owned)
	gap := n.gapBefore(ev) // also where it is not told: it waits no longer
	switch {
	case first && ev.Grant.From != n.c.Member:
		n.tellMove(ev, gap)
	case again:
		n.tellResumed(ev, span{idle, true})
	case first:
		n.tellResumed(ev, gap)
	}
}

// span is for how long nobody ran a partition; at least, where it is not known.
type span struct {
	d     time.Duration
	known bool
}

// gapBefore is from the last time that somebody ran a partition until now, as far as this process can know: by its own
// clock, and by what was found of a dead owner's silence. What goes from one living member to the next is measured from
// the entry that gave it.
func (n *Node) gapBefore(ev supervisor.RunStarted) span {
	d, known, handed := n.absence.before(ev.Partition, ev.Grant.From, n.c.Member, ev.At)
	if p, ok := n.member.Value().Partition(ev.Partition); handed && ok && p.Token == ev.Token {
		d = time.Duration(time.Now().UnixMilli()-p.ChangedMS) * time.Millisecond
	}
	silence, told := heartbeat.SilenceIn(ev.Grant.Cause)
	return span{d + silence, known && told}
}

func (n *Node) runStopped(ev supervisor.RunStopped) {
	n.witness.note(ev.At, "stop", ev.Partition, ev.Token)
	n.absence.ended(ev.Partition)
	if ev.Outcome == supervisor.Failed {
		n.failing.failed()
	}
	if errors.Is(ev.Cause, work.CauseLeaseLost) || errors.Is(ev.Cause, work.CauseMoved) {
		n.stats.stopped(ev.Partition, ev.Until)
	}
	if n.c.Events.Stopped != nil {
		n.c.Events.Stopped(ev)
	}
}

// tellMove journals a move to this member.
func (n *Node) tellMove(ev supervisor.RunStarted, gap span) {
	n.stats.move()
	n.tellGap(journal.Record{
		Kind: journal.Moved, Partition: string(ev.Partition), From: string(ev.Grant.From), To: string(n.c.Member),
		Cause: ev.Grant.Cause, Token: uint64(ev.Token),
	}, gap)
}

// tellResumed journals that this member runs again what it, or a former process of its name, did not run for a while,
// and nobody else did.
func (n *Node) tellResumed(ev supervisor.RunStarted, gap span) {
	r := journal.Record{Kind: journal.Resumed, Partition: string(ev.Partition), To: string(n.c.Member),
		Token: uint64(ev.Token), Cause: ev.Grant.Cause}
	if !ev.First {
		r.Cause = "its member did not hear of the store for too long"
	}
	n.tellGap(r, gap)
}

// tellGap journals a time in which nobody ran a partition, and counts it where it is known.
func (n *Node) tellGap(r journal.Record, gap span) {
	ms := gap.d.Milliseconds()
	if gap.known {
		r.GapMS = &ms
		n.stats.gap(gap.d)
	} else {
		r.GapAtLeastMS = &ms
		n.stats.atLeast(gap.d)
	}
	n.record(r)
}

// frozen journals that the process was suspended while it ran tasks.
func (n *Node) frozen(f supervisor.Frozen) {
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
	n.tellGap(r, span{f.To.Sub(f.From), true})
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
