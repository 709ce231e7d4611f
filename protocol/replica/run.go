package replica

import (
	"path"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/shell"
)

// Replica is one member under this protocol. Its methods may be called from any goroutine; Run once.
type Replica = shell.Member[State]

// New checks the config and makes a member; Run starts it.
func New(c protocol.Config) (*Replica, error) {
	c = shell.Defaults(c)
	if err := shell.Check(c, Protocol{}); err != nil {
		return nil, err
	}
	p := params(c, shell.Nonce())
	return shell.New(c, shell.Machine[State]{
		Start: NewState(p), Step: Step, Caller: &Caller{LogCaller: shell.NewLogCaller(c)}, Poll: p.Poll, Writer: p.Writer(),
		Watched: func(s State) ([]string, bool) { return watched(s, c.NoSessions), true },
	}), nil
}

// watched is the folder of the heartbeat that the member watches, of that member alone: the prefix of a watch ends with a slash.
func watched(s State, noSessions bool) []string {
	if s.watching == "" || noSessions {
		return nil
	}
	return []string{path.Dir(s.watching) + "/"}
}
