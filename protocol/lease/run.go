package lease

import (
	"time"

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
	return shell.New(c, shell.Machine[State]{
		Start: NewState(p), Step: Step, Poll: p.Poll,
		Caller: &Caller{
			Member: c.Member, Store: c.Store, TTL: c.TTL, NoSessions: c.NoSessions, Guard: c.Guard, Logger: c.Logger,
			Now: c.Clock, Wall: time.Now,
		},
		Watched: func(s State) ([]string, bool) { return s.watched, false },
	}), nil
}
