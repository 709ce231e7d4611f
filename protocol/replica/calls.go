package replica

import (
	"context"
	"errors"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// readLimit is how many records one read asks for.
const readLimit = 2000

// call makes a store call on a goroutine of its own and posts its answer. Step has at most one call of each kind under way.
func (sh *shell) call(e Effect) {
	timeout := sh.r.p.TTL
	if _, ok := e.(Renew); ok {
		timeout /= 3
	}
	sh.wg.Go(func() {
		ctx, cancel := context.WithTimeout(sh.ctx, timeout)
		defer cancel()
		if ev := sh.perform(ctx, e); ev != nil {
			sh.r.post(ev)
		}
	})
}

func (sh *shell) perform(ctx context.Context, e Effect) Event {
	st := sh.r.c.Store
	switch e := e.(type) {
	case ReadLog:
		page, err := st.Read(ctx, uint64(e.After), readLimit)
		if errors.Is(err, store.ErrClosed) {
			return Closed{Now: protocol.Now(), Err: err}
		}
		if errors.Is(err, store.ErrTruncated) {
			return Read{Now: protocol.Now(), Truncated: true}
		}
		return Read{Now: protocol.Now(), Page: page, Err: text(err)}
	case ReadSnapshot:
		return readSnapshot(ctx, st)
	case Append:
		return sh.append(ctx, e)
	case CheckPulse:
		d, err := st.Get(ctx, e.Key)
		if errors.Is(err, store.ErrNotFound) {
			return PulseSeen{Now: protocol.Now(), Key: e.Key}
		}
		return PulseSeen{Now: protocol.Now(), Key: e.Key, Version: d.Version, Err: text(err)}
	case ListPulses:
		return listPulses(ctx, st)
	case DropPulse:
		if err := st.Delete(ctx, e.Key, e.Version); err != nil {
			sh.r.c.Logger.Debug("drop a stray pulse", "key", e.Key, "err", err)
		}
		return nil
	case SaveSnapshot:
		sh.saveSnapshot(ctx, e)
		return SnapshotSaved{Now: protocol.Now()}
	case Renew:
		return sh.pulse.renew(ctx, sh.r, e)
	}
	return nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// outcome tells the outcomes of a change apart.
func outcome(err error) Outcome {
	switch {
	case err == nil:
		return Done
	case errors.Is(err, store.ErrUnknown):
		return Unknown
	case errors.Is(err, store.ErrTooLarge):
		return Refused
	}
	return NotDone
}

func (sh *shell) append(ctx context.Context, e Append) Event {
	e.Entry.AtMS = time.Now().UnixMilli()
	index, err := sh.r.c.Store.Append(ctx, e.Entry.Encode())
	return Appended{Now: protocol.Now(), Seq: e.Entry.Seq, Outcome: outcome(err), Index: cluster.Index(index), Err: text(err)}
}

func readSnapshot(ctx context.Context, l store.Log) Event {
	rec, err := l.Snapshot(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return SnapshotRead{Now: protocol.Now(), Err: "the log was trimmed and there is no snapshot"}
	}
	if err != nil {
		return SnapshotRead{Now: protocol.Now(), Err: text(err)}
	}
	v, err := cluster.DecodeSnapshot(rec.Data)
	return SnapshotRead{Now: protocol.Now(), Value: v, Found: err == nil, Halt: err}
}

func listPulses(ctx context.Context, d store.Docs) Event {
	docs, err := d.List(ctx, PulsePrefix)
	pulses := make([]Pulse, len(docs))
	for i, doc := range docs {
		pulses[i] = Pulse{Key: doc.Key, Version: doc.Version}
	}
	return PulsesListed{Now: protocol.Now(), Pulses: pulses, Err: text(err)}
}

func (sh *shell) saveSnapshot(ctx context.Context, e SaveSnapshot) {
	log := sh.r.c.Logger.With("index", uint64(e.Value.Index()))
	err := sh.r.c.Store.SaveSnapshot(ctx, store.Record{Index: uint64(e.Value.Index()), Data: e.Value.Snapshot()})
	if err != nil {
		log.Warn("save a snapshot", "err", err)
		return
	}
	if e.TrimTo == 0 {
		return
	}
	if err := sh.r.c.Store.Trim(ctx, uint64(e.TrimTo)); err != nil {
		log.Warn("trim the log", "to", uint64(e.TrimTo), "err", err)
	}
}
