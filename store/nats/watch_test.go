package nats

import (
	"fmt"
	"testing"
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
		stream, err := s.js.Stream(ctx, s.names.docs())
		if err != nil {
			t.Fatal(err)
		}
		for name := range stream.ConsumerNames(ctx).Name() {
			if err := stream.DeleteConsumer(ctx, name); err != nil {
				t.Fatal(err)
			}
		}
		wantHint(t, hints, "documents, as the consumer is lost")
		mustPut(t, s, fmt.Sprintf("w%d/a", i), "x", "")
		wantHint(t, hints, "documents")
	}
}
