package storerepair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/store"
)

// Report is what is wrong with a log, and what a repair leaves.
type Report struct {
	Index      cluster.Index `json:"index"`
	Digest     string        `json:"digest"`
	Jobs       int           `json:"jobs"`
	Partitions int           `json:"partitions"`
	Snapshot   string        `json:"snapshot,omitempty"` // why the snapshot cannot be read
	Lost       []Record      `json:"lost"`               // entries that end members; a repair leaves them out
	Refused    []Record      `json:"refused"`            // entries that no member can have written; they do nothing and end nobody
	Garbage    int           `json:"garbage"`            // records that are no entries; everybody skips them
	Repaired   bool          `json:"repaired"`
	Backup     string        `json:"backup,omitempty"`

	value cluster.Value
	had   uint64 // index of the snapshot that is there
}

// Record is an entry that is no part of the value.
type Record struct {
	Index  cluster.Index `json:"index"`
	Bytes  int           `json:"bytes"`
	Reason string        `json:"reason"`
}

// Needed tells whether there is something that ends members.
func (r Report) Needed() bool { return r.Snapshot != "" || len(r.Lost) > 0 }

// ErrNoRepair says that what is left does not make a value.
var ErrNoRepair = errors.New("the snapshot cannot be read, and the entries before it are trimmed")

const readLimit = 2000

// Look folds the log without what ends members. It writes nothing.
func Look(ctx context.Context, l store.Log) (Report, error) {
	r := Report{Lost: []Record{}, Refused: []Record{}}
	if err := r.begin(ctx, l); err != nil {
		return r, err
	}
	for {
		page, err := l.Read(ctx, uint64(r.value.Index()), readLimit)
		if errors.Is(err, store.ErrTruncated) && r.Snapshot != "" {
			return r, fmt.Errorf("%w: %s", ErrNoRepair, r.Snapshot)
		}
		if err != nil {
			return r, fmt.Errorf("read the log: %w", err)
		}
		for _, rec := range page.Records {
			r.take(rec)
		}
		if len(page.Records) == 0 || uint64(r.value.Index()) >= page.Head {
			break
		}
	}
	r.describe()
	return r, nil
}

func (r *Report) begin(ctx context.Context, l store.Log) error {
	rec, err := l.Snapshot(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	r.had = rec.Index
	v, err := cluster.DecodeSnapshot(rec.Data)
	if err != nil {
		r.Snapshot = err.Error()
		return nil //nolint:nilerr // it is what the report says
	}
	r.value = v
	return nil
}

func (r *Report) take(rec store.Record) {
	index := cluster.Index(rec.Index)
	e, ok, err := r.value.Decode(index, rec.Data)
	if err != nil {
		r.Lost = append(r.Lost, Record{index, len(rec.Data), err.Error()})
	}
	if !ok {
		if err == nil {
			r.Garbage++
		}
		r.value = r.value.Skip(index, rec.Data)
		return
	}
	next, done := r.value.Apply(e)
	if r.value = next; done.Foreign != "" {
		r.Refused = append(r.Refused, Record{index, len(rec.Data), done.Foreign})
	}
}

func (r *Report) describe() {
	r.Index, r.Digest = r.value.Index(), r.value.Digest().String()
	for j := range r.value.Jobs() {
		if !cluster.PartitionID(j.ID).Reserved() {
			r.Jobs++
		}
	}
	for p := range r.value.Partitions() {
		if !p.ID.Reserved() {
			r.Partitions++
		}
	}
}

// Repair saves the value of a look as a snapshot and trims the log to it. No member may run.
func Repair(ctx context.Context, l store.Log, r Report) error {
	v := r.value
	if uint64(v.Index()) <= r.had { // a snapshot at the same index would be ignored
		data := cluster.Entry{Writer: "repair", Seq: uint64(v.Index()) + 1, BaseIndex: v.Index(),
			BaseChain: v.Chain()}.Encode()
		index, err := l.Append(ctx, data)
		if err != nil {
			return fmt.Errorf("append behind the snapshot: %w", err)
		}
		v = v.Skip(cluster.Index(index), data)
	}
	if err := l.SaveSnapshot(ctx, store.Record{Index: uint64(v.Index()), Data: v.Snapshot()}); err != nil {
		return fmt.Errorf("save the snapshot: %w", err)
	}
	if err := l.Trim(ctx, uint64(v.Index())); err != nil {
		return fmt.Errorf("trim the log: %w", err)
	}
	got, err := fold.Observe(ctx, l, cluster.Value{})
	if err != nil {
		return fmt.Errorf("read what was repaired: %w", err)
	}
	if got.Digest() != v.Digest() {
		return fmt.Errorf("the log gives digest %s, want %s: somebody else writes to it", got.Digest(), v.Digest())
	}
	return nil
}

// Backup writes the snapshot and all records as lines of JSON.
func Backup(ctx context.Context, l store.Log, w io.Writer) error {
	out := json.NewEncoder(w)
	after := uint64(0)
	rec, err := l.Snapshot(ctx)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	if err == nil {
		if err := out.Encode(line{"snapshot", rec.Index, rec.Data}); err != nil {
			return err
		}
	}
	for {
		page, err := l.Read(ctx, after, readLimit)
		if errors.Is(err, store.ErrTruncated) && after < rec.Index {
			after = rec.Index
			continue
		}
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		for _, r := range page.Records {
			if err := out.Encode(line{"record", r.Index, r.Data}); err != nil {
				return err
			}
			after = r.Index
		}
		if len(page.Records) == 0 || after >= page.Head {
			return nil
		}
	}
}

type line struct {
	Kind  string `json:"kind"`
	Index uint64 `json:"index"`
	Data  []byte `json:"data"`
}
