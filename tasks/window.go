package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/work"
)

// windowConfig of window.
type windowConfig struct {
	Size  work.Duration `json:"size"`            // of a window
	Time  string        `json:"time"`            // in CEL: when the segment "it" happened
	Late  work.Duration `json:"late,omitempty"`  // how long a window waits for segments behind its end
	Value string        `json:"value,omitempty"` // in CEL: a number of the segment, of which there are a sum and bounds
}

// windows sums up segments by key and time.
type windows struct {
	size, late  int64 // in ms
	time, value *expression
	by          string
}

func windowSegments() work.Type {
	return work.Type{
		Name: "window", Doc: "sums up segments by key and time",
		Segments: &work.Segments{In: work.AnySegments, Out: work.AnySegments, Keyed: true},
		New: typed(func(c windowConfig, d work.Definition, f *faults) work.Runner {
			w := &windows{size: time.Duration(c.Size).Milliseconds(), late: time.Duration(c.Late).Milliseconds()}
			if w.size < 1 {
				f.add("size", "such as 1m", "give at least 1ms")
			}
			if w.late < 0 {
				f.add("late", "such as 10s", "it is negative")
			}
			w.time = newExpression("time", "it.at", c.Time, f)
			w.time.gives("time", "a time is a number of seconds, or a text such as 2026-01-31T12:00:00Z", f,
				cel.IntType, cel.DoubleType, cel.StringType, cel.TimestampType)
			if c.Value != "" {
				w.value = newExpression("value", "it.size", c.Value, f)
				w.value.gives("value", "a value is a number", f, cel.IntType, cel.DoubleType)
			}
			for _, in := range d.From {
				if w.by = in.By; in.By != d.From[0].By {
					f.add("", "give all of from the same", "the key by is %q for task %s, and %q for task %s",
						d.From[0].By, d.From[0].Task, in.By, in.Task)
				}
			}
			return stage.Keyed{
				Do: func(ctx context.Context, _ *work.Grant, state []byte, in [][]byte, out *stage.Out) ([]byte,
					error) {
					return w.take(ctx, state, in, w.to(out))
				},
				End: func(_ context.Context, _ *work.Grant, state []byte, out *stage.Out) error {
					return w.end(state, w.to(out))
				},
			}
		}),
	}
}

// oldest is before all times, by more than a window can be long.
const oldest = math.MinInt64 / 2

// windowState is what a shard keeps: its open windows, by start and key, and the greatest time seen.
type windowState struct {
	Newest int64  `json:"newest"`
	Open   []span `json:"open"`
}

// span is a window of one key.
type span struct {
	Start int64   `json:"start"` // in ms
	Key   string  `json:"key"`
	Count int64   `json:"count"`
	Sum   float64 `json:"sum,omitempty"`
	Min   float64 `json:"min,omitempty"`
	Max   float64 `json:"max,omitempty"`
}

func (o span) compare(p span) int {
	return cmp.Or(cmp.Compare(o.Start, p.Start), cmp.Compare(o.Key, p.Key))
}

// put puts out a window, or a segment whose window is over.
type put func(o span, late bool) error

// take puts segments into their windows, and puts out those that are over.
func (w *windows) take(ctx context.Context, state []byte, in [][]byte, put put) ([]byte, error) {
	s, err := decodeWindows(state)
	if err != nil {
		return nil, err
	}
	for _, raw := range in {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		one, at, err := w.read(raw)
		if err != nil {
			return nil, err
		}
		if one.Start <= w.over(s.Newest) {
			err = put(one, true)
		} else {
			s.add(one)
			s.Newest = max(s.Newest, at)
			err = s.close(w.over(s.Newest), put)
		}
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(s)
}

// over is the start of the last window that is over.
func (w *windows) over(newest int64) int64 { return newest - w.late - w.size }

// end puts out the windows that are open.
func (w *windows) end(state []byte, put put) error {
	s, err := decodeWindows(state)
	if err != nil {
		return err
	}
	return s.close(math.MaxInt64, put)
}

func decodeWindows(state []byte) (s windowState, err error) {
	s.Newest = oldest
	if len(state) > 0 {
		err = json.Unmarshal(state, &s)
	}
	return s, err
}

// close puts out the windows that start at a time or before it.
func (s *windowState) close(last int64, put put) error {
	for len(s.Open) > 0 && s.Open[0].Start <= last {
		if err := put(s.Open[0], false); err != nil {
			return err
		}
		s.Open = s.Open[1:]
	}
	return nil
}

// add puts a segment into its window.
func (s *windowState) add(one span) {
	i, found := slices.BinarySearchFunc(s.Open, one, span.compare)
	if !found {
		s.Open = slices.Insert(s.Open, i, one)
		return
	}
	o := &s.Open[i]
	o.Count, o.Sum, o.Min, o.Max = o.Count+1, o.Sum+one.Sum, min(o.Min, one.Min), max(o.Max, one.Max)
}

// read is the window of one segment alone, and when it happened.
func (w *windows) read(raw []byte) (one span, at int64, err error) {
	it, err := decodeSegment(raw)
	if err != nil {
		return one, 0, err
	}
	if at, err = w.when(it); err != nil {
		return one, 0, err
	}
	one = span{Start: at - (at%w.size+w.size)%w.size, Count: 1}
	if one.Key, err = stage.Field(raw, w.by); err != nil || w.value == nil {
		return one, at, err
	}
	v, err := w.value.eval(it)
	if err != nil {
		return one, 0, err
	}
	if one.Sum, err = number(v.Value()); err != nil {
		return one, 0, fmt.Errorf("value: %w", err)
	}
	one.Min, one.Max = one.Sum, one.Sum
	return one, at, nil
}

// when is the time of a segment, in ms.
func (w *windows) when(it any) (int64, error) {
	v, err := w.time.eval(it)
	if err != nil {
		return 0, err
	}
	var at time.Time
	switch v := v.(type) {
	case types.Timestamp:
		at = v.Time
	case types.String:
		if at, err = time.Parse(time.RFC3339Nano, string(v)); err != nil {
			return 0, fmt.Errorf("time: %.60q is none such as 2026-01-31T12:00:00Z, and no number of seconds",
				string(v))
		}
	default:
		seconds, err := number(v.Value())
		if err != nil || math.Abs(seconds) > 1e11 {
			return 0, fmt.Errorf("time: %.60v is no number of seconds, and no text such as 2026-01-31T12:00:00Z",
				v.Value())
		}
		at = time.UnixMilli(int64(math.Floor(seconds * 1000)))
	}
	if y := at.Year(); y < 0 || y > 9999 {
		return 0, errors.New("time: the year has more than four digits")
	}
	return at.UnixMilli(), nil
}

func number(v any) (float64, error) {
	switch v := v.(type) {
	case int64:
		return float64(v), nil
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%.60v is no number", v)
}

// to makes segments of windows.
func (w *windows) to(out *stage.Out) put {
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }
	return func(o span, late bool) error {
		v := map[string]any{"key": o.Key, "start": at(o.Start), "end": at(o.Start + w.size), "count": o.Count,
			"late": late}
		if w.value != nil {
			v["sum"], v["min"], v["max"] = o.Sum, o.Min, o.Max
		}
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return out.Send(data, nil)
	}
}
