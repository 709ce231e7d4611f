package lease

import (
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) {
	return shell.New(c, Protocol{}, machine)
}

func machine(c protocol.Config, p member.Params) shell.Machine[State] {
	_, hints := c.Store.(store.Watcher)
	calls := &Caller{BeatCaller: shell.NewBeatCaller(c)}
	calls.Fenced = true
	return shell.Machine[State]{
		Start: NewState(Params{Params: p, Polled: !hints}), Step: Step, Caller: calls,
		Watched: func(s State) ([]string, bool) { return s.watched, false },
	}
}
