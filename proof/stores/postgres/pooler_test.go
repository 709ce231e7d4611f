package postgres_test

import (
	"errors"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/postgres"
)

// TestPooler: pgbouncer is refused where it shares the server's processes, and used where it does not; then heartbeats
// judge alone.
func TestPooler(t *testing.T) {
	t.Parallel()
	s := own(t, server.Options{})
	o := on(s)
	openWith(t, o)
	for _, mode := range []string{"transaction", "statement", "session"} {
		t.Run(mode, func(t *testing.T) {
			b, err := s.Bouncer(rig.Deadline(t), mode)
			if _, ok := errors.AsType[*server.MissingError](err); ok {
				t.Skipf("NOT TESTED: %v", err)
			}
			must.Succeed(t, err)
			t.Cleanup(b.Stop)
			o := through(o, b.Addr())
			if mode != "session" {
				for range 5 {
					rig.Refused(t, postgres.Open, o, nil, "pgbouncer", "pool_mode=session")
				}
				return
			}
			st := openWith(t, o)
			hints := must.Get(st.Watch(rig.Deadline(t), ""))(t)
			<-hints
			n := openSession(t, st)
			must.Succeed(t, must.Err(n.Put(rig.Deadline(t), store.Doc{Key: "s"})))
			rig.Hinted(t, hints)
			if n := ties(t, s, o); n != 0 {
				t.Errorf("%d ties behind a pooler, want none", n)
			}
		})
	}
}
