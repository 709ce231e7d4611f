package zookeeper_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/zookeeper"
)

// The nodes below a store's path; see State in the comment of package store/zookeeper.
const (
	rowsNode = "rows"
	headNode = rowsNode + "/+l+main/head"
)

// raw connects the bare client.
func raw(t testing.TB, addrs []string, session time.Duration) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(addrs, session, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	must.Succeed(t, err)
	t.Cleanup(c.Close)
	for ctx := rig.Deadline(t); c.State() != zk.StateHasSession; {
		select {
		case <-events:
		case <-ctx.Done():
			t.Fatalf("connect the bare client to %v: %v", addrs, ctx.Err())
		}
	}
	return c
}

// silent drops what the bare client logs.
type silent struct{}

func (silent) Printf(string, ...any) {}

// nodes looks at a store's nodes, and changes them, as any other client can.
type nodes struct {
	*zk.Conn
	path string // of the store
}

// nodesOf connects to the nodes of the store that o opens.
func nodesOf(t testing.TB, o zookeeper.Options) nodes {
	t.Helper()
	return nodes{raw(t, o.Servers, 10*time.Second), o.Path}
}

// below returns the path of a node of the store.
func (n nodes) below(name string) string { return n.path + "/" + name }

// remove deletes a node, which may be gone already.
func (n nodes) remove(t testing.TB, path string) {
	t.Helper()
	if err := n.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
}

// create makes a node that anybody may change.
func (n nodes) create(t testing.TB, path string, data []byte, flags int32) {
	t.Helper()
	must.Succeed(t, must.Err(n.Create(path, data, flags, zk.WorldACL(zk.PermAll))))
}
