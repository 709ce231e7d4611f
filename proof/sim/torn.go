package sim

import (
	"errors"
	"math"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// torn is a call that reads in several requests, and between them others go on. Callers make a call in one go: it is made again from its beginning for each
// part, and what was answered before is answered as it was.
type torn struct {
	answers []reading
	asked   int // requests of this turn
	most    int // that are answered by its end
}

// reading is what a request was answered.
type reading struct {
	docs []store.Doc
	err  error
}

// errTorn answers the first request that is left for later.
var errTorn = errors.New("the rest of the call has yet to come")

// read answers a request.
func (t *torn) read(do func() ([]store.Doc, error)) ([]store.Doc, error) {
	if t == nil {
		return do()
	}
	t.asked++
	switch {
	case t.asked <= len(t.answers):
	case t.asked > t.most:
		return nil, errTorn
	default:
		docs, err := do()
		t.answers = append(t.answers, reading{docs, err})
	}
	r := t.answers[t.asked-1]
	return r.docs, r.err
}

// tear makes a call in parts.
func (p *process) tear(e machine.Effect, sent protocol.Instant, back, timeout, deadline int64) {
	w := p.w
	t := &torn{}
	var part func()
	part = func() {
		f, at := fine, w.now+back
		t.asked, t.most = 0, len(t.answers)+int(pick(p.chance, []int64{1, 2, 5, 20, 60}))
		if w.healing {
			t.most = math.MaxInt
		}
		if p.cutOut || p.cutIn || w.disk.away || at >= deadline {
			f, at, t.most = noReply, max(deadline, w.now), math.MaxInt
		}
		p.handle.torn = t
		ev := p.make(e, f, sent)
		p.handle.torn = nil
		if t.asked > t.most {
			w.after(p.chance.between(1, timeout/4), func() { p.reaches(part) })
			return
		}
		w.after(at-w.now, func() { p.answer(ev, sent) })
	}
	part()
}
