package fold

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/log"
)

// save is the value of an operation that says where all rows are, as they were at an index.
type save struct {
	Index uint64   `json:"index"`
	At    []string `json:"at"`
	Sum   uint32   `json:"sum"` // CRC-32C
}

func sumOf(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// partMost is how many bytes a value of a save has at most.
const partMost = 512 << 10

// startSave saves the rows as they are. s.mu is held.
func (s *Rows) startSave() {
	data, index, before := s.state.encode(), s.state.applied, s.state.saved
	s.due = false
	s.saving = s.life.Begin(func() {
		ctx, leave, err := s.enter(s.life.Ctx)
		if err == nil {
			err = s.save(ctx, data, index, before)
			leave()
		}
		if err != nil && s.life.Ctx.Err() == nil {
			s.o.Logger.Warn("save the rows", "index", index, "err", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.saving = false; s.due {
			s.startSave()
		}
	})
}

// save stores the rows at an index, and frees what no handle needs that is not far behind. before is the save that
// counted then.
func (s *Rows) save(ctx context.Context, data []byte, index, before uint64) error {
	at, err := s.journal.PutValues(ctx, slices.Collect(slices.Chunk(data, min(partMost, s.o.Value))))
	if err != nil {
		return err
	}
	value, err := json.Marshal(save{index, at, sumOf(data)})
	if err != nil {
		return err
	}
	out, err := s.decide(ctx, op{kind: kindSave, name: s.newName(), expect: before, value: value})
	if err != nil || out.err != nil {
		return err // another one counts, and its author frees
	}
	err = s.journal.FreeValues(ctx, at[0])
	if kept := uint64(s.o.SaveEvery); index > kept { //nolint:gosec // positive
		err = errors.Join(err, s.journal.Free(ctx, index-kept))
	}
	return err
}

// load takes the newest save behind an index up to which the journal was freed.
func (s *Rows) load(ctx context.Context, freed uint64) error {
	saves, err := s.saves(ctx, freed)
	if err != nil {
		return err
	}
	for _, v := range slices.Backward(saves) {
		values, err := s.journal.Values(ctx, v.At)
		if err != nil {
			return err
		}
		data := bytes.Join(values, nil)
		if v.Index < freed || sumOf(data) != v.Sum {
			continue // it did not count, and its values were freed
		}
		loaded, err := decodeState(v.Index, data)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if loaded.applied <= s.state.applied {
			break
		}
		loaded.skipped = s.state.skipped
		s.state = loaded
		s.hint("")
		return nil
	}
	return fmt.Errorf("records up to %d are gone, and no save has them: %w", freed, log.ErrDamaged)
}

// saves are those in the journal behind an index, in their order.
func (s *Rows) saves(ctx context.Context, after uint64) (all []save, err error) {
	for {
		records, first, head, err := s.journal.Read(ctx, after, pageSize)
		switch {
		case err != nil:
			return nil, err
		case first > 0 && after < first-1:
			after = first - 1
			continue
		}
		for _, r := range records {
			var v save
			if o, ok := decodeOp(r.Data); ok && o.kind == kindSave && json.Unmarshal(o.value, &v) == nil {
				all = append(all, v)
			}
		}
		if len(records) == 0 || after >= head {
			return all, nil
		}
		after = lastOf(records)
	}
}

func lastOf(records []store.Record) uint64 { return records[len(records)-1].Index }
