package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
)

// The times of looking for requests: where the store hints, where it does not, and at least between two looks.
const (
	askPoll     = 2 * time.Second
	askPollHint = 20 * time.Second
	askRest     = 200 * time.Millisecond
)

// asks looks for requests for rounds while this member has periodic runs.
type asks struct {
	s    *Supervisor
	docs store.Docs
	wake chan struct{} // there is a new run, or a round was asked for and is over
}

func newAsks(s *Supervisor) *asks {
	return &asks{s: s, docs: s.conf.Positions, wake: make(chan struct{}, 1)}
}

func (a *asks) look() {
	select {
	case a.wake <- struct{}{}:
	default: // it will look
	}
}

// start looks until stop is called.
func (a *asks) start(ctx context.Context) (stop func()) {
	if a.docs == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.run(ctx)
	}()
	return func() { cancel(); <-done }
}

func (a *asks) run(ctx context.Context) {
	var hints <-chan struct{}
	for ctx.Err() == nil {
		var poll <-chan time.Time
		if a.s.pacer.busy() {
			hints, poll = a.hints(ctx, hints)
		}
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-poll:
		case _, open := <-hints:
			if !open {
				hints = nil
			}
		}
		if err := a.take(ctx); err != nil && ctx.Err() == nil {
			a.s.log.Debug("look for rounds that people ask for; it is done again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(askRest):
		}
	}
}

// hints is the store's channel of hints, nil if it has none, and when to look anyway.
func (a *asks) hints(ctx context.Context, hints <-chan struct{}) (<-chan struct{}, <-chan time.Time) {
	if w, ok := a.docs.(store.Watcher); ok && hints == nil {
		hints, _ = w.Watch(ctx, askPrefix) // without it, looking more often does
	}
	if hints != nil {
		return hints, time.After(askPollHint)
	}
	return nil, time.After(askPoll)
}

// take gives each request to the run that it is for.
func (a *asks) take(ctx context.Context) error {
	if !a.s.pacer.busy() {
		return nil
	}
	found, err := a.docs.List(ctx, askPrefix)
	for _, d := range found {
		w, wrong := readAsk(d)
		if wrong != nil {
			err = errors.Join(err, a.refuse(ctx, d, wrong))
			continue
		}
		a.s.mu.Lock()
		r := a.s.live[w.Partition]
		a.s.mu.Unlock()
		if r != nil {
			err = errors.Join(err, a.give(ctx, r, d))
		}
	}
	return err
}

func readAsk(d store.Doc) (askWord, error) {
	var w askWord
	if err := json.Unmarshal(d.Value, &w); err != nil {
		return w, err
	}
	if askKey(w.Partition) != d.Key {
		return w, fmt.Errorf("the document of partition %q has the key %q", w.Partition, askKey(w.Partition))
	}
	return w, nil
}

// refuse removes a document that no owner can read. The member that removed it reports it, so that there is one record.
func (a *asks) refuse(ctx context.Context, d store.Doc, why error) error {
	err := a.docs.Delete(ctx, d.Key, d.Version)
	switch {
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
		return nil
	case err == nil, errors.Is(err, store.ErrUnknown):
		a.s.journal(journal.Record{Kind: journal.Refused,
			Message: fmt.Sprintf("document %q is not a request for a round and was removed: %v; try: rota task trigger TASK", d.Key, why)})
	}
	return err
}

// give has a run begin a round for a request, once: a list may be old, so the document itself decides.
func (a *asks) give(ctx context.Context, r *run, d store.Doc) error {
	if !r.typ.Periodic {
		r.s.journal(journal.Record{Kind: journal.RunError, Partition: string(r.id), Token: uint64(r.token),
			Message: fmt.Sprintf("asked for a round: a task of type %s runs all the time, not in rounds", r.typ.Name)})
		return a.remove(ctx, d.Key, d.Version)
	}
	if !r.paced.Load() {
		return nil // it reads its last round, and looks after that
	}
	e := r.periodic
	if taken, over := a.s.pacer.asked(e, d.Version); over {
		return a.remove(ctx, d.Key, d.Version)
	} else if taken {
		return nil
	}
	now, err := a.docs.Get(ctx, d.Key)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	}
	a.s.pacer.ask(e, now.Version)
	return nil
}

func (a *asks) remove(ctx context.Context, key string, v store.Version) error {
	err := a.docs.Delete(ctx, key, v)
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil // asked once more, or removed before an answer was lost
	}
	return err
}

// busy reports whether there are periodic runs.
func (p *pacer) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, some := p.wheel.next()
	return some
}

// asked reports whether a run knows a request, and whether its round is over.
func (p *pacer) asked(e *periodic, v store.Version) (taken, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return e.asked == v, e.answered == v
}

// ask has a run begin a round that no schedule has planned, before those that it owes; one that waits for a worker is
// that round.
func (p *pacer) ask(e *periodic, v store.Version) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.place == placeGone || e.asked == v || e.run.stopped.Load() {
		return
	}
	e.asked = v
	if e.place == placeQueued {
		e.present.asked = v
		return
	}
	e.extra = &round{due: p.s.clock(), planned: p.s.conf.Wall().UTC(), asked: v, extra: true}
	p.queue(e)
	p.dispatch()
}

// answer notes that the present round is over, and has the request for it removed.
func (e *periodic) answer() {
	v := e.present.asked
	if v == "" {
		return
	}
	p := e.run.s.pacer
	p.mu.Lock()
	e.answered = v
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(e.base, keepWithin)
	defer cancel()
	if err := e.run.s.asks.remove(ctx, askKey(e.run.id), v); err != nil {
		e.run.log().Warn("cannot note that the round that was asked for has run; another owner would run it again",
			"error", err)
		e.run.s.asks.look()
	}
}
