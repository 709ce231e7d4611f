package kafka

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/logqueue"
)

var _ store.Queue = (*Store)(nil)

// queues is logqueue.Store, whose name is ours.
type queues = logqueue.Store

// What follows the name of a store in the names of a flow's topics: the hash of the flow's name, which may have any length, and what is in them.
const (
	flowTopic = ".flow-"
	flowFacts = ".facts"
	flowData  = ".data"
)

func flowTopics(name, flow string) []string {
	sum := sha256.Sum256([]byte(flow))
	base := name + flowTopic + hex.EncodeToString(sum[:10])
	return []string{base + flowFacts, base + flowData}
}

// journals are the topics of flows: two for each, made when it begins and deleted when it is dropped.
type journals struct {
	line *line
	o    Options
}

// Enter implements logqueue.Journals.
func (j *journals) Enter(ctx context.Context, change bool) error {
	if change {
		return j.line.enterChange(ctx)
	}
	return j.line.enter(ctx)
}

// OpenJournal implements logqueue.Journals.
func (j *journals) OpenJournal(ctx context.Context, flow string, create bool) (logqueue.Journal, error) {
	ctx, cancel := j.line.bounded(ctx)
	defer cancel()
	o := j.o
	o.MustExist = !create
	names := flowTopics(o.Name, flow)
	info, err := lookUp(ctx, j.line.client, o, names)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		return nil, readError(ctx, err)
	}
	topics := make([]*topic, len(names))
	for i, name := range names {
		topics[i] = &topic{line: j.line, name: name, id: info[name].TopicID}
		topics[i].leader.Store(info[name].Partitions[0].Leader)
	}
	facts := newTopicLog(j.line, topics[0], nil)
	facts.unseeded = true
	return &flowJournal{facts: facts, data: topics[1]}, nil
}

// DropJournal implements logqueue.Journals.
func (j *journals) DropJournal(ctx context.Context, flow string) error {
	ctx, cancel := j.line.bounded(ctx)
	defer cancel()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(j.line.timeout.Milliseconds())
	for _, name := range flowTopics(j.o.Name, flow) {
		one := kmsg.NewDeleteTopicsRequestTopic()
		one.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, one)
		req.TopicNames = append(req.TopicNames, name)
	}
	resp, err := request[*kmsg.DeleteTopicsResponse](ctx, j.line.client, req)
	if err != nil {
		return changeError(err)
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) && !errors.Is(err, kerr.UnknownTopicID) {
			return fmt.Errorf("%w: delete the topics of a flow: %w", store.ErrUnavailable, err)
		}
	}
	return nil
}

// Removes implements logqueue.Journals: a broker may answer for a topic that is being deleted.
func (j *journals) Removes() bool { return false }

// flowJournal is the topics of one flow: its operations in order, and the data that they name by their offsets.
type flowJournal struct {
	facts *topicLog
	data  *topic
}

// Append implements logqueue.Journal.
func (f *flowJournal) Append(ctx context.Context, a logqueue.Append) (index uint64, record []byte, err error) {
	at, err := f.put(ctx, a.Data)
	if err != nil {
		return 0, nil, err
	}
	record = a.Record(at)
	index, err = f.facts.append(ctx, record)
	return index, record, f.gone(ctx, err)
}

// MaxRecord implements logqueue.Journal.
func (f *flowJournal) MaxRecord() int { return MaxRecord }

// Read implements logqueue.Journal.
func (f *flowJournal) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	page, err := f.facts.Read(ctx, after, limit)
	return page, f.gone(ctx, err)
}

// put stores data, and says where they are.
func (f *flowJournal) put(ctx context.Context, data [][]byte) ([]string, error) {
	if len(data) == 0 {
		return nil, nil
	}
	records := make([]*kgo.Record, len(data))
	for i, d := range data {
		if len(d) > MaxRecord {
			return nil, fmt.Errorf("%d bytes, at most %d: %w", len(d), MaxRecord, store.ErrTooLarge)
		}
		value := append(make([]byte, 0, len(d)), d...) // the client may send it after the caller has gone
		records[i] = &kgo.Record{Value: value, Headers: []kgo.RecordHeader{{Key: mark, Value: sumOf(value)}}}
	}
	if err := f.data.produce(ctx, records...); err != nil {
		return nil, f.gone(ctx, err)
	}
	at := make([]string, len(records))
	for i, r := range records {
		at[i] = strconv.FormatInt(r.Offset, 10)
	}
	return at, nil
}

// Get implements logqueue.Journal. What was stored together is mostly read together.
func (f *flowJournal) Get(ctx context.Context, at ...string) ([][]byte, error) {
	ctx, cancel := f.data.line.bounded(ctx)
	defer cancel()
	out, have := make([][]byte, len(at)), make(map[int64][]byte)
	for i, place := range at {
		offset, err := strconv.ParseInt(place, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the place %q is no offset: %w", place, ErrDamaged)
		}
		if _, ok := have[offset]; !ok {
			if err := f.fetch(ctx, offset, have); err != nil {
				return nil, f.gone(ctx, readError(ctx, err))
			}
		}
		out[i] = have[offset]
	}
	return out, nil
}

// fetch reads the record at an offset, and notes it with those that came along.
func (f *flowJournal) fetch(ctx context.Context, offset int64, have map[int64][]byte) error {
	for {
		got, err := f.data.fetch(ctx, f.data.line.client, offset, leastBytes, 0)
		if err != nil {
			return err
		}
		for _, r := range got.records {
			if data, ok := f.facts.ours(r); ok {
				have[r.Offset] = append([]byte{}, data...)
			}
		}
		if _, ok := have[offset]; ok {
			return nil
		}
		if got.next > offset {
			return fmt.Errorf("topic %s has no record of ours at offset %d: %w", f.data.name, offset, ErrDamaged)
		}
		if err := pause(ctx, backoff(1)); err != nil { // a new leader does not yet know what all replicas have
			return err
		}
	}
}

// gone finds out whether a call failed because the flow was dropped.
func (f *flowJournal) gone(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !errors.Is(err, kerr.UnknownTopicOrPartition) && !errors.Is(err, kerr.UnknownTopicID) && !errors.Is(err, ErrDamaged) {
		return err
	}
	ctx, cancel := f.data.line.bounded(ctx)
	defer cancel()
	info, ask := describe(ctx, f.data.line.client, f.data.name)
	if m := info[f.data.name]; ask == nil && (m.ErrorCode == kerr.UnknownTopicOrPartition.Code || m.ErrorCode == 0 && m.TopicID != f.data.id) {
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	}
	return err
}
