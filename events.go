package rota

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/work/supervisor"
)

// Events are optional callbacks of a member. They may be called from any goroutine and must return soon. They are for logs and counters: what must not happen
// twice in a cluster belongs into a task and needs its token.
type Events struct {
	// Owned: this member starts to run a partition, and Lost: its run has ended, whatever the reason. A restart on the same member gives both.
	Owned, Lost func(partition string, token Token)
	// Removed: the others counted this member out. It stops its work and joins again.
	Removed func(reason string)
	// StoreLost is called when the store stops answering, StoreBack when it answers again, with the length of the outage.
	StoreLost func(err error)
	StoreBack func(after time.Duration)
}

func (e Events) node(joined func()) node.Events {
	out := node.Events{
		Joined: func(cluster.Incarnation, time.Duration) { joined() }, Removed: e.Removed, StoreLost: e.StoreLost, StoreBack: e.StoreBack,
	}
	if e.Owned != nil {
		out.Started = func(r supervisor.RunStarted) { e.Owned(string(r.Partition), r.Token) }
	}
	if e.Lost != nil {
		out.Stopped = func(r supervisor.RunStopped) { e.Lost(string(r.Partition), r.Token) }
	}
	return out
}
