package replica

import (
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

func params(c protocol.Config, nonce string) Params {
	p := Params{Params: shell.Params(c, nonce)}
	_, log := c.Store.(store.LogWatcher)
	_, docs := c.Store.(store.Watcher)
	sessions, ok := c.Store.(store.Sessions)
	return p.Hinted(log, docs && !c.NoSessions, ok && !c.NoSessions && sessions.SessionsExpire())
}
