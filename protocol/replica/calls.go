package replica

import (
	"context"
	"errors"
	"log/slog"
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
	Guard      protocol.Guard // nil for none
	Logger     *slog.Logger
	Now        func() protocol.Instant
	Wall       func() time.Time // for people: nothing is decided by it

	once    sync.Once
	pulse   *beat.Writer
	company company
}

// Timeout is how long the call of an effect may take.
func (c *Caller) Timeout(e Effect) time.Duration {
	if _, ok := e.(Renew); ok {
		return c.TTL / 3
	}
	return c.TTL
}

// call makes a store call on a goroutine of its own and posts its answer. Step has at most one call of each kind under way.
func (sh *shell) call(e Effect) {
	sh.wg.Go(func() {
		ctx, cancel := context.WithTimeout(sh.ctx, sh.calls.Timeout(e))
		defer cancel()
		if ev := sh.calls.Call(ctx, e); ev != nil {
			sh.r.post(ev)
		}
	})
}

// Call makes one store call and returns the event that answers it; nil for effects that are no calls, or are not answered.
func (c *Caller) Call(ctx context.Context, e Effect) Event {
	switch e := e.(type) {
	case ReadLog:
		return c.read(ctx, e)
	case ReadSnapshot:
		return c.readSnapshot(ctx)
	case Append:
		return c.append(ctx, e)
	case CheckPulse:
		if store.CheckKey(e.Key) != nil { // no store has such a document, and no member has written it
			return PulseSeen{Now: c.Now(), Key: e.Key}
		}
		d, err := c.look(ctx, e)
		return PulseSeen{Now: c.Now(), Key: e.Key, Version: d.Version, TTL: heartbeat.StatedTTL(d.Value), Err: text(err)}
	case ListPulses:
		return c.listPulses(ctx)
	case DropPulse:
		if err := c.Store.Delete(ctx, e.Key, e.Version); err != nil {
			c.Logger.Debug("drop a stray pulse", "key", e.Key, "err", err)
		}
	case SaveSnapshot:
		c.saveSnapshot(ctx, e)
		return SnapshotSaved{Now: c.Now()}
	case Renew:
		sent, out, err := c.writer().Renew(ctx, beat.Renewal(e))
		return Renewed{Now: c.Now(), Sent: sent, Key: e.Key, Outcome: out, Err: text(err)}
	}
	return nil
}

func (c *Caller) read(ctx context.Context, e ReadLog) Event {
	page, err := c.readLog(ctx, uint64(e.After))
	switch {
	case errors.Is(err, store.ErrClosed):
		return Closed{Now: c.Now(), Err: err}
	case errors.Is(err, store.ErrTruncated):
		return Read{Now: c.Now(), Truncated: true}
	}
	return Read{Now: c.Now(), Page: page, Err: text(err)}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// writer is the writer of our heartbeat.
func (c *Caller) writer() *beat.Writer {
	c.once.Do(func() {
		c.pulse = &beat.Writer{Member: c.Member, Store: c.Store, TTL: c.TTL, NoSessions: c.NoSessions, Guard: c.Guard, Logger: c.Logger, Now: c.Now, Wall: c.Wall}
	})
	return c.pulse
}

// Close removes our heartbeat after the member has left or halted.
func (c *Caller) Close(ctx context.Context) { c.writer().Close(ctx) }

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

func (c *Caller) listPulses(ctx context.Context) Event {
	docs, err := c.Store.List(ctx, protocol.HeartbeatPrefix)
	pulses := make([]Pulse, len(docs))
	for i, doc := range docs {
		pulses[i] = Pulse{Key: doc.Key, Version: doc.Version, TTL: heartbeat.StatedTTL(doc.Value)}
	}
	return PulsesListed{Now: c.Now(), Pulses: pulses, Err: text(err)}
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
