package work

import (
	"time"

	"github.com/rota-run/rota/protocol"
)

// processStart is where monotonic begins; a constant of the process.
var processStart = time.Now()

// monotonic is the time since the process started, never zero.
func monotonic() protocol.Instant { return protocol.Instant(time.Since(processStart) + 1) }
