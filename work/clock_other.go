//go:build !linux

package work

import "github.com/rota-run/rota/protocol"

// Boottime reads the monotonic clock of the Go runtime. It may stand still while the machine is suspended.
func Boottime() protocol.Instant { return monotonic() }
