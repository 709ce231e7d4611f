package supervisor_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

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
