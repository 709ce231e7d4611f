package command

import (
	"context"

	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/store"
)

// overview is what rota status shows to people: as the command itself has found it out, or a member on this machine.
type overview struct {
	Status    view.Status  `json:"status"`
	Unguarded []string     `json:"unguarded"` // members without a guardian that need one, sorted
	Undecided []string     `json:"undecided"` // members of whom another look may tell more, sorted
	Sinks     []memberSink `json:"sinks"`     // of all members
	Head      uint64       `json:"head"`      // the newest index of the log when a member was asked
}

func overviewOf(ctx context.Context, docs store.Docs, w view.Viewer, sight view.Sight) (overview, error) {
	s, err := w.Status(ctx, sight)
	if err != nil {
		return overview{}, err
	}
	sinks, err := sinksOf(ctx, docs, sight.Value())
	return overview{Status: s, Unguarded: sight.Unguarded(), Undecided: undecided(sight, false), Sinks: sinks}, err
}
