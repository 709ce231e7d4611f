package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/beat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// ReadLimit is how many records one read asks for.
const ReadLimit = 2000

// BeatCaller makes the calls of a member that has a heartbeat, and turns their answers into events. It decides nothing.
// A protocol embeds it in its own Caller. Its methods may be called from any goroutine. The exported fields must not
// change.
type BeatCaller struct{ beat.Writer }

// LogCaller is one of a member that has a log too.
type LogCaller struct {
	BeatCaller
	Log store.Log
}

// NewBeatCaller makes the caller of one run of a member. The config must have its defaults.
func NewBeatCaller(c protocol.Config) BeatCaller {
	return BeatCaller{beat.Writer{
		Member: c.Member, Store: c.Store, TTL: c.TTL, NoSessions: c.NoSessions, Guard: c.Guard, Logger: c.Logger,
		Now: c.Clock, Wall: time.Now,
	}}
}

// NewLogCaller makes one with the log of the store.
func NewLogCaller(c protocol.Config) *LogCaller {
	return &LogCaller{NewBeatCaller(c), c.Store.(store.Log)}
}

// Timeout is how long the call of an effect may take.
func (c *BeatCaller) Timeout(e member.Effect) time.Duration {
	if r, ok := e.(member.Renew); ok {
		return cmp.Or(r.Wait, c.TTL/3)
	}
	return c.TTL
}

// Call makes the call of an effect of this package and returns the event that answers it; nil for other effects.
func (c *BeatCaller) Call(ctx context.Context, e member.Effect) member.Event {
	r, ok := e.(member.Renew)
	if !ok {
		return nil
	}
	sent, ttl, out, err := c.Renew(ctx, r)
	return member.Renewed{Now: c.Now(), Sent: sent, Key: r.Key, TTL: ttl, Outcome: out, Err: Text(err)}
}

// Call makes the call of an effect of this package and returns the event that answers it; nil for other effects.
func (c *LogCaller) Call(ctx context.Context, e member.Effect) member.Event {
	switch e := e.(type) {
	case member.ReadLog:
		return c.Paged(c.Log.Read(ctx, uint64(e.After), ReadLimit))
	case member.ReadSnapshot:
		return c.readSnapshot(ctx)
	case member.CheckLog:
		has, err := chainAt(ctx, c.Log, e.At)
		return c.OrClosed(err, member.LogChecked{Now: c.Now(), Asked: e.At, Has: has, Err: Text(err)})
	case member.Append:
		e.Entry.AtMS = c.Wall().UnixMilli()
		data := e.Entry.Encode()
		index, err := c.Log.Append(ctx, data)
		return member.Appended{Now: c.Now(), Seq: e.Entry.Seq, Outcome: outbox.OutcomeOf(err),
			Index: cluster.Index(index), Data: data, Err: Text(err)}
	case member.SaveSnapshot:
		c.saveSnapshot(ctx, e)
		return member.SnapshotSaved{Now: c.Now()}
	}
	return c.BeatCaller.Call(ctx, e)
}

// Text is an error as events have it: "" for none.
func Text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Paged is the event of a read of the log.
func (c *LogCaller) Paged(page store.Page, err error) member.Event {
	if errors.Is(err, store.ErrTruncated) {
		return member.Read{Now: c.Now(), Truncated: true}
	}
	return c.OrClosed(err, member.Read{Now: c.Now(), Page: page, Err: Text(err)})
}

// OrClosed is the event of a call, or that the handle of the store was closed, where that is its error.
func (c *BeatCaller) OrClosed(err error, ev member.Event) member.Event {
	if errors.Is(err, store.ErrClosed) {
		return member.Closed{Now: c.Now(), Err: err}
	}
	return ev
}

func (c *LogCaller) readSnapshot(ctx context.Context) member.Event {
	rec, err := c.Log.Snapshot(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return member.SnapshotRead{Now: c.Now(), Err: "the log was trimmed and there is no snapshot"}
	}
	if err != nil {
		return member.SnapshotRead{Now: c.Now(), Err: Text(err)}
	}
	v, err := cluster.DecodeSnapshot(rec.Data)
	return member.SnapshotRead{Now: c.Now(), Value: v, Found: err == nil, Halt: err}
}

func (c *LogCaller) saveSnapshot(ctx context.Context, e member.SaveSnapshot) {
	log := c.Logger.With("index", uint64(e.Value.Index()))
	err := c.Log.SaveSnapshot(ctx, store.Record{Index: uint64(e.Value.Index()), Data: e.Value.Snapshot()})
	if err != nil {
		log.Warn("save a snapshot", "err", err)
		return
	}
	if e.TrimTo == 0 {
		return
	}
	if err := c.Log.Trim(ctx, uint64(e.TrimTo)); err != nil {
		log.Warn("trim the log", "to", uint64(e.TrimTo), "err", err)
	}
}

// chainAt hashes what the store has, from its snapshot up to an index.
func chainAt(ctx context.Context, l store.Log, at cluster.Index) (member.Point, error) {
	has, err := snapshotPoint(ctx, l)
	for err == nil && has.Index < at {
		var page store.Page
		page, err = l.Read(ctx, uint64(has.Index), ReadLimit)
		if errors.Is(err, store.ErrTruncated) {
			was := has.Index
			if has, err = snapshotPoint(ctx, l); err == nil && has.Index <= was {
				err = fmt.Errorf("entries behind %s are trimmed, and the snapshot is at %s", was, has.Index)
			}
			continue
		}
		for _, r := range page.Records {
			if cluster.Index(r.Index) > at {
				return has, nil
			}
			has = member.Point{Index: cluster.Index(r.Index),
				Chain: cluster.Chained(has.Chain, cluster.Index(r.Index), r.Data)}
		}
		if err == nil && len(page.Records) == 0 {
			return has, nil
		}
	}
	return has, err
}

// snapshotPoint is where the newest snapshot is; the beginning of the log where there is none.
func snapshotPoint(ctx context.Context, l store.Log) (member.Point, error) {
	rec, err := l.Snapshot(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return member.Point{}, nil
	case err != nil:
		return member.Point{}, err
	}
	index, chain, err := cluster.SnapshotHead(rec.Data)
	return member.Point{Index: index, Chain: chain}, err
}
