package lease

import (
	"encoding/binary"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

func params(c protocol.Config, nonce string) Params {
	var seed [8]byte
	copy(seed[:], nonce)
	_, hints := c.Store.(store.Watcher)
	return Params{
		Params: shell.Params(c, nonce), Polled: !hints, Seed: binary.BigEndian.Uint64(seed[:]),
	}
}
