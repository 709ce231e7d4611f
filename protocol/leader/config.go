package leader

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

func params(c protocol.Config, nonce string) Params {
	sessions, ok := c.Store.(store.Sessions)
	_, hints := c.Store.(store.Watcher)
	return Params{
		Member: c.Member,
		Join: Admission{
			Slots: c.Slots, Weight: c.Weight, Capacity: c.Capacity, Labels: c.Labels, Address: c.Address, Version: c.Version,
		},
		Nonce: nonce, TTL: c.TTL, Longest: shell.Longest(c), Rho: 50, Margin: c.TTL / 20, Poll: min(c.TTL/20, time.Second), Hold: c.Hold, Offer: 2 * c.TTL,
		SnapshotEvery: c.SnapshotEvery, StandBys: cluster.MaxStandBys, Whole: c.Whole, Audit: true,
		Hints: hints, Vanish: hints && ok && !c.NoSessions && sessions.SessionsExpire(),
	}
}
