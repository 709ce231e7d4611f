package lease

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// held is a partition that this session has claimed: as its document was when a write of ours was acknowledged, or was
// read since.
type held struct {
	id        cluster.PartitionID
	version   store.Version
	partition cluster.Partition
	spec      *cluster.TaskSpec
	specIndex cluster.Index
	grant     *protocol.Grant  // of these, while it is to run
	missing   protocol.Instant // since when reads do not show it as we know it; 0: they do
	next      protocol.Instant // nothing is said about it before
}

// grantID names a partition under one of its tokens.
type grantID struct {
	partition cluster.PartitionID
	token     cluster.Token
}

func findHeld(all []*held, id cluster.PartitionID) (int, bool) {
	return slices.BinarySearchFunc(all, id,
		func(h *held, id cluster.PartitionID) int { return strings.Compare(string(h.id), string(id)) })
}

// claimPauses is how many claims fit into a poll, on average, where others may claim the same.
const claimPauses = 8

// claimSome claims what is free: first what the plan would give us, without delay; then, from our own place in the Node
// List and with a random pause, what has been free for too long. Never more than we have workers for.
func (s *step) claimSome() {
	if s.Is != member.PhaseMember || !s.Own.Held || s.look.members == nil {
		return
	}
	free := s.look.board.Free
	begin := s.place(len(free))
	for i := range free {
		e := free[(begin+i)%len(free)]
		if len(s.tries) >= maxTries {
			return
		}
		if !e.Partition.Reserved() && !s.room() {
			continue
		}
		mine := e.First == s.Member
		if !mine && (e.Only || s.At < s.claimRest || s.At.Sub(e.since) < s.Params.TTL) {
			continue
		}
		if s.trying(e.Partition) || s.owns(e.Partition) || e.Slot != 0 && s.inSlot(e.Slot) ||
			slices.Contains(s.shuns, grantID{e.Partition, e.Token}) {
			continue
		}
		if !mine {
			s.claimRest = s.At.Add(s.pick(s.Poll / claimPauses))
		}
		s.try(cluster.Claim{Partition: e.Partition, Token: e.Token, Member: s.Member, Incarnation: s.Inc})
	}
}

// place is where we begin in a list of so many: by our position in the Node List, so that members spread.
func (s *step) place(n int) int {
	at := slices.IndexFunc(s.look.members, func(m cluster.Member) bool { return m.ID == s.Member })
	return max(0, at) * n / max(1, len(s.look.members))
}

// room tells whether we have a worker for one more. Claims that are on their way count; what Rota runs for itself does
// not.
func (s *step) room() bool {
	if s.Join.Capacity == 0 {
		return true
	}
	var n int64
	for _, h := range s.held {
		if !h.id.Reserved() {
			n++
		}
	}
	for _, t := range s.tries {
		if c, ok := t.command.(cluster.Claim); ok && !c.Partition.Reserved() {
			n++
		}
	}
	return n < s.Join.Capacity
}

// inSlot tells whether one of our slots is taken, or being claimed.
func (s *step) inSlot(n int64) bool {
	return slices.ContainsFunc(s.held, func(h *held) bool { return h.partition.Slot == n }) ||
		slices.ContainsFunc(s.tries, func(t try) bool {
			c, ok := t.command.(cluster.Claim)
			_, _, key := c.Partition.Split()
			return ok && strings.HasSuffix(key, ":"+strconv.FormatInt(n, 10))
		})
}

func (s *step) owns(id cluster.PartitionID) bool {
	_, ok := findHeld(s.held, id)
	return ok
}

// claimTried takes in how a claim ended. It counts from its acknowledgement on, and only in the session that made it.
func (s *step) claimTried(c cluster.Claim, t try) {
	if !t.result.Accepted {
		s.shuns = append(slices.Clip(s.shuns), grantID{c.Partition, c.Token})
		return
	}
	if s.Is != member.PhaseMember || c.Incarnation != s.Inc {
		return // leaving: what we hold is free when the Node List is without us
	}
	s.holdDoc(t.put, t.job)
}

// holdDoc takes in a document of ours whose write was acknowledged.
func (s *step) holdDoc(d store.Doc, j cluster.Job) {
	p, ok := s.known.partition(d)
	if !ok {
		return
	}
	_, task, _ := p.partition.ID.Split()
	s.forgetEnded(func(e grantID) bool { return e.partition == p.partition.ID && e.token < p.doc.Token })
	if spec, has := j.Task(task); has && p.doc.Holder == s.Session() {
		s.hold(held{id: p.partition.ID, version: d.Version, partition: p.partition, spec: spec, specIndex: j.SpecIndex})
	}
}

func (s *step) hold(h held) {
	i, ok := findHeld(s.held, h.id)
	if s.held = slices.Clone(s.held); !ok {
		s.held = slices.Insert(s.held, i, nil)
	}
	h.grant = nil
	if p := &h.partition; p.State == cluster.PartitionGranted {
		h.grant = duty.Grant(p, p.Token, h.spec, h.specIndex)
	}
	s.held[i] = &h
}

