package leader

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) {
	return shell.New(c, Protocol{}, machine)
}

func machine(c protocol.Config, m member.Params) shell.Machine[State] {
	sessions, ok := c.Store.(store.Sessions)
	_, hints := c.Store.(store.Watcher)
	calls := &Caller{LogCaller: shell.NewLogCaller(c)}
	calls.Tied = Tied(c.Member)
	return shell.Machine[State]{
		Start: NewState(Params{Params: m, Role: Role{
			Offer: 2 * c.TTL, StandBys: cluster.MaxStandBys, Whole: c.Whole, Audit: true, Hints: hints,
			Vanish: hints && ok && !c.NoSessions && sessions.SessionsExpire(),
		}}),
		Step: Step, Caller: calls, Watched: State.Watching,
	}
}
