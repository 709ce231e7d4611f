package protocol_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestNowGoesOn(t *testing.T) {
	t.Parallel()
	a := protocol.Now()
	for range 1_000_000 {
		if b := protocol.Now(); b > a {
			return
		} else if b < a {
			t.Fatalf("the clock went from %d back to %d", a, b)
		}
	}
	t.Fatal("the clock stands still")
}

// claimed tells what came of a claim: "", or which other protocol or queue the place has.
func claimed(t *testing.T, docs store.Docs, name, queue string) string {
	t.Helper()
	err := protocol.Claim(t.Context(), docs, protocol.Place{Protocol: name, Queue: queue})
	var p *protocol.OtherProtocolError
	var q *protocol.OtherQueueError
	switch {
	case errors.As(err, &p) && p.Asked == name:
		return p.Has
	case errors.As(err, &q) && q.Asked == queue:
		return q.Has
	case err != nil:
		t.Fatal(err)
	}
	return ""
}

// Whoever writes first sets the protocol, and the first member the queue: a submission does not say where flows are.
func TestWhatAPlaceHasInCommon(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	t.Cleanup(func() { s.Close() })
	if at, err := protocol.At(t.Context(), s); at != (protocol.Place{}) || err != nil {
		t.Fatalf("an empty place: %q, %v", at, err)
	}
	for _, c := range []struct{ name, queue, other, has string }{
		{"replica", "", "", "replica "},
		{"leader", "", "replica", "replica "},
		{"leader", "nats://q/x", "replica", "replica "},
		{"replica", "nats://q/x", "", "replica nats://q/x"},
		{"replica", protocol.OwnQueue, "nats://q/x", "replica nats://q/x"},
		{"replica", "nats://q/x", "", "replica nats://q/x"},
		{"replica", "", "", "replica nats://q/x"},
	} {
		if got := claimed(t, s, c.name, c.queue); got != c.other {
			t.Errorf("claim %q, %q: the place has %q, want %q", c.name, c.queue, got, c.other)
		}
		if at, err := protocol.At(t.Context(), s); at.Protocol+" "+at.Queue != c.has || err != nil {
			t.Errorf("after the claim of %q, %q: %q, %v", c.name, c.queue, at, err)
		}
	}
}

// Of members that start at once with two queues, those of one are refused, whoever has set the protocol.
func TestTwoQueuesAtOnce(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{false, true} {
		m := memory.New()
		if first {
			claimed(t, m.Open(), "replica", "")
		}
		var wg sync.WaitGroup
		refused := make([]string, 20)
		for i := range refused {
			s := m.Open()
			t.Cleanup(func() { s.Close() })
			wg.Go(func() { refused[i] = claimed(t, s, "replica", []string{"a", "b"}[i%2]) })
		}
		wg.Wait()
		at := must.Get(protocol.At(t.Context(), m.Open()))(t)
		for i, other := range refused {
			if mine := []string{"a", "b"}[i%2]; (mine == at.Queue) != (other == "") || other != "" &&
				other != at.Queue {
				t.Errorf("the place has %q, and a member with %q heard %q", at.Queue, mine, other)
			}
		}
	}
}

// Of members that start at once under two protocols, those of one are refused.
func TestTwoProtocolsAtOnce(t *testing.T) {
	t.Parallel()
	m := memory.New()
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		s := m.Open()
		t.Cleanup(func() { s.Close() })
		wg.Go(func() {
			errs[i] = protocol.Claim(context.Background(), s,
				protocol.Place{Protocol: []string{"replica", "leader"}[i%2]})
		})
	}
	wg.Wait()
	refused := [2]int{}
	for i, err := range errs {
		if err != nil {
			refused[i%2]++
		}
	}
	if refused[0]+refused[1] != 10 || refused[0]*refused[1] != 0 {
		t.Errorf("refused %d of replica and %d of leader, want all of one and none of the other", refused[0],
			refused[1])
	}
}

func TestDamagedPlace(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "{}", `{"protocol":""}`, `{"protocol":7}`} {
		s := memory.New().Open()
		must.Succeed(t, must.Err(s.Put(context.Background(), store.Doc{Key: protocol.PlaceKey, Value: []byte(text)})))
		if err := protocol.Claim(context.Background(), s, protocol.Place{Protocol: "replica"}); !errors.Is(err,
			protocol.ErrPlaceDamaged) {
			t.Errorf("%q: %v", text, err)
		}
		s.Close()
	}
}

// lossy makes the outcome of each put unknown, after it was stored.
type lossy struct{ store.Docs }

func (l lossy) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if _, err := l.Docs.Put(ctx, d); err != nil {
		return "", err
	}
	return "", store.ErrUnknown
}

func TestUnknownOutcomeOfAClaim(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	t.Cleanup(func() { s.Close() })
	if err := protocol.Claim(context.Background(), lossy{s}, protocol.Place{Protocol: "replica"}); !errors.Is(err,
		store.ErrUnknown) {
		t.Fatalf("got %v, want that the outcome is unknown", err)
	}
	if err := protocol.Claim(context.Background(), lossy{s}, protocol.Place{Protocol: "replica"}); err != nil {
		t.Errorf("the second claim: %v", err)
	}
}

// overtaken lets others write before the first put.
type overtaken struct {
	store.Docs
	others protocol.Place
	puts   *int
}

func (o overtaken) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if *o.puts++; *o.puts == 1 {
		if err := protocol.Claim(ctx, o.Docs, o.others); err != nil {
			return "", err
		}
	}
	return o.Docs.Put(ctx, d)
}

// TestAClaimThatIsOvertaken looks again: who claimed the same is no obstacle.
func TestAClaimThatIsOvertaken(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	t.Cleanup(func() { s.Close() })
	docs := overtaken{s, protocol.Place{Protocol: "replica"}, new(int)}
	if got := claimed(t, docs, "replica", "nats://q/x"); got != "" {
		t.Errorf("the place has %q", got)
	}
	if at, err := protocol.At(t.Context(), s); at != (protocol.Place{Protocol: "replica", Queue: "nats://q/x"}) ||
		err != nil {
		t.Errorf("the place has %+v, %v", at, err)
	}
}

// TestSegment: an ID becomes a part of a key, and no two become the same.
func TestSegment(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for id, want := range map[cluster.PartitionID]string{ // order-free: each is judged alone
		"a.b_c-1": "a.b_c-1", "a/b": "a=2Fb", "a#b": "a#b", "\n": "=0A", "=0A": "=3D0A",
		cluster.PartitionID(long): long,
	} {
		if got := protocol.Segment(id, "#"); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
	if one, other := protocol.Segment(cluster.PartitionID(long+"1"), ""),
		protocol.Segment(cluster.PartitionID(long+"2"), ""); len(one) != 65 || one[0] != '@' || one == other {
		t.Errorf("long IDs become %s and %s", one, other)
	}
	if got := protocol.Segment(cluster.PartitionID(strings.Repeat("/", 100)), ""); got[0] != '@' {
		t.Errorf("an ID that becomes long is %s", got)
	}
}

// TestALeaseIsLookedAt by who asks for its end, until it has ended.
func TestALeaseIsLookedAt(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	looks := 0
	l := protocol.Leased{Context: ctx, Look: func() { looks++; end() }}
	<-l.Done()
	if l.Err() == nil || looks != 1 {
		t.Errorf("it was looked at %d times: %v", looks, l.Err())
	}
	synctest.Test(t, func(t *testing.T) {
		if now := protocol.NewProcessClock()(); now == 0 {
			t.Error("a clock begins at the instant that says that there is none")
		}
	})
}
