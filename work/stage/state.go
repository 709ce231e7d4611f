package stage

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/store"
)

// state is the state of a shard: what the function keeps, and which messages are in it, where the queue cannot acknowledge them together with it.
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
	return slices.ContainsFunc(s.done[m.Shard.Edge], func(o span) bool { return o.From <= m.Number && m.Number <= o.To })
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
