package stage

import (
	"context"
	"errors"

	"github.com/rota-run/rota/flow"
	"github.com/rota-run/rota/store"
)

func (w *worker) commit(ctx context.Context, units ...store.Unit) error {
	_, err := w.persist(ctx, units...)
	return err
}

// persist commits, again and again while the store does not take anything or does not answer: to give the messages back would count as one more delivery
// of each, and a message that is delivered too often is taken for one that brings its workers down.
func (w *worker) persist(ctx context.Context, units ...store.Unit) (fresh []bool, err error) {
	for pause := shortest; ; pause = min(2*pause, longest) {
		fresh, err = w.flow.Queue.Commit(ctx, w.flow.Name, units...)
		if w.flow.Ring != nil {
			w.flow.Ring()
		}
		if ctx.Err() != nil || fatal(err) || !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown) {
			return fresh, err
		}
		w.grant.Log.Warn("the flow waits for its store", "error", err)
		if err := w.wait(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// commitAll commits the units of a delivery. Where one is too large for the store, each is tried by itself.
func (w *worker) commitAll(ctx context.Context, units []store.Unit, failed []store.Message) ([]store.Message, error) {
	err := w.commit(ctx, units...)
	if w.input != nil || !errors.Is(err, store.ErrTooLarge) {
		return failed, err
	}
	for _, u := range units {
		err := w.commit(ctx, u)
		if errors.Is(err, store.ErrTooLarge) {
			failed, err = w.tooLarge(ctx, u.Inputs[0], failed, err)
		}
		if err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// tooLarge tries a message again, of which the store does not take what came of it; then it is a dead letter with the reason.
func (w *worker) tooLarge(ctx context.Context, m store.Message, failed []store.Message, cause error) ([]store.Message, error) {
	if flow.FateOf(m.Delivered, w.stage.Attempts) == flow.Together {
		w.grant.Log.Warn("a batch failed and is tried again", "delivered", m.Delivered, "error", cause)
		return append(failed, m), nil
	}
	u, err := w.bury(store.Unit{Inputs: []store.Message{m}}, m, []Letter{batchLetter(m, cause)})
	if err != nil {
		return failed, err
	}
	return failed, w.commit(ctx, u)
}
