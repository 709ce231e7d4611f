package leader

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/fold"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

// Protocol is leader as one of the ways to agree.
type Protocol struct{ fold.Observer[opener] }

var (
	_ protocol.Protocol  = Protocol{}
	_ protocol.Historian = Protocol{}
)

// opener finds the log in the store.
type opener struct{}

func (opener) Log(s protocol.Store) (store.Log, error) { return fold.Full(s, "leader") }

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "leader" }

// Client implements protocol.Protocol.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	full, err := fold.Full(s, "leader")
	if err != nil {
		return nil, err
	}
	return &client{store: full, writer: cluster.WriterID("client-" + shell.Nonce())}, nil
}
