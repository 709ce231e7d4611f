package leader

import (
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
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
	calls := &Caller{LogCaller: shell.NewLogCaller(c)}
	calls.Tied = Tied(c.Member)
	return shell.New(c, shell.Machine[State]{
		Start: NewState(p), Step: Step, Caller: calls, Poll: p.Poll, Writer: p.Writer(), Watched: State.Watching,
	}), nil
}
