package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// RoundTimes are those of a task that runs in rounds, by the wall clocks of its owners.
type RoundTimes struct {
	Last time.Time // for when the last round was planned that is over; zero where none is known
	Next time.Time // for when the next one is planned; zero where that is not known
}

// KeptRounds reads when the last round of a partition was and says when the next one is, in one request. It knows those of a cron line and of periods from
// [KeptFrom] up: the last round of a shorter one is known to the owner alone.
func KeptRounds(ctx context.Context, docs store.Docs, id cluster.PartitionID, spec *cluster.TaskSpec, now time.Time) (RoundTimes, error) {
	d, err := decodeDefinition(spec)
	period := time.Duration(0)
	if err == nil {
		period = millis(min(d.EveryMS, longestRetryMS))
	}
	if err != nil || d.Cron == "" && period < KeptFrom {
		return RoundTimes{}, nil //nolint:nilerr // a definition that cannot be read has no rounds
	}
	doc, err := docs.Get(ctx, positionKey(id))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return RoundTimes{}, fmt.Errorf("read the last round of %s: %w", id, err)
	}
	saved := storedPosition{}
	if err == nil {
		if saved, err = decodePosition(doc); err != nil {
			return RoundTimes{}, err
		}
	}
	return d.rounds(period, saved, now.UTC())
}

func (d *Definition) rounds(period time.Duration, saved storedPosition, now time.Time) (t RoundTimes, err error) {
	if saved.RoundMS != 0 {
		t.Last = time.UnixMilli(saved.RoundMS).UTC()
	}
	switch {
	case d.Cron != "":
		p, err := d.cronPlan()
		if err != nil {
			return RoundTimes{}, err
		}
		if !p.Next(t.Last.Add(-time.Millisecond)).Equal(t.Last) { // nothing has run: it counts from there
			t.Last = time.Time{}
		}
		t.Next = p.Next(now)
	case !t.Last.IsZero():
		t.Next = everyPeriod{from: t.Last, period: period}.Next(later(t.Last, now))
	}
	return t, nil
}
