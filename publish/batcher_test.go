package publish_test

import (
	"context"
	"errors"
	"strings"
	"testing"

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
	publishtest.Run(t, publishtest.Rig{Open: func(_ *testing.T, s *publishtest.Script) publish.Sink { return plain{s} }})
}

// wrong is a sink that breaks its contract.
type wrong func([]publish.Sample) publish.Outcome

func (w wrong) Send(_ context.Context, batch []publish.Sample) publish.Outcome { return w(batch) }
func (wrong) Close() error                                                     { return errors.New("cannot close") }

func TestASinkThatIsWrongCostsOnlySamples(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		send wrong
		want publish.Stats
	}{
		"panics":       {func([]publish.Sample) publish.Outcome { panic("oh") }, publish.Stats{Dropped: 3, Errors: 1}},
		"too many":     {func([]publish.Sample) publish.Outcome { return publish.Outcome{Refused: 9} }, publish.Stats{Dropped: 3, Errors: 1}},
		"less than 0":  {func([]publish.Sample) publish.Outcome { return publish.Outcome{Refused: -9} }, publish.Stats{Sent: 3}},
		"part of them": {func([]publish.Sample) publish.Outcome { return publish.Outcome{Refused: 1} }, publish.Stats{Sent: 2, Dropped: 1, Errors: 1}},
	} {
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
	}
}

func TestSeriesHasOneForm(t *testing.T) {
	t.Parallel()
	s := publish.Sample{Name: "up", Tags: map[string]string{"b": `q"`, "a": ""}}
	if got, want := s.Series(), `up{"a"="","b"="q\""}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
