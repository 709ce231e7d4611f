package replica

import (
	"path"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Protocol is replica as one of the ways to agree.
type Protocol struct{ fold.Observer[opener] }

var (
	_ protocol.Protocol  = Protocol{}
	_ protocol.Historian = Protocol{}
)

// opener finds the log in the store.
type opener struct{}

func (opener) Log(s protocol.Store) (store.Log, error) { return fold.Full(s, "replica") }

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "replica" }

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) {
	return shell.New(c, Protocol{}, machine)
}

// Client implements protocol.Protocol.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	log, err := opener{}.Log(s)
	if err != nil {
		return nil, err
	}
	return NewClient(log), nil
}

// NewClient makes a client with a writer ID of its own.
func NewClient(l store.Log) *fold.Client {
	return &fold.Client{Log: l, Encode: func(_ cluster.Value, e cluster.Entry) ([]byte, error) {
		return e.Encode(), nil
	}}
}

func machine(c protocol.Config, p member.Params) shell.Machine[State] {
	return shell.Machine[State]{
		Start: NewState(p), Step: Step, Caller: NewCaller(shell.NewLogCaller(c)),
		Watched: func(s State) ([]string, bool) { return watched(s, c.NoSessions), true },
	}
}

// watched is the folder of the heartbeat that the member watches, of that member alone: the prefix of a watch ends with
// a slash.
func watched(s State, noSessions bool) []string {
	if s.watching == "" || noSessions {
		return nil
	}
	return []string{path.Dir(s.watching) + "/"}
}
