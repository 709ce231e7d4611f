package leader

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
)

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
	case ev.Outcome == outbox.Refused:
		s.asks.Box = s.Reply(s.asks.TooLarge(ev.Err))
	case ev.Outcome == outbox.Unknown:
		s.asks.Box = s.asks.Unknown()
	default:
		s.asks.Box = s.asks.Requeue()
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
