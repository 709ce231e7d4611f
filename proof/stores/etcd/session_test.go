package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/etcd"
)

// brief is the ttl of a session that is to end: longer than a busy machine pauses between two steps before that.
const brief = 6 * time.Second

func openSession(t *testing.T, s *etcd.Store, ttl time.Duration) store.Session {
	t.Helper()
	n, err := s.OpenSession(rig.Deadline(t), ttl)
	must.Succeed(t, err)
	return n
}

// holding opens a session and puts a document with it.
func holding(t *testing.T, s *etcd.Store, key string, ttl time.Duration) store.Session {
	t.Helper()
	n := openSession(t, s, ttl)
	if _, err := n.Put(rig.Deadline(t), store.Doc{Key: key}); err != nil {
		t.Fatal(err)
	}
	return n
}

func wantDone(t *testing.T, n store.Session) {
	t.Helper()
	rig.Closed(t, "Done of the session", n.Done())
}

// wantEnded tries to put a document with a session that has ended.
func wantEnded(t *testing.T, n store.Session) {
	t.Helper()
	if _, err := n.Put(rig.Deadline(t), store.Doc{Key: "other"}); !errors.Is(err, store.ErrSession) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("put: error %v, want ErrSession", err)
	}
}

// wantGone waits until a document does not exist.
func wantGone(t *testing.T, s *etcd.Store, key string) {
	t.Helper()
	rig.Eventually(t, key+" is gone", func() bool {
		_, err := s.Get(rig.Deadline(t), key)
		return errors.Is(err, store.ErrNotFound)
	})
}

func TestTTLIsRoundedUp(t *testing.T) {
	t.Parallel()
	o := options()
	s, raw := openWith(t, o), rawOf(t, o)
	for asked, least := range map[time.Duration]time.Duration{
		time.Nanosecond: time.Second, time.Second: time.Second, 3100 * time.Millisecond: 4 * time.Second, 4 * time.Second: 4 * time.Second, time.Hour: time.Hour,
	} {
		holding(t, s, asked.String(), asked)
		lease, err := raw.TimeToLive(rig.Deadline(t), raw.lease(t, asked.String()))
		must.Succeed(t, err)
		if ttl := time.Duration(lease.GrantedTTL) * time.Second; ttl < least || ttl > max(least, 5*time.Second) {
			t.Errorf("asked for %v, the lease is of %v", asked, ttl)
		}
	}
	for _, ttl := range []time.Duration{0, -time.Second} {
		if _, err := s.OpenSession(rig.Deadline(t), ttl); err == nil {
			t.Errorf("a ttl of %v: no error", ttl)
		}
	}
}

// TestSessionStaysWithoutPut has a process that lives and writes nothing.
func TestSessionStaysWithoutPut(t *testing.T) {
	t.Parallel()
	const ttl = 12 * time.Second // renewed after half of it; a busy machine does not pause for the other half
	s := openWith(t, options())
	n := holding(t, s, "s", ttl)
	for end := time.Now().Add(ttl * 3 / 2); time.Now().Before(end); {
		if _, err := s.Get(rig.Deadline(t), "s"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ttl / 20) // waits: the passing of the ttl is what is tested
	}
	select {
	case <-n.Done():
		t.Error("the session has ended")
	default:
	}
}

