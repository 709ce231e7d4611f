package leader

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
)

// head is how the leader sees this member, as it was read last.
type head struct {
	headDoc
	look
	known bool // it was read in this life, if only to find none
	fresh bool // its tasks are to be taken in
}

// roster is all members, as they were read last.
type roster struct {
	rosterDoc
	look
	known bool // it was read, if only to find none
}

// probe is a heartbeat that is looked at.
type probe struct {
	key        string
	sent, next protocol.Instant
}

// hinted notes that something below a prefix may have changed.
func (s *step) hinted(prefix string) {
	switch prefix {
	case "":
		s.fold.Hint = true
	case leaderPrefix:
		s.vote.hint = true
	case rosterPrefix:
		s.roster.hint = true
	case headFolder(s.Member):
		s.head.hint = true
	case planFolder(s.asker()):
		s.asks.hint = true
	case MailboxPrefix:
		s.rule.boxes.hint, s.vote.wary = true, s.At.Add(s.Params.TTL)
	case planPrefix:
		s.rule.plans.hint = true
	}
}

// lookAround reads what this member must know of itself and of the others.
func (s *step) lookAround() {
	if s.Is == member.PhaseRemoved {
		return
	}
	if s.head.due(s.At) && s.get(headKey(s.Member)) {
		s.head.look = s.again(s.head.look, s.ownEvery())
	}
	if s.roster.due(s.At) && s.get(rosterKey) {
		s.roster.look = look{next: s.apart(s.At.Add(s.ownEvery()))}
	}
	if s.Is == member.PhaseNaming && !s.mailbox.known {
		s.get(mailboxKey(s.Member))
	}
}

// lookAgain makes a look due that has failed: the hint that led to it comes once, and the next look by the clock may be
// far away.
func (s *step) lookAgain(key string) {
	if key == protocol.HeartbeatPrefix {
		s.swept = 0
	}
	s.hinted(key[:strings.LastIndexByte(key, '/')+1])
}

// probe reads a heartbeat, unless that was done a short while ago: at names when this caller wants to look again. Who
// wants to look sooner does not wait for one who looks seldom.
func (s *step) probe(key string, at protocol.Instant) {
	i := slices.IndexFunc(s.probing, func(p probe) bool { return p.key == key })
	if i >= 0 && s.At < min(s.probing[i].next, s.probing[i].sent.Add(at.Sub(s.At))) || !s.get(key) {
		return
	}
	looked := probe{key, s.At, max(at, s.At.Add(s.Poll))}
	s.probing = slices.Clone(s.probing)
	if i >= 0 {
		s.probing[i] = looked
	} else {
		s.probing = append(s.probing, looked)
	}
	s.probing = slices.DeleteFunc(s.probing, func(p probe) bool { return s.At >= p.next.Add(4*s.Params.TTL) })
}

// nextLook is when a heartbeat is looked at again.
func (s *step) nextLook(o heartbeat.Observation) protocol.Instant {
	if !s.Hints.Docs {
		return o.Polled(s.Timing, s.Poll)
	}
	return o.Next(s.Timing, s.Poll)
}

// lookAt reads a heartbeat when that is due.
func (s *step) lookAt(o heartbeat.Observation) {
	if s.At >= s.nextLook(o) {
		s.probe(o.Key, s.At)
	}
}

func (s *step) got(ev Got) {
	key := ev.Doc.Key
	s.Answered(ev.Err)
	s.returned(key, ev.Err)
	if strings.HasPrefix(key, folder(s.Member)) {
		s.slotGot(ev)
	}
	if ev.Err != "" {
		s.lookAgain(key)
		return
	}
	s.refuse(ev.Doc)
	switch {
	case strings.HasPrefix(key, protocol.HeartbeatPrefix):
		s.heartbeatGot(ev)
	case key == LeaderKey:
		s.holderGot(ev)
	case key == rosterKey:
		s.rosterGot(ev.Doc)
	case key == headKey(s.Member):
		s.headGot(ev.Doc)
	case key == mailboxKey(s.Member):
		s.mailboxGot(ev.Doc)
	case strings.HasPrefix(key, planFolder(s.asker())):
		s.planGot(ev.Doc)
	}
	s.written(ev.Doc)
}

// refuse tells of a document that cannot be read.
func (s *step) refuse(d Doc) {
	if d.Bad != "" {
		s.Emit(member.Refusing{Key: d.Key, Reason: d.Bad})
	}
}

