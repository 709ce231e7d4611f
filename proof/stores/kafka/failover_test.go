package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/kafka"
)

// The tests on three brokers share them. They do not run in parallel: each kills or stops some.

// TestLeaderDiesUnderWriters kills the broker of three that leads a partition, again and again, while clients append
// and count. The history is not given to a checker of linearizability, as in TestCrashes: an outage of some seconds
// leaves so many calls open that it does not end.
func TestLeaderDiesUnderWriters(t *testing.T) {
	c, ctx := threeServers(t), rig.LongDeadline(t)
	o := kafka.Options{Brokers: c.Servers(), Name: freshName(t), Timeout: 5 * time.Second}
	writers := make([]*writer, 4)
	for i := range writers {
		writers[i] = &writer{s: openWith(t, o), id: i, acknowledged: map[uint64]string{}, unknown: map[string]bool{}}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for _, w := range writers {
		wg.Go(func() { w.run(ctx, stop) })
	}
	advance := func() { // until each writer has had ten more acknowledgements
		t.Helper()
		for _, w := range writers {
			from := w.done.Load()
			rig.Eventually(t, "a writer advances", func() bool { return w.done.Load() >= from+10 })
		}
	}
	advance()
	for _, topic := range []string{".log", ".docs"} {
		killLeader(t, c, o.Name+topic)
		advance()
	}
	close(stop)
	wg.Wait()
	s := openWith(t, o)
	for _, w := range writers {
		w.check(t, ctx, s, rig.Records(t, s))
	}
}

// killLeader kills the leader of a topic, waits for another one, and starts the former again.
func killLeader(t *testing.T, c *server.Cluster, topic string) {
	t.Helper()
	ctx := rig.LongDeadline(t)
	leader := must.Get(c.Leader(ctx, topic))(t)
	must.Succeed(t, c.Kill(leader))
	must.Succeed(t, must.Err(c.Leader(ctx, topic)))
	must.Succeed(t, c.Restart(ctx, leader))
}

// coordinator is the broker that coordinates a group.
func coordinator(t *testing.T, c *server.Cluster, group string) int {
	t.Helper()
	client := must.Get(c.Client())(t)
	defer client.Close()
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey, find.CoordinatorKeys = group, []string{group}
	resp := must.Get(client.Request(rig.LongDeadline(t), find))(t)
	return int(resp.(*kmsg.FindCoordinatorResponse).Coordinators[0].NodeID) - 1 //nolint:forcetypeassert // the answer to such a request
}

// TestFrozenBroker stops the only broker without closing anything. A join ends with its ctx, as other calls do on a
// link that stalls, and Close does not wait.
func TestFrozenBroker(t *testing.T) {
	t.Parallel()
	c := ownServers(t, server.Options{})
	o := kafka.Options{Brokers: c.Servers(), Name: freshName(t)}
	s, closing := openWith(t, o), openWith(t, o)
	must.Succeed(t, must.Err(closing.WatchLog(rig.Deadline(t))))
	must.Succeed(t, c.Pause(0))
	const brief, patience = time.Second, 10 * time.Second // a busy machine may need some of it; a request in flight needs for ever
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), brief)
	defer cancel()
	_, err := s.JoinGroup(ctx, store.JoinRequest{Session: time.Minute, Rebalance: time.Minute})
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > patience {
		t.Errorf("join, while the broker is frozen: %v after %v", err, took)
	}
	began = time.Now()
	if err := closing.Close(); err != nil || time.Since(began) > patience {
		t.Errorf("close, while the broker is frozen: %v after %v", err, time.Since(began))
	}
	must.Succeed(t, c.Resume(0))
	rig.Eventually(t, "the store answers again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := s.Append(ctx, []byte("again"))
		return err == nil
	})
}

// TestFrozenLeader stops the leader of three, and lets it go on when another one leads: what it answers then must not
// be an old document.
func TestFrozenLeader(t *testing.T) {
	c := threeServers(t)
	o, ctx := kafka.Options{Brokers: c.Servers(), Name: freshName(t), Timeout: 5 * time.Second}, rig.LongDeadline(t)
	reader, writer := openWith(t, o), openWith(t, o)
	v := must.Get(writer.Put(ctx, store.Doc{Key: "a", Value: []byte("old")}))(t)
	must.Succeed(t, must.Err(reader.Get(ctx, "a")))
	frozen := must.Get(c.Leader(ctx, o.Name+".docs"))(t)
	must.Succeed(t, c.Pause(frozen))
	rig.Eventually(t, "another broker leads, and a put is acknowledged", func() bool {
		next, err := writer.Put(ctx, store.Doc{Key: "a", Value: []byte("new"), Version: v})
		if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrUnknown) { // an earlier one may have been done
			d, err := writer.Get(ctx, "a")
			if err != nil {
				return false
			}
			next, v = d.Version, d.Version
			return string(d.Value) == "new"
		}
		if err == nil {
			v = next
		}
		return err == nil
	})
	got := make(chan error, 1)
	go func() {
		d, err := reader.Get(ctx, "a") // perhaps at the frozen leader, whose answer comes when it wakes
		if err == nil && string(d.Value) != "new" {
			err = errors.New("an old document: " + string(d.Value))
		}
		got <- err
	}()
	time.Sleep(200 * time.Millisecond) // waits: so that the request is likely on its way; the test holds without
	must.Succeed(t, c.Resume(frozen))
	if err := <-got; err != nil && !errors.Is(err, store.ErrUnavailable) {
		t.Fatal(err)
	}
}

