package leader

import (
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// DivergedError says that the store lost or rewrote part of the log: this member's history and the log's are two.
type DivergedError struct {
	Index  cluster.Index
	Reason string
}

// Error names the place and the reason.
func (e *DivergedError) Error() string {
	return fmt.Sprintf("the log was rewritten at or after index %d: %s", e.Index, e.Reason)
}
