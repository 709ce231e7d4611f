package supervisor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// owners are the members that run a periodic partition one after the other, over one store of positions. The clocks of
// a bubble begin at midnight, UTC.
type owners struct {
	t          *testing.T
	docs       *docs
	definition string
	token      cluster.Token
	bed        *bed
	rounds     []string // when each round began, and the time that it was planned for where that is another one
	round      work.RunnerFunc
}

func newOwners(t *testing.T, definition string) *owners {
	return &owners{t: t, docs: newDocs(), definition: definition}
}

// begin gives the partition to a new member.
func (o *owners) begin() {
	o.t.Helper()
	o.token++
	o.bed = newBed(o.t, typeOf(true, func(ctx context.Context, g *work.Grant) error {
		now := time.Now().UTC().Truncate(time.Second)
		told := now.Format("15:04:05")
		if planned := g.Planned.Truncate(time.Second); !planned.Equal(now) {
			told += " for " + planned.Format("15:04:05")
		}
		o.rounds = append(o.rounds, told)
		if o.round != nil {
			return o.round(ctx, g)
		}
		return nil
	}), func(c *supervisor.Config) { c.Positions = o.docs })
	o.bed.give(1000*time.Hour, grant("invoices", o.token, "x", o.definition))
}

// leave ends the member in order, after it has run for a time.
func (o *owners) leave(after time.Duration) {
	o.t.Helper()
	time.Sleep(after) // waits: in virtual time
	synctest.Wait()
	must.Succeed(o.t, o.bed.finish())
}

// expect compares the rounds since it was called last.
func (o *owners) expect(want ...string) {
	o.t.Helper()
	synctest.Wait()
	if !slices.Equal(o.rounds, want) {
		o.t.Errorf("rounds\n%s\nwant\n%s", strings.Join(o.rounds, "\n"), strings.Join(want, "\n"))
	}
	o.rounds = nil
}

// TestAPositionIsTheCallersNoMore: a round saves a position and uses its memory again. What is kept with the round is
// the position as it was saved.
func TestAPositionIsTheCallersNoMore(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		o := newOwners(t, `{"every_ms":3600000}`)
		o.round = func(ctx context.Context, g *work.Grant) error {
			position := []byte("one")
			err := g.SavePosition(ctx, position)
			copy(position, "two")
			return err
		}
		o.begin()
		o.leave(10 * time.Minute)
		var kept struct{ Position []byte }
		must.Succeed(t, json.Unmarshal(o.docs.byID["position/invoices"].Value, &kept))
		if string(kept.Position) != "one" || len(o.rounds) != 1 {
			t.Errorf("after %d rounds the position is %q", len(o.rounds), kept.Position)
		}
	})
}

func TestTheNextOwnerRunsTheNextRound(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		o := newOwners(t, `{"every_ms":3600000}`)
		o.begin()
		o.leave(10 * time.Minute)
		if len(o.rounds) != 1 || o.rounds[0] >= "00:01:00" {
			t.Fatalf("a new job has its first round within a minute: %v", o.rounds)
		}
		first := o.rounds[0][2:]
		o.expect(o.rounds[0])
		for range 4 { // moves within the hour
			o.begin()
			o.leave(10 * time.Minute)
		}
		o.expect()
		o.begin()
		o.leave(2 * time.Hour)
		o.expect("01"+first, "02"+first)
	})
}

func TestAnExtraRoundIsTheOnlyPriceOfAShortPeriod(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		o := newOwners(t, `{"every_ms":59000}`)
		o.begin()
		o.leave(10 * time.Minute)
		if len(o.rounds) < 10 || o.docs.puts != 0 {
			t.Fatalf("%d rounds, %d writes", len(o.rounds), o.docs.puts)
		}
	})
}

// A store that answers badly costs no round and brings none twice.
func TestNoRoundBeginsBeforeTheLastOneIsKnown(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		o := newOwners(t, `{"cron":"0 * * * *"}`)
		o.begin()
		o.leave(time.Hour + time.Minute)
		o.expect("01:00:00")
		o.docs.onGet = func() error { return errors.New("no route") }
		o.begin()
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		o.expect()
		if r := o.bed.records; len(r) != 1 || r[0].Kind != journal.RunError ||
			!strings.Contains(r[0].Message, "no route") {
			t.Errorf("journal: %+v", r)
		}
		o.docs.locked(func() { o.docs.onGet = nil })
		time.Sleep(time.Minute)
		if synctest.Wait(); len(o.rounds) != 1 {
			t.Errorf("a minute after the store came back, rounds are %v", o.rounds)
		}
		o.docs.locked(func() { o.docs.fault = func(int) (bool, error) { return true, store.ErrUnknown } })
		o.leave(time.Hour)
		o.docs.fault = nil
		o.begin()
		o.leave(30 * time.Minute)
		if len(o.rounds) != 2 || !strings.HasSuffix(o.rounds[0], " for 02:00:00") || o.rounds[1] != "03:00:00" {
			t.Errorf("rounds %v", o.rounds)
		}
	})
}

// A last round by a clock that was ahead of this one silences nothing, and nothing is made up for.
func TestALastRoundByAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{2 * time.Hour, 23 * time.Hour, 1000 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			o := newOwners(t, `{"every_ms":3600000}`)
			text := fmt.Sprintf(`{"partition":"invoices","token":1,"round_ms":%d}`, time.Now().Add(ahead).UnixMilli())
			must.Succeed(t, must.Err(o.docs.Put(t.Context(), store.Doc{Key: "position/invoices", Value: []byte(text)})))
			o.token = 1
			o.begin()
			time.Sleep(3 * time.Hour)
			synctest.Wait()
			skipped := o.bed.s.Status().Runs[0].Skipped
			o.leave(0)
			if len(o.rounds) != 3 || o.rounds[0] >= "00:01:00" || skipped != 0 {
				t.Errorf("%v ahead: rounds %v, %d left out", ahead, o.rounds, skipped)
			}
		})
	}
}

// Rounds that fail and succeed in turn make at most two records a minute.
func TestRoundsThatFailInTurn(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		n := 0
		b := newBed(t, typeOf(true, func(context.Context, *work.Grant) error {
			if n++; n%2 == 0 {
				return errors.New("down")
			}
			return nil
		}), nil)
		b.give(1000*time.Hour, grant("a", 1, "x", `{"every_ms":1000}`))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := len(b.records); n < 590 || got < 2 || got > 20 {
			t.Errorf("%d records of %d rounds in ten minutes", got, n)
		}
	})
}

// A wall clock that is set back does not silence a period, and one that is set forward does not repeat rounds.
func TestAPeriodOutlivesAWrongWallClock(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var n atomic.Int64
		var jump time.Duration
		b := newBed(t, typeOf(true, func(context.Context, *work.Grant) error { n.Add(1); return nil }),
			func(c *supervisor.Config) {
				c.Wall = func() time.Time { return time.Now().Add(jump) }
			})
		b.give(1000*time.Hour, grant("a", 1, "x", `{"every_ms":60000}`))
		for _, to := range []time.Duration{0, -5 * time.Hour, -48 * time.Hour, 48 * time.Hour} {
			b.locked(func() { jump = to })
			before := n.Load()
			time.Sleep(time.Hour)
			synctest.Wait()
			if got := n.Load() - before; got < 58 || got > 62 {
				t.Errorf("after the clock was set to %v: %d rounds in an hour", to, got)
			}
		}
	})
}
