package leader

import (
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// later reports whether a heartbeat is of a later life of the same start than another one. A list of mailboxes may be
// old, and ask for a life that has ended.
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

// walk moves from phase to phase as far as the documents prove.
func (s *step) walk() {
	was := s.Joined
	s.Walk(s)
	if was && !s.Joined {
		s.slots, s.fetch, s.work = tree[slot]{}, nil, duty.Derived{}
	}
	if s.admitted == 0 {
		s.admitted = s.Inc
	}
}

// Stand implements member.Machine: where the leader sees the member, and whether the roster proves that it was removed.
func (s *step) Stand() member.Stand {
	w := member.Stand{Joined: true}
	if s.seen() {
		w.Inc = s.head.Incarnation
	}
	switch s.Is {
	case member.PhaseNaming:
		w.Free = s.unnamed()
	case member.PhaseJoining:
		w.In = s.seen() && s.head.State == cluster.MemberJoined.String()
		w.Waits = s.mailbox.known && s.mailbox.others != "" && !s.Ours(s.mailbox.others)
	case member.PhaseMember:
		w.Out = s.gone()
	case member.PhaseConfirming:
		w.In, w.Out = s.seen() && s.head.Incarnation > s.Inc, s.gone()
	case member.PhaseRemoved:
		w.Free = true
	case member.PhaseLeaving:
		w.In = s.seen()
	}
	return w
}

// Again implements member.Machine.
func (s *step) Again() { s.admitted, s.head = 0, head{headDoc: s.head.headDoc, known: s.head.known} }

// unnamed makes sure that no live process has our name: one whose mailbox is there, or that the leader sees. It waits
// until that one's heartbeat is gone or has been silent, and gives up when it sees it renewed.
func (s *step) unnamed() bool {
	if !s.mailbox.known || !s.head.known {
		return false
	}
	for _, heartbeat := range []string{s.mailbox.others, s.head.Heartbeat} {
		if heartbeat == "" || s.Ours(heartbeat) {
			continue
		}
		if o := s.claims.Of(heartbeat); !s.Dead(o) {
			s.lookAt(o)
			return false
		}
	}
	if s.mailbox.version != "" && s.mailbox.others != "" && !s.Ours(s.mailbox.others) {
		s.drop(mailboxKey(s.Member), s.mailbox.version)
		return false
	}
	return true
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

// out reports whether we have left.
func (s *step) out() bool { return s.Is == member.PhaseLeaving && s.Inc != 0 && s.gone() }

// gone reports whether the cluster has removed this membership: the roster proves it, or that we are seen in another
// one.
func (s *step) gone() bool {
	if s.roster.Index < s.Inc {
		return false
	}
	p, ok := s.roster.peer(s.Member)
	return !ok || !s.Ours(p.Heartbeat) || p.Incarnation != s.Inc && p.Heartbeat != s.Own.Key
}

// settle ends the member when it has left, or was never in. What it has asked for and not been given it takes back.
func (s *step) settle() {
	if s.Is != member.PhaseLeaving || !s.Idle() {
		return
	}
	if s.Own.Over || s.Own.Key == "" {
		// Its session has ended, or its lease before it was told to leave: nothing that it says counts any more, and
		// others see that it is gone.
		s.Gone()
		return
	}
	never := s.Inc == 0 && s.mailbox.known && !s.isBusy(mailboxKey(s.Member))
	if !never && !s.out() || s.rule.at != ruleNone && !s.resign() {
		return
	}
	if s.mailbox.known && s.mailbox.mine() {
		s.drop(mailboxKey(s.Member), s.mailbox.version)
		return
	}
	s.Gone()
}
