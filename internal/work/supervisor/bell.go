package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

const (
	// bellKey is the document that all members share. It only saves looks: what it does not say is found later.
	bellKey = "flow-bell"
	// bellPause is between two looks at the document, and between two notes in it.
	bellPause = time.Second
	bellTries = 3 // of one note, where others write at the same time
)

// bell wakes stages that have had nothing to do for long. Members note in one document in which flows they have changed
// something, at most once a second, and read it once a second while stages wait here: as much for a thousand idle flows
// as for one.
type bell struct {
	docs store.Docs
	log  *slog.Logger
	work chan struct{} // there is something to do

	mu    sync.Mutex
	waits map[string]*bellWait // by flow
	rung  map[string]bool      // flows that others are not told of yet
	heard uint64               // the newest ring that was read
}

// bellWait is for those who wait for one flow.
type bellWait struct {
	rung chan struct{}
	n    int
}

func newBell(docs store.Docs, log *slog.Logger) *bell {
	return &bell{docs: docs, log: log, work: make(chan struct{}, 1), waits: map[string]*bellWait{},
		rung: map[string]bool{}}
}

// hear returns a channel that is closed when something happens in a flow from now on. Call stop.
func (b *bell) hear(flow string) (rung <-chan struct{}, stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waits[flow]
	if w == nil {
		w = &bellWait{rung: make(chan struct{})}
		b.waits[flow] = w
	}
	w.n++
	b.wake()
	return w.rung, sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if w.n--; w.n == 0 && b.waits[flow] == w {
			delete(b.waits, flow)
		}
	})
}

// ring says that something has happened in a flow: to stages here at once, to those of other members with the next
// note.
func (b *bell) ring(flow string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rouse(flow)
	b.rung[flow] = true
	b.wake()
}

// rouse wakes those who wait for a flow; b.mu is held.
func (b *bell) rouse(flow string) {
	if w := b.waits[flow]; w != nil {
		close(w.rung)
		delete(b.waits, flow)
	}
}

func (b *bell) wake() {
	select {
	case b.work <- struct{}{}:
	default: // it will look
	}
}

// start runs the bell until stop is called, beyond the end of ctx: runs that end after it ring too.
func (b *bell) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { b.run(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// run tells and listens until ctx ends. It does nothing while nobody rings and nobody waits.
func (b *bell) run(ctx context.Context) {
	for {
		select {
		case <-b.work:
		case <-ctx.Done():
			return
		}
		for b.busy() && ctx.Err() == nil {
			for try := 0; try < bellTries && errors.Is(b.exchange(ctx), store.ErrConflict); try++ {
			}
			select {
			case <-time.After(bellPause):
			case <-ctx.Done():
			}
		}
	}
}

func (b *bell) busy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waits)+len(b.rung) > 0
}

// exchange reads what others have noted, and notes what they are not told of yet. What fails is done again.
func (b *bell) exchange(ctx context.Context) error {
	d, err := b.docs.Get(ctx, bellKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		b.log.Debug("read which flows were changed", "error", err)
		return err
	}
	note := readNote(d.Value)
	news := b.listen(note)
	if len(news) == 0 {
		return nil
	}
	d.Key, d.Value = bellKey, note.ring(news).encode()
	if _, err := b.docs.Put(ctx, d); err != nil {
		b.log.Debug("note which flows were changed", "error", err)
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, f := range news {
			b.rung[f] = true
		}
		return err
	}
	return nil
}

// listen wakes whom a note is for, and takes what is to be noted. A ring after that is noted the next time.
func (b *bell) listen(note bellNote) (news []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range slices.Sorted(maps.Keys(b.waits)) {
		if note.since(b.heard, f) {
			b.rouse(f)
		}
	}
	b.heard = note.Last
	news = slices.Sorted(maps.Keys(b.rung))
	clear(b.rung)
	return news
}

// bellNote is what the document of the bell says: in which flows something has happened lately, and in which order.
type bellNote struct {
	Last    uint64            `json:"last"`              // number of the newest ring; it grows
	Dropped uint64            `json:"dropped,omitempty"` // that of the newest ring that is not in Flows any more
	Flows   map[string]uint64 `json:"flows,omitempty"`   // the newest ring of each
}

// bellFlows is how many flows a note names.
const bellFlows = 256

// readNote reads a note. One that cannot be read has everybody look.
func readNote(data []byte) bellNote {
	var n bellNote
	if len(data) > 0 && json.Unmarshal(data, &n) != nil {
		return bellNote{}
	}
	return n
}

func (n bellNote) encode() []byte {
	data, _ := json.Marshal(n) // never fails
	return data
}

// ring adds rings, in order, and forgets the oldest ones.
func (n bellNote) ring(flows []string) bellNote {
	out := bellNote{Last: n.Last, Dropped: n.Dropped, Flows: make(map[string]uint64, len(n.Flows)+len(flows))}
	for f, at := range n.Flows { // order-free: a copy
		out.Flows[f] = at
	}
	for _, f := range flows {
		out.Last++
		out.Flows[f] = out.Last
	}
	var numbers []uint64
	for _, at := range out.Flows { // order-free: sorted below
		numbers = append(numbers, at)
	}
	slices.Sort(numbers)
	if extra := len(numbers) - bellFlows; extra > 0 {
		out.Dropped = numbers[extra-1]
		for f, at := range out.Flows { // order-free: each by itself
			if at <= out.Dropped {
				delete(out.Flows, f)
			}
		}
	}
	return out
}

// since tells whether a flow was rung after a ring that was heard. A note that was lost, or too long ago, may have said
// so.
func (n bellNote) since(heard uint64, flow string) bool {
	return n.Last < heard || n.Dropped > heard || n.Flows[flow] > heard
}

// RingFlow notes that something has happened in a flow, named as by [FlowName]: for a process that is no member.
func RingFlow(ctx context.Context, docs store.Docs, flow string) error {
	for try := 0; ; try++ {
		d, err := docs.Get(ctx, bellKey)
		if err == nil || errors.Is(err, store.ErrNotFound) {
			d.Key, d.Value = bellKey, readNote(d.Value).ring([]string{flow}).encode()
			_, err = docs.Put(ctx, d)
		}
		if err == nil {
			return nil
		}
		if try+1 == bellTries || !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("ring for flow %s: %w", flow, err)
		}
	}
}
