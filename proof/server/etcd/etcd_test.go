package etcd

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rota-run/rota/internal/proof/must"
)

func TestMain(m *testing.M) {
	if Child() {
		return
	}
	os.Exit(m.Run())
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func connect(t *testing.T, endpoints []string) *clientv3.Client {
	t.Helper()
	c := must.Get(clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()}))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

func put(ctx context.Context, t *testing.T, c *clientv3.Client) {
	t.Helper()
	again(ctx, t, fmt.Sprintf("put through %s", c.Endpoints()),
		func() error { _, err := c.Put(ctx, "a", "b"); return err })
}

// again asks until there is an answer: on a busy machine members may change their leader at any time, and be late.
func again(ctx context.Context, t *testing.T, what string, ask func() error) {
	t.Helper()
	for {
		err := ask()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	c := must.Get(StartCluster(ctx, Options{NoSync: true}))(t)
	defer c.Stop()
	put(ctx, t, connect(t, c.Endpoints()))
	if want := "etcd://" + c.Endpoints()[0]; c.URL("") != want || len(c.Endpoints()) != 1 {
		t.Errorf("URL %s, endpoints %q", c.URL(""), c.Endpoints())
	}
	if n, err := c.Messages(ctx, 0); err != nil || n == 0 {
		t.Errorf("%d messages, %v", n, err)
	}
	c.Stop()
	c.Stop()
}

func TestDataOutlivesAKill(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	c := must.Get(StartCluster(ctx, Options{Dir: t.TempDir(), Nodes: 3, NoSync: true}))(t)
	defer c.Stop()
	for _, e := range c.Endpoints() {
		put(ctx, t, connect(t, []string{e}))
	}
	leader := must.Get(c.Leader(ctx))(t)
	before := c.Endpoints()[leader]
	must.Succeed(t, c.Kill(leader))
	if next, err := c.Leader(ctx); err != nil || next == leader {
		t.Fatalf("leader %d, %v after %d was killed", next, err, leader)
	}
	must.Succeed(t, c.Restart(ctx, leader))
	if c.Endpoints()[leader] != before {
		t.Errorf("the member moved from %s to %s", before, c.Endpoints()[leader])
	}
	member := connect(t, []string{before})
	again(ctx, t, "get from the restarted member", func() error {
		got, err := member.Get(ctx, "a")
		if err == nil && (len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "b") {
			t.Fatalf("get from the restarted member: %v", got)
		}
		return err
	})
	if err := c.Restart(ctx, leader); err == nil {
		t.Errorf("a member that runs was started again")
	}
}
