package sync

import (
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/member"
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
		Start: NewState(p), Step: Step, Caller: NewCaller(&calls), Poll: p.Poll, Writer: p.Writer(),
		Watched: func(State) ([]string, bool) { return nil, true },
	}), nil
}

func params(c protocol.Config, nonce string) member.Params {
	p := shell.Params(c, nonce)
	p.Longest = min(longest*c.TTL, p.Longest)
	_, log := c.Store.(store.LogWatcher)
	return p.Hinted(log)
}
