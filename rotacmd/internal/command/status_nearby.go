package command

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/rotacmd/internal/nearby"
)

const (
	// nearbyWithin is how long the members on this machine are waited for, before the command reads the store itself.
	nearbyWithin = time.Second
	// nearbySinksWithin is how long their sinks are waited for: one that is suspended says nothing.
	nearbySinksWithin = 200 * time.Millisecond
)

// statusNearby shows what a member on this machine says; false if none says anything.
func (o *observer) statusNearby(ctx context.Context) (bool, error) {
	if o.dir == "" {
		return false, nil
	}
	var view overview
	err := o.lookOn(ctx, false, func(bool) (open []string, err error) {
		view, err = o.askOverview(ctx)
		return view.Undecided, err
	})
	if err != nil {
		return false, context.Cause(ctx)
	}
	o.now, view.Status.Store = time.Now(), o.name // as it was asked for
	return true, o.printOverview(view, o.sinksNearby(ctx))
}

func (o *observer) askOverview(ctx context.Context) (view overview, err error) {
	ctx, cancel := context.WithTimeout(ctx, nearbyWithin)
	defer cancel()
	answer, err := nearby.Ask(ctx, o.dir, deskPath(saysOverview))
	if err != nil {
		return view, err
	}
	return view, json.Unmarshal(answer, &view)
}

// sinksNearby are the sinks of all members on this machine.
func (o *observer) sinksNearby(ctx context.Context) (all []memberSink) {
	ctx, cancel := context.WithTimeout(ctx, nearbySinksWithin)
	defer cancel()
	for _, answer := range nearby.All(ctx, o.dir, deskPath(saysSinks)) {
		var sinks []memberSink
		if json.Unmarshal(answer, &sinks) == nil {
			all = append(all, sinks...)
		}
	}
	slices.SortStableFunc(all, bySinkMember)
	return all
}

func bySinkMember(a, b memberSink) int { return strings.Compare(string(a.Member), string(b.Member)) }
