package rota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/work"
)

// Stage is a task type that makes segments of segments: a node of a flow. Do is required.
//
// The segments that a function puts out count once, however often it runs for the same ones: after a crash another
// member does it again.
type Stage[C, In, Out any] struct {
	// Do processes a batch of segments and sends its output. If it fails, nothing that it sent counts. The batch is
	// retried, then its segments one by one, and those that still fail become dead letters.
	Do       func(ctx context.Context, g *Grant, config C, in []In, out *Sender[Out]) error
	Attempts int // how often a batch is tried as a whole; default 3
	In       Codec[In]
	Out      Codec[Out]
}

// Input is a task type that reads segments from outside into a flow. Read is required.
type Input[C, Out any] struct {
	// Read sends the segments behind a position, nil at first, and returns the position behind them; end says that
	// nothing comes after them. About a hundred segments at a time are a good number. What it sends follows from the
	// position: after a crash it is asked for the same one again. An input of a task that has several Parts reads the
	// one that g.Index says, from 0.
	Read func(ctx context.Context, g *Grant, config C, at []byte, out *Sender[Out]) (next []byte, end bool, err error)
	// Ahead is how often Read is called, at most, before what it gave is stored; default 1. 16 is several times as fast
	// on a server, and right for a Read that does not wait for what is not there yet.
	Ahead int
	Out   Codec[Out]
}

// Output is a task type that takes segments out of a flow. Write is required.
type Output[C, In any] struct {
	// Write takes some segments out. It may get the same segments again: after a crash, and when it fails. See
	// [BatchName].
	Write func(ctx context.Context, g *Grant, config C, in []In) error
	// Seal is called when all segments were written; perhaps more than once. nil for nothing to do.
	Seal func(ctx context.Context, g *Grant, config C) error
	// Attempts is how often a batch is tried as a whole, before its segments are tried one by one, each under a name of
	// its own, and become dead letters. Default: a batch is tried until it is written.
	Attempts int
	In       Codec[In]
}

// Sender takes what a stage puts out.
type Sender[T any] struct {
	out   *stage.Out
	codec Codec[T]
	buf   []byte
}

// HasKey is what segments may be that are sharded by a key and have it at hand; without it the key is a field of their
// JSON.
type HasKey interface {
	// Key is the key by the name that the edge has.
	Key(by string) string
}

// Send puts out a segment. It may be changed afterwards.
func (s *Sender[T]) Send(segment T) error {
	var err error
	if s.buf, err = s.codec.Append(s.buf[:0], segment); err != nil {
		return s.out.Fail(fmt.Errorf("encode a segment: %w", err))
	}
	var key stage.Keyer
	if k, ok := any(segment).(HasKey); ok {
		key = func(by string) (string, error) { return k.Key(by), nil }
	}
	return s.out.Send(s.buf, key)
}

// BatchName names the batch that a function works on: the same for everybody who works on it again, and no other batch
// of the task has it. An [Output] that overwrites what it wrote under this name has each segment once.
func BatchName(ctx context.Context) string { return stage.BatchName(ctx) }

// NewStage makes a task type of a stage.
func NewStage[C, In, Out any](name string, s Stage[C, In, Out]) Type {
	in, out := codecOf(s.In), codecOf(s.Out)
	return newSegments(name, work.Segments{In: nameOf[In](), Out: nameOf[Out]()}, s.Do != nil,
		func(config C) work.Runner {
			return stage.Stage{Attempts: s.Attempts,
				Do: func(ctx context.Context, g *Grant, raw [][]byte, o *stage.Out) error {
					segments, err := decodeAll(in, raw)
					if err != nil {
						return err
					}
					return s.Do(ctx, g, config, segments, &Sender[Out]{out: o, codec: out})
				}}
		})
}

// NewInput makes a task type of an input.
func NewInput[C, Out any](name string, i Input[C, Out]) Type {
	codec := codecOf(i.Out)
	return newSegments(name, work.Segments{Out: nameOf[Out]()}, i.Read != nil, func(config C) work.Runner {
		return stage.Input{Ahead: i.Ahead, Read: func(ctx context.Context, g *Grant, at []byte, o *stage.Out) ([]byte,
			bool, error) {
			if len(at) == 0 {
				at = nil
			}
			return i.Read(ctx, g, config, at, &Sender[Out]{out: o, codec: codec})
		}}
	})
}

// NewOutput makes a task type of an output.
func NewOutput[C, In any](name string, o Output[C, In]) Type {
	codec := codecOf(o.In)
	return newSegments(name, work.Segments{In: nameOf[In]()}, o.Write != nil, func(config C) work.Runner {
		s := stage.Stage{Attempts: cmp.Or(o.Attempts, stage.Always),
			Do: func(ctx context.Context, g *Grant, raw [][]byte, _ *stage.Out) error {
				segments, err := decodeAll(codec, raw)
				if err != nil {
					return err
				}
				return o.Write(ctx, g, config, segments)
			}}
		if o.Seal != nil {
			s.Seal = func(ctx context.Context, g *Grant) error { return o.Seal(ctx, g, config) }
		}
		return s
	})
}

func newSegments[C any](name string, segments work.Segments, whole bool, runner func(C) work.Runner) Type {
	return Type{Name: name, Segments: &segments, New: func(d work.Definition) (work.Runner, error) {
		if !whole {
			return nil, fmt.Errorf("task type %s: %w", name, errors.New("its function is missing"))
		}
		var config C
		if err := work.DecodeConfig(d, &config); err != nil {
			return nil, err
		}
		return runner(config), nil
	}}
}

func decodeAll[T any](codec Codec[T], raw [][]byte) ([]T, error) {
	out := make([]T, len(raw))
	for i, b := range raw {
		var err error
		if out[i], err = codec.Decode(b); err != nil {
			return nil, fmt.Errorf("decode a segment: %w", err)
		}
	}
	return out, nil
}

// nameOf is what edges compare to see whether a task takes what another puts out.
func nameOf[T any]() string {
	t := reflect.TypeFor[T]()
	if t.PkgPath() != "" {
		return t.PkgPath() + "." + t.Name()
	}
	return t.String()
}
