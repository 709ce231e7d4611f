package logqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

// flow is a flow as one handle sees it: its log, and the state up to where it was read.
type flow struct {
	journal Journal
	name    string // of the handle: begins the IDs of its operations

	reading sync.Mutex // of who reads
	read    uint64     // guarded by reading

	mu    sync.Mutex
	state state
	began time.Time               // when the last read to the end that is through began
	waits map[string]chan outcome // by the IDs of operations whose author waits
	due   bool                    // a snapshot is to be saved by this handle
	spent []string                // bundles to free

	shelf shelf
}

func newFlow(j Journal, name string) *flow {
	return &flow{journal: j, name: name, waits: make(map[string]chan outcome)}
}

// page is how many records one read asks for.
const page = 1000

// refresh reads to the end: all that was in the log when the call began. Those who wait for a read that begins later
// share it.
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
		if errors.Is(err, store.ErrTruncated) {
			if err := f.restore(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := f.add(p.Records); err != nil {
			return err
		}
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
func (f *flow) add(records []store.Record) error {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range records {
		op, err := decode(r.Data)
		if errors.Is(err, errFormer) {
			return err
		}
		f.read = r.Index
		if err != nil {
			f.state.skipped++
			continue
		}
		f.due = f.due || r.Index%snapshotEvery == 0 && strings.HasPrefix(op.ID, f.name)
		out := f.state.apply(op, now)
		if wait, ok := f.waits[op.ID]; ok {
			delete(f.waits, op.ID)
			wait <- out
		}
	}
	return nil
}

// decide appends an operation, and bundles that it names, and returns what was decided at its place.
func (f *flow) decide(ctx context.Context, op operation, bundles [][]byte) (outcome, error) {
	wait := make(chan outcome, 1)
	f.mu.Lock()
	f.waits[op.ID] = wait
	f.mu.Unlock()
	defer f.forget(op.ID)
	index, data, err := f.journal.Append(ctx, Append{bundles, func(at []string) []byte {
		f.bundled(op.Commit, bundles, at)
		return encode(op)
	}, op.Kind == opTake || op.Kind == opRelet})
	if err != nil {
		return outcome{}, err
	}
	for known := f.follow(store.Record{Index: index, Data: data}); ; known = false {
		if !known {
			if err := f.refresh(ctx); err != nil {
				return outcome{}, unknown(err)
			}
		}
		select {
		case out := <-wait:
			f.save(ctx)
			return out, nil
		default:
		}
		switch {
		case f.passed(index):
			return outcome{}, errPassed
		case ctx.Err() != nil:
			return outcome{}, unknown(context.Cause(ctx))
		}
	}
}

// follow applies a record of this handle if it follows what was read: then nothing lies between, and it need not be
// read.
func (f *flow) follow(r store.Record) bool {
	f.reading.Lock()
	defer f.reading.Unlock()
	if r.Index != f.read+1 {
		return false
	}
	return f.add([]store.Record{r}) == nil
}

// passed reports whether this handle has read beyond an index.
func (f *flow) passed(index uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read >= index
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

// operation is a record of a flow's log. ID is of its author.
type operation struct {
	ID     string
	Kind   uint64
	Make   []store.Shard
	Take   take
	Relet  relet
	Commit []unit
}

// The kinds of operations.
const (
	opMake uint64 = iota + 1
	opDrop
	opTake
	opRelet
	opCommit
)

// take begins leases of messages of one shard.
type take struct {
	Shard    int    // its place in Make
	Lease    uint64 // nanoseconds
	Messages []delivery
}

// relet lengthens leases of one shard, or ends them.
type relet struct {
	Shard        int
	Lease        uint64
	Keep, Return []delivery
}

// delivery is a message and how often it was delivered: a number of each, in this order.
type delivery [2]uint64

// unit is a store.Unit.
type unit struct {
	Name    string
	Inputs  []place
	Outputs []output
}

// place is a message of a shard: a number of each.
type place [2]uint64

// output is a store.Put. Its data are in the record if they are few, else in the bundle At, from a byte on.
type output struct {
	Shard      int
	Segments   int
	Seal       bool
	Data       []byte
	At         string
	From, Size int
}

func (o *operation) code(x *coder) {
	x.text(&o.ID)
	x.uint(&o.Kind)
	switch o.Kind {
	case opMake:
		list(x, &o.Make, x.shard)
	case opDrop:
	case opTake:
		x.int(&o.Take.Shard)
		x.uint(&o.Take.Lease)
		list(x, &o.Take.Messages, x.delivery)
	case opRelet:
		x.int(&o.Relet.Shard)
		x.uint(&o.Relet.Lease)
		list(x, &o.Relet.Keep, x.delivery)
		list(x, &o.Relet.Return, x.delivery)
	case opCommit:
		list(x, &o.Commit, x.unit)
	default:
		x.bad = true
	}
}

func (x *coder) shard(s *store.Shard) {
	x.text(&s.Edge)
	x.int(&s.Number)
}

func (x *coder) delivery(d *delivery) {
	x.uint(&d[0])
	x.uint(&d[1])
}

func (x *coder) unit(u *unit) {
	x.text(&u.Name)
	list(x, &u.Inputs, func(p *place) {
		x.uint(&p[0])
		x.uint(&p[1])
	})
	list(x, &u.Outputs, x.output)
}

func (x *coder) output(o *output) {
	x.int(&o.Shard)
	x.int(&o.Segments)
	x.bool(&o.Seal)
	x.bytes(&o.Data)
	x.text(&o.At)
	if o.At != "" {
		x.int(&o.From)
		x.int(&o.Size)
	}
}

func encode(op operation) []byte {
	x := newWriter()
	op.code(x)
	return x.data
}

func decode(data []byte) (op operation, err error) {
	x := newReader(data)
	op.code(x)
	return op, x.end()
}
