package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

func (i inside) Record(_ context.Context, records ...journal.Record) error {
	for _, r := range records {
		i.Node.Record(r)
	}
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
			return cluster.Value{}, cmp.Or(err,
				error(&protocol.OtherProtocolError{Has: has.Protocol, Asked: c.proto.Name()}))
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
		at, err := protocol.At(ctx, c.docs)
		if err == nil && at.Protocol == "" && !slices.ContainsFunc(commands, founds) {
			return slices.Repeat([]cluster.Result{{Reason: "there is no cluster here yet"}}, len(commands)), nil
		}
		jobs, err := protocol.ClientAt(ctx, c.proto, c.docs)
		if err != nil {
			return nil, err
		}
		c.jobs = jobs
	}
	return c.jobs.Propose(ctx, commands...)
}

// founds reports whether a command has an effect where nobody has ever joined. Others must not settle by which protocol
// the members will agree.
func founds(c cluster.Command) bool {
	switch c.(type) {
	case cluster.SubmitJob, cluster.Configure:
		return true
	}
	return false
}

// Record writes records to the journal in the store.
func (c *Client) Record(ctx context.Context, records ...journal.Record) error {
	return c.journal.Append(ctx, records...)
}

// Drain moves the tasks of a member away and gives it no more until [Operator.Undrain], also when it restarts.
func (o *Operator) Drain(ctx context.Context, id cluster.MemberID) (Answer, error) {
	a, err := o.ask(ctx, cluster.DrainMember{Member: id, On: true})
	if err != nil {
		return a, err
	}
	if _, err := node.KeepDrained(ctx, o.docs, id, true, o.by); err != nil {
		return Answer{}, fmt.Errorf("it is drained, and forgets that when it restarts: %w", err)
	}
	return a, nil
}

// Undrain gives a drained member tasks again; one that is down takes them when it is back.
func (o *Operator) Undrain(ctx context.Context, id cluster.MemberID) (Answer, error) {
	c := cluster.DrainMember{Member: id}
	agreed := o.propose(ctx, c)
	if agreed != nil && !errors.Is(agreed, ErrRefused) {
		return Answer{}, agreed
	}
	was, err := node.KeepDrained(ctx, o.docs, id, false, o.by) // the cluster has agreed, or does not know the member
	if err != nil {
		return Answer{}, err
	}
	if agreed != nil && !was {
		return Answer{}, agreed
	}
	return o.done(ctx, c), nil
}

// Evict ends a member: it is told, its tasks move away, and its process leaves and ends. It comes back when it is
// started again. A suspended member is told when it resumes, and may run a task for a moment first; others take its
// tasks after its TTL. A member that has announced a restart runs nothing: others take its tasks at once.
func (o *Operator) Evict(ctx context.Context, id cluster.MemberID) (Answer, error) {
	v, err := o.at.Value(ctx)
	if err != nil {
		return Answer{}, err
	}
	said := "evict-member " + string(id)
	switch m, _ := v.Member(id); {
	case m.ID == "":
		return Answer{}, refused(said, "no such member", "rota member list")
	case m.State == cluster.MemberHeld:
		err = o.propose(ctx, cluster.ReleaseHold{Member: id, Incarnation: m.Incarnation})
	default:
		if err = node.KeepEvicted(ctx, o.docs, m, o.by); err == nil { // first: it looks when it is drained
			err = o.propose(ctx, cluster.DrainMember{Member: id, On: true})
		}
	}
	if err != nil {
		return Answer{}, err
	}
	return Answer{Said: said, Changed: true, Unjournaled: o.journal(ctx, "", said)}, nil
}

// Configure changes settings of the cluster, which all members follow.
func (o *Operator) Configure(ctx context.Context, c cluster.Configure) (Answer, error) {
	return o.ask(ctx, c)
}

// Rebalance evens the load of a pinned cluster, once: see [cluster.Rebalance].
func (o *Operator) Rebalance(ctx context.Context) (Answer, error) {
	return o.ask(ctx, cluster.Rebalance{})
}
