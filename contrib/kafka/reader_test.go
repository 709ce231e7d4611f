package kafka

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/internal/proof/must"
)

// stopper holds up polls that have taken records.
type stopper struct {
	taken   chan struct{} // closed when one is held up
	release chan struct{}
	once    sync.Once
}

func (s *stopper) OnFetchRecordUnbuffered(*kgo.Record, bool) {
	s.once.Do(func() { close(s.taken) })
	<-s.release
}

// A fetch that was polled for a run that has left meanwhile is not taken by the next run of the partition, which would
// see a gap.
func TestLateFetchesAreNotTaken(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	must.Succeed(t, err)
	defer c.Close()
	s := &stopper{taken: make(chan struct{}), release: make(chan struct{})}
	shared := &readers{open: map[string]*reader{},
		options: []kgo.Opt{kgo.WithHooks(s), kgo.FetchMaxWait(50 * time.Millisecond)}}
	r, err := shared.take(c.ListenAddrs(), slog.New(slog.DiscardHandler))
	must.Succeed(t, err)
	defer shared.giveBack(r)
	for i := range 10 {
		must.Succeed(t, r.client.ProduceSync(ctx,
			&kgo.Record{Topic: "orders", Value: []byte(strconv.Itoa(i))}).FirstErr())
	}
	p := partition{"orders", 0}
	r.consume(p, position{Offset: 5, Epoch: -1})
	<-s.taken
	left := make(chan struct{})
	go func() {
		defer close(left)
		r.leave(p)
	}()
	select {
	case <-left:
		t.Error("it was left while a fetch was on its way")
	case <-time.After(50 * time.Millisecond):
	}
	close(s.release)
	<-left
	f := r.consume(p, position{Offset: 2, Epoch: -1})
	defer r.leave(p)
	select {
	case <-f.ready:
	case <-ctx.Done():
		t.Fatal("nothing came")
	}
	if b, ok := f.next(); !ok || b.err != nil || b.records[0].Offset != 2 {
		t.Errorf("got %+v, want the record at 2 first", b)
	}
}

// The valve is shut while there is enough, and opened when all of it was taken.
func TestFeed(t *testing.T) {
	t.Parallel()
	var turns []bool
	f := newFeed(func(open bool) { turns = append(turns, open) })
	for i := range int64(3) {
		f.put(batch{end: i})
	}
	for i := range int64(3) {
		<-f.ready
		if b, ok := f.next(); !ok || b.end != i {
			t.Errorf("got %+v, want batch %d", b, i)
		}
	}
	if _, ok := f.next(); ok || len(f.ready) != 0 {
		t.Error("there is a fourth")
	}
	if len(turns) != 2 || turns[0] || !turns[1] {
		t.Errorf("the valve was turned %v", turns)
	}
}
