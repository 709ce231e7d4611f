package protocol_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func TestPlaceHasOneProtocol(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	t.Cleanup(func() { s.Close() })
	ctx := context.Background()
	if name, err := protocol.At(ctx, s); name != "" || err != nil {
		t.Fatalf("an empty place: %q, %v", name, err)
	}
	for range 2 {
		if err := protocol.Claim(ctx, s, "replica"); err != nil {
			t.Fatal(err)
		}
	}
	var other *protocol.OtherProtocolError
	if err := protocol.Claim(ctx, s, "leader"); !errors.As(err, &other) || other.Has != "replica" || other.Asked != "leader" {
		t.Errorf("another protocol: %v", err)
	}
	if name, err := protocol.At(ctx, s); name != "replica" || err != nil {
		t.Errorf("got %q, %v", name, err)
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
		wg.Go(func() { errs[i] = protocol.Claim(context.Background(), s, []string{"replica", "leader"}[i%2]) })
	}
	wg.Wait()
	refused := [2]int{}
	for i, err := range errs {
		if err != nil {
			refused[i%2]++
		}
	}
	if refused[0]+refused[1] != 10 || refused[0]*refused[1] != 0 {
		t.Errorf("refused %d of replica and %d of leader, want all of one and none of the other", refused[0], refused[1])
	}
}

func TestDamagedPlace(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "{}", `{"protocol":""}`, `{"protocol":7}`} {
		s := memory.New().Open()
		if _, err := s.Put(context.Background(), store.Doc{Key: protocol.PlaceKey, Value: []byte(text)}); err != nil {
			t.Fatal(err)
		}
		if err := protocol.Claim(context.Background(), s, "replica"); !errors.Is(err, protocol.ErrPlaceDamaged) {
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
	if err := protocol.Claim(context.Background(), lossy{s}, "replica"); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("got %v, want that the outcome is unknown", err)
	}
	if err := protocol.Claim(context.Background(), lossy{s}, "replica"); err != nil {
		t.Errorf("the second claim: %v", err)
	}
}
