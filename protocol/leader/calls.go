package leader

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/beat"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/store"
)

// readLimit is how many records one read asks for.
const readLimit = 2000

// Caller makes the store calls of one member and turns their answers into events. It decides nothing. The shell has one, and so has a simulated
// member, with a simulated store and clock. Call may be called from any goroutine.
type Caller struct {
	Member     cluster.MemberID
	Store      store.Full
	TTL        time.Duration
	NoSessions bool
	Logger     *slog.Logger
	Now        func() protocol.Instant
	Wall       func() time.Time // for people: nothing is decided by it

	once sync.Once
	beat *beat.Writer
}

// Timeout is how long the call of an effect may take.
func (c *Caller) Timeout(e Effect) time.Duration {
	if _, ok := e.(Renew); ok {
		return c.TTL / 3
	}
	return c.TTL
}

// writer is the writer of our heartbeat.
func (c *Caller) writer() *beat.Writer {
	c.once.Do(func() {
		c.beat = &beat.Writer{Member: c.Member, Store: c.Store, TTL: c.TTL, NoSessions: c.NoSessions, Logger: c.Logger, Now: c.Now, Wall: c.Wall}
	})
	return c.beat
}

// Close removes our heartbeat after the member has left or halted.
func (c *Caller) Close(ctx context.Context) { c.writer().Close(ctx) }

// Call makes one store call and returns the event that answers it; nil for effects that are no calls.
func (c *Caller) Call(ctx context.Context, e Effect) Event {
	switch e := e.(type) {
	case ReadLog:
		return c.read(ctx, e)
	case ReadSnapshot:
		return c.readSnapshot(ctx)
	case Append:
		return c.append(ctx, e)
	case SaveSnapshot:
		c.saveSnapshot(ctx, e)
		return SnapshotSaved{Now: c.Now()}
	case Renew:
		sent, out, err := c.writer().Renew(ctx, beat.Renewal(e))
		return Renewed{Now: c.Now(), Sent: sent, Key: e.Key, Outcome: out, Err: text(err)}
	case Get:
		return c.get(ctx, e)
	case List:
		return c.list(ctx, e)
	case Put:
		return c.put(ctx, e)
	case Delete:
		err := c.Store.Delete(ctx, e.Key, e.Version)
		if errors.Is(err, store.ErrNotFound) {
			err = nil // it is as was asked
		}
		return c.wrote(e.Key, "", err)
	}
	return nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (c *Caller) read(ctx context.Context, e ReadLog) Event {
	page, err := c.Store.Read(ctx, uint64(e.After), readLimit)
	switch {
	case errors.Is(err, store.ErrClosed):
		return Closed{Now: c.Now(), Err: err}
	case errors.Is(err, store.ErrTruncated):
		return Read{Now: c.Now(), Truncated: true}
	}
	return Read{Now: c.Now(), Page: page, Err: text(err)}
}

func (c *Caller) append(ctx context.Context, e Append) Event {
	e.Entry.AtMS = c.Wall().UnixMilli()
	data := e.Entry.Encode()
	index, err := c.Store.Append(ctx, data)
	return Appended{Now: c.Now(), Seq: e.Entry.Seq, Outcome: outbox.OutcomeOf(err), Index: cluster.Index(index), Data: data, Err: text(err)}
}

func (c *Caller) readSnapshot(ctx context.Context) Event {
	rec, err := c.Store.Snapshot(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return SnapshotRead{Now: c.Now(), Err: "the log was trimmed and there is no snapshot"}
	}
	if err != nil {
		return SnapshotRead{Now: c.Now(), Err: text(err)}
	}
	v, err := cluster.DecodeSnapshot(rec.Data)
	return SnapshotRead{Now: c.Now(), Value: v, Found: err == nil, Halt: err}
}

func (c *Caller) saveSnapshot(ctx context.Context, e SaveSnapshot) {
	log := c.Logger.With("index", uint64(e.Value.Index()))
	err := c.Store.SaveSnapshot(ctx, store.Record{Index: uint64(e.Value.Index()), Data: e.Value.Snapshot()})
	if err != nil {
		log.Warn("save a snapshot", "err", err)
		return
	}
	if e.TrimTo == 0 {
		return
	}
	if err := c.Store.Trim(ctx, uint64(e.TrimTo)); err != nil {
		log.Warn("trim the log", "to", uint64(e.TrimTo), "err", err)
	}
}

func (c *Caller) get(ctx context.Context, e Get) Event {
	sent := c.Now()
	d, err := c.Store.Get(ctx, e.Key)
	switch {
	case errors.Is(err, store.ErrClosed):
		return Closed{Now: c.Now(), Err: err}
	case errors.Is(err, store.ErrNotFound):
		return Got{Now: c.Now(), Sent: sent, Doc: Doc{Key: e.Key}}
	case err != nil:
		return Got{Now: c.Now(), Sent: sent, Doc: Doc{Key: e.Key}, Err: text(err)}
	}
	return Got{Now: c.Now(), Sent: sent, Doc: document(d)}
}

func (c *Caller) list(ctx context.Context, e List) Event {
	docs, err := c.Store.List(ctx, e.Prefix)
	out := make([]Doc, len(docs))
	for i, d := range docs {
		out[i] = document(d)
	}
	return Listed{Now: c.Now(), Prefix: e.Prefix, Docs: out, Err: text(err)}
}

// document decodes what was read.
func document(d store.Doc) Doc {
	out := Doc{Key: d.Key, Version: d.Version}
	if strings.HasPrefix(d.Key, protocol.HeartbeatPrefix) {
		out.TTL = heartbeat.StatedTTL(d.Value)
		return out
	}
	value, err := Decode(d.Key, d.Value)
	out.Value, out.Bad = value, text(err)
	return out
}

func (c *Caller) put(ctx context.Context, e Put) Event {
	switch d := e.Doc.(type) {
	case Holder:
		d.AtMS = c.Wall().UnixMilli()
		e.Doc = d
	case Plan:
		if d.AtMS == 0 {
			d.AtMS = c.Wall().UnixMilli()
		}
		e.Doc = d
	}
	value, err := Encode(e.Doc)
	if err != nil {
		return c.wrote(e.Key, "", err)
	}
	d := store.Doc{Key: e.Key, Value: value, Version: e.Version}
	var v store.Version
	if e.Life == 0 {
		v, err = c.Store.Put(ctx, d)
	} else {
		v, err = c.writer().Put(ctx, e.Life-1, d)
	}
	return c.wrote(e.Key, v, err)
}

func (c *Caller) wrote(key string, v store.Version, err error) Event {
	if errors.Is(err, store.ErrClosed) {
		return Closed{Now: c.Now(), Err: err}
	}
	return Wrote{Now: c.Now(), Key: key, Outcome: outbox.OutcomeOf(err), Conflict: errors.Is(err, store.ErrConflict), Version: v, Err: text(err)}
}
