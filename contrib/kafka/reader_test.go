package kafka

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
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
	former := r.consume(p, position{Offset: 5, Epoch: -1})
	<-s.taken
	former.valve(false) // as if much waited: the next run does not begin so
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
	away := errors.New("no such topic")
	r.deliver(kgo.FetchTopicPartition{Topic: "orders", FetchPartition: kgo.FetchPartition{Partition: -1, Err: away}})
	for b, ok := f.next(); !errors.Is(b.err, away); b, ok = f.next() { // behind the rest of the records
		if !ok {
			t.Fatal("the error of the topic reached nobody")
		}
	}
}

// A position is saved in time, however busy the partition is. A save that failed is tried again, even if no record
// follows.
func TestSavesComeInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, h := worktest.NewGrant(t, work.Definition{})
		c := &consumption{grant: g, config: Config{Save: work.Duration(time.Second)}, due: time.NewTimer(time.Hour)}
		offset := int64(0)
		saved := func() string {
			time.Sleep(700 * time.Millisecond) // waits: in virtual time
			must.Succeed(t, c.saveIfDue(t.Context()))
			return string(h.Position(g.Partition))
		}
		take := func() {
			c.advance([]*kgo.Record{{Offset: offset}})
			offset++
		}
		take()
		first := saved()
		take()
		if second := saved(); first != "" || !strings.Contains(second, `"offset":2`) {
			t.Errorf("saved are %q, then %q", first, second)
		}
		h.Fail(errors.New("the store is away"))
		take()
		saved()
		saved()
		h.Fail(nil)
		saved()
		if got := saved(); !strings.Contains(got, `"offset":3`) {
			t.Errorf("when the store is back %q is saved", got)
		}
		if got := h.LastValue(t, "kafka_records"); got != 1 {
			t.Errorf("%v records were taken since the last save", got)
		}
	})
}

// The valve is shut while there is enough, and opened when all of it was taken.
func TestFeed(t *testing.T) {
	t.Parallel()
	var turns []bool
	f := newFeed(func(open bool) { turns = append(turns, open) })
	for i := range int64(3) {
		if len(turns) != int(i)/most {
			t.Errorf("with %d batches the valve was turned %v", i, turns)
		}
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

func takeNone(context.Context, *rota.Grant, []*kgo.Record) (int, error) { return 0, nil }

func TestParts(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]part{
		"orders":       {topic: "orders", watches: true},
		"orders@12":    {topic: "orders", watches: true, first: 12},
		"orders/0":     {topic: "orders"},
		"a.b_c-D/31":   {topic: "a.b_c-D", number: 31},
		"o@2147483647": {topic: "o", watches: true, first: 2147483647},
	} {
		got, err := parsePart(key)
		if err != nil || got != want || got.key() != key {
			t.Errorf("%s: got %+v (%s), %v, want %+v", key, got, got.key(), err, want)
		}
	}
	for _, key := range []string{"", "/", "@", "o/", "o@", "o/-1", "o/+1", "o/01", "o/1/2", "o/1@2", "o@2147483648",
		"a b", "ä", ".", "..", "s3://x", strings.Repeat("x", 250)} {
		if got, err := parsePart(key); err == nil {
			t.Errorf("%q: got %+v", key, got)
		}
	}
}

// A key that is read is written as it was, but for "orders@0", which nobody writes.
func FuzzParts(f *testing.F) {
	for _, s := range []string{"orders", "orders@12", "orders/7", "o/01", "@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		p, err := parsePart(key)
		if err == nil && p.key() != key && !strings.HasSuffix(key, "@0") {
			t.Errorf("%q is read as %+v and written %q", key, p, p.key())
		}
	})
}

func FuzzPosition(f *testing.F) {
	for _, s := range []string{`{"offset":3,"epoch":1,"topic_id":"x"}`, `{"offset":-1}`, `{"offset":3}`, `{}`, ``, `null`, `[]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodePosition(data)
		if err != nil || p == nil {
			return
		}
		if p.Offset < 0 || !bytes.ContainsAny(data, `pP\`) && p.Epoch != -1 { // an epoch that is not there is not known
			t.Fatalf("%q is read as %+v", data, p)
		}
		again, err := p.encode()
		must.Succeed(t, err)
		if q, err := decodePosition(again); err != nil || *q != *p {
			t.Fatalf("%+v is written %q and read as %+v, %v", p, again, q, err)
		}
	})
}

// An outage is logged once, and its end once. A cancelled request says nothing about the brokers.
func TestAnOutageIsToldOnce(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	o := &outage{log: slog.New(slog.NewTextHandler(&said, nil))}
	refused := errors.New("connection refused")
	for i, err := range []error{context.Canceled, refused, refused, context.Canceled} {
		o.OnBrokerConnect(kgo.BrokerMetadata{}, 0, nil, err)
		if i == 0 && said.Len() > 0 {
			t.Errorf("of a request that was given up: %s", said.String())
		}
	}
	if cause := o.cause(); !errors.Is(cause, refused) {
		t.Errorf("the cause is %v", cause)
	}
	o.OnBrokerConnect(kgo.BrokerMetadata{}, 0, nil, nil)
	o.OnBrokerConnect(kgo.BrokerMetadata{}, 0, nil, nil)
	if lines := strings.Count(said.String(), "\n"); lines != 2 || o.cause() != nil {
		t.Errorf("it said\n%s", said.String())
	}
}
