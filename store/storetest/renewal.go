package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// renewalTTL is the ttl of the session whose renewal is tested.
const renewalTTL = 4 * time.Second

// sessionRenewed puts a document shortly before its session would expire, again and again, and looks whether the document is there until shortly
// before the ttl has passed since the last of these calls began. A machine that is too slow to call in time proves nothing, and tries again.
func sessionRenewed[S DocsWithSessions](t *testing.T, open Open[S]) {
	s := open(t)(t)
	if !s.SessionsExpire() {
		t.Skipf("the sessions of %T do not expire by themselves: there is nothing to renew", s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience+10*renewalTTL)
	defer cancel()
	for _, key := range []string{"s/1", "s/2", "s/3"} {
		if renewalHolds(t, ctx, s, key) {
			return
		}
	}
	t.Skipf("this machine was three times too slow to renew a session of %v in time: nothing was shown", renewalTTL)
}

// renewalHolds is one attempt; false if a call came too late.
func renewalHolds[S DocsWithSessions](t *testing.T, ctx context.Context, s S, key string) bool {
	t.Helper()
	began := time.Now()
	session, err := s.OpenSession(ctx, renewalTTL)
	succeed(t, "open session", err)
	defer session.Close(ctx) //nolint:errcheck // what is left goes with the store
	var v store.Version
	for n := range 3 {
		called := time.Now()
		v, err = session.Put(ctx, store.Doc{Key: key, Value: []byte("x"), Version: v})
		switch {
		case err != nil && (time.Since(began) >= renewalTTL || away(err)):
			return false // it may have expired before the call, or the connection was lost by standing still
		case err != nil:
			t.Fatalf("put number %d, %v after the last renewal began: %v", n, time.Since(began), err)
		}
		began = called
		pause := renewalTTL * 8 / 10
		if n == 2 {
			pause = renewalTTL * 9 / 10
		}
		if !staysUntil(t, ctx, s, key, began, pause) {
			return false
		}
	}
	return true
}

// away reports whether an error says that the store was unreachable. A client that stalls for a large part of its ttl may lose its connection.
func away(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown)
}

// staysUntil looks at the document until so much time has passed since its renewal; false if the last look came too late to prove anything.
func staysUntil(t *testing.T, ctx context.Context, s store.Docs, key string, renewed time.Time, most time.Duration) bool {
	t.Helper()
	for {
		if time.Since(renewed) >= most {
			return time.Since(renewed) < renewalTTL
		}
		_, err := s.Get(ctx, key)
		late := time.Since(renewed) >= renewalTTL
		switch {
		case errors.Is(err, store.ErrNotFound) && !late:
			t.Fatalf("the document of a session of %v is gone %v after an acknowledged put began", renewalTTL, time.Since(renewed))
		case err != nil && !late && !away(err):
			t.Fatalf("get, waiting for %v to pass: %v", most, err)
		case late, err != nil:
			return false
		}
		time.Sleep(renewalTTL / 100) // waits: the passing of the ttl is what is tested
	}
}
