package leader

import (
	"cmp"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// boxes are the mailboxes of the members, as they were listed last.
type boxes struct {
	look
	all tree[box]
}

type box struct {
	mailboxDoc
	version  store.Version
	accepted protocol.Instant // when it accepted something that it had not before, as far as we have seen
}

// plans are the requests that are not answered, or were by a former leader.
type plans struct {
	look
	all []plan // sorted by key
}

type plan struct {
	planDoc
	key     string
	version store.Version
	since   protocol.Instant // answered, as far as we have seen
}

// offered is an offer and when we saw it first: a new leader counts from its own first look.
type offered struct {
	task  cluster.PartitionID
	token cluster.Token
	since protocol.Instant
}

func (s *step) boxesListed(docs []Doc) {
	was := s.rule.boxes.all
	s.rule.boxes.all = tree[box]{}
	for _, d := range docs {
		m, ok := d.Value.(mailboxDoc)
		if !ok {
			continue
		}
		b, _ := was.Get(string(m.Member))
		if b.version != d.Version && slices.ContainsFunc(m.Says, func(say saying) bool { return say.Say == sayAccept }) {
			b.accepted = s.At
		}
		s.rule.boxes.all.Set(string(m.Member), box{m, d.Version, b.accepted}) // a tree of which there is no copy yet
		for _, say := range m.Says {
			if p, _ := s.fold.Value.Partition(say.Task); s.heard(m.Member, p, say) == nil {
				s.unheard(m.Member, say)
			}
		}
	}
	for m := range s.fold.Value.Members() {
		if _, ok := s.rule.boxes.all.Get(string(m.ID)); !ok && m.State != cluster.MemberHeld {
			s.heartbeats = s.heartbeats.With(s.heartbeats.Of(m.Heartbeat).NotInList())
		}
	}
}

// unheard has the head read again of a member that says what is asked of it no more: it may have read what nobody
// should have written.
func (s *step) unheard(m cluster.MemberID, say saying) {
	s.markDirty(target{m, say.Task})
	head := target{member: m}
	at, _ := s.rule.docs.Get(head.key())
	h, _ := at.is.(headDoc)
	if !slices.ContainsFunc(h.Tasks, func(e taskDoc) bool { return e.Task == say.Task && e.Token == say.Token }) {
		s.doubt(head)
	}
}

func (s *step) plansListed(docs []Doc) {
	was := s.rule.plans.all
	s.rule.plans.all = nil
	for _, d := range docs {
		p, ok := d.Value.(planDoc)
		if !ok {
			continue
		}
		next := plan{planDoc: p, key: d.Key, version: d.Version, since: s.At}
		if i := slices.IndexFunc(was, func(p plan) bool { return p.key == d.Key && p.version == d.Version }); i >= 0 {
			next.since = was[i].since
		}
		s.rule.plans.all = append(s.rule.plans.all, next)
	}
}

// maxEntry is how many commands a decision has at most.
const maxEntry = 1000

// wanted are the commands that the state asks for.
func (s *step) wanted() []cluster.Command {
	released, holds := s.rule.holds.Release(s.fold.Value.Members(), s.At, s.Hold)
	s.rule.holds = holds
	return s.requests(slices.Concat(s.admissions(), s.deaths(), s.heardAll(), s.expired(), released))
}

// admissions are the commands about members as such.
func (s *step) admissions() (out []cluster.Command) {
	v := s.fold.Value
	for _, b := range s.rule.boxes.all.Each {
		m, in := v.Member(b.Member)
		switch {
		case b.Want == wantLeave && in && m.Incarnation == b.Incarnation && m.Heartbeat == b.Heartbeat:
			out = append(out, cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: b.Reason})
		case b.Want == wantConfirm && in && m.Incarnation == b.Incarnation && m.State != cluster.MemberHeld &&
			s.alive(b.Heartbeat) && (later(b.Heartbeat, m.Heartbeat) || m.Heartbeat == b.Heartbeat && m.Revoked):
			out = append(out, cluster.ConfirmMember{Member: m.ID, Incarnation: m.Incarnation, Heartbeat: b.Heartbeat})
		case b.Want == wantJoin && s.alive(b.Heartbeat) &&
			(!in || m.Heartbeat != b.Heartbeat && s.replaceable(m, b.Heartbeat)):
			join := b.Join
			join.Member, join.Replaces, join.Heartbeat = b.Member, m.Incarnation, b.Heartbeat
			out = append(out, join)
		}
	}
	return out
}

// alive reports whether a read has found a heartbeat, and not for too long the same.
func (s *step) alive(heartbeat string) bool {
	o := s.heartbeats.Of(heartbeat)
	return o.Known && !o.Gone() && !s.Dead(o)
}

// replaceable reports whether a start of a member may be replaced by one with another heartbeat: it is dead, held, or a
// former life of the same process.
func (s *step) replaceable(m cluster.Member, heartbeat string) bool {
	return m.State == cluster.MemberHeld || later(heartbeat, m.Heartbeat) || s.Dead(s.heartbeats.Of(m.Heartbeat)) &&
		!later(m.Heartbeat, heartbeat)
}

// deaths are the commands that remove members whose heartbeat is gone or silent.
func (s *step) deaths() (out []cluster.Command) {
	for m := range s.fold.Value.Members() {
		o := s.heartbeats.Of(m.Heartbeat)
		if m.State == cluster.MemberHeld || !s.Dead(o) || m.Heartbeat == s.Own.Key {
			continue
		}
		out = append(out, cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: s.Reason(o)})
	}
	return out
}

