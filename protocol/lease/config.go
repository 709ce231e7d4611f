package lease

import (
	"encoding/binary"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

func params(c protocol.Config, nonce string) Params {
	var seed [8]byte
	copy(seed[:], nonce)
	_, hints := c.Store.(store.Watcher)
	return Params{
		Join:  shell.Join(c),
		Nonce: nonce, TTL: c.TTL, Longest: shell.Longest(c), Rho: 50, Margin: c.TTL / 20, Poll: min(c.TTL/20, time.Second), Patience: c.TTL, Hold: c.Hold,
		Polled: !hints,
		Seed:   binary.BigEndian.Uint64(seed[:]),
	}
}
