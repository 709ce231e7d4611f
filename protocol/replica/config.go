package replica

import (
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

func params(c protocol.Config, nonce string) Params {
	p := Params{
		Join:  shell.Join(c),
		Nonce: nonce, TTL: c.TTL, Longest: shell.Longest(c), Rho: 50, Margin: c.TTL / 20, Poll: min(c.TTL/20, time.Second), Hold: c.Hold, Restart: c.Restart, SnapshotEvery: c.SnapshotEvery,
	}
	_, log := c.Store.(store.LogWatcher)
	_, docs := c.Store.(store.Watcher)
	sessions, ok := c.Store.(store.Sessions)
	return p.Hinted(log, docs && !c.NoSessions, ok && !c.NoSessions && sessions.SessionsExpire())
}
