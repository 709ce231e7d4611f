package kafka_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/contrib/kafka"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// counting is a host that counts what is saved.
type counting struct {
	*worktest.Host
	saves atomic.Int64
}

func (c *counting) SavePosition(ctx context.Context, g *work.Grant, p []byte) error {
	c.saves.Add(1)
	return c.Host.SavePosition(ctx, g, p)
}

// grant is one partition of the task, without a cluster.
func (b *bed) grant(h work.Host, key string, token cluster.Token) *work.Grant {
	b.t.Helper()
	config, err := json.Marshal(b.config())
	must.Succeed(b.t, err)
	g := worktest.NewGrantOf(b.t, worktest.NewHost(), cluster.NewPartitionID("loop", "", key), token,
		work.Definition{Config: config})
	g.Host = h
	return g
}

// start runs a partition until it ends by itself or stop is called, which returns how.
func (b *bed) start(typ rota.Type, g *work.Grant) (stop func() error, ended <-chan error) {
	ctx, cancel := context.WithCancelCause(b.ctx)
	done := make(chan error, 1)
	go func() { done <- worktest.RunContext(ctx, b.t, typ, g) }()
	return func() error {
		cancel(work.CauseMoved)
		return <-done
	}, done
}

// A watcher that was cut between its decision and the end of its split splits for what it has decided, whatever the
// topic has now: the partitions that it has found since are those of the next one.
func TestASplitIsForWhatWasDecided(t *testing.T) {
	b := setup(t, 5, "orders")
	h := worktest.NewHost()
	g := b.grant(h, "orders", 2)
	h.SetPosition(g.Partition, 1, []byte(`{"partitions":3}`))
	must.Succeed(t, worktest.RunContext(b.ctx, t, b.loop(), g))
	var got []string
	for _, c := range h.Children(g.Partition) {
		got = append(got, c.Key+" of "+strings.Join(c.Parents, ","))
	}
	if want := "[orders/0 of orders orders/1 of orders orders/2 of orders orders@3 of orders]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	next := b.grant(h, "orders@3", 3)
	must.Succeed(t, worktest.RunContext(b.ctx, t, b.loop(), next))
	if got := h.Children(next.Partition); len(got) != 3 || got[0].Key != "orders/3" || got[2].Key != "orders@5" {
		t.Errorf("the next one has found %v", got)
	}
	if got := string(h.Position(next.Partition)); got != `{"partitions":5}` {
		t.Errorf("it has decided %s", got)
	}
}

// An owner that was replaced ends when it saves, and has changed nothing.
func TestAnOldTokenEnds(t *testing.T) {
	b := setup(t, 1, "orders")
	b.produce("orders", 0, 5, 0)
	h := worktest.NewHost()
	g := b.grant(h, "orders/0", 3)
	h.SetPosition(g.Partition, 9, []byte(`{"offset":2,"epoch":-1}`))
	_, ended := b.start(b.loop(), g)
	select {
	case err := <-ended:
		if !errors.Is(err, work.ErrToken) {
			t.Errorf("it ended with %v", err)
		}
	case <-b.ctx.Done():
		t.Fatal("it goes on")
	}
	if got := string(h.Position(g.Partition)); got != `{"offset":2,"epoch":-1}` {
		t.Errorf("the position is %s", got)
	}
}

// Without a lease nothing is taken.
func TestWithoutLeaseNothingIsTaken(t *testing.T) {
	b := setup(t, 1, "orders")
	b.produce("orders", 0, 5, 0)
	h := worktest.NewHost()
	h.SetValid(false)
	_, ended := b.start(b.loop(), b.grant(h, "orders/0", 3))
	if err := <-ended; !errors.Is(err, work.CauseLeaseLost) || len(b.taken) != 0 {
		t.Errorf("it ended with %v, and took %v", err, b.taken)
	}
}

// What a loop answers that is not right ends its run, which has saved what is done.
func TestAnswersOfALoop(t *testing.T) {
	for name, c := range map[string]struct { // order-free: each has brokers of its own
		done  int // of 8
		err   error
		words string
		saved string
	}{
		"more than there are": {done: 9, words: "take 8 records: the loop says that 9 are done"},
		"less than none":      {done: -1, words: "take 8 records: the loop says that -1 are done"},
		"fewer, and no error": {done: 5, words: "offset 5: the loop did not, and gave no reason", saved: `"offset":5`},
		"all, and an error":   {done: 8, err: io.EOF, words: "take records up to offset 7: EOF", saved: `"offset":8`},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, 1, "orders")
			b.produce("orders", 0, 8, 0)
			h := worktest.NewHost()
			g := b.grant(h, "orders/0", 3)
			typ := kafka.NewType("loop", kafka.Loop{Options: []kgo.Opt{soon},
				Take: func(context.Context, *rota.Grant, []*kgo.Record) (int, error) { return c.done, c.err }})
			_, ended := b.start(typ, g)
			if err := <-ended; err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("it ended with %v, want %s", err, c.words)
			}
			if got := string(h.Position(g.Partition)); !strings.Contains(got, c.saved) {
				t.Errorf("the position is %s", got)
			}
		})
	}
}

