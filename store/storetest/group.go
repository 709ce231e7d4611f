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

// GroupSession is the session that the members of the suite request, and GroupRebalance their rebalance time. A server
// must allow both.
const (
	GroupSession   = 1500 * time.Millisecond
	GroupRebalance = 3 * time.Second
)

// Group is the suite of store.Group.
func Group[S store.Group](t *testing.T, open Open[S]) { runRules(t, open, groupRules()...) }

// GroupVirtual is Group in virtual time, for a store in the memory of the test: each rule has its own bubble.
func GroupVirtual[S store.Group](t *testing.T, open Open[S]) {
	for _, r := range groupRules() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { r.play(t, as[S, store.Group](open)) })
		})
	}
}

// table is some members of one group.
type table struct {
	*test
	members []*seated
}

// seated is one member of a group under test.
type seated struct {
	*test
	group store.Group
	name  string // what it says of itself
	m     store.Membership
	given string
	err   error
}

func sit(t *test, open func() store.Group, names ...string) *table {
	tb := &table{test: t}
	for _, name := range names {
		tb.members = append(tb.members, &seated{test: t, group: open(), name: name})
	}
	return tb
}

func (p *seated) request() store.JoinRequest {
	return store.JoinRequest{ID: p.m.ID, Data: []byte(p.name), Session: GroupSession, Rebalance: GroupRebalance}
}

func (p *seated) join() (err error) {
	p.m, err = p.group.JoinGroup(p.ctx, p.request())
	return err
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

// syncs syncs a seat, which may be another one, and gives nothing.
func (p *seated) syncs(s store.Seat) error { return errOf(p.group.SyncGroup(p.ctx, s, nil)) }

func (p *seated) beat() error { return p.group.Heartbeat(p.ctx, p.m.Seat) }

func (p *seated) mustBeat() { p.Helper(); p.succeed("heartbeat of "+p.name, p.beat()) }

func (p *seated) leave() {
	p.Helper()
	p.succeed(p.name+" leaves", p.group.LeaveGroup(p.ctx, p.m.ID))
}

// isOut wants a member to be none any more.
func (p *seated) isOut(why string) {
	p.Helper()
	p.fails("heartbeat of who "+why, p.beat(), store.ErrSession)
}

// round joins and syncs, again while the group forms a new generation.
func (p *seated) round() {
	for {
		if p.err = p.join(); p.err == nil {
			p.err = p.sync()
		}
		if !errors.Is(p.err, store.ErrRebalance) && !errors.Is(p.err, store.ErrGeneration) {
			return
		}
	}
}

// pace is that of heartbeats.
func pace() { pass(GroupSession / 30) }

// awaitRebalance sends heartbeats until one says that the group forms a new generation.
func (p *seated) awaitRebalance() {
	p.Helper()
	for p.err = p.beat(); p.err == nil; p.err = p.beat() {
		pace()
	}
	p.fails("heartbeat of "+p.name, p.err, store.ErrRebalance)
}

// gather brings members into one generation: the first of them joins, and each further one makes those before it join
// again.
func (tb *table) gather(members ...*seated) {
	tb.Helper()
	for i := range members {
		tb.together(members[:i+1]...)
	}
}

// together lets members go through rounds until all are in the same generation. Those who are there first send
// heartbeats until the others come.
func (tb *table) together(members ...*seated) {
	tb.Helper()
	var mu sync.Mutex
	seats := make(map[*seated]uint64, len(members))
	all := func(p *seated) bool {
		mu.Lock()
		defer mu.Unlock()
		seats[p] = p.m.Generation
		return p.err != nil || !slices.ContainsFunc(members, func(o *seated) bool { return seats[o] != p.m.Generation })
	}
	var wg sync.WaitGroup
	for _, p := range members {
		wg.Go(func() {
			for p.round(); !all(p); {
				if pace(); p.beat() != nil {
					p.round()
				}
			}
		})
	}
	wg.Wait()
	for _, p := range members {
		tb.succeed(p.name+" joins", p.err)
	}
	tb.agree(members...)
}

// agree checks that exactly these members are in one generation, and see it alike.
func (tb *table) agree(members ...*seated) {
	tb.Helper()
	leader := tb.leader(members...)
	var ids, want []string
	for _, m := range leader.m.Members {
		ids = append(ids, m.ID+"="+string(m.Data))
	}
	for _, p := range members {
		want = append(want, p.m.ID+"="+p.name)
		if p.m.Leader != leader.m.ID || p.m.Seat.Generation != leader.m.Generation || p != leader &&
			p.m.Members != nil {
			tb.Fatalf("%s sees %+v, the leader generation %d of %q", p.name, p.m, leader.m.Generation, leader.m.ID)
		}
		if given := fmt.Sprintf("%d:%s", p.m.Generation, p.name); p.given != given {
			tb.Fatalf("%s was given %q, want %q", p.name, p.given, given)
		}
	}
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		tb.Fatalf("the leader's list is %v, want %v", ids, want)
	}
}