// TestCoordinatorDies kills the coordinator of a group: the members go on in a generation that a majority knows.
func TestCoordinatorDies(t *testing.T) {
	c := threeServers(t)
	o, ctx := kafka.Options{Brokers: c.Servers(), Name: freshName(t), Timeout: 10 * time.Second}, rig.LongDeadline(t)
	s := openWith(t, o)
	request := store.JoinRequest{Data: []byte("a"), Session: 10 * time.Second, Rebalance: 10 * time.Second}
	join := func() (m store.Membership) {
		t.Helper()
		rig.Eventually(t, "a member joins and syncs", func() bool {
			var err error
			if m, err = s.JoinGroup(ctx, request); errors.Is(err, store.ErrSession) {
				request.ID = ""
				return false
			}
			if request.ID = m.ID; err == nil {
				_, err = s.SyncGroup(ctx, m.Seat, []store.GroupMember{{ID: m.ID, Data: []byte("given")}})
			}
			return err == nil
		})
		return m
	}
	first := join()
	dead := coordinator(t, c, o.Name)
	must.Succeed(t, c.Kill(dead))
	t.Cleanup(func() { must.Succeed(t, c.Restart(rig.LongDeadline(t), dead)) })
	var beat error
	rig.Eventually(t, "the new coordinator answers a heartbeat", func() bool {
		beat = s.Heartbeat(ctx, first.Seat)
		return beat == nil || errors.Is(beat, store.ErrGeneration) || errors.Is(beat, store.ErrRebalance)
	})
	if beat != nil {
		t.Errorf("a generation that was synced is forgotten: %v", beat)
	}
	if next := join(); next.Generation <= first.Generation || next.ID != first.ID {
		t.Errorf("%+v after %+v: want the same member in a later generation", next.Seat, first.Seat)
	}
}

// writer appends records and counts in a document, and notes what was acknowledged.
type writer struct {
	s            *kafka.Store
	id           int
	done         atomic.Int64 // calls that were acknowledged
	acknowledged map[uint64]string
	unknown      map[string]bool
	counted      int // increments that were acknowledged
	maybe        int // increments with an unknown outcome
}

func (w *writer) key() string { return fmt.Sprintf("count/%d", w.id) }

func (w *writer) run(ctx context.Context, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		one, cancel := context.WithTimeout(ctx, 10*time.Second)
		w.append(one, n)
		w.count(one)
		cancel()
	}
}

func (w *writer) append(ctx context.Context, n int) {
	data := fmt.Sprintf("%d/%d", w.id, n)
	index, err := w.s.Append(ctx, []byte(data))
	switch {
	case err == nil:
		w.acknowledged[index] = data
		w.done.Add(1)
	case errors.Is(err, store.ErrUnknown):
		w.unknown[data] = true
	}
}

func (w *writer) count(ctx context.Context) {
	d, err := w.s.Get(ctx, w.key())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return
	}
	_, err = w.s.Put(ctx, store.Doc{Key: w.key(), Value: append(d.Value, 'x'), Version: d.Version})
	switch {
	case err == nil:
		w.counted++
		w.done.Add(1)
	case errors.Is(err, store.ErrUnknown):
		w.maybe++
	}
}

// check compares what the store holds with what was acknowledged.
func (w *writer) check(t *testing.T, ctx context.Context, s *kafka.Store, records []store.Record) {
	t.Helper()
	times := map[string]int{}
	for _, r := range records {
		times[string(r.Data)]++
		if want, ok := w.acknowledged[r.Index]; ok && want != string(r.Data) {
			t.Errorf("record %d is %q, acknowledged was %q", r.Index, r.Data, want)
		}
	}
	for index, data := range w.acknowledged {
		if times[data] != 1 {
			t.Errorf("%q, acknowledged at %d, is in the log %d times", data, index, times[data])
		}
	}
	for data := range w.unknown {
		if times[data] > 1 {
			t.Errorf("%q, unknown, is in the log %d times", data, times[data])
		}
	}
	d, err := s.Get(ctx, w.key())
	if n := len(d.Value); err != nil || n < w.counted || n > w.counted+w.maybe {
		t.Errorf("writer %d: %d increments are there, %d were acknowledged and %d are unknown, %v", w.id, n, w.counted,
			w.maybe, err)
	}
	t.Logf("writer %d: %d appends acknowledged, %d unknown; %d increments, %d unknown", w.id, len(w.acknowledged),
		len(w.unknown), w.counted, w.maybe)
}
