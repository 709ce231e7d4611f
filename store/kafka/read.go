package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/store"
)

const (
	leastBytes = 64 << 10
	fetchBytes = 8 << 20 // of one answer, at most
	pageBytes  = 8 << 20 // of one page; the last record may exceed it
)

// latest and earliest are the names of the ends of a partition in ListOffsets.
const (
	latest   = -1
	earliest = -2
)

// end asks the leader for an end of the partition. Records below the latest offset are on all replicas that are in sync.
func (t *topic) end(ctx context.Context, which int64) (int64, error) {
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Timestamp = which
	one := kmsg.NewListOffsetsRequestTopic()
	one.Topic, one.Partitions = t.name, []kmsg.ListOffsetsRequestTopicPartition{part}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.Topics = -1, []kmsg.ListOffsetsRequestTopic{one}
	offset := int64(0)
	err := t.askLeader(ctx, t.line.client, func(b *kgo.Broker) error {
		resp, err := requestAt[*kmsg.ListOffsetsResponse](ctx, b, req)
		if err != nil {
			return err
		}
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return errors.New("the answer does not name the partition")
		}
		offset = resp.Topics[0].Partitions[0].Offset
		return topicError(t.name, resp.Topics[0].Partitions[0].ErrorCode)
	})
	return offset, err
}

// fetched is one answer of a broker: some records, and where to go on.
type fetched struct {
	records     []*kgo.Record
	next        int64
	first, high int64 // the ends of the partition
}

// fetch reads from an offset on, at least one batch if there is one. wait is how many milliseconds the broker may wait for one.
func (t *topic) fetch(ctx context.Context, c *kgo.Client, from int64, most, wait int32) (fetched, error) {
	part := kmsg.NewFetchRequestTopicPartition()
	part.FetchOffset, part.PartitionMaxBytes = from, most
	one := kmsg.NewFetchRequestTopic()
	one.Topic, one.TopicID, one.Partitions = t.name, t.id, []kmsg.FetchRequestTopicPartition{part}
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch, req.Topics = wait, 1, most, -1, []kmsg.FetchRequestTopic{one}
	var out fetched
	err := t.askLeader(ctx, c, func(b *kgo.Broker) error {
		resp, err := requestAt[*kmsg.FetchResponse](ctx, b, req)
		if err != nil {
			return err
		}
		if err := topicError(t.name, resp.ErrorCode); err != nil {
			return err
		}
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return errors.New("the answer does not name the partition")
		}
		out, err = t.decode(&resp.Topics[0].Partitions[0], from)
		return err
	})
	return out, err
}

func (t *topic) decode(p *kmsg.FetchResponseTopicPartition, from int64) (fetched, error) {
	out := fetched{first: p.LogStartOffset, high: p.HighWatermark}
	if err := topicError(t.name, p.ErrorCode); err != nil {
		return out, err
	}
	part, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: from, Topic: t.name}, p, kgo.DefaultDecompressor(), nil)
	if part.Err != nil {
		return out, fmt.Errorf("topic %s, offset %d: %w: %w", t.name, next, ErrDamaged, part.Err)
	}
	out.records, out.next = part.Records, next
	return out, nil
}

// head is the newest record of ours, as far as this handle knows: the index of the newest below the end of the partition.
type head struct{ end, index int64 }

// Read implements store.Log. Foreign records are skipped.
func (g *topicLog) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if limit < 1 {
		return store.Page{}, fmt.Errorf("read log: limit is %d: give at least 1", limit)
	}
	if err := g.line.enter(ctx); err != nil {
		return store.Page{}, fmt.Errorf("read log after %d: %w", after, err)
	}
	ctx, cancel := g.line.bounded(ctx)
	defer cancel()
	s, err := g.started(ctx)
	if err == nil && s == nil && !g.unseeded {
		return store.Page{}, nil // an empty log
	}
	var page store.Page
	if err == nil {
		page, err = g.read(ctx, orPlain(s), after, limit)
	}
	if err != nil {
		return store.Page{}, fmt.Errorf("read log after %d: %w", after, readError(ctx, err))
	}
	return page, nil
}

// orPlain is the start of a log that nobody seeds.
func orPlain(s *start) start {
	if s == nil {
		return start{}
	}
	return *s
}

// read reads a log that began in a known way.
func (g *topicLog) read(ctx context.Context, s start, after uint64, limit int) (store.Page, error) {
	if after < s.Seed {
		return store.Page{}, fmt.Errorf("the log begins behind %d: %w", s.Seed, store.ErrTruncated)
	}
	page, err := g.readOffsets(ctx, after-s.Shift, limit)
	if err != nil {
		return page, err
	}
	for i := range page.Records {
		page.Records[i].Index += s.Shift
	}
	page.Head = max(page.Head+s.Shift, s.Seed)
	return page, nil
}

