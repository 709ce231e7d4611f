package logqueue_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/storetest"
)

// handle is one of several on a store that keeps data beside its logs, so that these are kept until their flow is
// dropped.
type handle struct {
	*full.Bare
	logs *logs
}

// logs is the driver of a handle.
type logs struct {
	drivermap.Keeping
	away  atomic.Bool // neither logs nor data can be read
	first []byte      // what is in a log before the handle uses it
}

// keeper is a log with data.
type keeper interface {
	driver.Journal
	driver.JournalValues
}

type journal struct {
	keeper
	of *logs
}

func (l *logs) OpenJournal(ctx context.Context, flow string, create bool) (driver.Journal, error) {
	j, err := l.Keeping.OpenJournal(ctx, flow, create)
	if err == nil && l.first != nil {
		_, err = j.Append(ctx, [][]byte{l.first})
	}
	if err != nil {
		return nil, err
	}
	return journal{j.(keeper), l}, nil
}

func (j journal) Read(ctx context.Context, after uint64, n int) ([]store.Record, uint64, uint64, error) {
	if j.of.away.Load() {
		return nil, 0, 0, store.ErrUnavailable
	}
	return j.keeper.Read(ctx, after, n)
}

func (j journal) Values(ctx context.Context, at []string) ([][]byte, error) {
	if j.of.away.Load() {
		return nil, store.ErrUnavailable
	}
	return j.keeper.Values(ctx, at)
}

func open(*testing.T) func(t *testing.T) *handle {
	m := drivermap.New()
	return func(t *testing.T) *handle {
		l := &logs{Keeping: m.OpenKeeping()}
		h := &handle{full.NewBare(l, full.Options{Place: "here"}), l}
		t.Cleanup(func() { must.Succeed(t, h.Close()) })
		return h
	}
}

func TestQueue(t *testing.T) { t.Parallel(); storetest.Queue(t, open); storetest.QueueJoins(t, open) }
