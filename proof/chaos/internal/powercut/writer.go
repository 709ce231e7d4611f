package powercut

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// Of each writer every so manyth step also changes its document, or works on the flow, and the one that takes snapshots
// takes one.
const (
	docEvery      = 4
	moveEvery     = 2
	snapshotEvery = 40
)

// Write appends entries to the store in a directory, changes a document of its own and works on a flow until something
// fails or ctx ends, and says before and after each call what it is. Name is "key.n": another n for each start. The
// writers named "w0.n" also take snapshots and trim.
func Write(ctx context.Context, dir, name string, out io.Writer) error {
	s, err := file.Open(ctx, dir, file.Options{})
	if err != nil {
		return err
	}
	key, _, _ := strings.Cut(name, ".")
	w := &writer{store: s, name: name, key: "position/" + key, snapshots: key == "w0", out: json.NewEncoder(out)}
	return errors.Join(w.run(ctx), s.Close())
}

type writer struct {
	store     *file.Store
	name, key string
	snapshots bool
	out       *json.Encoder
	value     cluster.Value
	version   store.Version
	seq       uint64
}

func (w *writer) run(ctx context.Context) error {
	d, err := w.store.Get(ctx, w.key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	w.version = d.Version
	if err := w.store.MakeFlow(ctx, flowName, []store.Shard{front, back}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := w.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) step(ctx context.Context) (err error) {
	w.seq++
	if w.value, err = (replica.Protocol{}).Observe(ctx, w.store, w.value); err != nil {
		return err
	}
	if err := w.append(ctx); err != nil {
		return err
	}
	if w.seq%docEvery == 0 {
		if err := w.put(ctx); err != nil {
			return err
		}
	}
	if w.seq%moveEvery == 0 {
		if err := w.move(ctx); err != nil {
			return err
		}
	}
	if !w.snapshots || w.seq%snapshotEvery != 0 {
		return nil
	}
	index := uint64(w.value.Index())
	if err := w.store.SaveSnapshot(ctx, store.Record{Index: index, Data: w.value.Snapshot()}); err != nil {
		return err
	}
	return w.store.Trim(ctx, index)
}

// append appends an entry that says on what it builds, as members do.
func (w *writer) append(ctx context.Context) error {
	job := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Definition: w.filler()}},
		Version: fmt.Sprint(w.seq)}
	data := cluster.Entry{
		Writer: cluster.WriterID(w.name), Seq: w.seq,
		BaseIndex: w.value.Index(), BaseChain: w.value.Chain(),
		Commands: []cluster.Command{cluster.SubmitJob{Job: cluster.JobID(w.name), Spec: job}},
	}.Encode()
	if err := w.out.Encode(line{Sum: sum(data)}); err != nil {
		return err
	}
	index, err := w.store.Append(ctx, data)
	if err != nil {
		return err
	}
	return w.acknowledge(line{Index: index, Sum: sum(data)})
}

// acknowledge says that a call was acknowledged, now.
func (w *writer) acknowledge(said line) error {
	said.Ack, said.AtNS = true, int64(protocol.Now())
	return w.out.Encode(said)
}

func (w *writer) put(ctx context.Context) error {
	value := fmt.Appendf(nil, "%s %d", w.name, w.seq)
	if err := w.out.Encode(line{Doc: w.key, Sum: sum(value)}); err != nil {
		return err
	}
	version, err := w.store.Put(ctx, store.Doc{Key: w.key, Value: value, Version: w.version})
	if err != nil {
		return err
	}
	w.version = version
	return w.acknowledge(line{Doc: w.key, Sum: sum(value)})
}

// filler makes entries of different sizes: some need several pages.
func (w *writer) filler() []byte {
	size := []int{20, 300, 5000, 70, 12000}[w.seq%5]
	return fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("x", size))
}

func sum(data []byte) string {
	h := fnv.New128a()
	h.Write(data)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// flowName is the flow that all writers work on: each puts segments in, and moves segments of anybody to the end.
const flowName = "power@1"

var (
	front = store.Shard{Edge: "front"}
	back  = store.Shard{Edge: "back"}
)

// segment is what is known of one segment of the flow.
type segment struct {
	given, put   bool // somebody was about to put it in; it was acknowledged
	moved, ended bool // the same of its way to the end
}

// move puts a segment into the flow, and moves one that is there to its end: outputs stored and inputs acknowledged as
// one fact.
func (w *writer) move(ctx context.Context) error {
	name := fmt.Sprintf("%s/%d", w.name, w.seq)
	if err := w.commit(ctx, line{Segment: name},
		store.Unit{Name: name, Outputs: []store.Put{{Shard: front, Segments: 1, Data: []byte(name)}}}); err != nil {
		return err
	}
	got, err := w.store.Receive(ctx, flowName, store.Receive{Shard: front, Limit: 1, Lease: time.Second})
	if err != nil || len(got) == 0 {
		return err
	}
	return w.commit(ctx, line{Segment: string(got[0].Data), Moved: true},
		store.Unit{Inputs: got, Outputs: []store.Put{{Shard: back, Segments: 1, Data: got[0].Data}}})
}

func (w *writer) commit(ctx context.Context, said line, u store.Unit) error {
	if err := w.out.Encode(said); err != nil {
		return err
	}
	if _, err := w.store.Commit(ctx, flowName, u); err != nil {
		return err
	}
	return w.acknowledge(said)
}

func (l *ledger) noteSegment(x line) {
	s := l.segments[x.Segment]
	if s == nil {
		s = &segment{}
		l.segments[x.Segment] = s
	}
	s.given, s.put = true, s.put || x.Ack || x.Moved
	s.moved, s.ended = s.moved || x.Moved, s.ended || x.Moved && x.Ack
}

// verifyQueue looks where each segment is: in one place, and not before where it was acknowledged to be.
func (l *ledger) verifyQueue(ctx context.Context, s *file.Store, f *finding) error {
	waiting, err := texts(ctx, s, front)
	if err != nil {
		return err
	}
	ended, err := texts(ctx, s, back)
	if err != nil {
		return err
	}
	for name, is := range l.segments {
		switch in, out := waiting[name], ended[name]; {
		case in+out > 1:
			f.fault("segment %s is there %d times, %d of them at the end", name, in+out, out)
		case is.put && in+out == 0:
			f.lost++
			f.fault("segment %s was put in, and is not there", name)
		case is.ended && out == 0:
			f.lost++
			f.fault("segment %s was moved, and is not at the end", name)
		case !is.moved && out > 0:
			f.fault("segment %s is at the end, and nobody moved it", name)
		default:
			f.segments += in + out
			*is = segment{given: in+out > 0, put: in+out > 0, moved: out > 0, ended: out > 0}
		}
		delete(waiting, name)
		delete(ended, name)
	}
	if len(waiting)+len(ended) > 0 {
		f.fault("%d segments are there that nobody put in", len(waiting)+len(ended))
	}
	return nil
}

// texts counts what waits in a shard.
func texts(ctx context.Context, s *file.Store, shard store.Shard) (map[string]int, error) {
	there := make(map[string]int)
	for after := uint64(0); ; {
		all, err := s.Receive(ctx, flowName, store.Receive{Shard: shard, Peek: true, After: after, Limit: 1000})
		if errors.Is(err, store.ErrNotFound) {
			return there, nil // it was cut before there was a flow
		}
		if err != nil || len(all) == 0 {
			return there, err
		}
		for i := range all {
			there[string(all[i].Data)]++
			after = all[i].Number
		}
	}
}
