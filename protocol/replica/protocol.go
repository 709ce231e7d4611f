package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/fold"
	"github.com/rota-run/rota/store"
)

// Protocol is replica as one of the ways to agree.
type Protocol struct{ fold.Observer[opener] }

var (
	_ protocol.Protocol  = Protocol{}
	_ protocol.Historian = Protocol{}
)

// opener finds the log in the store.
type opener struct{}

func (opener) Log(s protocol.Store) (store.Log, error) { return fold.Full(s, "replica") }

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "replica" }

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) { return New(c) }

// Client implements protocol.Protocol.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	full, err := fold.Full(s, "replica")
	if err != nil {
		return nil, err
	}
	return NewClient(full), nil
}

// NewClient makes a client with a writer ID of its own.
func NewClient(l store.Log) *fold.Client {
	return &fold.Client{Log: l, Encode: func(_ cluster.Value, e cluster.Entry) ([]byte, error) { return e.Encode(), nil }}
}
