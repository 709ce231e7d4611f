package powercut

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strings"

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
