package etcd_test

import (
	"context"
	"errors"
	. "github.com/rota-run/rota/store/etcd"
	"testing"
	"time"

	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/store"
)

// brief is the ttl of a session that is to end: more than a busy machine stands still between two steps before that.
const brief = 6 * time.Second

func openSession(t *testing.T, s *Store, ttl time.Duration) *session {
	t.Helper()
	opened, err := s.OpenSession(deadline(t), ttl)
	if err != nil {
		t.Fatal(err)
	}
	return opened.(*session)
}

func wantDone(t *testing.T, n *session) {
	t.Helper()
	select {
	case <-n.Done():
	case <-time.After(patience):
		t.Fatalf("Done is not closed within %v", patience)
	}
}

// wantGone waits until a document is not there any more.
func wantGone(t *testing.T, s *Store, key string) {
	t.Helper()
	eventually(t, key+" is gone", func() bool {
		_, err := s.Get(deadline(t), key)
		return errors.Is(err, store.ErrNotFound)
	})
}

func TestTTLIsRoundedUp(t *testing.T) {
	t.Parallel()
	s := openWith(t, options())
	for asked, least := range map[time.Duration]time.Duration{
		time.Nanosecond: time.Second, time.Second: time.Second, 3100 * time.Millisecond: 4 * time.Second, 4 * time.Second: 4 * time.Second, time.Hour: time.Hour,
	} {
		if n := openSession(t, s, asked); n.lease.ttl < least || n.lease.ttl > max(least, 5*time.Second) {
			t.Errorf("asked for %v, the lease is of %v", asked, n.lease.ttl)
		}
	}
	for _, ttl := range []time.Duration{0, -time.Second} {
		if _, err := s.OpenSession(deadline(t), ttl); err == nil {
			t.Errorf("a ttl of %v: no error", ttl)
		}
	}
}

// TestSessionStaysWithoutPut has a process that lives and says nothing.
func TestSessionStaysWithoutPut(t *testing.T) {
	t.Parallel()
	s := openWith(t, options())
	n := openSession(t, s, 12*time.Second) // renewed at the half; a busy machine does not stand still for the other
	if _, err := n.Put(deadline(t), store.Doc{Key: "s"}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(n.lease.ttl * 3 / 2); time.Now().Before(end); {
		if _, err := s.Get(deadline(t), "s"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(n.lease.ttl / 20) // waits: the passing of the ttl is what is tested
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
			p, s, direct := throughProxy(t)
			n := openSession(t, s, brief)
			began := time.Now()
			if _, err := n.Put(deadline(t), store.Doc{Key: "s"}); err != nil {
				t.Fatal(err)
			}
			outage(p)
			wantDone(t, n)
			if passed := time.Since(began); passed < n.lease.ttl {
				t.Errorf("Done was closed after %v, the ttl is %v", passed, n.lease.ttl)
			}
			heal(t, p)
			if _, err := n.Put(deadline(t), store.Doc{Key: "other"}); !errors.Is(err, store.ErrSession) || errors.Is(err, store.ErrUnknown) {
				t.Errorf("put: error %v, want ErrSession", err)
			}
			wantGone(t, direct, "s")
			if err := n.Close(deadline(t)); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// TestSessionWhoseLeaseIsTaken has a server that ends a lease early, as a stalled leader does.
func TestSessionWhoseLeaseIsTaken(t *testing.T) {
	t.Parallel()
	for name, find := range map[string]func(n *session){
		"put finds out": func(n *session) {
			if _, err := n.Put(deadline(t), store.Doc{Key: "other"}); !errors.Is(err, store.ErrSession) || errors.Is(err, store.ErrUnknown) {
				t.Errorf("put: error %v, want ErrSession", err)
			}
		},
		"the keeper finds out": func(*session) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openWith(t, options())
			n := openSession(t, s, brief)
			if _, err := n.Put(deadline(t), store.Doc{Key: "s"}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.client.Revoke(deadline(t), n.lease.id); err != nil {
				t.Fatal(err)
			}
			find(n)
			wantDone(t, n)
			wantGone(t, s, "s")
		})
	}
}

// TestLeaseTakenBetweenRenewalAndWrite is the narrow case: the write itself must find out.
func TestLeaseTakenBetweenRenewalAndWrite(t *testing.T) {
	t.Parallel()
	s := openWith(t, options())
	n := openSession(t, s, time.Minute)
	ctx := deadline(t)
	if err := n.renew(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Revoke(ctx, n.lease.id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.write(ctx, store.Doc{Key: "s"}, n.lease.id); !errors.Is(err, store.ErrSession) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("write: error %v, want ErrSession", err)
	}
	if _, err := s.Get(ctx, "s"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: error %v, want ErrNotFound", err)
	}
}

// TestSessionClosedWhileServerIsAway must not wait, and must not say that all is well.
func TestSessionClosedWhileServerIsAway(t *testing.T) {
	t.Parallel()
	p, s, direct := throughProxy(t)
	n := openSession(t, s, brief)
	if _, err := n.Put(deadline(t), store.Doc{Key: "s"}); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	if err := n.Close(deadline(t)); err == nil {
		t.Error("close: no error")
	}
	wantDone(t, n)
	if err := n.Close(deadline(t)); err != nil {
		t.Errorf("close again: %v", err)
	}
	wantGone(t, direct, "s")
}

// TestPutWithSessionInDoubt cuts the answer of the write: the outcome is unknown, and the session lives.
func TestPutWithSessionInDoubt(t *testing.T) {
	t.Parallel()
	p, s, direct := throughProxy(t)
	n := openSession(t, s, time.Minute)
	v, err := n.Put(deadline(t), store.Doc{Key: "s", Value: []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	p.DropReplies()
	ctx, cancel := context.WithTimeoutCause(deadline(t), 200*time.Millisecond, lateError{})
	defer cancel()
	_, err = n.Put(ctx, store.Doc{Key: "s", Value: []byte("2"), Version: v})
	if err == nil || errors.Is(err, store.ErrUnknown) || !errors.Is(err, lateError{}) { // the renewal had no answer: nothing was written
		t.Errorf("put without an answer to the renewal: error %v, want the cause alone", err)
	}
	heal(t, p)
	if d, err := direct.Get(deadline(t), "s"); err != nil || string(d.Value) != "1" {
		t.Errorf("get: %q, %v; want 1", d.Value, err)
	}
	eventually(t, "a put after the cut", func() bool { // the connection was reset, and comes back
		_, err := n.Put(deadline(t), store.Doc{Key: "s", Value: []byte("3"), Version: v})
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("put after the cut: %v", err)
		}
		return err == nil
	})
}
