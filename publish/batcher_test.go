package publish_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/publishtest"
)

// plain is a sink without a format.
type plain struct{ s *publishtest.Script }

func (p plain) Send(ctx context.Context, batch []publish.Sample) publish.Outcome {
	m := p.s.Mood()
	if err := p.s.Meet(ctx, m); err != nil {
		return publish.RetryAll(batch, 0, err)
	}
	switch m {
	case publishtest.Refuse:
		return publish.Refuse(batch, errors.New("never"))
	case publishtest.Expel:
		return publish.RefuseLogin(batch, errors.New("who are you"))
	case publishtest.Busy:
		return publish.RetryAll(batch, p.s.Wait(), errors.New("busy"))
	}
	for _, s := range batch {
		p.s.Take(s.Name, s.Points[0].Value)
	}
	if m == publishtest.Lose {
		return publish.RetryAll(batch, 0, publishtest.ErrDown)
	}
	return publish.Outcome{}
}

func (plain) Close() error { return nil }

func TestBatcher(t *testing.T) {
	t.Parallel()
	publishtest.Run(t, publishtest.Rig{Open: func(_ *testing.T, s *publishtest.Script) publish.Sink {
		return plain{s}
	}})
}

// wrong is a sink that breaks its contract.
type wrong func([]publish.Sample) publish.Outcome

func (w wrong) Send(_ context.Context, batch []publish.Sample) publish.Outcome { return w(batch) }
func (wrong) Close() error                                                     { return errors.New("cannot close") }

// then is a sink that has one outcome for each call, and takes everything when they are used up.
func then(outcomes ...func(batch []publish.Sample) publish.Outcome) wrong {
	return func(batch []publish.Sample) publish.Outcome {
		if len(outcomes) == 0 {
			return publish.Outcome{}
		}
		now := outcomes[0]
		outcomes = outcomes[1:]
		return now(batch)
	}
}

func refuse(refused, retry int) func([]publish.Sample) publish.Outcome {
	return func(batch []publish.Sample) publish.Outcome {
		return publish.Outcome{Refused: refused, Retry: batch[len(batch)-retry:]}
	}
}

func expel(batch []publish.Sample) publish.Outcome {
	return publish.RefuseLogin(batch, errors.New("who are you"))
}

func expelOne(batch []publish.Sample) publish.Outcome {
	out := expel(batch)
	out.Refused = 1
	return out
}

func busyForHours(batch []publish.Sample) publish.Outcome {
	return publish.RetryAll(batch, 24*time.Hour, errors.New("busy"))
}

// TestOutcomesAddUp: whatever a sink says of three samples, each of them is counted once.
func TestOutcomesAddUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		send wrong
		want publish.Stats
	}{
		"panics":                    {func([]publish.Sample) publish.Outcome { panic("oh") }, publish.Stats{Dropped: 3, Errors: 1}},
		"too many":                  {then(refuse(9, 0)), publish.Stats{Dropped: 3, Errors: 1}},
		"less than none":            {then(refuse(-9, 0)), publish.Stats{Sent: 3}},
		"more than there are":       {then(refuse(2, 3)), publish.Stats{Sent: 1, Dropped: 2, Errors: 1}},
		"one of each":               {then(refuse(1, 1)), publish.Stats{Sent: 2, Dropped: 1, Errors: 1}},
		"two are tried again":       {then(refuse(0, 2)), publish.Stats{Sent: 3, Errors: 1}},
		"the login, never let in":   {then(expel), publish.Stats{Dropped: 3, Errors: 1}},
		"the login, busy before":    {then(refuse(0, 3), expel), publish.Stats{Dropped: 3, Errors: 2}},
		"the login, refused before": {then(refuse(1, 2), expel), publish.Stats{Dropped: 3, Errors: 2}},
		"the login of one of two":   {then(refuse(0, 2), expelOne), publish.Stats{Sent: 2, Dropped: 1, Errors: 2}},
		"busy until after the end":  {then(busyForHours), publish.Stats{Dropped: 3, Errors: 1}},
		"the login, let in before":  {then(refuse(0, 2), expel, expel), publish.Stats{Sent: 3, Errors: 3}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := publish.NewBatcher("x", c.send, publish.Options{})
			b.Publish(make([]publish.Sample, 3)...)
			ctx, stop := context.WithCancel(t.Context())
			stop()
			if err := b.Run(ctx); err == nil || !strings.Contains(err.Error(), "cannot close") {
				t.Errorf("%s: %v", name, err)
			}
			if got := b.Stats(); got != c.want {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		})
	}
}

// TestTheBackoffBeginsAgain: pauses double while the sink takes nothing, and are short again when it has taken
// something.
func TestTheBackoffBeginsAgain(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var at []time.Time
		said := then(refuse(0, 3), refuse(0, 3), refuse(0, 3), refuse(0, 2), refuse(0, 2))
		b := publish.NewBatcher("x", wrong(func(batch []publish.Sample) publish.Outcome {
			at = append(at, time.Now())
			return said(batch)
		}), publish.Options{RetryMin: time.Second, RetryMax: time.Hour, FlushTimeout: time.Hour})
		b.Publish(make([]publish.Sample, 3)...)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		_ = b.Run(ctx) // it cannot be closed
		for i, most := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, time.Second,
			2 * time.Second} {
			if d := at[i+1].Sub(at[i]); d < most/2 || d > most {
				t.Errorf("pause %d is %v, want between %v and %v", i+1, d, most/2, most)
			}
		}
	})
}

