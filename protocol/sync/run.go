package sync

import (
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

// Member is one member under this protocol. Its methods may be called from any goroutine; Run once.
type Member = shell.Member[State]

// New checks the config and makes a member; Run starts it.
func New(c protocol.Config) (*Member, error) {
	c = shell.Defaults(c)
	if err := shell.Check(c, Protocol{}); err != nil {
		return nil, err
	}
	p := params(c, shell.Nonce())
	calls := shell.NewLogCaller(c)
	return shell.New(c, shell.Machine[State]{
		Start: NewState(p), Step: Step, Caller: NewCaller(&calls), Poll: p.Poll, Writer: shell.Writer(c.Member, p.Nonce),
		Watched: func(State) ([]string, bool) { return nil, true },
	}), nil
}

func params(c protocol.Config, nonce string) Params {
	p := Params{
		Join: shell.Join(c), Nonce: nonce, TTL: c.TTL, Longest: min(longest*c.TTL, shell.Longest(c)), Rho: 50, Margin: c.TTL / 20, Poll: min(c.TTL/20, time.Second), Hold: c.Hold, Restart: c.Restart,
		SnapshotEvery: c.SnapshotEvery,
	}
	_, log := c.Store.(store.LogWatcher)
	return p.Hinted(log)
}
