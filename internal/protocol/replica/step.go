package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not
// change.
type State struct {
	fold.Reader

	checkSent protocol.Instant

	claim      heartbeat.Observation  // of another start under our name
	heartbeats heartbeat.Observations // of all members
	sweep      call
	check      call

	watching string // key of the heartbeat that the shell watches
}

// call is one kind of store call: at most one is under way.
type call struct {
	busy bool
	next protocol.Instant // not before, unless there is a hint
	rest protocol.Instant // not before, whatever the hint: the last one failed
}

// NewState is a member that has just started.
func NewState(p member.Params) State {
	return State{Reader: fold.Reader{Core: member.NewCore(p, member.Confirm)}}
}

// Step takes one event in. It changes the state and nothing else: the same state and event give the same state and
// effects.
func Step(s *State, ev member.Event) []member.Effect {
	st := &step{s}
	return st.Step(st, ev)
}

// step is one call of Step.
type step struct{ *State }

// Take implements member.Machine.
func (s *step) Take(ev member.Event) {
	switch ev := ev.(type) {
	case member.Hinted:
		if ev.Prefix == "" {
			s.Log.Hint = true
		} else {
			s.check.next = s.At
		}
	case HeartbeatSeen:
		s.heartbeatSeen(ev)
	case HeartbeatsListed:
		s.heartbeatsListed(ev)
	default:
		if err := s.Log.Take(&s.Core, s, ev); err != nil {
			s.Halt(s.Log.Value.Index(), err)
		}
	}
}

// Advance implements member.Machine.
func (s *step) Advance() {
	s.readLog()
	s.Walk(s)
	s.Renew(protocol.HeartbeatPrefix)
	s.watch()
	s.sweepHeartbeats()
	s.Log.Check(&s.Core)
	if !s.Log.History.Doubted { // else nothing begins, and nothing is said, before the store has said which history it has
		if s.In() {
			s.Work.Assign(&s.Core, s.Log.Value)
		}
		s.Log.Append(&s.Core, s.Is < member.PhaseMember, s.wanted)
		s.Log.Save(&s.Core, maxReplay, s.Writes)
	}
	_, in := s.present()
	s.Log.Settle(&s.Core, in)
	w := s.Waking()
	s.Log.Due(&w)
	w.Due(s.sweep.busy, s.sweep.next)
	w.Due(s.check.busy, s.check.next)
	w.Due(s.Own.Busy, s.Own.Next)
	s.WakeAt(w)
}

// Stand implements member.Machine: where the newest value says that the member stands.
func (s *step) Stand() member.Stand {
	m, ok := s.Log.Value.Member(s.Member)
	w := member.Stand{Inc: m.Incarnation, Joined: m.State == cluster.MemberJoined}
	switch s.Is {
	case member.PhaseReading:
		w.Ready = s.Log.Whole()
	case member.PhaseNaming:
		w.Free = s.free(m, ok && m.State != cluster.MemberHeld)
	case member.PhaseJoining:
		w.In, w.Waits = ok && m.Heartbeat == s.Own.Key, ok && m.State != cluster.MemberHeld &&
			m.Heartbeat != s.claim.Key
	case member.PhaseMember:
		w.Out = !ok || m.Incarnation != s.Inc || m.State == cluster.MemberHeld
	case member.PhaseConfirming:
		w.In, w.Out = ok && m.Heartbeat == s.Own.Key && s.Own.Held, !ok || m.Incarnation != s.Inc
	case member.PhaseRemoved:
		w.Free = true
	}
	return w
}

// free makes sure that no live process is in the cluster under our name: it waits until that one's heartbeat is gone or
// has been silent, and gives up when it sees it renewed.
func (s *step) free(m cluster.Member, in bool) bool {
	if !in {
		s.claim = heartbeat.Observation{}
		return true
	}
	if s.claim.Key != m.Heartbeat {
		s.claim = heartbeat.Observation{Key: m.Heartbeat}
	}
	return s.Ours(m.Heartbeat) || s.Dead(s.claim)
}

// Again implements member.Machine.
func (s *step) Again() {
	s.Work.Again()
	s.claim = heartbeat.Observation{}
}

// present is this life of the member in the value.
func (s *step) present() (cluster.Member, bool) {
	m, ok := s.Log.Value.Member(s.Member)
	return m, ok && m.Heartbeat == s.Own.Key && m.State != cluster.MemberHeld
}

// maxReplay is the cost of the entries between two snapshots; a reader replays those of twice as many at most. It is
// about half a second of one core.
const maxReplay = 2_500_000

// readLog reads the log when that is due. Where all is polled for, it goes with the looks at the heartbeat that this
// member watches, which come at other times than once in a poll: many stores take both in one request.
func (s *step) readLog() {
	looks := s.polled() && s.watching != "" && !s.check.busy
	with := looks && s.At >= max(s.check.next, s.check.rest) && s.routine()
	switch {
	case with:
		s.Log.Next = min(s.Log.Next, s.At)
	case looks && !s.Log.Hint && s.check.next > s.At && s.check.next < s.Log.Next.Add(s.Poll/2):
		return
	}
	s.Log.Look(&s.Core, with)
}

// Took implements fold.Keeper.
func (s *step) Took(protocol.Applied) {}

// wanted are the commands that the state asks for.
func (s *step) wanted() []cluster.Command {
	switch s.Is {
	case member.PhaseJoining:
		c := s.Join
		m, _ := s.Log.Value.Member(s.Member)
		c.Heartbeat, c.Again, c.Replaces = s.Own.Key, s.Life > 0, m.Incarnation
		return []cluster.Command{c}
	case member.PhaseMember:
		return s.memberCommands()
	case member.PhaseConfirming:
		if s.Own.Held {
			return []cluster.Command{cluster.ConfirmMember{Member: s.Member, Incarnation: s.Inc, Heartbeat: s.Own.Key}}
		}
	case member.PhaseLeaving:
		return s.Leaves(s.present())
	}
	return nil
}

func (s *step) memberCommands() []cluster.Command {
	r := s.Work.Asks(&s.Core, s.Log.Value)
	out := s.deaths()
	if r.Accept {
		if o := s.heartbeats.Of(r.Watch.Heartbeat); o.Known && !s.Dead(o) {
			out = append(out, cluster.AcceptJoin{
				Member: r.Watch.ID, Incarnation: r.Watch.Incarnation, By: s.Member, ByIncarnation: s.Inc,
			})
		}
	}
	out = append(out, s.Work.Releases(&s.Core, s.Log.Value)...)
	if s.Joined {
		out = append(out, s.Work.Steps(&s.Core)...)
	}
	return out
}
