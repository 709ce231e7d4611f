package sync

import (
	"context"
	"errors"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/fold"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

// Protocol is sync as one of the ways to agree.
type Protocol struct{}

var (
	_ protocol.Protocol  = Protocol{}
	_ protocol.Historian = Protocol{}
)

var (
	errNoLog   = errors.New("the protocol sync needs a store with a log: kafka has one")
	errNoGroup = errors.New("the protocol sync needs a store with groups, and kafka alone has them: try --protocol replica on this store")
)

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "sync" }

// Fits implements protocol.Protocol: the store needs a log and a group.
func (Protocol) Fits(s protocol.Store) error {
	if _, ok := s.(store.Group); !ok {
		return errNoGroup
	}
	if _, ok := s.(store.Full); !ok {
		return errNoLog
	}
	return nil
}

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) { return New(c) }

// records is the sync topic, decoded.
func records(s protocol.Store) (Records, error) {
	log, ok := s.(store.Full)
	if !ok {
		return Records{}, errNoLog
	}
	return Records{log}, nil
}

// Observe implements protocol.Protocol: it folds the topic to its end.
func (Protocol) Observe(ctx context.Context, s protocol.Store, v cluster.Value) (cluster.Value, error) {
	log, err := records(s)
	if err != nil {
		return v, err
	}
	return fold.Observe(ctx, log, v)
}

// Client implements protocol.Protocol.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	log, err := records(s)
	if err != nil {
		return nil, err
	}
	return &Client{log: log, writer: cluster.WriterID("client-" + shell.Nonce())}, nil
}

// History implements protocol.Historian.
func (Protocol) History(ctx context.Context, s protocol.Store, after cluster.Index, yield func(cluster.Value, protocol.Applied) bool) error {
	log, err := records(s)
	if err != nil {
		return err
	}
	return fold.History(ctx, log, after, yield)
}

// Oldest implements protocol.Historian.
func (Protocol) Oldest(ctx context.Context, s protocol.Store) (cluster.Value, error) {
	log, err := records(s)
	if err != nil {
		return cluster.Value{}, err
	}
	return fold.Oldest(ctx, log)
}
