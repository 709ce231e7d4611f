package etcd_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/etcd"
	"github.com/rota-run/rota/store/storetest"
)

// putAlone is a handle whose sessions live by Put alone: its relay refuses renewals while no Put with a session is under way. So the goroutine that
// renews the sessions of an idle process cannot hide a Put that does not.
type putAlone struct {
	*etcd.Store
	puts *atomic.Int64
}

// openPutAlone opens a handle behind a relay; way leads from the relay's address to the one that the handle uses.
func openPutAlone(t *testing.T, o etcd.Options, way func(addr string) string) putAlone {
	t.Helper()
	var puts atomic.Int64
	addr := startRelay(t, o.Endpoints[0], func(_ context.Context, method string) error {
		if method == methodRenew && puts.Load() == 0 {
			return status.Error(codes.FailedPrecondition, "the test lets only Put renew")
		}
		return nil
	})
	return putAlone{openWith(t, through(o, way(addr))), &puts}
}

func straight(addr string) string { return addr }

func (s putAlone) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	session, err := s.Store.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return putSession{session, s.puts}, nil
}

type putSession struct {
	store.Session
	puts *atomic.Int64
}

func (s putSession) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	s.puts.Add(1)
	defer s.puts.Add(-1)
	return s.Session.Put(ctx, d)
}

// TestPutAlone shows that the handles of the tests below have no other renewal: a session without a Put ends, though its process lives.
func TestPutAlone(t *testing.T) {
	t.Parallel()
	s := openPutAlone(t, options(), straight)
	session, err := s.OpenSession(rig.Deadline(t), brief)
	if err != nil {
		t.Fatal(err)
	}
	rig.Closed(t, "Done of a session without a Put", session.Done())
}

func TestSessionsRenewedByPut(t *testing.T) {
	t.Parallel()
	storetest.Sessions(t, func(*testing.T) func(t *testing.T) putAlone {
		o := options()
		return func(t *testing.T) putAlone { return openPutAlone(t, o, straight) }
	})
}

// TestFaultsOfASessionWithoutKeeper runs the rules of sessions where nothing renews them but Put.
func TestFaultsOfASessionWithoutKeeper(t *testing.T) {
	t.Parallel()
	storetest.SessionFaults(t, func(*testing.T) storetest.Reach[putAlone] {
		o := options()
		return storetest.Reach[putAlone]{
			Direct: func(t *testing.T) putAlone { return openPutAlone(t, o, straight) },
			Through: func(t *testing.T) (putAlone, storetest.Link) {
				var link storetest.Link
				s := openPutAlone(t, o, func(addr string) string {
					p := rig.Link(t, addr)
					link = p
					return p.Addr()
				})
				return s, link
			},
		}
	})
}
