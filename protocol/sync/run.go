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
func New(c protocol.Config) (*Member, error) { return shell.New(c, Protocol{}, machine) }

func machine(c protocol.Config, p member.Params) shell.Machine[State] {
	p.Longest = min(longest*c.TTL, p.Longest)
	_, hints := c.Store.(store.LogWatcher)
	calls := shell.NewLogCaller(c)
	return shell.Machine[State]{
		Start: NewState(p.Hinted(hints)), Step: Step, Caller: NewCaller(&calls), Watched: func(State) ([]string, bool) { return nil, true },
	}
}
