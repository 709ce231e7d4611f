package rig

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/leader"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/storetest"
)

// Backend is a store on which a protocol runs.
type Backend interface {
	store.Full
	Close() error
}

// Place is how the tests of a kind of store reach it: O are its options, and S is a handle.
type Place[O any, S Backend] struct {
	Open  func(context.Context, O) (S, error)
	Fresh func(testing.TB) O           // the options of an empty store on the server that tests share
	Hosts func(O) []string             // its servers, as host:port
	At    func(o O, hosts ...string) O // the options of the same store, which is reached through other addresses
	TTL   time.Duration                // of members
}

// With opens a handle, which the test closes at its end. An error of Close fails the test.
func (p Place[O, S]) With(t testing.TB, o O) S {
	t.Helper()
	s := p.opened(t, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// opened opens a handle that the caller closes. It tries again while the server is not available, as it may be on a
// busy machine.
func (p Place[O, S]) opened(t testing.TB, o O) S {
	t.Helper()
	ctx := Deadline(t)
	for {
		s, err := p.Open(ctx, o)
		switch {
		case err == nil:
			return s
		case !errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil:
			t.Fatal(err)
		}
	}
}

// Session opens a session of a handle.
func Session(t testing.TB, s store.Sessions, ttl time.Duration) store.Session {
	t.Helper()
	return must.Get(s.OpenSession(Deadline(t), ttl))(t)
}

// Empty is a storetest.Open.
func (p Place[O, S]) Empty(t *testing.T) func(*testing.T) S {
	o := p.Fresh(t)
	return func(t *testing.T) S { return p.With(t, o) }
}

// Reach is a storetest.OpenThrough.
func (p Place[O, S]) Reach(t *testing.T) storetest.Reach[S] { return p.ReachOf(p.Fresh(t)) }

// ReachOf returns the ways to one store: directly, through all servers, and through the first one over a link that no
// other handle has.
func (p Place[O, S]) ReachOf(o O) storetest.Reach[S] {
	return storetest.Reach[S]{
		Direct: func(t *testing.T) S { return p.With(t, o) },
		Through: func(t *testing.T) (S, storetest.Link) {
			link := Link(t, p.Hosts(o)[0])
			return p.With(t, p.At(o, link.Addr())), link
		},
	}
}

// Crashes runs the suite on servers of a test's own, which start starts, and crash kills and starts again.
func (p Place[O, S]) Crashes(t *testing.T, start func(t *testing.T) (o O, crash func(t *testing.T))) {
	t.Helper()
	storetest.Crashes(t, func(t *testing.T) storetest.Reach[S] {
		o, crash := start(t)
		r := p.ReachOf(o)
		r.Crash = crash
		return r
	})
}

// Members opens members of one cluster, each over a link of its own, to one server after the other. A store that is
// away is a link that holds all bytes. A member that crashes is one whose link is gone, so that its session must
// expire.
func (p Place[O, S]) Members(with protocol.Protocol) protocoltest.Setup {
	return protocoltest.Setup{TTL: p.TTL,
		Open: func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
			o, n := p.Fresh(t), 0
			servers := p.Hosts(o)
			return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
				n++
				link := link(t, servers[n%len(servers)])
				// The story ends each member, by Crash. A cleanup would come before that, and look like the death of
				// members that still run.
				s := p.opened(t, p.At(o, link.Addr()))
				m := must.Get(with.New(protocol.Config{Member: id, Store: s, TTL: ttl, SnapshotEvery: 20}))(t)
				away := func(away bool) {
					if away {
						link.Stall()
						return
					}
					Heal(t, link)
				}
				return protocoltest.Handle{Member: m, Crash: func() { link.Close(); s.Close() }, Away: away,
					Break: link.Break}
			}
		}}
}

// Driver opens a driver, which the test closes at its end.
func Driver[O any, D interface{ Close() error }](t testing.TB, open func(context.Context, O) (D, error), o O) D {
	t.Helper()
	d := must.Get(open(Deadline(t), o))(t)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// Documents tests a driver with documents. through opens a witness and one behind a link; it may be nil.
func Documents[O any, S Backend, D drivertest.Documenter](
	t *testing.T, p Place[O, S], open func(context.Context, O) (D, error),
	through func(*testing.T) (D, D, drivertest.Link),
) {
	t.Helper()
	s := drivertest.Setup{Open: Drivers(p, open, func(d D) drivertest.Documenter { return d })}
	if through != nil {
		s.Through = func(t *testing.T) (_, _ drivertest.Documenter, _ drivertest.Link) { return through(t) }
	}
	drivertest.Documents(t, s)
}

// Journals tests a driver with a log. deposed is what drivertest.JournalSetup says, or nil.
func Journals[O any, S Backend, D drivertest.Orderer](
	t *testing.T, p Place[O, S], open func(context.Context, O) (D, error),
	through func(*testing.T) (D, D, drivertest.Link), deposed func(*testing.T) (drivertest.Orderer, func(bool)),
) {
	t.Helper()
	drivertest.Journals(t, drivertest.JournalSetup{
		Open:    Drivers(p, open, func(d D) drivertest.Orderer { return d }),
		Through: func(t *testing.T) (_, _ drivertest.Orderer, _ drivertest.Link) { return through(t) },
		Deposed: deposed,
	})
}

// Drivers returns what opens drivers of one new store.
func Drivers[O any, S Backend, D interface{ Close() error }, A any](
	p Place[O, S], open func(context.Context, O) (D, error), as func(D) A,
) func(*testing.T) func() A {
	return func(t *testing.T) func() A {
		o := p.Fresh(t)
		return func() A { return as(Driver(t, open, o)) }
	}
}

// ThroughLink opens two drivers of one new store: a witness, and one behind a link, with options that give up soon.
// What newest returns changes with each change of the store, as for DriverLink.
func ThroughLink[O any, S Backend, D interface{ Close() error }](
	t *testing.T, p Place[O, S], open func(context.Context, O) (D, error), hurry func(*O),
	newest func(t *testing.T, o O) func() any,
) (witness, through D, l drivertest.Link) {
	t.Helper()
	o := p.Fresh(t)
	witness = Driver(t, open, o)
	now := newest(t, o)
	proxy := Link(t, p.Hosts(o)[0])
	behind := p.At(o, proxy.Addr())
	hurry(&behind)
	return witness, Driver(t, open, behind), DriverLink(t, proxy, now)
}

// protocols are those that run on each store.
func protocols() map[string]protocol.Protocol {
	return map[string]protocol.Protocol{"replica": replica.Protocol{}, "leader": leader.Protocol{},
		"lease": lease.Protocol{}}
}

// Stories runs the stories of each protocol on a real server. A member that crashes leaves documents that must expire.
// A link that holds all bytes makes the store unavailable.
func Stories(t *testing.T, members func(protocol.Protocol) protocoltest.Setup) {
	for name, p := range protocols() { // order-free: each is a test of its own
		t.Run(name, func(t *testing.T) { t.Parallel(); protocoltest.Run(t, members(p)) })
	}
}

// Storms runs members of each protocol whose links to a real server break at random.
func Storms(t *testing.T, members func(protocol.Protocol) protocoltest.Setup) {
	for name, p := range protocols() { // order-free: each is a test of its own
		t.Run(name, func(t *testing.T) { t.Parallel(); protocoltest.Storm(t, members(p)) })
	}
}
