package leader

import (
	"slices"
	"time"
)

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
	if limit := s.fold.Out.Limit; limit > 0 && len(p.Commands) >= limit {
		return planAnswer{Err: "the request is too large for an entry of this store"}, true
	}
	if s.fold.Value.Wrote(p.Writer) < p.Seq {
		return planAnswer{}, false
	}
	i := slices.IndexFunc(s.fold.answers, func(t taken) bool { return t.writer == p.Writer && t.seq == p.Seq })
	if i < 0 {
		return planAnswer{Unknown: true, Err: "it was taken, but the entry that says what it did was trimmed: look at the value"}, true
	}
	t := s.fold.answers[i]
	return planAnswer{Index: t.index, Results: t.results}, true
}
