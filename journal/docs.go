package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/store"
)

// prefix is where the journal is kept among the documents: journal/<UTC hour>/<ms>-<member>-<start>-<number>. Hour and milliseconds are those
// of the newest record in the document: who looks for records since some time finds them under that hour or a later one.
const prefix = "journal/"

// Docs is the journal kept in the cluster's own store, one document per Append.
type Docs struct {
	docs   store.Docs
	member string
	start  string // tells this process from former ones of the member
	seq    atomic.Uint64
	keep   time.Duration
	most   int
	swept  atomic.Int64 // hour of the last sweep
}

var _ Journal = (*Docs)(nil)

const (
	usualKeep = 7 * 24 * time.Hour
	usualMost = 100_000
	// maxSweep bounds what one sweep removes, so that an append never waits long; the next one goes on.
	maxSweep = 500
	// manyHours is from where on one list of everything is cheaper than one per hour.
	manyHours = 12
)

// NewDocs makes a journal over documents. Records older than keep are removed now and then, by whoever appends, and the oldest when there
// are more than 100,000 documents; a keep of 0 means 7 days.
func NewDocs(d store.Docs, member string, keep time.Duration) *Docs {
	if keep <= 0 {
		keep = usualKeep
	}
	return &Docs{
		docs: d, member: member, start: strconv.FormatInt(time.Now().UnixNano(), 36), keep: keep, most: usualMost,
	}
}

func hour(t time.Time) string { return t.UTC().Format("2006010215") }

// Append implements Journal. A record without a time gets the present one.
func (j *Docs) Append(ctx context.Context, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	records = slices.Clone(records)
	newest := int64(0)
	for i := range records {
		if records[i].AtMS <= 0 {
			records[i].AtMS = time.Now().UnixMilli()
		}
		newest = max(newest, records[i].AtMS)
	}
	value, err := json.Marshal(records)
	if err != nil {
		return fmt.Errorf("append to journal: %w", err)
	}
	newest = min(newest, latest)
	key := fmt.Sprintf("%s%s/%013d-%s-%s-%d", prefix, hour(time.UnixMilli(newest)), newest, j.member, j.start, j.seq.Add(1))
	if _, err := j.docs.Put(ctx, store.Doc{Key: key, Value: value}); err != nil {
		return fmt.Errorf("append to journal: %w", err)
	}
	j.sweep(ctx)
	return nil
}

// latest is the last millisecond of the year 9999: later ones do not fit into keys.
const latest = 253402300799999

// sweep removes what is too old or too much, once an hour or until nothing is left to remove. What fails is tried again in the next hour.
func (j *Docs) sweep(ctx context.Context) {
	now := time.Now()
	this := now.Unix() / 3600
	if j.swept.Swap(this) == this {
		return
	}
	docs, err := j.docs.List(ctx, prefix)
	if err != nil {
		return
	}
	oldest := prefix + hour(now.Add(-j.keep))
	removed := 0
	for i, d := range docs {
		if d.Key >= oldest && len(docs)-i <= j.most {
			return
		}
		if removed == maxSweep {
			j.swept.Store(0) // the next append goes on
			return
		}
		removed++
		err := j.docs.Delete(ctx, d.Key, d.Version)
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
			return
		}
	}
}

// Read implements Journal.
func (j *Docs) Read(ctx context.Context, q Query) ([]Record, error) {
	var all []Record
	for _, p := range j.prefixes(q.Since) {
		docs, err := j.docs.List(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		for _, d := range docs {
			if q.Since.IsZero() || d.Key >= prefix+hour(q.Since) {
				all = append(all, decode(d)...)
			}
		}
	}
	return q.answer(all), nil
}

// prefixes are what to list: the hours since then and the next, or everything.
func (j *Docs) prefixes(since time.Time) []string {
	hours := int64(manyHours)
	if !since.IsZero() {
		hours = time.Now().Unix()/3600 - since.Unix()/3600
	}
	if hours >= manyHours {
		return []string{prefix}
	}
	var out []string
	for h := int64(0); h <= max(hours, 0)+1; h++ {
		out = append(out, prefix+hour(since.Add(time.Duration(h)*time.Hour))+"/")
	}
	return out
}

// decode gives the records of a document; one that cannot be decoded gives one that says so.
func decode(d store.Doc) []Record {
	var records []Record
	err := json.Unmarshal(d.Value, &records)
	if err == nil {
		return records
	}
	_, name, _ := strings.Cut(strings.TrimPrefix(d.Key, prefix), "/")
	ms, _, _ := strings.Cut(name, "-")
	at, badTime := strconv.ParseInt(ms, 10, 64)
	if badTime != nil {
		at = 0 // it stands at the beginning then
	}
	return []Record{{AtMS: at, Kind: Unreadable, Message: fmt.Sprintf("document %s: %v", d.Key, err)}}
}
