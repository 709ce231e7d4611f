package lease

import (
	"compress/flate"
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Protocol is lease as one of the ways to agree.
type Protocol struct{}

var _ protocol.Protocol = Protocol{}

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "lease" }

// Fits implements protocol.Protocol: documents are all that it needs.
func (Protocol) Fits(protocol.Store) error { return nil }

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
	for a := (attempt{command: cmd}); ; {
		a = a.begin()
		docs, err := store.GetAll(ctx, c.docs, a.ask)
		if err != nil {
			return cluster.Result{}, err
		}
		c.n++
		a = a.read(docs)
		a = a.decide(learn(a.docs), writer{write: fmt.Sprintf("%s-%d", c.name, c.n), atMS: time.Now().UnixMilli()})
		if a.ask != nil {
			continue
		}
		if !a.over {
			var v store.Version
			if v, err = c.docs.Put(ctx, a.put); outcome(err) == outbox.NotDone {
				return cluster.Result{}, err
			}
			a = a.wrote(outcome(err), v)
		}
		switch {
		case a.over:
			return a.result, a.err
		case err == nil:
			continue
		}
		select {
		case <-ctx.Done():
			return cluster.Result{}, fmt.Errorf("outcome unknown: %w", context.Cause(ctx))
		case <-time.After(clientPause):
		}
	}
}

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) {
	return shell.New(c, Protocol{}, machine)
}

func machine(c protocol.Config, p member.Params) shell.Machine[State] {
	calls := &Caller{BeatCaller: shell.NewBeatCaller(c), Level: flate.BestSpeed}
	calls.Fenced = true
	return shell.Machine[State]{
		Start: NewState(p), Step: Step, Caller: calls,
		Watched: State.Watching,
	}
}

// Value is the newest value that the member has: as the leader it has assembled it, else it is the leader's newest
// view.
func (s State) Value() cluster.Value { return s.value }

// Status is what the member knows of its membership.
func (s State) Status() protocol.Status {
	return protocol.Status{Joined: s.In(), StoreError: s.Contact.Problem, TTLMS: s.Timing.Lengthened(s.StatedTTL()),
		Pending: len(s.queue)}
}

// Assembler assembles values, one after the other.
type Assembler struct{ known *facts }

// Assemble is the value that documents make. It decodes and assembles what has changed since the last one.
func (a *Assembler) Assemble(docs []store.Doc) cluster.Value {
	if a.known == nil {
		a.known = &facts{}
	}
	f := a.known.learn(docs)
	f.assemble(a.known)
	a.known = f
	return f.value()
}
