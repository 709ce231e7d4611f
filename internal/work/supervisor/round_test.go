package supervisor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
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
	const cron = 2000 * time.Hour
	for _, ahead := range []time.Duration{2 * time.Hour, 23 * time.Hour, 1000 * time.Hour, cron} {
		synctest.Test(t, func(t *testing.T) {
			o := newOwners(t, map[bool]string{false: `{"every_ms":3600000}`, true: `{"cron":"0 * * * *"}`}[ahead == cron])
			text := fmt.Sprintf(`{"partition":"invoices","token":1,"round_ms":%d}`, time.Now().Add(ahead).UnixMilli())
			must.Succeed(t, must.Err(o.docs.Put(t.Context(), store.Doc{Key: "position/invoices", Value: []byte(text)})))
			o.token = 1
			o.begin()
			time.Sleep(3 * time.Hour)
			synctest.Wait()
			skipped := o.bed.s.Status().Runs[0].Skipped
			o.leave(0)
			if len(o.rounds) != 3 || o.rounds[0] >= "00:01:00" && ahead != cron || skipped != 0 {
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

// TestRoundStories plays testdata/rounds.txt: the owners of a periodic task, one after the other, an act a line.
func TestRoundStories(t *testing.T) {
	t.Parallel()
	for _, story := range stories.Read(t, "testdata/rounds.txt") {
		t.Run(story.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &roundStory{owners: newOwners(t, ""), asked: map[string]supervisor.Ask{}}
				for _, line := range story.Acts {
					act, rest, _ := strings.Cut(line, " ")
					s.play(act, strings.TrimSpace(rest))
				}
			})
		})
	}
}

// roundStory is the owners of a task, and the requests for rounds by name.
type roundStory struct {
	*owners
	asked  map[string]supervisor.Ask
	shown  []store.Doc // requests as a list showed them
	bell   chan struct{}
	loaded []string // positions that rounds have loaded
}

func (s *roundStory) play(act, rest string) {
	s.t.Helper()
	length := func(text string) time.Duration {
		d, err := time.ParseDuration(text)
		must.Succeed(s.t, err)
		return d
	}
	switch act {
	case "task":
		s.definition = rest
	case "hints": // the store tells of what is written
		s.bell = make(chan struct{}, 1)
		s.docs.hints = s.bell
	case "quiet": // until the next hint
		s.docs.locked(func() { s.docs.hints = nil })
	case "hint":
		s.docs.locked(func() { s.docs.hints = s.bell })
		s.bell <- struct{}{}
	case "round":
		s.takes(strings.Fields(rest))
	case "begin":
		s.begin()
	case "sleep":
		time.Sleep(length(rest)) // waits: in virtual time
		synctest.Wait()
	case "leave":
		s.leave(length(rest))
	case "expect": // rounds since the last expect, or none
		var want []string
		if rest != "" {
			want = strings.Split(rest, ", ")
		}
		s.expect(want...)
	case "skipped": // rounds that were left out
		if got := s.bed.s.Status().Runs[0].Skipped; strconv.FormatInt(got, 10) != rest {
			s.t.Errorf("%d rounds were counted as left out, want %s", got, rest)
		}
	case "ask":
		s.asked[rest] = s.ask()
	case "answered", "open":
		for _, name := range strings.Fields(rest) {
			if s.answered(s.asked[name]) != (act == "answered") {
				s.t.Errorf("%s is not %s", name, act)
			}
		}
	case "list":
		var err error
		if s.shown, err = s.docs.List(s.t.Context(), "run-now/"); len(s.shown) != 1 || err != nil {
			s.t.Fatalf("%v, %v", s.shown, err)
		}
	case "stale": // the next list shows what the last one did
		s.docs.locked(func() { s.docs.stale = s.shown })
	case "loaded":
		if got := strings.Join(s.loaded, ","); got != rest {
			s.t.Errorf("positions %s", got)
		}
	default:
		s.t.Fatalf("no act is %q", act)
	}
}

// takes says how rounds end: after a time; stopped by their ctx, with its cause or as if they had brought their work to
// an end; with an error.
func (s *roundStory) takes(how []string) {
	s.round = func(ctx context.Context, g *work.Grant) error {
		switch how[0] {
		case "fails":
			return errors.New("the printer is out of paper")
		case "saves":
			p, err := g.LoadPosition(ctx)
			s.loaded = append(s.loaded, string(p))
			return errors.Join(err, g.SavePosition(ctx, append(p, 'i')))
		case "stops":
			<-ctx.Done()
			return ctx.Err()
		case "finishes":
			<-ctx.Done()
			return nil
		}
		d, err := time.ParseDuration(how[0])
		must.Succeed(s.t, err)
		select {
		case <-time.After(d):
		case <-ctx.Done():
			if len(how) > 1 && how[1] == "stops" {
				return context.Cause(ctx)
			}
		}
		if len(how) > 1 && how[1] == "fails" {
			return errors.New("a round that fails is a round")
		}
		return nil
	}
}
