//go:build unix

package etcd_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/etcd"
)

// silence is how long a call waits for a sign of life on its connection, as package etcd documents it.
const silence = 3 * time.Second

// TestFrozenMember suspends one of three servers. Its connections stay, and nothing comes over them: the handle must
// notice that by itself and go on with the others, long before gRPC would.
func TestFrozenMember(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		leads bool
		try   func(s *etcd.Store) error
	}{"leader": {true, tryAppend}, "follower": {false, tryAppend}, "follower and short deadlines": {false, tryGet}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, server.Options{Nodes: 3, NoSync: true})
			victim := must.Get(c.Leader(rig.Deadline(t)))(t)
			if !test.leads {
				victim = (victim + 1) % 3
			}
			var log output.Text
			s := openWith(t, etcd.Options{Endpoints: c.Endpoints(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
			must.Succeed(t, c.Pause(victim))
			began := time.Now()
			rig.Eventually(t, "the connection to "+c.Endpoints()[victim]+" is closed", func() bool {
				_ = test.try(s)
				return strings.Contains(log.String(), c.Endpoints()[victim])
			})
			rig.Eventually(t, "an append is acknowledged", func() bool { return tryAppend(s) == nil })
			t.Logf("appends go on after %v", time.Since(began).Round(10*time.Millisecond))
			must.Succeed(t, c.Resume(victim))
			if records(t, s) == 0 {
				t.Error("the log is empty")
			}
		})
	}
}

func tryAppend(s *etcd.Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*silence)
	defer cancel()
	_, err := s.Append(ctx, record)
	return err
}

// tryGet gives up long before a connection counts as silent.
func tryGet(s *etcd.Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), silence/10)
	defer cancel()
	_, err := s.Get(ctx, "a")
	return err
}