// heardAll are the commands that enter what members say of their tasks.
func (s *step) heardAll() (out []cluster.Command) {
	for _, b := range s.rule.boxes.all.Each {
		if m, in := s.fold.Value.Member(b.Member); !in || m.Heartbeat != b.Heartbeat {
			continue
		}
		for _, say := range b.Says {
			p, _ := s.fold.Value.Partition(say.Task)
			if c := s.heard(b.Member, p, say); c != nil {
				out = append(out, c)
			}
		}
	}
	return out
}

// heard is the command that enters what a member says of a task; nil where that is not asked of it any more.
func (s *step) heard(m cluster.MemberID, p cluster.Partition, say saying) cluster.Command {
	state, token := stateOf(m, p)
	if token != say.Token || token == 0 {
		return nil
	}
	switch {
	case say.Say == sayAccept && state == slotAcking:
		return cluster.AcceptOffer{Partition: p.ID, Token: token}
	case say.Say == sayDecline && state == slotAcking:
		return cluster.RevokeOffer{Partition: p.ID, Token: token, Declined: true}
	case say.Say == sayStarted && state == slotTaking:
		return cluster.Started{Partition: p.ID, Token: token}
	case say.Say == sayStopped && (state == slotSealing || state == slotTaking):
		return cluster.Stopped{Partition: p.ID, Token: token}
	case say.Say == sayDone && (state == slotActive || state == slotSealing):
		return cluster.FinishPartition{Partition: p.ID, Token: token, Outcome: cluster.OutcomeDone}
	case say.Say == sayFailed && state == slotActive && say.Attempt == p.Attempts:
		return cluster.FinishPartition{
			Partition: p.ID, Token: token, Outcome: cluster.OutcomeFailed, Attempt: say.Attempt, Fresh: say.Fresh,
			Message: say.Message,
		}
	}
	return nil
}

// expired takes back the offers that were not answered in time, by our own clock since we have seen them. Their
// deadline is that of the term in which they were made; an answer that is in the log counts. Whoever accepts others has
// more time: it reads one after the other.
func (s *step) expired() (out []cluster.Command) {
	l, _ := s.fold.Value.Leader()
	patience := time.Duration(l.OfferMS) * time.Millisecond
	var kept, late []offered
	offers := s.rule.offers
	for ; len(offers) > 0 && s.At.Sub(offers[0].since) >= patience; offers = offers[1:] {
		o := offers[0]
		p, ok := s.fold.Value.Partition(o.task)
		b, _ := s.rule.boxes.all.Get(string(p.Owner))
		switch {
		case !ok || !p.Offered || p.Token != o.token:
		case b.accepts(p), s.At.Sub(b.accepted) < patience:
			late = append(late, offered{o.task, o.token, s.At})
		default:
			kept = append(kept, o)
			out = append(out, cluster.RevokeOffer{Partition: o.task, Token: o.token})
		}
	}
	if len(offers) < len(s.rule.offers) {
		s.rule.offers = slices.Concat(kept, offers, late)
	}
	return out
}

// accepts reports whether the owner has said that it takes the offer.
func (b box) accepts(p cluster.Partition) bool {
	return slices.ContainsFunc(b.Says, func(say saying) bool {
		return say.Task == p.ID && say.Token == p.Token && say.Say == sayAccept
	})
}

// requests adds the requests that were not taken yet, each whole or not at all.
func (s *step) requests(out []cluster.Command) []cluster.Command {
	limit := cmp.Or(s.fold.Out.Limit, maxEntry)
	if len(out) >= limit {
		return out[:limit]
	}
	for _, p := range s.rule.plans.all {
		if p.Answer != nil || s.fold.Value.Wrote(p.Writer) >= p.Seq {
			continue
		}
		if len(out) > 0 && len(out)+1+len(p.Commands) > limit {
			break
		}
		if len(p.Commands) >= limit {
			continue // it is answered as too large: see answers
		}
		out = append(out, cluster.TakeRequest{Writer: p.Writer, Seq: p.Seq, Count: uint32(len(p.Commands))})
		out = append(out, p.Commands...)
	}
	return out
}

// keepAnswered is how long an answer is left to who asked, in TTLs.
const keepAnswered = 20

// answerPlans answers the requests that were taken, and removes what nobody has collected.
func (s *step) answerPlans() {
	for i := range s.rule.plans.all {
		p := s.rule.plans.all[i]
		if s.isBusy(p.key) {
			continue
		}
		if p.Answer != nil {
			if s.At.Sub(p.since) >= time.Duration(keepAnswered)*s.Params.TTL {
				s.drop(p.key, p.version)
			}
			continue
		}
		if a, ok := s.answerTo(p.planDoc); ok {
			done := p.planDoc
			done.Answer = &a
			if s.put(Put{Key: p.key, Doc: done, Version: p.version}) {
				s.rule.plans.all = slices.Clone(s.rule.plans.all)
				s.rule.plans.all[i].planDoc = done
			}
		}
	}
}

func (s *step) answerTo(p planDoc) (planAnswer, bool) {
	if len(p.Commands) >= cmp.Or(s.fold.Out.Limit, maxEntry) {
		return planAnswer{Err: "the request is too large for an entry of this store"}, true
	}
	if s.fold.Value.Wrote(p.Writer) < p.Seq {
		return planAnswer{}, false
	}
	i := slices.IndexFunc(s.fold.answers, func(t taken) bool { return t.writer == p.Writer && t.seq == p.Seq })
	if i < 0 {
		return planAnswer{Unknown: true,
			Err: "it was taken, but the entry that says what it did was trimmed: look at the value"}, true
	}
	t := s.fold.answers[i]
	return planAnswer{Index: t.index, Results: t.results}, true
}
