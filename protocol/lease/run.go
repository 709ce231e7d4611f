package lease

import (
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
)

// ErrStopped answers proposals of a member that is not running any more; their outcome is unknown.
var ErrStopped = shell.ErrStopped

// Lease is one member under this protocol. Its methods may be called from any goroutine; Run once.
type Lease = shell.Member[State]

// New checks the config and makes a member; Run starts it.
func New(c protocol.Config) (*Lease, error) {
	c = shell.Defaults(c)
	if err := shell.Check(c, Protocol{}); err != nil {
		return nil, err
	}
	p := params(c, shell.Nonce())
	calls := &Caller{BeatCaller: shell.NewBeatCaller(c)}
	calls.Fenced = true
	return shell.New(c, shell.Machine[State]{
		Start: NewState(p), Step: Step, Poll: p.Poll, Caller: calls,
		Watched: func(s State) ([]string, bool) { return s.watched, false },
	}), nil
}
