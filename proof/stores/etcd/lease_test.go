package etcd_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine/full"
)

// errGaveUp is the cause of contexts that a test ends early.
var errGaveUp = errors.New("the caller gave up")

func leased(t *testing.T, d full.Driver, ttl time.Duration) driver.Lease {
	t.Helper()
	l := must.Get(d.Lease(rig.Deadline(t), ttl))(t)
	t.Cleanup(l.Close)
	return l
}

// behind opens a driver directly, and another one over a link.
func behind(t *testing.T) (direct, through full.Driver, link *faultproxy.Proxy, r raw) {
	t.Helper()
	o := options()
	link = rig.Link(t, o.Endpoints[0])
	over := o
	over.Endpoints = []string{link.Addr()}
	return openDriver(t, o), openDriver(t, over), link, rawOf(t, o)
}

func TestTTLIsRoundedUp(t *testing.T) {
	t.Parallel()
	d := openDriver(t, options())
	for asked, least := range map[time.Duration]time.Duration{ // order-free: each is a lease of its own
		time.Nanosecond: time.Second, time.Second: time.Second, 3100 * time.Millisecond: 4 * time.Second,
		4 * time.Second: 4 * time.Second, time.Hour: time.Hour,
	} {
		if ttl := leased(t, d, asked).TTL(); ttl < least || ttl > max(least, 5*time.Second) {
			t.Errorf("asked for %v, the lease is of %v", asked, ttl)
		}
	}
}

// TestLeaseIsTaken has a server that ends a lease early, as a stalled leader does: the write itself notices, whatever
// was renewed before it.
func TestLeaseIsTaken(t *testing.T) {
	t.Parallel()
	o := options()
	d, r := openDriver(t, o), rawOf(t, o)
	l := leased(t, d, time.Minute)
	op := driver.Op{Key: "d/s", Name: "n.1", Value: []byte("x")}
	must.Succeed(t, must.Err(l.Swap(rig.Deadline(t), op)))
	id, err := strconv.ParseInt(l.Key(), 16, 64)
	must.Succeed(t, err)
	must.Succeed(t, must.Err(r.Revoke(rig.Deadline(t), clientv3.LeaseID(id))))
	_, swap := l.Swap(rig.Deadline(t), op)
	_, renew := l.Renew(rig.Deadline(t))
	for call, err := range map[string]error{"swap": swap, "renew": renew} { // order-free: each is judged alone
		if !errors.Is(err, store.ErrSession) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error %v, want ErrSession", call, err)
		}
	}
	if n := r.count(t, r.docs()); n != 0 {
		t.Errorf("%d rows of the lease are left", n)
	}
}

// TestRenewalInDoubt loses the answer to a renewal: nothing was written, and the lease lives.
func TestRenewalInDoubt(t *testing.T) {
	t.Parallel()
	_, d, link, _ := behind(t)
	l := leased(t, d, time.Minute)
	must.Succeed(t, must.Err(l.Renew(rig.Deadline(t))))
	link.DropReplies()
	ctx, cancel := context.WithTimeoutCause(rig.Deadline(t), 200*time.Millisecond, errGaveUp)
	defer cancel()
	if _, err := l.Renew(ctx); err == nil || errors.Is(err, store.ErrUnknown) || !errors.Is(err, errGaveUp) {
		t.Errorf("no answer to the renewal: error %v, want the cause alone", err)
	}
	rig.Heal(t, link)
	rig.Eventually(t, "a renewal after the cut", func() bool { // the connection was reset, and comes back
		_, err := l.Renew(rig.Deadline(t))
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("a renewal after the cut: %v", err)
		}
		return err == nil
	})
}
