package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/usercode"
	"github.com/rota-run/rota/store"
)

// failure is the error of a function, as opposed to one of the store.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// apply makes the unit of a message. An error is one of the run, not of a segment.
func (w *worker) apply(ctx context.Context, m store.Message) (store.Unit, error) {
	ctx = named(context.WithValue(ctx, taskKey{}, w.flow.Name+"/"+w.grant.Task), m)
	out := newOut(w.edges, m.Number)
	segments, err := SegmentsOf(m.Data, m.Segments)
	fate := flow.FateOf(m.Delivered, w.stage.Attempts)
	var dead []Letter
	switch {
	case err != nil:
		dead = []Letter{batchLetter(m, err)}
	case fate == flow.Together:
		if err := w.call(ctx, segments, out); err != nil {
			return store.Unit{}, failure{fmt.Errorf("message %d of %s, delivered %d times: %w", m.Number, m.Shard.Edge,
				m.Delivered, err)}
		}
	case fate == flow.OneByOne:
		dead, err = w.oneByOne(ctx, segments, out)
		if err != nil {
			return store.Unit{}, err
		}
	default:
		dead = []Letter{batchLetter(m,
			errors.New("it was delivered too often without an end: its runs were broken off"))}
	}
	if ctx.Err() != nil {
		return store.Unit{}, context.Cause(ctx)
	}
	u := store.Unit{Inputs: []store.Message{m}, Outputs: out.puts()}
	return w.bury(u, m, dead...), nil
}

func batchLetter(m store.Message, cause error) Letter {
	l := newLetter(nil, cause)
	l.Batch, l.Data, l.Segments = true, m.Data, m.Segments
	return l
}

// oneByOne works on each segment by itself. What has failed puts out nothing.
func (w *worker) oneByOne(ctx context.Context, segments [][]byte, out *Out) (dead []Letter, err error) {
	for i, s := range segments {
		one := newOut(w.edges, 0)
		one.beside = out.size
		for i := range one.edges {
			one.edges[i].plain = out.edges[i].plain
		}
		err := w.call(segmentNamed(ctx, i), [][]byte{s}, one)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			dead = append(dead, newLetter(s, err))
			continue
		}
		out.add(one)
	}
	return dead, nil
}

// bury adds dead letters to a unit, behind what is put out.
func (w *worker) bury(u store.Unit, m store.Message, dead ...Letter) store.Unit {
	for _, l := range dead {
		l.Delivered, l.Edge, l.Shard, l.Member = m.Delivered, m.Shard.Edge, m.Shard.Number, string(w.grant.Member)
		data, _ := json.Marshal(l) // never fails
		w.grant.Log.Warn("dead letter", "error", l.Error, "delivered", l.Delivered)
		u.Outputs = append(u.Outputs, store.Put{Shard: store.Shard{Edge: flow.DeadOf(w.grant.Task)},
			Segments: l.Segments, Data: data})
	}
	return u
}

// call calls the function. A panic is an error of the batch.
func (w *worker) call(ctx context.Context, segments [][]byte, out *Out) error {
	if len(segments) == 0 {
		return nil
	}
	do := func() error {
		if err := w.stage.Do(ctx, w.grant, segments, out); err != nil {
			return err
		}
		return out.err
	}
	return usercode.Try(do, func(p *usercode.Panic) {
		w.grant.Log.Error("panic in a stage", "panic", p.Value, "stack", string(p.Stack))
	})
}

// read reads what follows the position in m, up to Ahead times, and makes the unit that stores it together with the
// next position.
func (w *worker) read(ctx context.Context, m store.Message) ([]store.Unit, error) {
	u, at, size := store.Unit{Inputs: []store.Message{m}}, m.Data, 0
	for n := range w.input.Ahead {
		out := newOut(w.edges, m.Number+uint64(n)) //nolint:gosec // not negative
		next, end, err := w.readOnce(ctx, m, at, out, n == 0)
		if n > 0 && (err != nil || size+out.size > MaxOutput || out.count == 0 && !end && string(next) == string(at)) {
			break // it is read again, after what was read before is stored
		}
		if err != nil {
			return nil, err
		}
		u.Outputs, at, size = append(u.Outputs, out.some()...), next, size+out.size
		if end {
			u.Outputs = append(u.Outputs, store.Put{Shard: m.Shard, Seal: true})
			return []store.Unit{u}, nil
		}
		if size+out.size > MaxOutput { // the next one is likely to be as large
			break
		}
	}
	u.Outputs = append(u.Outputs, store.Put{Shard: m.Shard, Data: at})
	return []store.Unit{u}, nil //nolint:nilerr // an error after the first read comes again with the next unit
}

// readOnce reads what follows a position, or waits until there is something.
func (w *worker) readOnce(ctx context.Context, m store.Message, at []byte, out *Out,
	wait bool) (next []byte, end bool, err error) {
	g := *w.grant
	g.Index, g.Count = int64(m.Shard.Number), int64(len(w.in))
	for {
		next, end, err = w.input.Read(ctx, &g, at, out)
		if err == nil {
			err = out.err
		}
		if err != nil {
			return nil, false, failure{fmt.Errorf("read part %d: %w", m.Shard.Number, err)}
		}
		if out.count > 0 || end || string(next) != string(at) || !wait {
			return next, end, nil
		}
		if err := w.wait(ctx, w.input.Poll); err != nil {
			return nil, false, err
		}
	}
}