// readOffsets reads as if each index were an offset and one.
func (g *topicLog) readOffsets(ctx context.Context, after uint64, limit int) (store.Page, error) {
	known := g.known() // before the question: what is appended meanwhile may be newer than the answer
	end, err := g.records.end(ctx, latest)
	if err != nil {
		return store.Page{}, err
	}
	if end < known.end {
		g.records.leader.Store(noLeader)
		return store.Page{}, fmt.Errorf("%w: topic %s ends at offset %d, and went to %d: its leader lags, or records were lost", store.ErrUnavailable, g.records.name, end, known.end)
	}
	var page store.Page
	if int64(after) < end {
		if page, end, err = g.collect(ctx, int64(after), end, limit); err != nil {
			return page, err
		}
	}
	index, err := g.headBelow(ctx, end)
	page.Head = uint64(index)
	return page, err
}

// collect reads records from an offset up to an end, which it raises if it reads further; and notes the head where it has come to it.
func (g *topicLog) collect(ctx context.Context, from, end int64, limit int) (store.Page, int64, error) {
	var page store.Page
	at, bytes := from, 0
	for at < end && len(page.Records) < limit && bytes < pageBytes {
		f, err := g.records.fetch(ctx, g.line.client, at, g.room(limit-len(page.Records)), 0)
		if errors.Is(err, errAway) {
			return page, end, g.away(ctx, at)
		}
		if err != nil {
			return page, end, err
		}
		g.weigh(f.records)
		for _, r := range f.records {
			if len(page.Records) == limit {
				return page, max(end, at), nil
			}
			at = r.Offset + 1
			if data, ok := g.ours(r); ok {
				page.Records = append(page.Records, store.Record{Index: uint64(at), Data: data})
				bytes += len(data)
			}
		}
		if f.next <= at && len(f.records) == 0 { // a new leader does not yet know what all replicas have
			if err := pause(ctx, 10*time.Millisecond); err != nil {
				return page, end, err
			}
		}
		at = max(at, f.next)
	}
	if at >= end {
		end = at
		if n := len(page.Records); n > 0 {
			g.saw(head{end: at, index: int64(page.Records[n-1].Index)})
		} else if known := g.known(); known.end >= from {
			g.saw(head{end: at, index: known.index})
		}
	}
	return page, end, nil
}

// room is how many bytes to ask for, for some records of the size that the last ones had.
func (g *topicLog) room(records int) int32 {
	each := max(g.weight.Load(), 128)
	return int32(min(max(int64(min(records, fetchBytes))*each*5/4, leastBytes), fetchBytes))
}

// weigh notes how large records are, with what a batch adds to each.
func (g *topicLog) weigh(records []*kgo.Record) {
	bytes := 0
	for _, r := range records {
		bytes += len(r.Value) + 80
	}
	if len(records) > 0 {
		g.weight.Store(int64(bytes / len(records)))
	}
}

// pause waits, or says why ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// away says why a record below the end cannot be read.
func (g *topicLog) away(ctx context.Context, at int64) error {
	first, err := g.records.end(ctx, earliest)
	switch {
	case err != nil:
		return err
	case at < first:
		return fmt.Errorf("trimmed up to %d: %w", first, store.ErrTruncated)
	}
	g.records.leader.Store(noLeader)
	return fmt.Errorf("%w: topic %s: its leader does not have offset %d yet", store.ErrUnavailable, g.records.name, at)
}

// headBelow is the index of the newest record of ours below the end of the partition. Mostly the handle knows it, or it is the last record.
func (g *topicLog) headBelow(ctx context.Context, end int64) (int64, error) {
	if known := g.known(); known.end >= end {
		return known.index, nil
	}
	first, err := g.records.end(ctx, earliest)
	if err != nil {
		return 0, err
	}
	for back := int64(1); ; back *= 8 {
		from := max(end-back, first)
		newest, err := g.newest(ctx, from, end)
		switch {
		case errors.Is(err, errAway): // trimmed meanwhile
			return g.headBelow(ctx, end)
		case err != nil:
			return 0, err
		case newest > 0 || from == first:
			index := max(newest, first) // where all is trimmed, the log ends there
			g.saw(head{end, index})
			return index, nil
		}
	}
}

// newest looks for the last record of ours in a range; 0: there is none.
func (g *topicLog) newest(ctx context.Context, from, end int64) (int64, error) {
	newest := int64(0)
	for at := from; at < end; {
		f, err := g.records.fetch(ctx, g.line.client, at, fetchBytes, 0)
		if err != nil {
			return 0, err
		}
		for _, r := range f.records {
			if _, ok := g.ours(r); ok && r.Offset < end {
				newest = r.Offset + 1
			}
		}
		if f.next <= at {
			return newest, fmt.Errorf("%w: the leader answered with nothing at offset %d", errMoved, at)
		}
		at = f.next
	}
	return newest, nil
}

func (g *topicLog) known() head {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.head
}

// saw notes a head that was seen.
func (g *topicLog) saw(h head) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.end > g.head.end {
		g.head = h
	}
}
