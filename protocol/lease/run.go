package lease

import (
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

// Lease is one member under this protocol. Its methods may be called from any goroutine; Run once.
type Lease = shell.Member[State]

// New checks the config and makes a member; Run starts it.
func New(c protocol.Config) (*Lease, error) {
	c = shell.Defaults(c)
	if err := shell.Check(c, Protocol{}); err != nil {
		return nil, err
	}
	_, hints := c.Store.(store.Watcher)
	p := Params{Params: shell.Params(c, shell.Nonce()), Polled: !hints}
	calls := &Caller{BeatCaller: shell.NewBeatCaller(c)}
	calls.Fenced = true
	return shell.New(c, shell.Machine[State]{
		Start: NewState(p), Step: Step, Poll: p.Poll, Caller: calls,
		Watched: func(s State) ([]string, bool) { return s.watched, false },
	}), nil
}
