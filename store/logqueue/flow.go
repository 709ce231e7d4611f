package logqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

// flow is a flow as one handle sees it: its log, and the state up to where it was read.
type flow struct {
	journal Journal

	reading sync.Mutex // of who reads
	read    uint64     // guarded by reading

	mu    sync.Mutex
	state state
	began time.Time               // when the last read to the end that is through began
	waits map[string]chan outcome // by the IDs of operations whose author waits
}

func newFlow(j Journal) *flow { return &flow{journal: j, waits: make(map[string]chan outcome)} }

// page is how many records one read asks for.
const page = 1000

// refresh reads to the end: all that was in the log when the call began. Those who wait for a read that begins later share it.
func (f *flow) refresh(ctx context.Context) error {
	asked := time.Now()
	f.reading.Lock()
	defer f.reading.Unlock()
	f.mu.Lock()
	fresh := f.began.After(asked)
	f.mu.Unlock()
	if fresh {
		return nil
	}
	began := time.Now()
	for {
		p, err := f.journal.Read(ctx, f.read, page)
		if err != nil {
			return err
		}
		f.add(p.Records)
		if f.read >= p.Head || len(p.Records) == 0 {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.began = began
	return nil
}

// add applies records, and answers their authors.
func (f *flow) add(records []store.Record) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range records {
		f.read = r.Index
		op, err := decode(r.Data)
		if err != nil {
			f.state.skipped++
			continue
		}
		out := f.state.apply(op, now)
		if wait, ok := f.waits[op.ID]; ok {
			delete(f.waits, op.ID)
			wait <- out
		}
	}
}

// decide appends an operation and returns what was decided at its place.
func (f *flow) decide(ctx context.Context, op operation) (outcome, error) {
	data, err := encode(op)
	if err != nil {
		return outcome{}, err
	}
	wait := make(chan outcome, 1)
	f.mu.Lock()
	f.waits[op.ID] = wait
	f.mu.Unlock()
	defer f.forget(op.ID)
	if _, err := f.journal.Append(ctx, data); err != nil {
		return outcome{}, err
	}
	for {
		if err := f.refresh(ctx); err != nil {
			return outcome{}, unknown(err)
		}
		select {
		case out := <-wait:
			return out, nil
		default:
		}
		if ctx.Err() != nil {
			return outcome{}, unknown(context.Cause(ctx))
		}
	}
}

func (f *flow) forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waits, id)
}

// unknown is the outcome of an operation that was appended, where it could not be read.
func unknown(err error) error {
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%w: it was appended, and cannot be read: %w", store.ErrUnknown, err)
}

// find is the place of a shard.
func (f *flow) find(s store.Shard) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.find(s)
}
