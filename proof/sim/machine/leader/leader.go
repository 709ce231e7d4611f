// Package leader is the protocol leader as a machine for the simulator and the checker. Its phases name also how far a
// member is as a leader.
package leader

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/leader"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Machine is leader.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "leader", Joined: []string{"joined", "claimed", "adopting", "ruling"}, Faults: machine.Table("leader"),
		Start: func(s machine.Start) machine.State {
			m := leader.NewState(s.Params, leader.Role{Offer: 2 * s.TTL, StandBys: 2})
			return &m
		},
		Step: machine.Steps(leader.Step), Phase: phase,
		Call: call, Caller: caller, Fold: machine.FoldLog, Encode: cluster.Entry.Encode, Stray: stray, Leads: "ruling",
		Watches: func(s machine.State) ([]string, bool) { return s.(*leader.State).Watching() },
		// T(1+ρ) of silence, of the leader and of its tasks at once; the looks of an election, of adoption, of an offer
		// and its answer.
		Looks: machine.Bound{Polls: 20, Trips: 40}, Silence: machine.Bound{TTL: 1050},
		// A silence until the dead leader is followed, one until the dead members are found by its successor, one until
		// those who start under their names may, one for an offer that was not answered; and for each the looks and
		// calls of an election, of adoption, of an offer and its answer.
		Recovery: machine.Bound{TTL: 4 * 1050, Polls: 60, Trips: 80},
	}
}

// phase is the phase of the rule of a member that is joined and leads, else that of the member.
func phase(of machine.State) string {
	s := of.(*leader.State)
	if rule := machine.Into(s).At("rule.at").Number(); s.Is == member.PhaseMember && rule > 0 {
		return [...]string{"", "claimed", "adopting", "ruling"}[rule]
	}
	return [...]string{"", "claim", "heartbeat", "join", "joined", "confirm", "removed", "leaving", "gone",
		"halted"}[s.Is]
}

// stray is a heartbeat, a mailbox, a head or an assignment of somebody who is no member.
func stray(v *cluster.Value, docs []store.Doc) string {
	for _, d := range docs {
		for _, prefix := range []string{leader.MailboxPrefix, leader.AssignPrefix, leader.HeadPrefix} {
			rest, ok := strings.CutPrefix(d.Key, prefix)
			id, _, _ := strings.Cut(rest, "/")
			if _, member := v.Member(cluster.MemberID(id)); ok && !member {
				return d.Key
			}
		}
	}
	return machine.StrayHeartbeat(v, docs)
}

func caller(s machine.Start, st machine.Store) machine.Caller {
	c := &leader.Caller{LogCaller: machine.LogCaller(s, st)}
	c.Tied = leader.Tied(s.Member)
	return c
}

func call(e machine.Effect) (machine.Call, bool) {
	switch e := e.(type) {
	case leader.Get:
		return machine.Look(e.Key, protocol.HeartbeatPrefix), true
	case leader.List:
		return machine.Call{List: true}, true
	case leader.Put:
		return machine.Call{Write: true, Part: strings.HasPrefix(e.Key, leader.AssignPrefix)}, true
	case leader.Delete:
		return machine.Call{Write: true}, true
	}
	return machine.Shared(e)
}

// Rules are those of leader's walks.
func Rules() *walk.Rules {
	m := Machine()
	m.Caller = func(s machine.Start, st machine.Store) machine.Caller { return walker{caller(s, st), s, st} }
	return &walk.Rules{
		Machine: m, Way: way, Settled: true, Once: true,
		Folds:     func(s machine.State) bool { _, log := s.(*leader.State).Watching(); return log },
		Heartbeat: heartbeat, Key: key, Effect: effect, Value: value,
		Decode: decode, Over: over,
		Skip: []string{
			"Job.Spec", "slotDoc.Term", "headDoc.Term", "Grant.Spec", "Assignment.Index", "Assignment.Version",
			"mailboxDoc.Join", "asks.Box", "Observation.Before",
			"folding.answers", "Ledger.History", "Ledger.Ready", "Ledger.Snap", "Ledger.Rest", "Ledger.after",
			"Ledger.Out", "snaps.savedAt", "snaps.lastSnap", "snaps.cost", "snaps.even", "snaps.evenCost",
		},
	}
}

// over is the version over which a call writes.
func over(e machine.Effect) (string, store.Version) {
	switch e := e.(type) {
	case leader.Put:
		return e.Key, e.Version
	case leader.Delete:
		return e.Key, e.Version
	}
	return "", ""
}

// decode is what a document says; garbage says nothing.
func decode(key string, text []byte) any {
	if heartbeat(key) {
		return nil
	}
	d, err := leader.Decode(key, text)
	if err != nil {
		return string(text)
	}
	return d
}

