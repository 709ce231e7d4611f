package operate

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
)

// Inside is the cluster of a member.
func Inside(n *node.Node) Cluster { return inside{n} }

type inside struct{ *node.Node }

func (i inside) Value(context.Context) (cluster.Value, error) { return i.Whole(), nil }

func (i inside) Record(_ context.Context, r journal.Record) error {
	i.Node.Record(r)
	return nil
}

// Client is the cluster of a store, seen by a process that is no member. The store stays the caller's.
type Client struct {
	proto   protocol.Protocol
	docs    protocol.Store
	journal *journal.Docs

	mu   sync.Mutex // one proposal at a time
	jobs protocol.Client
	seen cluster.Value
}

// Outside makes a client of a store, whose members agree by this protocol. It makes no call.
func Outside(proto protocol.Protocol, s protocol.Store, by string) *Client {
	return &Client{proto: proto, docs: s, journal: journal.NewDocs(s, by, 0)}
}

// Value is the cluster as the store has it now.
func (c *Client) Value(ctx context.Context) (cluster.Value, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen.Index() == 0 { // what another protocol has written would be read as nothing, or wrong
		if has, err := protocol.At(ctx, c.docs); err != nil || has.Protocol != "" && has.Protocol != c.proto.Name() {
			return cluster.Value{}, cmp.Or(err, error(&protocol.OtherProtocolError{Has: has.Protocol, Asked: c.proto.Name()}))
		}
	}
	v, err := c.proto.Observe(ctx, c.docs, c.seen)
	if err != nil {
		return cluster.Value{}, fmt.Errorf("read the cluster: %w", err)
	}
	c.seen = v
	return v, nil
}

// lookAgain is between two looks of a client at what a store does not show yet.
const lookAgain = 100 * time.Millisecond

// Changed is closed after a pause: each look reads the store.
func (c *Client) Changed() <-chan struct{} {
	later := make(chan struct{})
	time.AfterFunc(lookAgain, func() { close(later) })
	return later
}

// Propose has the three outcomes of protocol.Client.
func (c *Client) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs == nil {
		jobs, err := protocol.ClientAt(ctx, c.proto, c.docs)
		if err != nil {
			return nil, err
		}
		c.jobs = jobs
	}
	return c.jobs.Propose(ctx, commands...)
}

// Record writes a record to the journal in the store.
func (c *Client) Record(ctx context.Context, r journal.Record) error {
	r.AtMS = time.Now().UnixMilli()
	return c.journal.Append(ctx, r)
}
