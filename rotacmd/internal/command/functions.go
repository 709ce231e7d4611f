package command

import (
	"context"
	"time"

	"github.com/rota-run/rota/call"
)

// Ping is the argument of the function ping.
type Ping struct {
	Text string `json:"text,omitempty"` // comes back
}

// Pong is its result.
type Pong struct {
	Member  string `json:"member"`
	Version string `json:"version"`
	AtMS    int64  `json:"at_ms"` // by that member's clock
	Text    string `json:"text,omitempty"`
}

// functionsOf are the functions of this binary, for a member that has slots to run them on.
func functionsOf(member string, slots int64) []call.Function {
	if slots <= 0 {
		return nil
	}
	return []call.Function{
		call.NewFunc("ping", func(_ context.Context, p Ping) (Pong, error) {
			return Pong{Member: member, Version: version, AtMS: time.Now().UnixMilli(), Text: p.Text}, nil
		}, call.Options{}),
	}
}

// ownFunctions are those of the program, for a member that has slots to run them on.
func (c *config) ownFunctions() []call.Function {
	if c.node.Slots <= 0 {
		return nil
	}
	return c.own.Functions
}
