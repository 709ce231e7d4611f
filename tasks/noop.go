package tasks

import (
	"context"

	"github.com/rota-run/rota/work"
)

// noopConfig of noop: emit asks for a sample noop.rounds of 1 per round.
type noopConfig struct {
	Emit bool `json:"emit"`
}

func (o Options) noop() work.Type {
	return work.Type{
		Name: "noop", Doc: "does nothing (for load tests)", Periodic: true, DefaultEvery: defaultEvery,
		New: func(d work.Definition) (work.Runner, error) {
			var c noopConfig
			if err := decode(d, &c); err != nil {
				return nil, err
			}
			return work.RunnerFunc(c.run), nil
		},
	}
}

func (c noopConfig) run(_ context.Context, g *work.Grant) error {
	if c.Emit {
		g.Value("noop.rounds", 1, nil)
	}
	return nil
}
