package leader

import (
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/member"
)

// later reports whether a heartbeat is of a later life of the same start than another one. A list of mailboxes may be old, and ask for a life that has ended.
func later(heartbeat, than string) bool {
	i, j := strings.LastIndexByte(heartbeat, '-')+1, strings.LastIndexByte(than, '-')+1
	if i == 0 || heartbeat[:i] != than[:j] {
		return false
	}
	life, err := strconv.ParseUint(heartbeat[i:], 10, 64)
	former, err2 := strconv.ParseUint(than[j:], 10, 64)
	return err == nil && err2 == nil && life > former
}

// rival reports whether a heartbeat is of another start under our name.
func (s *step) rival(heartbeat string) bool {
	return strings.HasPrefix(heartbeat, protocol.HeartbeatPrefix+string(s.Member)+"/") && !s.Ours(heartbeat)
}

// walk moves from phase to phase as far as the state allows.
func (s *step) walk() {
	for range 8 { // more phases than there are
		before := s.Is
		s.walkOne()
		if s.Is == before {
			return
		}
	}
}

func (s *step) walkOne() {
	switch s.Is {
	case member.PhaseNaming:
		s.claimName()
	case member.PhaseBeginning:
		if s.Own.Held {
			s.Is = member.PhaseJoining
		}
	case member.PhaseJoining:
		s.awaitJoin()
	case member.PhaseMember:
		s.stayMember()
	case member.PhaseConfirming:
		s.awaitConfirm()
	case member.PhaseRemoved:
		s.comeBack()
	case member.PhaseLeaving:
		switch {
		case s.Inc == 0 && s.seen(): // admitted after all
			s.Inc, s.admitted = s.head.Incarnation, s.head.Incarnation
		case s.seen(): // or confirmed
			s.Inc = max(s.Inc, s.head.Incarnation)
		}
	}
}

// claimName makes sure that no live process has our name: one whose mailbox is there, or that the leader sees. It waits until that one's heartbeat is
// gone or has been silent, and gives up when it sees it renewed.
func (s *step) claimName() {
	if !s.mailbox.known || !s.head.known {
		return
	}
	for _, heartbeat := range []string{s.mailbox.others, s.head.Heartbeat} {
		if heartbeat == "" || s.Ours(heartbeat) {
			continue
		}
		if o := s.claims.Of(heartbeat); !s.Dead(o) {
			s.lookAt(o)
			return
		}
	}
	if s.mailbox.version != "" && s.mailbox.others != "" && !s.Ours(s.mailbox.others) {
		s.drop(MailboxKey(s.Member), s.mailbox.version)
		return
	}
	s.Is = member.PhaseBeginning
}

// claimSeen takes in the heartbeat of another start under our name.
func (s *step) claimSeen(was, now heartbeat.Observation) {
	s.claims = s.claims.With(now)
	if was.Known && !was.Gone() && !now.Gone() && was.Version != now.Version {
		s.Halt(s.head.Index, &protocol.NameTakenError{Member: s.Member})
	}
}

// seen reports whether the leader sees this life of ours.
func (s *step) seen() bool {
	return s.head.known && s.head.Heartbeat == s.Own.Key && s.Own.Held
}

// awaitJoin looks for our admission.
func (s *step) awaitJoin() {
	switch {
	case s.seen() && s.head.State == cluster.MemberJoined.String():
		s.Inc, s.admitted = s.head.Incarnation, s.head.Incarnation
		s.Is = member.PhaseMember
		s.Emit(member.Joining{Incarnation: s.Inc})
	case s.mailbox.known && s.mailbox.others != "" && !s.Ours(s.mailbox.others):
		s.Is = member.PhaseNaming // another start was quicker
	}
}

// stayMember notices that we were removed, or have another incarnation.
func (s *step) stayMember() {
	if s.gone() {
		s.remove()
		return
	}
	if s.seen() {
		s.Inc = max(s.Inc, s.head.Incarnation)
	}
}

// out reports whether we have left.
func (s *step) out() bool { return s.Is == member.PhaseLeaving && s.Inc != 0 && s.gone() }

// gone reports whether the cluster has removed this membership: the roster proves it, or that we are seen in another one.
func (s *step) gone() bool {
	if s.roster.Index < s.Inc {
		return false
	}
	p, ok := s.roster.peer(s.Member)
	return !ok || !s.Ours(p.Heartbeat) || p.Incarnation != s.Inc && p.Heartbeat != s.Own.Key
}

// awaitConfirm looks for our confirmation, or for our removal.
func (s *step) awaitConfirm() {
	switch {
	case s.seen() && s.head.Incarnation > s.Inc:
		s.Inc = s.head.Incarnation
		s.Is = member.PhaseMember
	case s.gone():
		s.remove()
	}
}

func (s *step) remove() {
	s.slots, s.fetch = tree[held]{}, nil
	s.Remove(s.head.Index, "the cluster has removed it")
}

// comeBack joins again, as another life, once nothing of the former one runs.
func (s *step) comeBack() {
	if !s.Idle() {
		return
	}
	s.Life++
	s.Inc, s.admitted, s.Own = 0, 0, member.Own{}
	s.head = head{Head: s.head.Head, known: s.head.known}
	s.Is = member.PhaseNaming
}

// settle ends the member when it has left, or was never in. What it has asked for and not been given it takes back.
func (s *step) settle() {
	if s.Is != member.PhaseLeaving || !s.Idle() {
		return
	}
	if s.Own.Over { // its session has ended: nothing that it says counts any more, and others see that it is gone
		s.Gone()
		return
	}
	never := s.Inc == 0 && s.mailbox.known && !s.isBusy(MailboxKey(s.Member))
	if !never && !s.out() || s.rule.at != ruleNone && !s.resign() {
		return
	}
	if s.mailbox.known && s.mailbox.mine() {
		s.drop(MailboxKey(s.Member), s.mailbox.version)
		return
	}
	s.Gone()
}
