package replica

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// outbox is what the member wants to append. One entry is under way at a time: its outcome is known when it was read
// in the log, or when the store said where it stands or that it was not done. Until then the same entry is appended again under the same number, and
// the value removes the duplicates.
type outbox struct {
	call
	seq     uint64
	pending *pending
	queue   []request
	limit   int // most commands per entry; shrinks when the store says too large
}

type pending struct {
	entry    cluster.Entry
	requests []request // whose commands stand at the end of the entry, in order
	own      int       // commands of our own, at its beginning
	known    cluster.Index
}

type request struct {
	id       uint64
	commands []cluster.Command
}

const maxCommands = 1000

func (s *step) proposed(ev Proposed) {
	s.out.queue = append(slices.Clip(s.out.queue), request{ev.ID, ev.Commands})
}

func (s *step) writer() cluster.WriterID {
	return cluster.WriterID(string(s.self()) + "-" + s.p.Nonce)
}

// propose appends what is wanted, when nothing is under way.
func (s *step) propose() {
	if s.out.busy || s.now < s.out.next {
		return
	}
	if p := s.out.pending; p != nil {
		if p.known == 0 || s.value.Index() >= p.known {
			s.append() // unknown, or acknowledged and yet not in the log
		}
		return
	}
	if s.compose() {
		s.append()
	}
}

func (s *step) append() {
	s.out.busy = true
	s.emit(Append{Entry: s.out.pending.entry})
}

// compose makes the next entry: what the state asks for first, then requests, as many as fit.
func (s *step) compose() bool {
	limit := s.out.limit
	if limit == 0 {
		limit = maxCommands
	}
	own := s.wanted()
	own = own[:min(len(own), limit)]
	p := &pending{own: len(own)}
	commands := own
	for len(s.out.queue) > 0 && s.phase >= phaseMember {
		r := s.out.queue[0]
		if len(commands) > 0 && len(commands)+len(r.commands) > limit {
			break
		}
		p.requests = append(p.requests, r)
		commands = append(commands, r.commands...)
		s.out.queue = s.out.queue[1:]
	}
	if len(commands) == 0 {
		return false
	}
	s.out.seq++
	p.entry = cluster.Entry{
		Writer: s.writer(), Seq: s.out.seq, Format: s.value.Settings().Format,
		BaseIndex: s.value.Index(), BaseChain: s.value.Chain(), Commands: commands,
	}
	s.out.pending = p
	return true
}

// wanted are the commands that the state asks for.
func (s *step) wanted() []cluster.Command {
	switch s.phase {
	case phaseJoin:
		return []cluster.Command{s.prepareJoin()}
	case phaseMember:
		return s.memberCommands()
	case phaseConfirm:
		if s.renewal.Held {
			return []cluster.Command{cluster.ConfirmMember{Member: s.self(), Incarnation: s.inc, Pulse: s.renewal.key}}
		}
	case phaseLeaving:
		if m, ok := s.present(); ok && s.idle() {
			return []cluster.Command{cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: s.stop, Hold: s.p.Restart}}
		}
	}
	return nil
}

func (s *step) prepareJoin() cluster.Command {
	c := s.p.Join
	c.Pulse = s.renewal.key
	if m, ok := s.value.Member(s.self()); ok {
		c.Replaces = m.Incarnation
	}
	return c
}

func (s *step) memberCommands() []cluster.Command {
	r := s.reactions()
	out := s.deaths()
	if r.Accept {
		if o := s.pulses.Of(r.Watch.Pulse); o.Known && !s.dead(o) {
			out = append(out, cluster.AcceptJoin{
				Member: r.Watch.ID, Incarnation: r.Watch.Incarnation, By: s.self(), ByIncarnation: s.inc,
			})
		}
	}
	out = append(out, s.releases(r)...)
	if s.joined {
		out = append(out, s.steps()...)
	}
	return out
}

// holdSeen is when a held member was first seen held.
type holdSeen struct {
	inc   cluster.Incarnation
	since protocol.Instant
}

// releases frees the grants of held members whose time is over, by our own clock.
func (s *step) releases(r cluster.Reactions) []cluster.Command {
	var out []cluster.Command
	holds := make([]holdSeen, 0, len(r.Held))
	for _, m := range r.Held {
		h := holdSeen{m.Incarnation, s.now}
		if i := slices.IndexFunc(s.holds, func(h holdSeen) bool { return h.inc == m.Incarnation }); i >= 0 {
			h = s.holds[i]
		}
		holds = append(holds, h)
		if s.now.Sub(h.since) >= s.p.Hold {
			out = append(out, cluster.ReleaseHold{Member: m.ID, Incarnation: m.Incarnation})
		}
	}
	s.holds = holds
	return out
}

func (s *step) appended(ev Appended) {
	s.out.busy = false
	s.answered(ev.Err)
	p := s.out.pending
	if p == nil || ev.Seq != p.entry.Seq {
		return // it was read in the log before the answer came
	}
	switch ev.Outcome {
	case Done:
		s.acknowledged(ev)
	case Unknown:
		s.log.hint = true
		s.out.next = s.now.Add(s.p.Poll)
	case NotDone:
		s.requeue(p)
		s.out.next = s.now.Add(s.p.Poll)
	case Refused:
		s.tooLarge(p, ev.Err)
	}
}

// acknowledged takes in where our entry stands. Right behind what was applied it is what a read would bring: indexes grow, and no entry ever changes.
func (s *step) acknowledged(ev Appended) {
	if ev.Index == s.value.Index()+1 {
		s.apply([]store.Record{{Index: uint64(ev.Index), Data: ev.Data}})
		return
	}
	next := *s.out.pending
	next.known = ev.Index
	s.out.pending = &next
	s.log.hint = true
}

// requeue takes back an entry that was not appended. What the state asked for is derived again.
func (s *step) requeue(p *pending) {
	s.out.pending = nil
	s.out.queue = append(slices.Clone(p.requests), s.out.queue...)
}

// tooLarge makes smaller entries; a single request that does not fit is answered so.
func (s *step) tooLarge(p *pending, err string) {
	if n := len(p.entry.Commands); n > 1 && (p.own > 0 || len(p.requests) > 1) {
		s.requeue(p)
		s.out.limit = max(1, n/2)
		return
	}
	s.out.pending = nil
	for _, r := range p.requests {
		s.emit(Reply{ID: r.id, Err: err})
	}
}

// resolve answers the requests of our own entry when it was applied here.
func (s *step) resolve(e cluster.Entry, results []cluster.Result) {
	p := s.out.pending
	if p == nil || e.Writer != s.writer() || e.Seq != p.entry.Seq {
		return
	}
	s.out.pending, s.out.next = nil, 0
	at := p.own
	for _, r := range p.requests {
		s.emit(Reply{ID: r.id, Results: results[at : at+len(r.commands)]})
		at += len(r.commands)
	}
}

// unresolved gives up on our entry when it was applied where we did not see it: in a snapshot that we jumped to. It must not be appended again
// and again; what it did is in the value.
func (s *step) unresolved() {
	p := s.out.pending
	if p == nil || s.value.Wrote(s.writer()) < p.entry.Seq {
		return
	}
	s.out.pending, s.out.next = nil, 0
	for _, r := range p.requests {
		s.emit(Reply{ID: r.id, Unknown: true, Err: "it was applied, but the entry that tells what it did has been trimmed: look at the value"})
	}
}
