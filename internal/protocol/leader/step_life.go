package leader

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
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

// walk moves from phase to phase as far as the documents prove.
func (s *step) walk() {
	was := s.Joined
	s.Walk(s)
	if was && !s.Joined {
		s.slots, s.fetch, s.work = tree[slot]{}, tree[fetch]{}, duty.Derived{}
	}
	s.admitted = cmp.Or(s.admitted, s.Inc)
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
		w.Waits = s.replaced()
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
	if s.replaced() {
		s.drop(mailboxKey(s.Member), s.mailbox.version)
		return false
	}
	return true
}

// replaced reports whether the mailbox of our name is that of another start.
func (s *step) replaced() bool {
	return s.mailbox.known && s.mailbox.others != "" && !s.Ours(s.mailbox.others)
}

// seen reports whether the leader sees this life of ours.
func (s *step) seen() bool { return s.head.known && s.head.Heartbeat == s.Own.Key && s.Own.Held }

// out reports whether we have left.
func (s *step) out() bool { return s.Is == member.PhaseLeaving && s.Inc != 0 && s.gone() }

// gone reports whether the cluster has removed this membership: the roster proves it, or that we are seen in another
// one.
func (s *step) gone() bool {
	still := func(p cluster.Member) bool {
		return p.ID == s.Member && s.Ours(p.Heartbeat) && (p.Incarnation == s.Inc || p.Heartbeat == s.Own.Key)
	}
	return s.roster.Index >= s.Inc && !slices.ContainsFunc(s.roster.Members, still)
}

// settle ends the member when it has left, or was never in. What it has asked for and not been given it takes back.
func (s *step) settle() {
	if s.Is != member.PhaseLeaving || !s.Idle() {
		return
	}
	if s.Own.Over || s.Own.Key == "" || s.replaced() {
		// Nothing that it says counts any more: its session has ended, or its lease before it was told to leave, or
		// another start has taken its name while it was silent. Others see that it is gone.
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

// maxAsk is how many commands one request of a member has.
const maxAsk = 500

// asks are the requests of this member to the leader: one is under way at a time.
type asks struct {
	outbox.Box
	look
	put bool // it is in its place, as far as is known
}

func (a *asks) writes(key string) bool {
	return a.Pending != nil && planKey(a.Pending.Entry.Writer, a.Pending.Entry.Seq) == key
}

// asker is who asks: another writer than the one of entries, so that their numbers do not mix.
func (s *step) asker() cluster.WriterID { return s.Writer() + "-ask" }

// ask puts requests in their place and looks for answers.
func (s *step) ask() {
	if s.Inc == 0 || s.Is == member.PhaseConfirming {
		return
	}
	if s.asks.Pending == nil {
		s.asks.Box = s.asks.Compose(s.At, s.asker(), s.Value(), nil, false)
		s.asks.put = false
	}
	p := s.asks.Pending
	if p == nil || s.asks.Rests(s.At) {
		return
	}
	key := planKey(p.Entry.Writer, p.Entry.Seq)
	if !s.asks.put {
		s.put(Put{Key: key, Doc: planDoc{Writer: p.Entry.Writer, Seq: p.Entry.Seq, Commands: p.Entry.Commands}})
		return
	}
	if s.asks.due(s.At) && s.get(key) {
		s.asks.look = look{next: s.At.Add(max(s.Poll, s.Params.TTL*2/5))}
	}
}

func (s *step) planWrote(ev Wrote) {
	switch {
	case ev.Conflict:
		s.asks.put, s.asks.hint = true, true // it is there already
	case ev.Outcome == outbox.Done:
		s.asks.Box = s.asks.At(0)
		s.asks.put, s.asks.look.next = true, s.At.Add(max(s.Poll, s.Params.TTL*2/5)) // the answer may have been hinted at already
	default:
		s.asks.Box = s.Reply(s.asks.Failed(ev.Outcome, ev.Err, 0))
	}
}

// planGot looks whether our request was answered.
func (s *step) planGot(d Doc) {
	p := s.asks.Pending
	if !s.asks.writes(d.Key) {
		return
	}
	plan, ok := d.Value.(planDoc)
	switch {
	case d.Version == "" && d.Bad == "":
		s.asks.put = false // it was removed, or never written
		s.unanswered()
	case d.Bad != "": // as it is to the leader
		s.asks.Box = s.asks.At(0).At(0)
		s.unanswered()
	case !ok || plan.Answer == nil:
	default:
		s.planAnswered(*plan.Answer, len(p.Entry.Commands))
		s.drop(d.Key, d.Version) // if that fails, the leader does it later
	}
}

// unanswered gives up a request that was removed twice without an answer, or that cannot be read.
func (s *step) unanswered() {
	box, answers := s.asks.Passed(0, s.At)
	for i := range answers {
		answers[i].Unknown = true
	}
	s.asks.Box = s.Reply(box, answers)
}

func (s *step) planAnswered(a planAnswer, commands int) {
	if a.Err == "" && len(a.Results) == commands {
		s.asks.Box = s.Reply(s.asks.Applied(s.At, a.Results))
		return
	}
	box, answers := s.asks.Applied(s.At, make([]cluster.Result, commands))
	for i := range answers {
		answers[i] = outbox.Answer{ID: answers[i].ID, Err: a.Err, Unknown: a.Unknown || a.Err == ""}
	}
	s.asks.Box = s.Reply(box, answers)
}
