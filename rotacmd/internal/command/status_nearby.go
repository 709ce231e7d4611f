package command

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rota-run/rota/rotacmd/internal/nearby"
)

// nearbyWithin is how long the members on this machine are waited for, before the command reads the store itself.
const nearbyWithin = time.Second

// statusNearby shows what a member on this machine says; false if none says anything.
func (o *observer) statusNearby(ctx context.Context) (bool, error) {
	if o.dir == "" {
		return false, nil
	}
	var seen overview
	err := o.lookOn(ctx, false, func(bool) (open []string, err error) {
		seen, err = o.askOverview(ctx)
		return seen.Undecided, err
	})
	if err != nil {
		return false, context.Cause(ctx)
	}
	o.now, seen.Status.Store = time.Now(), o.name // as it was asked for
	return true, o.printOverview(seen)
}

func (o *observer) askOverview(ctx context.Context) (seen overview, err error) {
	ctx, cancel := context.WithTimeout(ctx, nearbyWithin)
	defer cancel()
	answer, err := nearby.Ask(ctx, o.dir, deskPath(saysOverview))
	if err != nil {
		return seen, err
	}
	return seen, json.Unmarshal(answer, &seen)
}
