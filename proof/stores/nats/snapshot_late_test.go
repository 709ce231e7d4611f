package nats_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// TestWhyASaveEnded ends a save that removes its chunks again, since the answer to one did not come in time: the error names that end too.
func TestWhyASaveEnded(t *testing.T) {
	t.Parallel()
	url, b := smallMessages(t, 1), bucket()
	p, door := proxyTo(t, url), backdoorTo(t, b, url)
	past := openWith(t, nats.Options{URLs: []string{url}, Bucket: b})
	through := openWith(t, nats.Options{URLs: []string{"nats://" + p.Addr()}, Bucket: b, Timeout: 2 * time.Second})
	indexes := appendN(t, past, 1)
	rig.Eventually(t, "a save is ended while it tidies up", func() bool { // a busy machine may be too late
		ctx, cancel := context.WithCancelCause(rig.Deadline(t))
		defer cancel(nil)
		p.Delay(20*time.Millisecond, 0) // the save takes long
		saved := make(chan error, 1)
		go func() { saved <- through.SaveSnapshot(ctx, store.Record{Index: indexes[0], Data: noise(1, 500)}) }()
		rig.Eventually(t, "chunks are written", func() bool { return door.chunks(t) > 0 })
		p.StallReplies()
		rig.Eventually(t, "they are removed again", func() bool { return door.chunks(t) == 0 })
		if len(saved) > 0 {
			<-saved
			must.Succeed(t, p.Heal())
			return false
		}
		cancel(stopped{})
		if err := <-saved; !errors.Is(err, stopped{}) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("save: error %v, want the cause too, and nothing unknown", err)
		}
		return true
	})
	must.Succeed(t, p.Heal())
}
