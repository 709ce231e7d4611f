package stage

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/store"
)

func (w *worker) commit(ctx context.Context, units ...store.Unit) error {
	_, err := w.persist(ctx, units...)
	return err
}

// persist commits, again and again while the store does not take anything or does not answer: to give the messages back
// would count as one more delivery of each, and a message that is delivered too often is taken for one that brings its
// workers down.
func (w *worker) persist(ctx context.Context, units ...store.Unit) (fresh []bool, err error) {
	for pause := shortest; ; pause = min(2*pause, longest) {
		fresh, err = w.flow.Queue.Commit(ctx, w.flow.Name, units...)
		if w.flow.Notify != nil {
			w.flow.Notify()
		}
		if ctx.Err() != nil || fatal(err) || !errors.Is(err, store.ErrUnavailable) &&
			!errors.Is(err, store.ErrUnknown) {
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

// tooLarge tries a message again, of which the store does not take what came of it; then it is a dead letter with the
// reason.
func (w *worker) tooLarge(ctx context.Context, m store.Message, failed []store.Message,
	cause error) ([]store.Message, error) {
	if flow.FateOf(m.Delivered, w.stage.Attempts) == flow.Together {
		w.grant.Log.Warn("a batch failed and is tried again", "delivered", m.Delivered, "error", cause)
		return append(failed, m), nil
	}
	return failed, w.commit(ctx, w.bury(store.Unit{Inputs: []store.Message{m}}, m, batchLetter(m, cause)))
}

// MaxOutput is how many bytes one batch may put out, over all edges: what fits into a message on every store.
const MaxOutput = 896 << 10

var errBatch = errors.New("the batch is damaged")

// AppendSegment adds a segment to the data of a message.
func AppendSegment(b, segment []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(segment))), segment...)
}

// SegmentsOf are the segments of a message. They share its memory.
func SegmentsOf(data []byte, n int) ([][]byte, error) {
	out := make([][]byte, 0, n)
	for len(data) > 0 {
		size, k := binary.Uvarint(data)
		if k <= 0 || size > uint64(len(data)-k) {
			return nil, fmt.Errorf("segment %d: %w", len(out), errBatch)
		}
		end := k + int(size) //nolint:gosec // at most the length of data
		out = append(out, data[k:end:end])
		data = data[end:]
	}
	return out, nil
}

// Letter is a dead letter: a segment on which a function failed too often, or a message that could not be worked on as
// a whole.
type Letter struct {
	Error     string `json:"error"`
	Delivered int    `json:"delivered"`         // how often the message was delivered
	Edge      string `json:"edge"`              // where it came from
	Shard     int    `json:"shard"`             //
	Member    string `json:"member"`            // that gave it up
	Text      string `json:"text,omitempty"`    // the segment, if it is text
	Data      []byte `json:"data,omitempty"`    // the segment, if it is not
	Batch     bool   `json:"batch,omitempty"`   // Data are the segments of a whole message
	Segments  int    `json:"segments,omitzero"` // how many
}

// maxError is how much of an error a letter keeps.
const maxError = 2000

func newLetter(segment []byte, cause error) Letter {
	l := Letter{Error: fmt.Sprintf("%.*s", maxError, cause.Error()), Segments: 1}
	if utf8.Valid(segment) {
		l.Text = string(segment)
	} else {
		l.Data = segment
	}
	return l
}

// Message is the segment, or the segments, as the data of a message.
func (l *Letter) Message() []byte {
	switch {
	case l.Batch:
		return l.Data
	case len(l.Data) > 0:
		return AppendSegment(nil, l.Data)
	}
	return AppendSegment(nil, []byte(l.Text))
}

// ReadLetter reads a message of dead letters.
func ReadLetter(data []byte) (Letter, error) {
	var l Letter
	if err := json.Unmarshal(data, &l); err != nil {
		return Letter{}, fmt.Errorf("read a dead letter: %w", err)
	}
	return l, nil
}

// state is the state of a shard: what the function keeps, and which messages are in it, where the queue cannot
// acknowledge them together with it.
type state struct {
	data []byte
	done map[string][]span // by edge, in order
}

// span is messages in a row: one number and all to another.
type span struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

func (s *state) encode() []byte {
	b := AppendSegment(nil, s.data)
	if len(s.done) == 0 {
		return b
	}
	done, _ := json.Marshal(s.done) // never fails
	return AppendSegment(b, done)
}

func decodeState(b []byte) (s state, err error) {
	parts, err := SegmentsOf(b, 2)
	if err != nil || len(parts) > 2 {
		return s, fmt.Errorf("read the state of a shard: %w", cmp.Or(err, errBatch))
	}
	if len(parts) > 0 && len(parts[0]) > 0 {
		s.data = parts[0]
	}
	if len(parts) > 1 {
		if err := json.Unmarshal(parts[1], &s.done); err != nil {
			return s, fmt.Errorf("read which messages are in the state of a shard: %w", errors.Join(errBatch, err))
		}
	}
	return s, nil
}

// has tells whether a message is in the state.
func (s *state) has(m store.Message) bool {
	return slices.ContainsFunc(s.done[m.Shard.Edge],
		func(o span) bool { return o.From <= m.Number && m.Number <= o.To })
}

// note adds a message.
func (s *state) note(m store.Message) {
	if s.has(m) {
		return
	}
	if s.done == nil {
		s.done = make(map[string][]span)
	}
	all := s.done[m.Shard.Edge]
	i, _ := slices.BinarySearchFunc(all, m.Number, func(o span, n uint64) int { return cmp.Compare(o.From, n) })
	all = slices.Insert(all, i, span{m.Number, m.Number})
	if i+1 < len(all) && all[i+1].From == m.Number+1 {
		all[i].To = all[i+1].To
		all = slices.Delete(all, i+1, i+2)
	}
	if i > 0 && all[i-1].To+1 == m.Number {
		all[i-1].To = all[i].To
		all = slices.Delete(all, i, i+1)
	}
	s.done[m.Shard.Edge] = all
}
