package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	inner "github.com/rota-run/rota/store/internal/driver"
)

var _ driver.JournalValues = (*journal)(nil)

// journal is a log in a topic, with a topic for values. A record's index is its offset and one, and the index behind
// which the log was begun.
type journal struct {
	records, values *topic
	named           bool                   // it may be dropped
	begin           *engine.Rows           // a row of these says where the log begins; nil: it begins behind 0
	base            atomic.Pointer[uint64] // where it begins; nil: not known yet

	mu   sync.Mutex
	head head
}

// head is the newest record of ours, as far as this handle knows: the offset and one of the newest below the end of the
// partition.
type head struct{ end, newest int64 }

func (j *journal) known() head {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.head
}

// below returns the newest record of ours below an end. It is not ok if the head cannot tell: its end is lower, or its
// newest record was appended after that end.
func (h head) below(end int64) (newest int64, ok bool) {
	return h.newest, h.newest <= end && end <= h.end
}

// saw notes a head that was seen.
func (j *journal) saw(h head) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if h.end > j.head.end {
		j.head = h
	}
}

// beginKey is the key of the row that says behind which index the log begins. The first append or Start writes it.
const beginKey = "begin"

// began is the index behind which the log begins; not ok: nobody has begun it.
func (j *journal) began(ctx context.Context) (base uint64, ok bool, err error) {
	if p := j.base.Load(); p != nil || j.begin == nil {
		if p != nil {
			base = *p
		}
		return base, true, nil
	}
	row, err := j.begin.Get(ctx, beginKey)
	if err != nil || row.Version == "" {
		return 0, false, err
	}
	if base, err = strconv.ParseUint(string(row.Value), 10, 64); err != nil {
		return 0, false, fmt.Errorf("the beginning of the log is %.40q: %w", row.Value, ErrDamaged)
	}
	j.base.Store(&base)
	return base, true, nil
}

// beginAt begins the log behind an index, unless it has begun, and returns where it begins.
func (j *journal) beginAt(ctx context.Context, base uint64) (uint64, error) {
	at, ok, err := j.began(ctx)
	if err != nil || ok {
		return at, err
	}
	if err := j.begin.Once(ctx, beginKey, strconv.AppendUint(nil, base, 10)); err != nil {
		return 0, err
	}
	at, _, err = j.began(ctx)
	return at, err
}

// Append implements driver.Journal. All in-sync replicas have what was appended.
func (j *journal) Append(ctx context.Context, records [][]byte) ([]uint64, error) {
	ctx, leave, err := j.records.line.call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	most := MaxRecord + 1
	if j.begin == nil {
		most += overhead / 2 // of a row, with its key
	}
	for _, r := range records {
		if err := inner.CheckSize(r, most); err != nil {
			return nil, err
		}
	}
	if n := fitting(records); n < len(records) {
		return nil, fmt.Errorf("%d records, the first %d fill a batch: %w", len(records), n, store.ErrTooLarge)
	}
	base, err := j.beginAt(ctx, 0)
	if err != nil {
		return nil, inner.NotDone(err)
	}
	before := j.known()
	first, err := j.records.write(ctx, records)
	if err != nil {
		return nil, j.gone(ctx, err)
	}
	if first < before.end {
		return nil, fmt.Errorf("topic %s ended at offset %d, and the next record got %d: %w: %w",
			j.records.name, before.end, first, store.ErrUnknown, ErrDamaged)
	}
	indexes := make([]uint64, len(records))
	for i := range indexes {
		indexes[i] = base + uint64(first) + 1 + uint64(i) //nolint:gosec // not negative
	}
	end := first + int64(len(records))
	j.saw(head{end, end})
	return indexes, nil
}

// Free implements driver.Journal.
func (j *journal) Free(ctx context.Context, upTo uint64) error {
	ctx, leave, err := j.records.line.call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	base, _, err := j.began(ctx)
	if err != nil || upTo <= base {
		return err
	}
	return j.gone(ctx, j.records.drop(ctx, int64(upTo-base))) //nolint:gosec // an offset
}

// Start implements driver.Journal.
func (j *journal) Start(ctx context.Context, index uint64) error {
	ctx, leave, err := j.records.line.call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	base, err := j.beginAt(ctx, index)
	if err != nil {
		return err
	}
	_, _, end, err := j.Read(ctx, math.MaxUint64, 0)
	if err == nil && (base != index || end != index) {
		err = fmt.Errorf("the log ends at %d: %w", end, store.ErrConflict)
	}
	return err
}

// tailWait is how long a broker may keep a request that waits for a record.
const tailWait = 5 * time.Second

// Watch implements driver.Journal, with connections of its own: a connection serves one request after the other.
func (j *journal) Watch(ctx context.Context, hint func()) error {
	l := j.records.line
	ctx, leave, err := l.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	client, err := l.newTail()
	if err != nil {
		return err
	}
	defer client.Close()
	tail := &topic{line: l, name: j.records.name, id: j.records.id}
	tail.leader.Store(noLeader)
	for at := int64(-1); ; {
		next, err := tail.await(ctx, client, at)
		if err != nil {
			return inner.Because(ctx, err)
		}
		if next != at {
			hint()
		}
		at = next
	}
}

// await waits until the topic has a record at an offset, and returns the end that it has then; below 0: the end of now.
func (t *topic) await(ctx context.Context, c *kgo.Client, at int64) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, tailWait+t.line.timeout, errTimeout)
	defer cancel()
	if at < 0 {
		return t.end(ctx, latest)
	}
	f, err := t.fetch(ctx, c, at, 1, int32(tailWait.Milliseconds()))
	if errors.Is(err, errAway) {
		return t.end(ctx, latest)
	}
	return max(f.high, at), err
}

// gone finds out whether a call failed because the log was dropped.
func (j *journal) gone(ctx context.Context, err error) error {
	if err == nil || !j.named || ctx.Err() != nil || !isGone(err) && !errors.Is(err, ErrDamaged) {
		return err
	}
	t := j.values
	info, ask := describe(ctx, t.line.client, t.name)
	if m := info[t.name]; ask == nil && (m.ErrorCode == kerr.UnknownTopicOrPartition.Code || m.ErrorCode == 0 &&
		m.TopicID != t.id) {
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	}
	return err
}
