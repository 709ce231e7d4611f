package fold

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Opener finds the log of a protocol in a store. Its zero value must work.
type Opener interface {
	Log(protocol.Store) (store.Log, error)
}

// Observer gives a protocol with a log its Fits, Observe, History and Oldest: they implement protocol.Protocol and protocol.Historian.
type Observer[O Opener] struct{}

// Fits returns why the store cannot be one of the protocol; nil if it can.
func (Observer[O]) Fits(s protocol.Store) error {
	var o O
	_, err := o.Log(s)
	return err
}

// Observe folds the log to its head.
func (Observer[O]) Observe(ctx context.Context, s protocol.Store, v cluster.Value) (cluster.Value, error) {
	var o O
	log, err := o.Log(s)
	if err != nil {
		return v, err
	}
	return Observe(ctx, log, v)
}

// History yields the applied entries after an index.
func (Observer[O]) History(ctx context.Context, s protocol.Store, after cluster.Index, yield func(cluster.Value, protocol.Applied) bool) error {
	var o O
	log, err := o.Log(s)
	if err != nil {
		return err
	}
	return History(ctx, log, after, yield)
}

// Oldest returns the value before the oldest entry in the log.
func (Observer[O]) Oldest(ctx context.Context, s protocol.Store) (cluster.Value, error) {
	var o O
	log, err := o.Log(s)
	if err != nil {
		return cluster.Value{}, err
	}
	return Oldest(ctx, log)
}

// Full returns the store as one with a log, for the protocol that needs it.
func Full(s protocol.Store, name string) (store.Full, error) {
	if full, ok := s.(store.Full); ok {
		return full, nil
	}
	return nil, fmt.Errorf("the protocol %s needs a store with a log: every store of this module has one", name)
}
