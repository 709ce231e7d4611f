package nats_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// limited is a store on a server of its own, with limits.
func limited(t *testing.T, o server.Options) *nats.Store {
	t.Helper()
	o.Dir, o.NoSync = folder(t), true
	c, err := server.Spawn(rig.LongDeadline(t), o)
	must.Succeed(t, err)
	t.Cleanup(c.Stop)
	return openWith(t, nats.Options{URLs: c.URLs(), Bucket: bucket()})
}

// A server without space refuses what a flow puts out: nothing of it is there, and with space it goes on.
func TestQueueWithoutSpace(t *testing.T) {
	t.Parallel()
	s, ctx := limited(t, server.Options{MaxStore: 2 << 20}), rig.LongDeadline(t)
	a, b := store.Shard{Edge: "a"}, store.Shard{Edge: "b"}
	for _, flow := range []string{"ballast@1", "f@2"} {
		must.Succeed(t, s.MakeFlow(ctx, flow, []store.Shard{a, b}))
	}
	data := bytes.Repeat([]byte("x"), 100<<10)
	put := func(flow string, n int) error {
		_, err := s.Commit(ctx, flow, store.Unit{Name: fmt.Sprint("u", n), Outputs: []store.Put{{Shard: a, Segments: 1, Data: data}}})
		return err
	}
	for n := range 8 {
		must.Succeed(t, put("ballast@1", n))
	}
	stored, err := 0, error(nil)
	for ; err == nil && stored < 40; stored++ {
		err = put("f@2", stored)
	}
	stored--
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("after %d messages of 100 KiB in 2 MiB: %v", stored, err)
	}
	if d, err := s.Depth(ctx, "f@2", a); err != nil || d[0].Stored != uint64(stored) { //nolint:gosec // small
		t.Fatalf("the depth is %+v, %v, want %d", d, err, stored)
	}
	must.Succeed(t, s.DropFlow(ctx, "ballast@1"))
	if err := put("f@2", stored); err != nil {
		t.Errorf("with space again: %v", err)
	}
}

// A server that takes only small messages says so: what is too large is not there, and no error that goes away by itself.
func TestQueueOfSmallMessages(t *testing.T) {
	t.Parallel()
	s, ctx := limited(t, server.Options{MaxPayload: 64 << 10}), rig.LongDeadline(t)
	a, b := store.Shard{Edge: "a"}, store.Shard{Edge: "b"}
	must.Succeed(t, s.MakeFlow(ctx, "f@1", []store.Shard{a, b}))
	data := make([]byte, 80<<10)
	u := store.Unit{Name: "u", Outputs: []store.Put{{Shard: a, Data: data[:1000]}, {Shard: b, Data: data}}}
	if _, err := s.Commit(ctx, "f@1", u); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("%d bytes: %v", len(data), err)
	}
	if d, err := s.Depth(ctx, "f@1"); err != nil || d[0].Stored+d[1].Stored > 0 {
		t.Errorf("the depths are %+v, %v", d, err)
	}
}
