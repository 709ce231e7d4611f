package nats_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// TestRequests counts what calls send, alone and where the server is one of several.
func TestRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open func(r *relay) *nats.Store
		want map[string]int
	}{
		"one server": {
			func(r *relay) *nats.Store { return r.open(t, nats.Options{Bucket: bucket()}) },
			map[string]int{"get": 1, "trim": 2, "snapshot": 2, "save": 5},
		},
		"one of three": {
			func(r *relay) *nats.Store { return r.openInCluster(t, bucket()) },
			map[string]int{"get": 2, "trim": 3, "snapshot": 3, "save": 6},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRelay(t)
			s, ctx := c.open(r), rig.Deadline(t)
			before := r.requests()
			there(t, s, "sent")
			probe := r.requests() - before // what sent asks after the calls
			owner, beside := newSession(t, s, time.Hour), newSession(t, s, time.Hour)
			mustPut(t, beside, "s/2", "x", "")
			var v, w store.Version
			var index uint64
			for _, call := range []struct {
				name string
				do   func() error
				want int
			}{
				{"create", func() (err error) { v, err = s.Put(ctx, store.Doc{Key: "a"}); return err }, 1},
				{"update", func() (err error) { v, err = s.Put(ctx, store.Doc{Key: "a", Version: v}); return err }, 1},
				{"get", func() error { _, err := s.Get(ctx, "a"); return err }, c.want["get"]},
				{"delete", func() error { return s.Delete(ctx, "a", v) }, 1},
				{"heartbeat", func() (err error) { w, err = owner.Put(ctx, store.Doc{Key: "s/1"}); return err }, 1},
				{"heartbeat again", func() (err error) {
					w, err = owner.Put(ctx, store.Doc{Key: "s/1", Version: w})
					return err
				}, 1},
				{"heartbeat with another",
					func() error { _, err := beside.Put(ctx, store.Doc{Key: "s/3"}); return err }, 2},
				{"append", func() (err error) { index, err = s.Append(ctx, []byte("x")); return err }, 1},
				{"read of the newest record", func() error { _, err := s.Read(ctx, 0, 100); return err }, 1},
				{"look without news", func() error { _, err := s.Read(ctx, index, 100); return err }, 1},
				{"save", func() error { return s.SaveSnapshot(ctx, store.Record{Index: index, Data: []byte("x")}) },
					c.want["save"]},
				{"snapshot", func() error { _, err := s.Snapshot(ctx); return err }, c.want["snapshot"]},
				{"trim", func() error { return s.Trim(ctx, index) }, c.want["trim"]},
			} {
				sent := r.sent(t, s, func() { must.Succeed(t, call.do()) }) + 1 - probe
				if t.Logf("%s: %d", call.name, sent); sent != call.want {
					t.Errorf("%s sent %d requests, want %d", call.name, sent, call.want)
				}
			}
		})
	}
}