// ownReadBack takes in the document of a partition as a command that was refused has read it. Where it is not ours any
// more, to hold on to it would keep us from claiming it again. Where it is, the same may be refused again, as by what
// an old copy of the store shows: nothing is said for a poll. What was lost is a write that may have given it up.
func (s *step) ownReadBack(docs []store.Doc, id cluster.PartitionID, lost bool) {
	if i, ok := findHeld(s.held, id); ok {
		h := *s.held[i]
		if h.next = s.At.Add(s.Poll); lost {
			h.missing = cmp.Or(h.missing, s.At)
		}
		s.hold(h)
	}
	for _, d := range docs {
		if d.Key == partitionKey(id) {
			s.ownSeen(d, id)
		}
	}
}

// ownSeen takes in what a read shows of a partition that we hold. A copy of the store that was cut off shows what was,
// and what nobody has acknowledged: that it is not ours counts when no read has shown otherwise for a TTL. To give it
// up before, and to find it later, would run it again. That it runs again counts then too, where it may be given up.
func (s *step) ownSeen(d store.Doc, id cluster.PartitionID) {
	i, ok := findHeld(s.held, id)
	if !ok {
		return
	}
	h := *s.held[i]
	long := s.At.Sub(cmp.Or(h.missing, s.At)) >= s.Silence(heartbeat.Observation{})
	if p, there := s.known.partition(d); there && s.shows(p, i) && (long || h.missing == 0 ||
		h.partition.State == cluster.PartitionGranted || p.partition.State != cluster.PartitionGranted) {
		s.ownChanged(d)
		return
	}
	h.missing = cmp.Or(h.missing, s.At)
	h.next = s.At.Add(s.Poll)
	if s.hold(h); long {
		s.lose(i)
	}
}

// shows tells whether a document says that we hold what we hold.
func (s *step) shows(p *partitionFact, i int) bool {
	return p.doc.Holder == s.Session() && p.doc.State == outstanding && p.doc.Token == s.held[i].partition.Token
}

// ownChanged takes in a document of a partition, if it is one that we hold.
func (s *step) ownChanged(d store.Doc) {
	p, ok := s.known.partition(d)
	if !ok {
		return
	}
	i, ok := findHeld(s.held, p.partition.ID)
	if !ok {
		return
	}
	if !s.shows(p, i) {
		s.lose(i)
		return
	}
	h := *s.held[i]
	h.version, h.partition, h.missing = d.Version, p.partition, 0
	s.hold(h)
}

func (s *step) lose(i int) { s.held = slices.Delete(slices.Clone(s.held), i, i+1) }

// grants are what the supervisor should run.
func (s *step) grants() []*protocol.Grant {
	out := make([]*protocol.Grant, 0, len(s.held))
	for _, h := range s.held {
		if h.grant != nil && !s.hasEnded(&h.partition) {
			out = append(out, h.grant)
		}
	}
	return out
}

// tell proposes what the supervisor has to say about what we hold.
func (s *step) tell() {
	if s.Is != member.PhaseMember {
		return
	}
	s.noteEnded()
	if s.Behind() {
		return // it has yet to take in what it should do: "not reported" proves nothing
	}
	reports := duty.Reports(s.Reports)
	for _, h := range s.held {
		p := &h.partition
		c := duty.Word(dutyOf(p), reports.Of(h.id))
		if s.hasEnded(p) {
			c = cluster.FinishPartition{Partition: p.ID, Token: p.Token, Outcome: cluster.OutcomeDone}
		}
		if c != nil && s.At >= h.next && !s.trying(h.id) && len(s.tries) < maxTries {
			s.try(c)
		}
	}
}

// noteEnded notes what is done for good. The supervisor forgets it with the grant, and a copy of the store that was cut
// off may have taken that: what it showed was never acknowledged, and the grant comes back.
func (s *step) noteEnded() {
	for _, r := range s.Reports {
		e := grantID{r.Partition, r.Token}
		if r.State == protocol.RunFinished && s.owns(e.partition) && !slices.Contains(s.ended, e) {
			s.ended = append(slices.Clip(s.ended), e)
		}
	}
}

// hasEnded tells whether a partition is done under its token: it is not begun again.
func (s *step) hasEnded(p *cluster.Partition) bool {
	return slices.Contains(s.ended, grantID{p.ID, p.Token})
}

func (s *step) forgetEnded(which func(grantID) bool) {
	s.ended = slices.DeleteFunc(slices.Clone(s.ended), which)
}

// dutyOf is what a partition that we hold asks of us. One that is neither to run nor to stop has only its end to tell.
func dutyOf(p *cluster.Partition) cluster.Duty {
	d := cluster.Duty{Partition: p, Token: p.Token}
	switch p.State {
	case cluster.PartitionGranted:
	case cluster.PartitionReleasing:
		d.Role = cluster.RoleStop
	default:
		d.Role = cluster.RoleAdopt + 1
	}
	return d
}
