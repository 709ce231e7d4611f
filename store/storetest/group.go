package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/store"
)

// GroupSession is the session that the members of the suite request, and GroupRebalance their rebalance time. A server must allow both.
const (
	GroupSession   = 1500 * time.Millisecond
	GroupRebalance = 3 * time.Second
)

// Group is the suite of store.Group.
func Group[S store.Group](t *testing.T, open Open[S]) { runRules(t, open, groupRules[S]()) }

// GroupVirtual is Group in virtual time, for a store in the memory of the test: each rule has its own bubble.
func GroupVirtual[S store.Group](t *testing.T, open Open[S]) {
	rules := groupRules[S]()
	for i, r := range rules {
		rules[i].run = func(t *testing.T, open Open[S]) {
			synctest.Test(t, func(t *testing.T) { r.run(t, open) })
		}
	}
	runRules(t, open, rules)
}

func groupRules[S store.Group]() []rule[S] {
	return append([]rule[S]{
		{"alone", groupAlone[S]},
		{"the leader gives", groupGives[S]},
		{"a follower waits for the leader", groupFollowerWaits[S]},
		{"a join begins a new generation", groupJoinAgain[S]},
		{"leave", groupLeave[S]},
		{"left by another process", groupLeft[S]},
		{"the leader leaves", groupLeaderLeaves[S]},
		{"a silent member is removed", groupSilent[S]},
		{"a member that does not join again is removed", groupAbsent[S]},
		{"heartbeats keep a member", groupKept[S]},
		{"an earlier generation", groupStale[S]},
		{"not a member", groupStranger[S]},
		{"a join that was given up", groupGivenUp[S]},
	}, refusing(groupRefuse[S])...)
}

// seated is one member of a group under test.
type seated struct {
	t     *testing.T
	ctx   context.Context
	group store.Group
	name  string // what it says of itself
	m     store.Membership
	given string
	err   error
}

func (p *seated) request() store.JoinRequest {
	return store.JoinRequest{ID: p.m.ID, Data: []byte(p.name), Session: GroupSession, Rebalance: GroupRebalance}
}

// round joins and syncs, again while the group forms a new generation.
func (p *seated) round() {
	for {
		if p.m, p.err = p.group.JoinGroup(p.ctx, p.request()); p.err == nil {
			p.err = p.sync()
		}
		if !errors.Is(p.err, store.ErrRebalance) && !errors.Is(p.err, store.ErrGeneration) {
			return
		}
	}
}

// sync gives each member "<generation>:<what it said>", if p leads.
func (p *seated) sync() error {
	var give []store.GroupMember
	for _, m := range p.m.Members {
		give = append(give, store.GroupMember{ID: m.ID, Data: fmt.Appendf(nil, "%d:%s", p.m.Generation, m.Data)})
	}
	given, err := p.group.SyncGroup(p.ctx, p.m.Seat, give)
	p.given = string(given)
	return err
}

func (p *seated) mustBeat() {
	p.t.Helper()
	if err := p.group.Heartbeat(p.ctx, p.m.Seat); err != nil {
		p.t.Fatalf("heartbeat of %s in generation %d: %v", p.name, p.m.Generation, err)
	}
}

// awaitRebalance sends heartbeats until one says that the group forms a new generation.
func (p *seated) awaitRebalance() {
	p.t.Helper()
	p.err = p.group.Heartbeat(p.ctx, p.m.Seat)
	for p.err == nil {
		time.Sleep(GroupSession / 30) // waits: the pace of heartbeats
		p.err = p.group.Heartbeat(p.ctx, p.m.Seat)
	}
	wantError(p.t, "heartbeat of "+p.name, p.err, store.ErrRebalance)
}

// table is some members of one group.
type table struct {
	t       *testing.T
	ctx     context.Context
	members []*seated
}

func sit[S store.Group](t *testing.T, open Open[S], names ...string) *table {
	handle := open(t)
	tb := &table{t: t, ctx: deadline(t)}
	for _, name := range names {
		tb.members = append(tb.members, &seated{t: t, ctx: tb.ctx, group: handle(t), name: name})
	}
	return tb
}

// gather brings members into one generation: the first of them joins, and each further one makes those before it join again.
func (tb *table) gather(members ...*seated) {
	tb.t.Helper()
	for i := range members {
		tb.together(members[:i+1]...)
	}
}

// together lets members go through rounds until all are in the same generation. Those who are there first send heartbeats until the others come.
func (tb *table) together(members ...*seated) {
	tb.t.Helper()
	var mu sync.Mutex
	seats := make(map[*seated]uint64, len(members))
	all := func(p *seated) bool {
		mu.Lock()
		defer mu.Unlock()
		seats[p] = p.m.Generation
		for _, other := range members {
			if p.err == nil && seats[other] != p.m.Generation {
				return false
			}
		}
		return true
	}
	var wg sync.WaitGroup
	for _, p := range members {
		wg.Go(func() {
			p.round()
			for !all(p) {
				time.Sleep(GroupSession / 30) // waits: the pace of heartbeats
				if err := p.group.Heartbeat(p.ctx, p.m.Seat); err != nil {
					p.round()
				}
			}
		})
	}
	wg.Wait()
	for _, p := range members {
		if p.err != nil {
			tb.t.Fatalf("%s joins: %v", p.name, p.err)
		}
	}
	tb.agree(members...)
}

// agree checks that exactly these members are in one generation, and see it alike.
func (tb *table) agree(members ...*seated) {
	tb.t.Helper()
	leader := tb.leaderOf(members)
	var ids, want []string
	for _, m := range leader.m.Members {
		ids = append(ids, m.ID+"="+string(m.Data))
	}
	for _, p := range members {
		want = append(want, p.m.ID+"="+p.name)
		if p.m.Leader != leader.m.ID || p.m.Seat.Generation != leader.m.Generation {
			tb.t.Fatalf("%s sees generation %d of %q, the leader %d of %q", p.name, p.m.Generation, p.m.Leader, leader.m.Generation, leader.m.ID)
		}
		if p != leader && p.m.Members != nil {
			tb.t.Fatalf("%s does not lead, and got the list %v", p.name, p.m.Members)
		}
		if given := fmt.Sprintf("%d:%s", p.m.Generation, p.name); p.given != given {
			tb.t.Fatalf("%s was given %q, want %q", p.name, p.given, given)
		}
	}
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		tb.t.Fatalf("the leader's list is %v, want %v", ids, want)
	}
}

func (tb *table) leader() *seated { return tb.leaderOf(tb.members) }

func (tb *table) leaderOf(members []*seated) *seated {
	tb.t.Helper()
	i := slices.IndexFunc(members, func(p *seated) bool { return p.m.Leads() })
	if i < 0 {
		tb.t.Fatal("nobody leads")
	}
	return members[i]
}

func (tb *table) others(but *seated) []*seated {
	return slices.DeleteFunc(slices.Clone(tb.members), func(p *seated) bool { return p == but })
}
