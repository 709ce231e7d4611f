package rota

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/work"
)

// NewType makes a task type of a function and its config, which is decoded from the task's definition; fields that C
// does not have are refused. The function works until it is finished (nil), fails (an error: it is tried again after a
// pause) or ctx ends.
func NewType[C any](name string, run func(ctx context.Context, g *Grant, config C) error) Type {
	return Type{Name: name, New: func(d work.Definition) (work.Runner, error) {
		var c C
		if err := work.DecodeConfig(d, &c); err != nil {
			return nil, err
		}
		return work.RunnerFunc(func(ctx context.Context, g *Grant) error { return run(ctx, g, c) }), nil
	}}
}

// NewCheck is NewType for a function that is called once per Task.Every.
func NewCheck[C any](name string, round func(ctx context.Context, g *Grant, config C) error) Type {
	t := NewType(name, round)
	t.Periodic = true
	return t
}

// Codec says how segments of a type are written.
type Codec[T any] interface {
	// Append adds the bytes of a segment to b.
	Append(b []byte, segment T) ([]byte, error)
	// Decode reads a segment. It may keep b, which nobody else has.
	Decode(b []byte) (T, error)
}

// jsonCodec is the codec of types that name no other.
type jsonCodec[T any] struct{}

func (jsonCodec[T]) Append(b []byte, segment T) ([]byte, error) {
	data, err := json.Marshal(segment)
	return append(b, data...), err
}

func (jsonCodec[T]) Decode(b []byte) (segment T, err error) {
	err = json.Unmarshal(b, &segment)
	return segment, err
}

// bytesCodec takes bytes as they are.
type bytesCodec struct{}

func (bytesCodec) Append(b []byte, segment []byte) ([]byte, error) { return append(b, segment...), nil }
func (bytesCodec) Decode(b []byte) ([]byte, error)                 { return b, nil }

// codecOf is the codec that was given, or the usual one of the type.
func codecOf[T any](given Codec[T]) Codec[T] {
	if given != nil {
		return given
	}
	if c, ok := any(bytesCodec{}).(Codec[T]); ok {
		return c
	}
	return jsonCodec[T]{}
}

// Keyed is a task type that makes segments of segments and keeps state: counts, sums, the newest of each key. Its task
// says keyed: true, and each of its edges has a key, so that segments with equal keys meet in one shard. One worker at
// a time has a shard, and its state is stored together with what came of the segments: each segment is in the state
// once. Do is required.
type Keyed[C, In, Out, S any] struct {
	// Do works on some segments of one shard, changes its state, and sends what comes of them. Where it fails, the
	// state is as before.
	Do func(ctx context.Context, g *Grant, config C, state *S, in []In, out *Sender[Out]) error
	// End is called when all segments of a shard are in its state. What it sends counts once. nil for nothing to do.
	End      func(ctx context.Context, g *Grant, config C, state *S, out *Sender[Out]) error
	Attempts int // as of a Stage
	In       Codec[In]
	Out      Codec[Out]
	State    Codec[S] // of what is stored: a few hundred KB at most
}

// NewKeyed makes a task type of a stage that keeps state.
func NewKeyed[C, In, Out, S any](name string, k Keyed[C, In, Out, S]) Type {
	in, out, states := codecOf(k.In), codecOf(k.Out), codecOf(k.State)
	return newSegments(name, work.Segments{In: nameOf[In](), Out: nameOf[Out](), Keyed: true}, k.Do != nil,
		func(config C) work.Runner {
			r := stage.Keyed{Attempts: k.Attempts}
			r.Do = func(ctx context.Context, g *Grant, before []byte, raw [][]byte, o *stage.Out) ([]byte, error) {
				state, err := stateOf(states, before)
				if err != nil {
					return nil, err
				}
				segments, err := decodeAll(in, raw)
				if err != nil {
					return nil, err
				}
				if err := k.Do(ctx, g, config, &state, segments, &Sender[Out]{out: o, codec: out}); err != nil {
					return nil, err
				}
				return states.Append(nil, state)
			}
			if k.End != nil {
				r.End = func(ctx context.Context, g *Grant, last []byte, o *stage.Out) error {
					state, err := stateOf(states, last)
					if err != nil {
						return err
					}
					return k.End(ctx, g, config, &state, &Sender[Out]{out: o, codec: out})
				}
			}
			return r
		})
}

// stateOf is the state in b, and a new one where there is none.
func stateOf[S any](codec Codec[S], b []byte) (state S, err error) {
	if len(b) == 0 {
		return state, nil
	}
	if state, err = codec.Decode(b); err != nil {
		return state, fmt.Errorf("decode the state: %w", err)
	}
	return state, nil
}
