package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/lease"
	rotasync "github.com/rota-run/rota/internal/protocol/sync"
	"github.com/rota-run/rota/proof/history"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// follower reads the log while it grows, entry by entry, and notes what each entry did to partitions.
type follower struct {
	note  func(history.Record)
	store Log
	stop  context.CancelFunc
	done  chan struct{}
	known map[cluster.PartitionID]known // belongs to its goroutine
	// observe reads the value where the protocol has no log; else nil.
	observe func(context.Context, protocol.Store, cluster.Value) (cluster.Value, error)
	// binary is the entry of a record, where that is not the record itself; else nil.
	binary func([]byte) []byte

	mu      sync.Mutex // guards what follows
	value   cluster.Value
	skipped uint64 // entries that were trimmed before they were read
	err     error  // the last one, nil when it reads again
}

// known is what was noted of a partition.
type known struct {
	life  history.Kind
	owner cluster.MemberID
	token cluster.Token
}

// follow opens the store for reading and follows its log.
func follow(ctx context.Context, proto string, open func(context.Context) (Log, error),
	note func(history.Record)) (*follower, error) {
	f := &follower{note: note, known: map[cluster.PartitionID]known{}}
	switch proto {
	case lease.Protocol{}.Name():
		f.observe = lease.Protocol{}.Observe
	case rotasync.Protocol{}.Name():
		f.binary = rotasync.Binary
	}
	return f, f.open(ctx, open)
}

// open opens the store, also after it was closed. What was read is kept.
func (f *follower) open(ctx context.Context, open func(context.Context) (Log, error)) (err error) {
	if f.store, err = open(ctx); err != nil {
		return err
	}
	ctx, f.stop = context.WithCancel(ctx)
	var hints <-chan struct{} // nil, which never hints, where the store does not
	if w, ok := f.store.(store.LogWatcher); ok {
		if hints, err = w.WatchLog(ctx); err != nil {
			f.stop()
			return errors.Join(err, f.store.Close())
		}
	}
	f.done = make(chan struct{})
	go f.run(ctx, hints)
	return nil
}

func (f *follower) close() {
	if f.store == nil {
		return
	}
	f.stop()
	<-f.done
	_ = f.store.Close() // it was only read
	f.store = nil
}

func (f *follower) now() cluster.Value {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value
}

// trouble says why the log cannot be read; "" while it can.
func (f *follower) trouble() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		return ""
	}
	return fmt.Sprintf("; what the log says is known up to %s only: %v", f.value.Index(), f.err)
}

func (f *follower) run(ctx context.Context, hints <-chan struct{}) {
	defer close(f.done)
	for {
		err := f.readOnce(ctx)
		f.mu.Lock()
		f.err = err
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-hints:
		case <-time.After(5 * glance):
		}
	}
}

// readFor bounds one read: a server may be away.
const readFor = 5 * time.Second

// readOnce is read, for a while.
func (f *follower) readOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	return f.read(ctx)
}

// read applies what is new.
func (f *follower) read(ctx context.Context) error {
	v := f.now()
	if f.observe != nil {
		return f.look(ctx, v)
	}
	for {
		page, err := f.store.Read(ctx, uint64(v.Index()), 500)
		if errors.Is(err, store.ErrTruncated) {
			if v, err = f.jump(ctx, v); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		for _, r := range page.Records {
			if f.binary != nil {
				r.Data = f.binary(r.Data)
			}
			v = apply(v, r)
			f.compare(v)
		}
		if uint64(v.Index()) >= page.Head {
			return nil
		}
	}
}

// look reads documents, which have no order among each other: what changed and changed back in between is not seen.
func (f *follower) look(ctx context.Context, v cluster.Value) error {
	s, ok := f.store.(protocol.Store)
	if !ok {
		return errors.New("the store has no documents")
	}
	v, err := f.observe(ctx, s, v)
	if err == nil {
		f.compare(v)
	}
	return err
}

func apply(v cluster.Value, r store.Record) cluster.Value {
	e, err := cluster.DecodeEntry(cluster.Index(r.Index), r.Data)
	if err != nil {
		return v.Skip(cluster.Index(r.Index), r.Data)
	}
	next, _ := v.Apply(e)
	return next
}

// jump goes to the newest snapshot.
func (f *follower) jump(ctx context.Context, v cluster.Value) (cluster.Value, error) {
	r, err := f.store.Snapshot(ctx)
	if err != nil {
		return v, err
	}
	next, err := cluster.DecodeSnapshot(r.Data)
	if err != nil {
		return v, err
	}
	if next.Index() <= v.Index() {
		return v, fmt.Errorf("the snapshot at %s does not go beyond %s", next.Index(), v.Index())
	}
	f.mu.Lock()
	f.skipped += uint64(next.Index() - v.Index())
	f.mu.Unlock()
	f.compare(next)
	return next, nil
}

// compare notes what an entry changed.
func (f *follower) compare(v cluster.Value) {
	at := int64(protocol.Now())
	there := map[cluster.PartitionID]bool{}
	for p := range v.Partitions() {
		there[p.ID] = true
		f.partition(at, p.ID, knownOf(p))
	}
	for id := range f.known {
		if !there[id] {
			f.partition(at, id, known{life: history.Removed})
		}
	}
	f.mu.Lock()
	f.value = v
	f.mu.Unlock()
}

func knownOf(p cluster.Partition) known {
	k := known{life: history.Accepted, owner: p.Owner, token: p.Token}
	switch {
	case p.Dropped:
		k.life = history.Removed
	case p.State == cluster.PartitionFinished:
		k.life = history.Finished
	case p.State == cluster.PartitionParked:
		k.life = history.Parked
	}
	if k.owner == "" {
		k.token = 0
	}
	return k
}

func (f *follower) partition(at int64, id cluster.PartitionID, k known) {
	was := f.known[id]
	if k.life != was.life && (was.life != 0 || k.life != history.Removed) {
		f.note(history.Record{At: at, Kind: k.life, Partition: id})
	}
	if k.owner != was.owner || k.token != was.token {
		f.note(history.Record{At: at, Kind: history.Granted, Partition: id, Member: k.owner, Token: k.token})
	}
	f.known[id] = k
}
