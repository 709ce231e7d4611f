package replica

import (
	"context"
	"errors"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/fold"
	"github.com/rota-run/rota/store"
)

// Protocol is replica as one of the ways to agree.
type Protocol struct{}

var (
	_ protocol.Protocol  = Protocol{}
	_ protocol.Historian = Protocol{}
)

var errNoLog = errors.New("the protocol replica needs a store with a log: store/doclog makes one from documents")

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "replica" }

// Fits implements protocol.Protocol: the store needs a log.
func (Protocol) Fits(s protocol.Store) error {
	if _, ok := s.(store.Full); !ok {
		return errNoLog
	}
	return nil
}

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) { return New(c) }

// Observe implements protocol.Protocol: it folds the log to its head.
func (Protocol) Observe(ctx context.Context, s protocol.Store, v cluster.Value) (cluster.Value, error) {
	log, ok := s.(store.Full)
	if !ok {
		return v, errNoLog
	}
	return fold.Observe(ctx, log, v)
}

// Client implements protocol.Protocol.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	log, ok := s.(store.Full)
	if !ok {
		return nil, errNoLog
	}
	return NewClient(log), nil
}

// History implements protocol.Historian.
func (Protocol) History(ctx context.Context, s protocol.Store, after cluster.Index, yield func(cluster.Value, protocol.Applied) bool) error {
	log, ok := s.(store.Full)
	if !ok {
		return errNoLog
	}
	return fold.History(ctx, log, after, yield)
}

// Oldest implements protocol.Historian.
func (Protocol) Oldest(ctx context.Context, s protocol.Store) (cluster.Value, error) {
	log, ok := s.(store.Full)
	if !ok {
		return cluster.Value{}, errNoLog
	}
	return fold.Oldest(ctx, log)
}
