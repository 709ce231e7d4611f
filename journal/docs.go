package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/store"
)

// prefix is where the journal is kept among the documents: journal/<UTC hour>/<ms>-<member>-<start>-<number>. The hour
// is that of the newest record in the document, so no record is under an hour before its own. The milliseconds are
// those of the newest record that the document began with.
const prefix = "journal/"

// Docs is the journal in the cluster's own store. An Append extends the previous document if that is small and of the
// same hour, because reading few documents is much faster than reading many.
type Docs struct {
	docs   store.Docs
	member string
	start  string // tells this process from former ones of the member
	seq    atomic.Uint64
	keep   time.Duration
	most   int
	swept  atomic.Int64 // hour of the last sweep

	growing sync.Mutex // held while the open document is written
	open    open
}

// open is the document to which the next Append may add; none if its Key is "".
type open struct {
	store.Doc
	hour string
}

var _ Journal = (*Docs)(nil)

const (
	usualKeep = 7 * 24 * time.Hour
	usualMost = 100_000
	// maxSweep bounds what one sweep removes, so that an append never waits long; the next one goes on.
	maxSweep = 500
	// manyHours is from where on one list of everything is cheaper than one per hour.
	manyHours = 12
	// usualSize is the size from which on a document does not grow: each Append writes the whole.
	usualSize = 8 << 10
)

// NewDocs returns a journal over documents. Members that append remove records older than keep from time to time, and
// the oldest ones if there are more than 100,000 documents; a keep of 0 means 7 days.
func NewDocs(d store.Docs, member string, keep time.Duration) *Docs {
	if keep <= 0 {
		keep = usualKeep
	}
	return &Docs{
		docs: d, member: member, start: strconv.FormatInt(time.Now().UnixNano(), 36), keep: keep, most: usualMost,
	}
}

const hourForm = "2006010215"

func hour(t time.Time) string { return t.UTC().Format(hourForm) }

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
	if err := j.put(ctx, newest, value); err != nil {
		return fmt.Errorf("append to journal: %w", err)
	}
	j.sweep(ctx)
	return nil
}

// put writes records, encoded as a list, into the open document or a new one. Whoever finds the open document in use
// writes a new one.
func (j *Docs) put(ctx context.Context, newest int64, value []byte) error {
	fresh := open{hour: hour(time.UnixMilli(newest))}
	fresh.Key = fmt.Sprintf("%s%s/%013d-%s-%s-%d", prefix, fresh.hour, newest, j.member, j.start, j.seq.Add(1))
	fresh.Value = value
	if !j.growing.TryLock() {
		_, err := j.docs.Put(ctx, fresh.Doc)
		return err
	}
	defer j.growing.Unlock()
	was := j.open
	j.open = open{} // after an error nobody knows its version
	if was.Key != "" && was.hour == fresh.hour && len(was.Value)+len(value) <= usualSize {
		was.Value = joined(was.Value, value)
		v, err := j.docs.Put(ctx, was.Doc)
		if err == nil {
			was.Version = v
			j.open = was
		}
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrTooLarge) {
			return err
		}
	}
	v, err := j.docs.Put(ctx, fresh.Doc)
	if err == nil {
		fresh.Version = v
		j.open = fresh
	}
	return err
}

// joined is the list of both lists, neither of which is empty.
func joined(a, b []byte) []byte {
	out := slices.Concat(a[:len(a)-1], b)
	out[len(a)-1] = ','
	return out
}

// latest is the last millisecond of the year 9999: later ones do not fit into keys.
const latest = 253402300799999

// sweep removes what is too old or too much, once an hour or until nothing is left to remove. What fails is tried again
// in the next hour.
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

// decode gives the records of a document; one that cannot be decoded gives one that says so.
func decode(d store.Doc) []Record {
	records, err := unmarshal(d.Value)
	if err == nil {
		return records
	}
	_, name, _ := strings.Cut(strings.TrimPrefix(d.Key, prefix), "/")
	ms, _, _ := strings.Cut(name, "-")
	at, badTime := strconv.ParseInt(ms, 10, 64)
	if badTime != nil {
		at = 0 // then it is at the beginning
	}
	return []Record{{AtMS: at, Kind: Unreadable, Message: fmt.Sprintf("document %s: %v", d.Key, err)}}
}