// TestOnlyWhatIsLeftIsSentAgain: of a batch, the sink gets what it has not taken, wherever in the batch that is.
func TestOnlyWhatIsLeftIsSentAgain(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var sent []string
		b := publish.NewBatcher("x", wrong(func(batch []publish.Sample) publish.Outcome {
			names := ""
			for _, s := range batch {
				names += s.Name
			}
			if sent = append(sent, names); len(sent) == 1 {
				return publish.Outcome{Retry: batch[:2], Refused: 1}
			}
			return publish.Outcome{}
		}), publish.Options{})
		b.Publish(publish.Sample{Name: "a"}, publish.Sample{Name: "b"}, publish.Sample{Name: "c"},
			publish.Sample{Name: "d"})
		ctx, stop := context.WithCancel(t.Context())
		stop()
		_ = b.Run(ctx) // it cannot be closed
		if got := strings.Join(sent, " "); got != "abcd ab" {
			t.Errorf("sent %q", got)
		}
	})
}

// patient is a sink that only its own function answers for, and that can be closed.
type patient func(ctx context.Context, batch []publish.Sample) publish.Outcome

func (p patient) Send(ctx context.Context, batch []publish.Sample) publish.Outcome {
	return p(ctx, batch)
}
func (patient) Close() error { return nil }

// run runs a batcher with one sample for so long, in virtual time.
func run(t *testing.T, d time.Duration, o publish.Options, sink patient) publish.Stats {
	t.Helper()
	b := publish.NewBatcher("x", sink, o)
	b.Publish(publish.Sample{Name: "a"})
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	if err := b.Run(ctx); err != nil {
		t.Error(err)
	}
	return b.Stats()
}

// TestASinkMayNotAskForDays: however long a sink asks to wait, the pause is at most ten minutes.
func TestASinkMayNotAskForDays(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		said := then(busyForHours)
		began, took := time.Now(), time.Duration(0)
		run(t, 2*time.Hour, publish.Options{}, func(_ context.Context, batch []publish.Sample) publish.Outcome {
			took = time.Since(began)
			return said(batch)
		})
		if took < 5*time.Minute || took > 10*time.Minute {
			t.Errorf("the next attempt came after %v", took)
		}
	})
}

// TestASinkThatHangsIsAskedAgain: an attempt ends with SendTimeout, also while nobody asks the publisher to end.
func TestASinkThatHangsIsAskedAgain(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		asked := 0
		got := run(t, time.Minute, publish.Options{SendTimeout: 3 * time.Second},
			func(ctx context.Context, batch []publish.Sample) publish.Outcome {
				if asked++; asked > 1 {
					return publish.Outcome{}
				}
				<-ctx.Done()
				return publish.RetryAll(batch, 0, context.Cause(ctx))
			})
		if want := (publish.Stats{Sent: 1, Errors: 1}); got != want || asked != 2 {
			t.Errorf("%+v after %d attempts", got, asked)
		}
	})
}

// TestTheNextRefusedLoginHasItsOwnPatience: a login that was refused long ago, and taken since, is waited for again.
func TestTheNextRefusedLoginHasItsOwnPatience(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		said := then(func([]publish.Sample) publish.Outcome { return publish.Outcome{} }, expel,
			func([]publish.Sample) publish.Outcome { return publish.Outcome{} }, expel)
		b := publish.NewBatcher("x",
			patient(func(_ context.Context, batch []publish.Sample) publish.Outcome { return said(batch) }),
			publish.Options{})
		ctx, stop := context.WithTimeout(t.Context(), 4*time.Hour)
		defer stop()
		for _, at := range []time.Duration{0, time.Hour, 3 * time.Hour} {
			time.AfterFunc(at, func() { b.Publish(publish.Sample{}) })
		}
		if err := b.Run(ctx); err != nil {
			t.Error(err)
		}
		if got, want := b.Stats(), (publish.Stats{Sent: 3, Errors: 2}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// TestASinkThatEndsLeavesTheOthers: one publisher of a fan-out that can take no more costs the others nothing.
func TestASinkThatEndsLeavesTheOthers(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		gone := publish.NewWriter("gone", brokenPipe{io.ErrClosedPipe}, publish.Options{})
		stdout := publish.NewWriter("stdout", brokenPipe{&os.PathError{Err: syscall.EPIPE}}, publish.Options{})
		sent := 0
		good := publish.NewBatcher("good", patient(func(_ context.Context, batch []publish.Sample) publish.Outcome {
			sent += len(batch)
			return publish.Outcome{}
		}), publish.Options{})
		all := publish.Fanout(good, gone, stdout)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		all.Publish(publish.Sample{})
		time.AfterFunc(time.Minute, func() { all.Publish(publish.Sample{}) })
		if err := all.Run(ctx); strings.Count(fmt.Sprint(err), publish.ErrReaderGone.Error()) != 2 ||
			strings.Contains(err.Error(), "good") || sent != 2 {
			t.Errorf("%d were sent, %v", sent, err)
		}
		if got, want := all.Stats(), (publish.Stats{Sent: 2, Dropped: 4, Errors: 2}); got != want ||
			len(publish.Sinks(publish.Named("all", all))) != 3 {
			t.Errorf("together %+v, want %+v", got, want)
		}
		bare := struct{ publish.Publisher }{good} // it does not tell of its sinks
		named := publish.Sinks(publish.Named("mine", bare))
		if got := append(publish.Sinks(bare), named...); len(got) != 2 || got[0].Name != "" || got[1].Name != "mine" ||
			got[0].Sent != 2 || got[1].Sent != 2 {
			t.Errorf("of one that is bare: %+v", got)
		}
	})
}

type brokenPipe struct{ err error }

func (p brokenPipe) Write([]byte) (int, error) { return 0, p.err }

func TestSeriesHasOneForm(t *testing.T) {
	t.Parallel()
	s := publish.Sample{Name: "up", Tags: map[string]string{"b": `q"`, "a": ""}}
	if got, want := s.Series(), `up{"a"="","b"="q\""}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
