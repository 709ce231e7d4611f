package heartbeat

import (
	"time"

	"github.com/rota-run/rota/protocol"
)

// Asking is the renewal that is under way, if there is one. It is a value.
type Asking struct {
	Busy  bool             // one is under way
	Asked protocol.Instant // when it was asked for
}

// Waited is how long the renewal that is under way has been waiting for its answer; 0 if there is none.
func (a Asking) Waited(now protocol.Instant) time.Duration {
	if !a.Busy {
		return 0
	}
	return now.Sub(a.Asked)
}
