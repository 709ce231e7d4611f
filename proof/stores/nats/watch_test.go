package nats_test

import (
	"context"
	"errors"
	"fmt"
	. "github.com/rota-run/rota/store/nats"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestAChangeBesideALostConsumer takes the consumer of a watch away and changes something at the moment in which the watch hears of that: the client makes
// another consumer by itself, which knows only of what comes later.
func TestAChangeBesideALostConsumer(t *testing.T) {
	t.Parallel()
	changeBesideALostConsumer(t, openWith(t, Options{Bucket: bucket()}))
}

func changeBesideALostConsumer(t *testing.T, s *Store) {
	t.Helper()
	for i := range 5 {
		ctx := deadline(t)
		hints, err := s.Watch(ctx, fmt.Sprintf("w%d/", i))
		if err != nil {
			t.Fatal(err)
		}
		wantHint(t, hints, "documents, from the start")
		loseConsumers(ctx, t, s, s.names.below(fmt.Sprintf("w%d/", i)))
		wantHint(t, hints, "documents, as the consumer is lost")
		mustPut(t, s, fmt.Sprintf("w%d/a", i), "x", "")
		wantHint(t, hints, "documents")
	}
}

// loseConsumers takes the consumers of a subject away, at least one. Of those that are listed one may be gone already: a client, and a watch, leave old ones
// behind for a moment.
func loseConsumers(ctx context.Context, t *testing.T, s *Store, subject string) {
	t.Helper()
	stream, err := s.js.Stream(ctx, s.names.docs())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a consumer is taken away", func() bool {
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
