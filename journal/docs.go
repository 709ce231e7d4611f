package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/store"
)

// prefix is where the journal is kept among the documents: journal/<UTC hour>/<ms>-<member>-<number>.
const prefix = "journal/"

// Docs is the journal kept in the cluster's own store, one document per Append.
type Docs struct {
	docs   store.Docs
	member string
	start  string // tells this process from former ones of the member
	seq    atomic.Uint64
	keep   time.Duration
	swept  atomic.Int64 // hour of the last sweep
}

var _ Journal = (*Docs)(nil)

// NewDocs makes a journal over documents. Records older than keep are removed now and then; 0 means 7 days.
func NewDocs(d store.Docs, member string, keep time.Duration) *Docs {
	if keep <= 0 {
		keep = 7 * 24 * time.Hour
	}
	return &Docs{docs: d, member: member, start: fmt.Sprintf("%x", time.Now().UnixNano()), keep: keep}
}

func hour(t time.Time) string { return t.UTC().Format("2006010215") }

// Append implements Journal.
func (j *Docs) Append(ctx context.Context, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	value, err := json.Marshal(records)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	at := time.UnixMilli(records[0].AtMS)
	key := fmt.Sprintf("%s%s/%013d-%s-%s-%d", prefix, hour(at), at.UnixMilli(), j.member, j.start, j.seq.Add(1))
	if _, err := j.docs.Put(ctx, store.Doc{Key: key, Value: value}); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.sweep(ctx)
	return nil
}

// sweep removes what is too old, at most once an hour.
func (j *Docs) sweep(ctx context.Context) {
	now := time.Now()
	if this := now.Unix() / 3600; j.swept.Swap(this) == this {
		return
	}
	docs, err := j.docs.List(ctx, prefix)
	if err != nil {
		return // the next hour will do
	}
	oldest := prefix + hour(now.Add(-j.keep))
	for _, d := range docs {
		if d.Key >= oldest {
			return
		}
		if err := j.docs.Delete(ctx, d.Key, d.Version); err != nil && !errors.Is(err, store.ErrNotFound) {
			return
		}
	}
}

// Read implements Journal.
func (j *Docs) Read(ctx context.Context, q Query) ([]Record, error) {
	docs, err := j.docs.List(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var out []Record
	for _, d := range docs {
		if !q.Since.IsZero() && d.Key < prefix+hour(q.Since) {
			continue
		}
		var records []Record
		if err := json.Unmarshal(d.Value, &records); err != nil {
			return nil, fmt.Errorf("journal: document %s: %w", d.Key, err)
		}
		for _, r := range records {
			if q.matches(r) {
				out = append(out, r)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Record) int { return int(a.AtMS - b.AtMS) })
	limit := q.Limit
	if limit <= 0 {
		limit = 1000
	}
	return out[max(0, len(out)-limit):], nil
}

func (q Query) matches(r Record) bool {
	if !q.Since.IsZero() && r.AtMS < q.Since.UnixMilli() {
		return false
	}
	p := q.Partition
	return p == "" || r.Partition == p || strings.HasPrefix(r.Partition, p+"#") || strings.HasPrefix(r.Partition, p+"/")
}
