package lease

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestViewsOfAnotherLeader: a leader goes by a board that does not tell of the newest views, as one of another leader that was fenced before it wrote the board.
// It meets one of them, and then writes above all. That somebody else was quicker is an answer: the store is not away.
func TestViewsOfAnotherLeader(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	defer docs.Close()
	for n := 11; n < 15; n++ {
		if _, err := docs.Put(context.Background(), store.Doc{Key: fmt.Sprintf("view/%d", n)}); err != nil {
			t.Fatal(err)
		}
	}
	c := &Caller{Store: docs, TTL: time.Second, Logger: slog.New(slog.DiscardHandler), Now: func() protocol.Instant { return 1 }, Wall: time.Now}
	p := newPaper(t)
	s, _ := ruler(t, p)
	p.put(written(keyBoard, "", boardDoc{Term: 1, View: 10}))
	for _, want := range []uint64{11, 15} {
		s.fx = nil
		f := learn(p.all())
		s.publish(f, newPass(f, 0, "pass", ""))
		for _, e := range s.fx {
			show, ok := e.(Show)
			if !ok {
				continue
			}
			if show.View != want {
				t.Errorf("it writes view %d, want %d", show.View, want)
			}
			s.shown(c.Call(context.Background(), show).(Shown))
		}
		if s.contact.Problem != "" {
			t.Errorf("the store counts as away: %s", s.contact.Problem)
		}
	}
	if !s.lead.any {
		t.Error("no view was written")
	}
}
