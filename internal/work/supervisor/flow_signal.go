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
	// signalKey is the document that all members share. It only saves looks: what it does not say is found later.
	signalKey = "flow-bell"
	// signalPause is between two looks at the document, and between two notes in it.
	signalPause = time.Second
	signalTries = 3 // of one note, where others write at the same time
)

// flowSignal wakes stages that have had nothing to do for long. Members note in one document in which flows they have
// changed something, at most once a second, and read it once a second while stages wait here: as much for a thousand
// idle flows as for one.
type flowSignal struct {
	docs store.Docs
	log  *slog.Logger
	work chan struct{} // there is something to do

	mu    sync.Mutex
	waits map[string]*signalWait // by flow
	news  map[string]bool        // flows that others are not told of yet
	seen  uint64                 // the newest change that was read
}

// signalWait is for those who wait for one flow.
type signalWait struct {
	changed chan struct{}
	n       int
}

func newFlowSignal(docs store.Docs, log *slog.Logger) *flowSignal {
	return &flowSignal{docs: docs, log: log, work: make(chan struct{}, 1), waits: map[string]*signalWait{},
		news: map[string]bool{}}
}

// subscribe returns a channel that is closed when something happens in a flow from now on. Call stop.
func (s *flowSignal) subscribe(flow string) (changed <-chan struct{}, stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.waits[flow]
	if w == nil {
		w = &signalWait{changed: make(chan struct{})}
		s.waits[flow] = w
	}
	w.n++
	s.wake()
	return w.changed, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.n--; w.n == 0 && s.waits[flow] == w {
			delete(s.waits, flow)
		}
	})
}

// notify says that something has happened in a flow: to stages here at once, to those of other members with the next
// note.
func (s *flowSignal) notify(flow string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(flow)
	s.news[flow] = true
	s.wake()
}

// release wakes those who wait for a flow; s.mu is held.
func (s *flowSignal) release(flow string) {
	if w := s.waits[flow]; w != nil {
		close(w.changed)
		delete(s.waits, flow)
	}
}

func (s *flowSignal) wake() {
	select {
	case s.work <- struct{}{}:
	default: // it will look
	}
}

// start exchanges notes until stop is called, beyond the end of ctx: runs that end after it notify too.
func (s *flowSignal) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { s.run(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// run writes and reads the note until ctx ends. It does nothing while nothing changes and nobody waits.
func (s *flowSignal) run(ctx context.Context) {
	for {
		select {
		case <-s.work:
		case <-ctx.Done():
			return
		}
		for s.busy() && ctx.Err() == nil {
			for try := 0; try < signalTries && errors.Is(s.exchange(ctx), store.ErrConflict); try++ {
			}
			select {
			case <-time.After(signalPause):
			case <-ctx.Done():
			}
		}
	}
}

func (s *flowSignal) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waits)+len(s.news) > 0
}

// exchange reads what others have noted, and notes what they are not told of yet. What fails is done again.
func (s *flowSignal) exchange(ctx context.Context) error {
	d, err := s.docs.Get(ctx, signalKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		s.log.Debug("read which flows were changed", "error", err)
		return err
	}
	note := readNote(d.Value)
	news := s.take(note)
	if len(news) == 0 {
		return nil
	}
	d.Key, d.Value = signalKey, note.with(news).encode()
	if _, err := s.docs.Put(ctx, d); err != nil {
		s.log.Debug("note which flows were changed", "error", err)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, f := range news {
			s.news[f] = true
		}
		return err
	}
	return nil
}

// take wakes whom a note is for, and takes what is to be noted. A change after that is noted the next time.
func (s *flowSignal) take(note signalNote) (news []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range slices.Sorted(maps.Keys(s.waits)) {
		if note.since(s.seen, f) {
			s.release(f)
		}
	}
	s.seen = note.Last
	news = slices.Sorted(maps.Keys(s.news))
	clear(s.news)
	return news
}

// signalNote is what the document says: in which flows something has happened lately, and in which order.
type signalNote struct {
	Last    uint64            `json:"last"`              // number of the newest change; it grows
	Dropped uint64            `json:"dropped,omitempty"` // that of the newest change that is not in Flows any more
	Flows   map[string]uint64 `json:"flows,omitempty"`   // the newest change of each
}

// signalFlows is how many flows a note names.
const signalFlows = 256

// readNote reads a note. One that cannot be read has everybody look.
func readNote(data []byte) signalNote {
	var n signalNote
	if len(data) > 0 && json.Unmarshal(data, &n) != nil {
		return signalNote{}
	}
	return n
}

func (n signalNote) encode() []byte {
	data, _ := json.Marshal(n) // never fails
	return data
}

// with adds changes, in order, and forgets the oldest ones.
func (n signalNote) with(flows []string) signalNote {
	out := signalNote{Last: n.Last, Dropped: n.Dropped, Flows: make(map[string]uint64, len(n.Flows)+len(flows))}
	maps.Copy(out.Flows, n.Flows)
	for _, f := range flows {
		out.Last++
		out.Flows[f] = out.Last
	}
	numbers := slices.Sorted(maps.Values(out.Flows))
	if extra := len(numbers) - signalFlows; extra > 0 {
		out.Dropped = numbers[extra-1]
		maps.DeleteFunc(out.Flows, func(_ string, at uint64) bool { return at <= out.Dropped })
	}
	return out
}

// since tells whether a flow has changed after a change that was seen. A note that was lost, or too long ago, may have
// said so.
func (n signalNote) since(seen uint64, flow string) bool {
	return n.Last < seen || n.Dropped > seen || n.Flows[flow] > seen
}

// NotifyFlow notes that something has happened in a flow, named as by [FlowName]: for a process that is no member.
func NotifyFlow(ctx context.Context, docs store.Docs, flow string) error {
	for try := 0; ; try++ {
		d, err := docs.Get(ctx, signalKey)
		if err == nil || errors.Is(err, store.ErrNotFound) {
			d.Key, d.Value = signalKey, readNote(d.Value).with([]string{flow}).encode()
			_, err = docs.Put(ctx, d)
		}
		if err == nil {
			return nil
		}
		if try+1 == signalTries || !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("notify flow %s: %w", flow, err)
		}
	}
}