func heartbeat(key string) bool { return strings.HasPrefix(key, protocol.HeartbeatPrefix) }

// way: what members wait for, or are late with, is the log, the document of the leader, and the heads. The others are
// read as soon as somebody is told of them, and tell of nothing that has not been decided: a mailbox that is written
// late is to the leader what an entry that it appends late is to all, and an assignment that is written late what a
// head is that tells of it late. They are written at once here; the simulator delays them. With a suspicion a head is
// removed at once too: by then its member was removed itself.
func way(c walk.Config, e machine.Effect) walk.Way {
	switch e := e.(type) {
	case member.Append:
		return walk.Risky
	case leader.Delete:
		if e.Key != leader.LeaderKey && c.Faults[walk.Suspicions] > 0 {
			return walk.Quiet
		}
		return wayOf(e.Key)
	case leader.Put:
		return wayOf(e.Key)
	case member.Renew:
		return walk.Unseen
	case member.SaveSnapshot:
		return walk.Ignored
	}
	return walk.Quiet
}

func wayOf(key string) walk.Way {
	if key == leader.LeaderKey || strings.HasPrefix(key, leader.HeadPrefix) {
		return walk.Risky
	}
	return walk.Quiet
}

func effect(b []byte, e machine.Effect, n *walk.Names) []byte {
	switch e := e.(type) {
	case member.ReadLog:
		return append(b, 'l')
	case member.Append:
		return n.Entry(append(b, 'a'), e.Entry)
	case leader.Put:
		return n.Any(append(b, 'p'), e)
	}
	return n.Any(append(b, 'e'), e)
}

// value appends the parts of the value that decide its next change, other than members and owners.
func value(b []byte, v *cluster.Value, n *walk.Names) []byte {
	l, _ := v.Leader()
	b = n.Any(b, l.Writer, l.Term)
	for m := range v.Members() {
		b = n.Any(b, m.Draining, m.Revoked)
	}
	for p := range v.Partitions() {
		b = n.Any(b, p.Offered)
	}
	return b
}

// walker calls as a member does that has written its heartbeat before: a walk makes a caller for each call.
type walker struct {
	machine.Caller
	start machine.Start
	store machine.Store
}

func (w walker) Call(ctx context.Context, e machine.Effect) machine.Event {
	p, ok := e.(leader.Put)
	if !ok || p.Life == 0 {
		return w.Caller.Call(ctx, e)
	}
	text, err := leader.Encode(p.Doc)
	if err != nil {
		panic(err) // each document of a walk has a text
	}
	session, _ := w.store.OpenSession(ctx, time.Minute) // the model has them always
	v, err := session.Put(ctx, store.Doc{Key: p.Key, Value: text, Version: p.Version})
	ev := leader.Wrote{Now: w.start.Now(), Key: p.Key, Outcome: outbox.OutcomeOf(err),
		Conflict: errors.Is(err, store.ErrConflict), Version: v}
	if err != nil {
		ev.Err = err.Error()
	}
	return ev
}

// key appends what decides a member's future: states with equal keys do the same from now on, as long as they have
// equal Params, their values are alike, and nobody's history diverges.
func key(b []byte, of machine.State, n *walk.Names) []byte {
	s := of.(*leader.State)
	in := machine.Into(s)
	b = n.Any(b,
		s.Is, s.At, s.Life, s.Stop, s.Inc, s.Own, s.Pace, s.Reports, s.Behind(), s.Given.Version == 0, s.Given, s.Wake,
		s.Contact.Problem != "", s.Contact.Refuses,
	)
	b = n.Fields(b, in,
		"admitted", "claims", "mailbox", "head", "fetch", "roster", "asks", "fold", "fold.Out.Next", "asks.Next",
		"vote", "heartbeats", "swept",
		"work.Duties", "changed", "busy", "rest",
		"rule.at", "rule.term", "rule.boxes.look", "rule.plans", "rule.offers", "rule.holds", "rule.asked",
		"rule.listed", "rule.patrol", "rule.patrols",
	)
	probing := in.At("probing").List()
	slices.SortFunc(probing, func(a, b machine.Inside) int {
		return strings.Compare(machine.Get[string](a, "key"), machine.Get[string](b, "key"))
	})
	for _, p := range probing {
		b = n.Any(append(b, 1), p.Any())
	}
	b = n.Box(append(b, 0), s.Writer()+"-ask", machine.Ref[outbox.Box](in, "asks.Box"))
	b = n.Box(b, s.Writer(), machine.Ref[outbox.Box](in, "fold.Out"))
	for _, path := range [...]string{"slots", "rule.boxes.all", "rule.docs", "rule.dirty"} {
		in.At(path).Each(func(key string, value any) { b = n.Any(append(b, 1), key, value) })
		b = append(b, 0)
	}
	return b
}
