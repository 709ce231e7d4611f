package leader

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

func params(c protocol.Config, nonce string) Params {
	sessions, ok := c.Store.(store.Sessions)
	_, hints := c.Store.(store.Watcher)
	return Params{
		Params: shell.Params(c, nonce),
		Role: Role{
			Offer: 2 * c.TTL, StandBys: cluster.MaxStandBys, Whole: c.Whole, Audit: true, Hints: hints,
			Vanish: hints && ok && !c.NoSessions && sessions.SessionsExpire(),
		},
	}
}
