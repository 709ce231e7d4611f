package nats_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/nats"
)

// TestAChangeBesideALostConsumer takes the consumer of a watch away and changes something at the moment in which the
// watch notices: the client makes another consumer by itself, which delivers only what comes later.
func TestAChangeBesideALostConsumer(t *testing.T) {
	t.Parallel()
	b := bucket()
	changeBesideALostConsumer(t, openWith(t, nats.Options{Bucket: b}), backdoorTo(t, b))
}

func changeBesideALostConsumer(t *testing.T, s *nats.Store, door backdoor) {
	t.Helper()
	for i := range 5 {
		ctx := rig.Deadline(t)
		hints := must.Get(s.Watch(ctx, fmt.Sprintf("w%d/", i)))(t)
		rig.Hinted(t, hints)
		loseConsumers(ctx, t, door, door.doc(fmt.Sprintf("w%d/", i))+">")
		rig.Hinted(t, hints)
		mustPut(t, s, fmt.Sprintf("w%d/a", i), "x", "")
		rig.Hinted(t, hints)
	}
}

// loseConsumers takes the consumers of a subject away, at least one. Of those that are listed one may be gone already:
// a client, and a watch, leave old ones on the server for a moment.
func loseConsumers(ctx context.Context, t *testing.T, door backdoor, subject string) {
	t.Helper()
	stream := door.stream(t, door.docs())
	rig.Eventually(t, "a consumer is taken away", func() bool {
		lost := 0
		for info := range stream.ListConsumers(ctx).Info() {
			if !slices.Contains(append(info.Config.FilterSubjects, info.Config.FilterSubject), subject) {
				continue
			}
			if err := stream.DeleteConsumer(ctx, info.Name); err == nil {
				lost++
			} else if !errors.Is(err, jetstream.ErrConsumerNotFound) {
				t.Logf("delete consumer %s: %v", info.Name, err) // there may be no leader at the moment
			}
		}
		return lost > 0
	})
}

// TestConsumersGo closes many watches: the server must not keep what they used.
func TestConsumersGo(t *testing.T) {
	t.Parallel()
	b := bucket()
	s, door := openWith(t, nats.Options{Bucket: b}), backdoorTo(t, b)
	consumers := func() int { return door.stream(t, door.log()).CachedInfo().State.Consumers }
	ctx, cancel := context.WithCancel(rig.Deadline(t))
	for range 5 {
		must.Succeed(t, must.Err(s.WatchLog(ctx)))
	}
	rig.Eventually(t, "there are five consumers", func() bool { return consumers() == 5 })
	start := time.Now()
	cancel()
	rig.Eventually(t, "the consumers are gone", func() bool { return consumers() == 0 })
	t.Logf("gone after %v", time.Since(start).Round(time.Millisecond))
}
