package nats_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// usable waits until a handle's connection is there again.
func usable(t *testing.T, s *nats.Store) {
	t.Helper()
	rig.Eventually(t, "the handle can be used again", func() bool {
		_, err := s.Read(context.Background(), 0, 1)
		return err == nil || errors.Is(err, store.ErrTruncated)
	})
}

// ping is more bytes than a ping of the client or the server has, and fewer than any request or answer.
const ping = 16

// TestOwnTimeout bounds calls whose ctx has no end.
func TestOwnTimeout(t *testing.T) {
	t.Parallel()
	p := proxyTo(t, address)
	through := openWith(t, nats.Options{URLs: []string{"nats://" + p.Addr()}, Bucket: bucket(),
		Timeout: time.Second}) // the client itself gives up a silent server after two seconds, at the earliest
	p.StallReplies()
	_, err := through.Append(context.Background(), nil)
	if !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "within the store's timeout") {
		t.Errorf("append: error %v, want ErrUnknown and the store's timeout", err)
	}
	_, err = through.Get(context.Background(), "a")
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("get: error %v, want ErrUnavailable", err)
	}
}

// TestFullServer appends until the server has no room left.
func TestFullServer(t *testing.T) {
	t.Parallel()
	s := openWith(t, nats.Options{URLs: []string{bare(t,
		&server.Options{JetStream: true, SyncAlways: true, JetStreamMaxStore: 1 << 20, JetStreamMaxMemory: 1 << 20})}})
	data, stored := make([]byte, 64<<10), uint64(0)
	for {
		index, err := s.Append(rig.Deadline(t), data)
		if err == nil {
			stored = index
			continue
		}
		t.Logf("after %d records: %v", stored, err)
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) ||
			!strings.Contains(err.Error(), "no space left") {
			t.Fatalf("append to a full server: %v, want ErrUnavailable", err)
		}
		break
	}
	if page, err := s.Read(rig.Deadline(t), stored, 1); err != nil || page.Head != stored {
		t.Fatalf("head %d, %v; want %d, the last that was acknowledged", page.Head, err, stored)
	}
}
