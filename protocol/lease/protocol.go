package lease

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

// Protocol is lease as one of the ways to agree.
type Protocol struct{}

var _ protocol.Protocol = Protocol{}

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "lease" }

// Fits implements protocol.Protocol: documents are all that it needs.
func (Protocol) Fits(protocol.Store) error { return nil }

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) { return New(c) }

// Observe implements protocol.Protocol: it assembles all documents.
func (Protocol) Observe(ctx context.Context, s protocol.Store, _ cluster.Value) (cluster.Value, error) {
	docs, _, err := surveyAll(ctx, s, []string{keyConfig, keyNodes}, asListed)
	if err != nil {
		return cluster.Value{}, fmt.Errorf("read the documents: %w", err)
	}
	f := learn(docs)
	for _, d := range docs {
		if err := f.problem(d.Key); err != nil {
			return cluster.Value{}, err
		}
	}
	return f.value(), nil
}

// Client implements protocol.Protocol.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	return &client{docs: s, name: "client-" + shell.Nonce()}, nil
}

// client decides commands without being a member.
type client struct {
	docs store.Docs
	name string
	n    uint64
}

// clientPause is between two attempts of a client.
const clientPause = 100 * time.Millisecond

// Propose implements protocol.Client.
func (c *client) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	out := make([]cluster.Result, len(commands))
	for i, cmd := range commands {
		if err := cluster.CheckCommand(cmd); err != nil {
			return nil, fmt.Errorf("propose: %w", err)
		}
		var err error
		if out[i], err = c.propose(ctx, cmd); err != nil {
			return nil, fmt.Errorf("propose: %w", err)
		}
	}
	return out, nil
}

func (c *client) propose(ctx context.Context, cmd cluster.Command) (cluster.Result, error) {
	var index cluster.Index
	var lost *verdict // the write of which the outcome is unknown
	var proved string // the document that was written last
	for {
		docs, err := c.read(ctx, cmd)
		if err != nil {
			return cluster.Result{}, err
		}
		v := c.decide(cmd, docs, index, proved)
		for v.more != nil {
			more, err := store.GetAll(ctx, c.docs, v.more)
			if err != nil {
				return cluster.Result{}, err
			}
			docs = append(docs, more...)
			v = c.decide(cmd, docs, index, proved)
		}
		if lost != nil && landed(*lost, docs) {
			v = *lost
			d := renamed(*v.put, c.write())
			v.put = &d
		} else if v.err != nil || v.put == nil {
			return v.result, v.err
		}
		_, err = c.docs.Put(ctx, *v.put)
		lost = nil
		switch o := outcome(err); {
		case o == Done && v.index != 0:
			index = v.index
		case o == Done && v.again:
			proved = v.put.Key
		case o == Done:
			return v.result, nil
		case o == Unknown:
			lost = &v
		case o == NotDone:
			return cluster.Result{}, err
		}
		if err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return cluster.Result{}, fmt.Errorf("outcome unknown: %w", context.Cause(ctx))
		case <-time.After(clientPause):
		}
	}
}

func (c *client) read(ctx context.Context, cmd cluster.Command) ([]store.Doc, error) {
	return store.GetAll(ctx, c.docs, needs(cmd))
}

func (c *client) decide(cmd cluster.Command, docs []store.Doc, index cluster.Index, proved string) verdict {
	return decide(cmd, learn(docs), writer{write: c.write(), proved: proved, index: index, atMS: time.Now().UnixMilli()})
}

// write names the next write.
func (c *client) write() string {
	c.n++
	return fmt.Sprintf("%s-%d", c.name, c.n)
}

// landed tells whether a write of unknown outcome is what was read, and takes over the version that it has.
func landed(v verdict, docs []store.Doc) bool {
	i := slices.IndexFunc(docs, func(d store.Doc) bool { return d.Key == v.put.Key && string(d.Value) == string(v.put.Value) })
	if i >= 0 {
		v.put.Version = docs[i].Version
	}
	return i >= 0
}
