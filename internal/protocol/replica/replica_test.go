package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What every protocol promises, on memory and in virtual time. Storms are of calls that fail at random, in every way
// that a store has; a busy store cannot take as many heartbeats as the usual TTL asks for.
func TestStoriesOnMemory(t *testing.T) { t.Parallel(); protocoltest.StoriesOnMemory(t, Protocol{}) }
func TestStorm(t *testing.T)           { t.Parallel(); protocoltest.StormsOnMemory(t, Protocol{}, true) }
func TestStoriesWithHeartbeatsAlone(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.OnMemory(Protocol{}, true))
}
func TestABusyStore(t *testing.T) { t.Parallel(); protocoltest.BusyStores(t, Protocol{}) }
func TestWhatIsRefusedIsNotSaidForEver(t *testing.T) {
	t.Parallel()
	protocoltest.RefusedOnMemory(t, Protocol{})
}

// TestTimes: silence is noticed in time, and so on, on each kind of store. Where all is polled for, others read of a
// removal a poll later.
func TestTimes(t *testing.T) {
	t.Parallel()
	protocoltest.Times(t, Protocol{}, map[string]float64{
		"memory": 32, "as file and PostgreSQL": 32, "as etcd, NATS and ZooKeeper": 28, "as Elasticsearch": 73,
	})
}

// TestARenewalOfAFormerLifeComesLate: calls are made on goroutines of their own, so one of a former life may begin
// after those of the present one. It must not end the session of the present heartbeat: others would see that heartbeat
// gone and take over from a member that holds a lease.
func TestARenewalOfAFormerLifeComesLate(t *testing.T) {
	t.Parallel()
	for _, noSessions := range []bool{false, true} {
		t.Run(fmt.Sprintf("memory, NoSessions=%v", noSessions), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { lateRenewal(t, memory.New().Open(), noSessions) })
		})
		t.Run(fmt.Sprintf("file, NoSessions=%v", noSessions), func(t *testing.T) {
			t.Parallel()
			s := must.Get(file.Open(t.Context(), filepath.Join(t.TempDir(), "store"), file.Options{}))(t)
			lateRenewal(t, s, noSessions)
		})
	}
}

// caller makes the store calls of a member named a, by the clock of this process.
func caller(s store.Full, ttl time.Duration, noSessions bool) *Caller {
	return NewCaller(shell.NewLogCaller(protocol.Config{
		Member: "a", Store: s, TTL: ttl, NoSessions: noSessions, Logger: slog.New(slog.DiscardHandler),
		Clock: protocol.NewProcessClock(),
	}))
}

func lateRenewal(t *testing.T, s store.Full, noSessions bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	c := caller(s, time.Minute, noSessions)
	defer c.Close(ctx)
	renew := func(e member.Renew) member.Renewed {
		t.Helper()
		got, ok := c.Call(ctx, e).(member.Renewed)
		if !ok || got.Key != e.Key {
			t.Fatalf("renew %s was answered by %+v", e.Key, got)
		}
		return got
	}
	first, second := member.Renew{Key: "pulse/a/n-1", Create: true, Life: 1},
		member.Renew{Key: "pulse/a/n-2", Create: true, Life: 2}
	if got := renew(second); got.Outcome != outbox.Done {
		t.Fatalf("renew the second life: %+v", got)
	}
	before := must.Get(s.Get(ctx, second.Key))(t)
	if got := renew(first); got.Outcome != outbox.NotDone || got.Err == "" {
		t.Errorf("a renewal of the first life that comes late: %+v, want that it is not done", got)
	}
	if _, err := s.Get(ctx, first.Key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the heartbeat of the first life: %v, want that there is none", err)
	}
	if after, err := s.Get(ctx, second.Key); err != nil || after.Version != before.Version {
		t.Errorf("the heartbeat of the second life has version %q, %v; want %q, untouched", after.Version, err,
			before.Version)
	}
	second.Create = false
	for range 4 { // beyond the renewals after which the former session is closed
		if got := renew(second); got.Outcome != outbox.Done {
			t.Fatalf("renew the second life again: %+v", got)
		}
		if _, err := s.Get(ctx, second.Key); err != nil {
			t.Fatalf("its heartbeat: %v", err)
		}
	}
}

// TestARenewalWaitsForTheOneBefore, but not beyond its own time: the store may hold the one of a former life.
func TestARenewalWaitsForTheOneBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := faults.NewFaulty(memory.New().Open(), func(faults.Call) faults.Outcome { return faults.Held })
		defer f.Close()
		c := caller(f, 3*time.Second, false)
		former := make(chan member.Event, 1)
		go func() { former <- c.Call(t.Context(), member.Renew{Key: "pulse/a/n-1", Create: true, Life: 1}) }()
		synctest.Wait()
		began := c.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		next := member.Renew{Key: "pulse/a/n-2", Create: true, Life: 2}
		if got, ok := c.Call(ctx, next).(member.Renewed); !ok || got.Outcome != outbox.NotDone || got.Key != next.Key ||
			got.Err == "" || got.Now != began.Add(time.Second) {
			t.Errorf("after %s the answer is %+v, want that it is not done after a second", got.Now.Sub(began), got)
		}
		f.Away(false)
		if got, ok := (<-former).(member.Renewed); !ok || got.Outcome != outbox.Done {
			t.Errorf("the renewal that was held: %+v", got)
		}
		if got, ok := c.Call(t.Context(), next).(member.Renewed); !ok || got.Outcome != outbox.Done {
			t.Errorf("the next one: %+v", got)
		}
		c.Close(t.Context())
	})
}

// TestAHeartbeatStatesItsTTL, and reads and lists find it there.
func TestAHeartbeatStatesItsTTL(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	defer s.Close()
	c := caller(s, 7*time.Second, false)
	defer c.Close(t.Context())
	want := map[string]time.Duration{protocol.HeartbeatPrefix + "a/1": 7 * time.Second}
	if got, ok := c.Call(t.Context(), member.Renew{Key: protocol.HeartbeatPrefix + "a/1", Create: true,
		Life: 1}).(member.Renewed); !ok || got.Outcome != outbox.Done {
		t.Fatalf("renew: %+v", got)
	}
	for key, value := range map[string]string{
		"short": `{"member":"b","at_ms":1,"ttl_ms":300}`, "none": `{"member":"b","at_ms":1}`,
	} {
		if _, err := s.Put(t.Context(),
			store.Doc{Key: protocol.HeartbeatPrefix + "b/" + key, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
		want[protocol.HeartbeatPrefix+"b/"+key] = 0
	}
	want[protocol.HeartbeatPrefix+"b/short"] = 300 * time.Millisecond
	list, ok := c.Call(t.Context(), ListHeartbeats{}).(HeartbeatsListed)
	if !ok || len(list.Heartbeats) != len(want) {
		t.Fatalf("got %+v", list)
	}
	for _, p := range list.Heartbeats {
		seen, ok := c.Call(t.Context(), CheckHeartbeat{Key: p.Key}).(HeartbeatSeen)
		if !ok || p.TTL != want[p.Key] || seen.TTL != want[p.Key] {
			t.Errorf("%s: listed %s, seen %s, want %s", p.Key, p.TTL, seen.TTL, want[p.Key])
		}
	}
}