// TestSessionEndsByItsOwnClock cuts a session off its server: Done is closed, not before the ttl is over, and nothing revives the session.
func TestSessionEndsByItsOwnClock(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(*faultproxy.Proxy){
		"cut": (*faultproxy.Proxy).Cut, "silent": (*faultproxy.Proxy).Stall, "answers are lost": (*faultproxy.Proxy).DropReplies,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := linked(t, options())
			n := openSession(t, e.s, brief)
			began := time.Now()
			if _, err := n.Put(rig.Deadline(t), store.Doc{Key: "s"}); err != nil {
				t.Fatal(err)
			}
			outage(e.link)
			wantDone(t, n)
			if passed := time.Since(began); passed < brief {
				t.Errorf("Done was closed after %v, the ttl is %v", passed, brief)
			}
			rig.Heal(t, e.link)
			wantEnded(t, n)
			wantGone(t, e.direct, "s")
			if err := n.Close(rig.Deadline(t)); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// TestSessionWhoseLeaseIsTaken has a server that ends a lease early, as a stalled leader does.
func TestSessionWhoseLeaseIsTaken(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]func(*testing.T, store.Session){
		"put notices":              wantEnded,
		"the goroutine notices it": func(*testing.T, store.Session) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			s := openWith(t, o)
			n := holding(t, s, "s", brief)
			raw := rawOf(t, o)
			if _, err := raw.Revoke(rig.Deadline(t), raw.lease(t, "s")); err != nil {
				t.Fatal(err)
			}
			notice(t, n)
			wantDone(t, n)
			wantGone(t, s, "s")
		})
	}
}

// TestLeaseTakenBetweenRenewalAndWrite is the narrow case: the write itself must notice.
func TestLeaseTakenBetweenRenewalAndWrite(t *testing.T) {
	t.Parallel()
	o := options()
	raw := rawOf(t, o)
	take := make(chan clientv3.LeaseID, 1) // the lease that the next transaction is to find gone
	addr := startRelay(t, o.Endpoints[0], func(ctx context.Context, method string) error {
		if method != methodTxn {
			return nil
		}
		select {
		case id := <-take:
			_, err := raw.Revoke(ctx, id)
			return err
		default:
			return nil
		}
	})
	s := openWith(t, through(o, addr))
	n := holding(t, s, "s", time.Minute)
	take <- raw.lease(t, "s")
	wantEnded(t, n)
	if len(take) != 0 {
		t.Error("the put sent no transaction: its renewal noticed")
	}
	wantDone(t, n)
	for _, key := range []string{"s", "other"} {
		if _, err := s.Get(rig.Deadline(t), key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("get %q: error %v, want ErrNotFound", key, err)
		}
	}
}

// TestSessionClosedWhileServerIsAway must not wait, and must not say that all is well.
func TestSessionClosedWhileServerIsAway(t *testing.T) {
	t.Parallel()
	e := linked(t, options())
	n := holding(t, e.s, "s", brief)
	e.link.Cut()
	if err := n.Close(rig.Deadline(t)); err == nil {
		t.Error("close: no error")
	}
	wantDone(t, n)
	if err := n.Close(rig.Deadline(t)); err != nil {
		t.Errorf("close again: %v", err)
	}
	wantGone(t, e.direct, "s")
}

// TestPutWithSessionInDoubt loses the answer to the renewal: nothing was written, and the session lives.
func TestPutWithSessionInDoubt(t *testing.T) {
	t.Parallel()
	e := linked(t, options())
	n := openSession(t, e.s, time.Minute)
	v, err := n.Put(rig.Deadline(t), store.Doc{Key: "s", Value: []byte("1")})
	must.Succeed(t, err)
	e.link.DropReplies()
	ctx, cancel := context.WithTimeoutCause(rig.Deadline(t), 200*time.Millisecond, errGaveUp)
	defer cancel()
	_, err = n.Put(ctx, store.Doc{Key: "s", Value: []byte("2"), Version: v})
	if err == nil || errors.Is(err, store.ErrUnknown) || !errors.Is(err, errGaveUp) {
		t.Errorf("put without an answer to the renewal: error %v, want the cause alone", err)
	}
	rig.Heal(t, e.link)
	if d, err := e.direct.Get(rig.Deadline(t), "s"); err != nil || string(d.Value) != "1" {
		t.Errorf("get: %q, %v; want 1", d.Value, err)
	}
	rig.Eventually(t, "a put after the cut", func() bool { // the connection was reset, and comes back
		_, err := n.Put(rig.Deadline(t), store.Doc{Key: "s", Value: []byte("3"), Version: v})
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("put after the cut: %v", err)
		}
		return err == nil
	})
}