func (s *step) heartbeatGot(ev Got) {
	d := ev.Doc
	if was := s.claims.Of(d.Key); s.Is == member.PhaseNaming && !s.Ours(d.Key) &&
		strings.HasPrefix(d.Key, protocol.HeartbeatPrefix+string(s.Member)+"/") {
		now := was.Read(d.Version, d.TTL, ev.Sent, s.At)
		s.claims = s.claims.With(now)
		if was.Known && !was.Gone() && !now.Gone() && was.Version != now.Version {
			s.Halt(s.head.Index, &protocol.NameTakenError{Member: s.Member})
		}
	}
	s.vote.Election = s.vote.Probed(d.Key, d.Version, d.TTL, ev.Sent, s.At)
	s.heartbeats = s.heartbeats.With(s.heartbeats.Of(d.Key).Read(d.Version, d.TTL, ev.Sent, s.At))
}

// rosterGot takes in the members, if they are newer than what we have.
func (s *step) rosterGot(d Doc) {
	s.roster.known = true
	if r, ok := d.Value.(rosterDoc); ok && r.Index > s.roster.Index {
		s.roster.rosterDoc = r
		s.lighten()
		s.head.look = s.expect(s.head.look, s.Poll) // what a member had may be offered to us
	}
}

func (s *step) headGot(d Doc) {
	s.head.known = s.head.known || d.Bad == ""
	switch h, ok := d.Value.(headDoc); {
	case ok && h.Index >= s.head.Index: // a store may answer with what was
		s.head.headDoc, s.head.fresh = h, true
	case d.Version == "" && s.Inc == 0:
		s.head.headDoc = headDoc{}
	}
}

func (s *step) listed(ev Listed) {
	s.Answered(ev.Err)
	s.returned(ev.Prefix, ev.Err)
	if ev.Err != "" {
		s.lookAgain(ev.Prefix)
		return
	}
	i := slices.Index(adopted[:], ev.Prefix)
	for _, d := range ev.Docs {
		if s.refuse(d); i >= 0 {
			s.written(d)
		}
	}
	if i >= 0 {
		s.rule.listed[i] = s.rule.asked[i]
	}
	switch ev.Prefix {
	case protocol.HeartbeatPrefix:
		s.heartbeatsListed(ev.Docs)
	case MailboxPrefix:
		s.boxesListed(ev.Docs)
	case planPrefix:
		s.plansListed(ev.Docs)
	default:
		s.folderAudited(ev.Prefix, ev.Docs)
	}
}

func (s *step) wrote(ev Wrote) {
	err := ev.Err
	if ev.Conflict {
		err = ""
	}
	if s.returned(ev.Key, err); ev.Outcome == outbox.Refused {
		err = "" // the store answers
	}
	if !ev.Late {
		s.Wrote(err, ev.Outcome == outbox.Done)
	}
	switch {
	case ev.Key == LeaderKey:
		s.vote.Election, s.vote.hint = s.vote.Stale(), true
	case ev.Key == mailboxKey(s.Member):
		s.mailboxWrote(ev)
	case s.asks.writes(ev.Key):
		s.planWrote(ev)
	default:
		s.projected(ev)
	}
}

// nextSweep is when the heartbeats are listed again: by a leader when the next renewal of one is due. Where they vanish
// by themselves that is only for those whose session could not be closed.
func (s *step) nextSweep() protocol.Instant {
	switch {
	case s.Hints.Vanish:
		n := int64(len(s.roster.Members))
		return s.swept.Add(max(2*s.Params.TTL, time.Duration(n*n*int64(s.Params.TTL/75)))) // each costs a request for every member
	case s.rule.at != ruleRuling:
		return s.swept.Add(s.Params.TTL / 2)
	}
	next, pause, due := s.swept.Add(s.Params.TTL), s.Poll, heartbeat.Observation.Next
	if !s.Hints.Docs {
		pause, due = s.Poll/4, heartbeat.Observation.Soon
	}
	for m := range s.fold.Value.Members() {
		if m.State != cluster.MemberHeld && m.Heartbeat != s.Own.Key {
			next = min(next, due(s.heartbeats.Of(m.Heartbeat), s.Timing, s.Poll))
		}
	}
	return max(next, s.swept.Add(pause))
}