func (tb *table) leader(members ...*seated) *seated {
	tb.Helper()
	i := slices.IndexFunc(members, func(p *seated) bool { return p.m.Leads() })
	if i < 0 {
		tb.Fatal("nobody leads")
	}
	return members[i]
}

// led are all members as the leader and the others.
func (tb *table) led() (leader *seated, others []*seated) {
	tb.Helper()
	leader = tb.leader(tb.members...)
	return leader, slices.DeleteFunc(slices.Clone(tb.members), func(p *seated) bool { return p == leader })
}

// groupRules are played with the table of their members, and the first two of these. All have joined where gathered.
func groupRules() []rule[store.Group] {
	var all []rule[store.Group]
	for _, r := range []struct {
		name     string
		members  []string
		gathered int
		run      func(tb *table, a, b *seated)
	}{
		{"alone", []string{"a"}, 1, groupAlone},
		{"the leader gives", []string{"a", "b\x00\xff", "c", ""}, 4, func(tb *table, _, _ *seated) {
			for _, p := range tb.members {
				p.mustBeat()
			}
		}},
		{"a follower waits for the leader", []string{"a", "b"}, 2, groupFollowerWaits},
		{"a join begins a new generation", []string{"a", "b"}, 1, groupJoinAgain},
		{"leave", []string{"a", "b"}, 2, groupLeave},
		{"left by another process", []string{"a", "b"}, 2, groupLeft},
		{"the leader leaves", []string{"a", "b", "c"}, 3, func(tb *table, _, _ *seated) {
			leader, rest := tb.led()
			leader.leave()
			for _, p := range rest {
				p.awaitRebalance()
			}
			tb.together(rest...)
		}},
		{"a silent member is removed", []string{"a", "b"}, 2, groupSilent},
		{"a member that does not join again is removed", []string{"a", "b", "c"}, 2, groupAbsent},
		{"heartbeats keep a member", []string{"a", "b"}, 2, func(_ *table, a, b *seated) {
			for end := time.Now().Add(2 * GroupSession); time.Now().Before(end); pace() {
				a.mustBeat()
				b.mustBeat()
			}
		}},
		{"an earlier generation", []string{"a", "b"}, 1, func(tb *table, a, b *seated) {
			old := a.m.Seat
			tb.gather(a, b)
			for _, seat := range []store.Seat{old, {ID: a.m.ID, Generation: a.m.Generation + 1}} {
				tb.fails("heartbeat", a.group.Heartbeat(tb.ctx, seat), store.ErrGeneration)
				no := []store.GroupMember{{ID: a.m.ID, Data: []byte("no")}}
				tb.fails("sync", errOf(a.group.SyncGroup(tb.ctx, seat, no)), store.ErrGeneration)
			}
			a.mustBeat()
			b.mustBeat()
		}},
		{"not a member", []string{"a"}, 0, func(tb *table, a, _ *seated) {
			for range 2 { // before there is a group, and in one
				nobody := &seated{test: tb.test, group: a.group,
					m: store.Membership{Seat: store.Seat{ID: "nobody", Generation: 1}}}
				nobody.isOut("is no member")
				tb.fails("sync", nobody.syncs(nobody.m.Seat), store.ErrSession)
				tb.fails("join", errOf(a.group.JoinGroup(tb.ctx, nobody.request())), store.ErrSession)
				nobody.leave()
				tb.gather(a)
			}
			a.mustBeat()
		}},
		{"a join that was given up", []string{"a", "b"}, 1, groupGivenUp},
	} {
		all = append(all, rule[store.Group]{r.name, func(t *test, open func() store.Group) {
			tb := sit(t, open, r.members...)
			tb.gather(tb.members[:r.gathered]...)
			r.run(tb, tb.members[0], tb.members[min(1, len(tb.members)-1)])
		}})
	}
	return refusing(func(t *test, s store.Group) (calls, func()) {
		tb := sit(t, func() store.Group { return s }, "a")
		a := tb.members[0]
		tb.gather(a)
		return calls{
			"join":      func(ctx context.Context) error { return errOf(s.JoinGroup(ctx, a.request())) },
			"sync":      func(ctx context.Context) error { return errOf(s.SyncGroup(ctx, a.m.Seat, nil)) },
			"heartbeat": func(ctx context.Context) error { return s.Heartbeat(ctx, a.m.Seat) },
			"leave":     func(ctx context.Context) error { return s.LeaveGroup(ctx, a.m.ID) },
		}, a.mustBeat
	}, all...)
}