// A store that does not answer for a while costs nothing but time; what was taken meanwhile is saved when it is back,
// or the run ends.
func TestAStoreThatIsAwayForAWhile(t *testing.T) {
	b := setup(t, 1, "orders")
	b.produce("orders", 0, 5, 0)
	h := worktest.NewHost()
	g := b.grant(h, "orders/0", 3)
	stop, ended := b.start(b.loop(), g)
	b.awaitTaken("orders", 5, 0)
	b.await("5 are saved", func() bool { return strings.Contains(string(h.Position(g.Partition)), `"offset":5`) })
	h.Fail(errors.New("the store is away"))
	b.produce("orders", 5, 5, 0)
	b.awaitTaken("orders", 10, 0)
	h.Fail(nil)
	b.await("10 are saved", func() bool { return strings.Contains(string(h.Position(g.Partition)), `"offset":10`) })
	select {
	case err := <-ended:
		t.Fatalf("it ended: %v", err)
	default:
	}
	if err := stop(); !errors.Is(err, work.CauseMoved) {
		t.Errorf("it ended with %v", err)
	}
	b.once()
	if got := h.LastValue(t, "kafka_lag"); got != 0 {
		t.Errorf("the lag is %v", got)
	}
}

// A run that has to end saves what it has taken, though its context has ended and its turn to save has not come.
func TestARunThatEndsSaves(t *testing.T) {
	b := setup(t, 1, "orders")
	b.produce("orders", 0, 8, 0)
	h := worktest.NewHost()
	conf := b.config()
	conf.Save = work.Duration(time.Hour)
	config, err := json.Marshal(conf)
	must.Succeed(t, err)
	g := b.grant(h, "orders/0", 3)
	g.Definition.Config = config
	begun := make(chan struct{})
	typ := kafka.NewType("loop", kafka.Loop{Options: []kgo.Opt{soon},
		Take: func(ctx context.Context, _ *rota.Grant, records []*kgo.Record) (int, error) {
			close(begun)
			<-ctx.Done()
			return 3, context.Cause(ctx) // of 8
		}})
	stop, _ := b.start(typ, g)
	<-begun
	if err := stop(); !errors.Is(err, work.CauseMoved) {
		t.Errorf("it ended with %v", err)
	}
	if got := string(h.Position(g.Partition)); !strings.Contains(got, `"offset":3`) {
		t.Errorf("the position is %s, want 3", got)
	}
}

// A partition to which nothing comes writes nothing.
func TestAQuietPartitionWritesNothing(t *testing.T) {
	b := setup(t, 1, "orders")
	b.produce("orders", 0, 5, 0)
	h := &counting{Host: worktest.NewHost()}
	g := b.grant(h, "orders/0", 3)
	stop, _ := b.start(b.loop(), g)
	b.await("5 are saved", func() bool { return strings.Contains(string(h.Position(g.Partition)), `"offset":5`) })
	saves := h.saves.Load()
	fetches := b.brokers.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Count: -1, Observe: true, TopLevel: true})
	b.await("ten fetches bring nothing", func() bool { return fetches.Hits() >= 10 })
	if got := h.saves.Load(); got != saves {
		t.Errorf("it was saved %d times before and %d times after", saves, got)
	}
	if err := stop(); !errors.Is(err, work.CauseMoved) || h.saves.Load() != saves {
		t.Errorf("it ended with %v, saved %d times", err, h.saves.Load())
	}
}

// Where a partition begins is saved before anything was taken: what comes before the next owner's run is not left out
// by "behind the last record".
func TestTheBeginningIsSaved(t *testing.T) {
	b := setup(t, 1, "orders")
	b.produce("orders", 1000, 5, 0) // not wanted
	h := worktest.NewHost()
	conf := b.config()
	conf.From, conf.Save = kafka.FromEnd, work.Duration(time.Hour)
	config, err := json.Marshal(conf)
	must.Succeed(t, err)
	first, second := b.grant(h, "orders/0", 3), b.grant(h, "orders/0", 4)
	first.Definition.Config, second.Definition.Config = config, config
	stop, _ := b.start(b.loop(), first)
	b.await("it is saved", func() bool { return strings.Contains(string(h.Position(first.Partition)), `"offset":5`) })
	if err := stop(); !errors.Is(err, work.CauseMoved) {
		t.Errorf("it ended with %v", err)
	}
	b.produce("orders", 0, 3, 0)
	stop, _ = b.start(b.loop(), second)
	b.awaitTaken("orders", 3, 0)
	if err := stop(); !errors.Is(err, work.CauseMoved) {
		t.Errorf("it ended with %v", err)
	}
	b.once()
}
