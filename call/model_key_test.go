package call

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/rota-run/rota/store"
)

// Key names a state by what can make a difference later: versions and nonces by which are the same, eras by whether any
// has passed. What follows from the rest is left out: what a run is writing follows from the call that it knows and
// what came of it.
func (m model) Key(s system) string {
	k := keyer{text: make([]byte, 0, 512)}
	f := s.left
	k.small(int(f.crash), int(f.die), int(f.lapse), int(f.rejoin), int(f.late), int(f.lost), int(f.fail), int(f.cancel),
		int(f.eras), len(s.broken))
	k.word(s.log)
	k.document(s.head)
	for i := range s.calls {
		k.document(s.calls[i])
		k.ghost(&s.ghosts[i])
	}
	for p := range m.members {
		q := &s.members[p]
		k.bits(q.dead, q.leased)
		k.small(int(q.inc), q.knows)
		for _, r := range q.runs {
			k.runner(r)
		}
	}
	k.caller(s.caller, s.era)
	k.bits(s.waiter.begun, s.waiter.hearing.ended)
	k.sweeper(&s.sweeper, s.era)
	for _, r := range s.late {
		k.request(r, true)
	}
	return string(k.text)
}

type keyer struct {
	text     []byte
	versions []store.Version
	nonces   []string
}

func (k *keyer) small(all ...int) {
	for _, n := range all {
		k.text = binary.AppendVarint(k.text, int64(n))
	}
}

func (k *keyer) bits(all ...bool) {
	n := 0
	for _, b := range all {
		n *= 2
		if b {
			n++
		}
	}
	k.small(n)
}

func (k *keyer) word(s string) {
	k.small(len(s))
	k.text = append(k.text, s...)
}

func place1[T comparable](all *[]T, one, none T) int {
	if one == none {
		return 0
	}
	i := slices.Index(*all, one)
	if i < 0 {
		i = len(*all)
		*all = append(*all, one)
	}
	return i + 1
}

func (k *keyer) version(v store.Version) { k.small(place1(&k.versions, v, "")) }

func (k *keyer) nonce(r *Runner) {
	if r == nil {
		k.small(-1)
		return
	}
	process, _, _ := strings.Cut(r.Nonce, "-")
	k.word(process)
	k.word(string(r.Member))
	k.small(place1(&k.nonces, r.Nonce, ""), int(r.Incarnation))
}

func (k *keyer) document(d document) {
	k.version(versionOf(d.version))
	if d.version != 0 {
		k.word(d.body)
		k.record(d.call)
	}
}

func (k *keyer) stored(s stored) {
	k.version(s.version)
	k.record(s.Record)
}

func (k *keyer) record(r Record) {
	k.word(string(r.State))
	if r.State == "" {
		return
	}
	k.small(int(r.Attempt), int(r.Token))
	k.bits(r.Function == handlerName, r.Cancel, r.TimedOut, r.Outcome != nil, r.OnFailure != nil)
	k.word(string(r.Result))
	k.word(r.Error)
	k.nonce(r.Runner)
	if r.Outcome != nil {
		k.outcome(*r.Outcome)
	}
}

func (k *keyer) outcome(o Outcome) {
	k.word(string(o.State))
	k.word(string(o.Result))
	k.word(o.Error)
	k.word(string(o.Member))
	k.small(int(o.Attempts))
	k.bits(o.TimedOut)
}

func (k *keyer) ghost(g *ghost) {
	k.bits(g.accepted, g.refused, g.void, g.ended)
	k.small(int(g.begun[0]), int(g.begun[1]), int(g.token), int(g.handlers))
	k.outcome(g.out)
}

func (k *keyer) runner(r *runner) {
	if r == nil {
		k.small(-1)
		return
	}
	k.bits(r.listed, r.began, r.wished, r.over, r.written, r.a.unbegun, r.a.writing.doubt)
	k.small(int(r.inc), r.knows, int(r.token), int(r.a.phase))
	k.effect(r.fx)
	if r.listed {
		k.stored(r.call)
		return
	}
	k.stored(r.a.call)
	k.nonce(&r.a.by)
	switch e := r.a.event.(type) {
	case nil:
		k.small(0)
	case finish:
		k.small(1)
		k.word(string(e.Result))
	case fail:
		k.small(2)
		k.word(e.Error)
		k.bits(e.TimedOut, e.Final)
	default:
		k.small(3)
	}
	k.request(r.req, false)
}

func (k *keyer) effect(fx effect) {
	n := -1
	switch fx.(type) {
	case putCall:
		n = 1
	case getCall:
		n = 2
	case perform:
		n = 3
	case askAge:
		n = 4
	case voidNumber:
		n = 5
	case removeCall:
		n = 6
	case create:
		n = 7
	case putHead:
		n = 8
	case getHead:
		n = 9
	}
	k.small(n)
}

// request is that of a machine, whose content follows from the machine, or one without, all of which counts.
func (k *keyer) request(r request, all bool) {
	k.word(r.kind)
	if r.kind == "" {
		return
	}
	k.bits(r.done)
	k.version(r.version)
	switch a := r.reply.(type) {
	case putEnded:
		k.version(a.version)
		k.bits(errors.Is(a.err, store.ErrConflict), a.err == nil)
	case removalEnded:
		k.bits(a.removed)
	}
	if !all {
		return
	}
	k.small(r.number)
	k.word(r.body)
	k.record(r.call)
	k.bits(r.back, r.run != nil && r.run.began)
	if r.run != nil {
		k.small(int(r.run.token))
		k.nonce(&r.run.a.by)
	}
}

func (k *keyer) caller(c *caller, era int) {
	k.bits(c.dead, c.opened, c.closing, c.hearing.ended, c.hearing.failed, era > c.era, c.use.shut)
	k.small(int(c.phase), c.number, c.count, c.told, c.use.used, c.use.live)
	k.word(text(c.head))
	k.version(c.version)
	q := &c.submits
	k.bits(q.heads, q.sent, c.use.doubt, c.blind, q.heading.blind, q.heading.sent)
	k.small(int(q.s.at))
	k.effect(q.fx)
	k.effect(q.hfx)
	k.word(q.heading.body)
	k.version(q.heading.at)
	k.word(text(q.next))
	k.request(q.req, false)
	k.bits(c.cancels.on, c.cancels.c.writes, c.cancels.c.writing.doubt)
	k.stored(c.cancels.c.writing.old)
	k.request(c.cancels.req, false)
	k.request(c.collects, false)
	k.request(c.removes, false)
}

func (k *keyer) sweeper(q *sweeping, era int) {
	k.bits(q.looked, q.known, int64(era) > int64(q.seen.since)/int64(oneEra))
	if q.looked {
		k.document(q.head)
	}
	if q.known {
		for _, v := range q.parts {
			k.version(versionOf(v))
		}
	}
	for _, r := range append([]request{q.req}, q.todo...) {
		k.request(r, false)
		k.small(r.number)
	}
}
