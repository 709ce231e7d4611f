package rig

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/storetest"
)

// Place is how the tests of a kind of store reach it: O are its options, and S is a handle.
type Place[O any, S Backend] struct {
	Open  func(context.Context, O) (S, error)
	Fresh func(testing.TB) O           // the options of an empty store on the server that tests share
	Hosts func(O) []string             // its servers, as host:port
	At    func(o O, hosts ...string) O // the options of the same store, which is reached through other addresses
	TTL   time.Duration                // of members
}

// With opens a handle, which the test closes at its end.
func (p Place[O, S]) With(t testing.TB, o O) S {
	t.Helper()
	return Open(t, func(ctx context.Context) (S, error) { return p.Open(ctx, o) })
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

// Members opens members of one cluster, each over a link of its own.
func (p Place[O, S]) Members(with protocol.Protocol) protocoltest.Setup {
	return protocoltest.Setup{TTL: p.TTL,
		Open: func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
			o := p.Fresh(t)
			return Members(with, p.Hosts(o), func(*testing.T) func(*testing.T, string) S {
				return func(t *testing.T, addr string) S { // the story closes it
					return Opened(t, func(ctx context.Context) (S, error) { return p.Open(ctx, p.At(o, addr)) })
				}
			})(t)
		}}
}

// Driver opens a driver, which the test closes at its end.
func Driver[O any, D interface{ Close() error }](t testing.TB, open func(context.Context, O) (D, error), o O) D {
	t.Helper()
	d := must.Get(open(Deadline(t), o))(t)
	t.Cleanup(func() { _ = d.Close() })
	return d
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
