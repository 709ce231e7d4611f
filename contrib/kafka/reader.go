package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// MaxPartitionBytes is how much of a partition one fetch brings, as it comes over the network, unless [Loop].Options
// say otherwise. A single batch of records that is larger comes whole.
const MaxPartitionBytes = 256 << 10

// A partition that is added waits for metadata, and for the end of the fetch that a broker holds open while there is
// nothing: with the client's own 5 s for each, so would the hand-over of each partition. The price is a request a
// second for each broker.
const (
	metadataMinAge = 250 * time.Millisecond
	fetchMaxWait   = time.Second
)

// readers are the clients of one task type in this process: one for each set of brokers.
type readers struct {
	options []kgo.Opt

	mu   sync.Mutex
	open map[string]*reader
}

// reader is one client for all runs that have the same brokers. It lives as long as there are any.
type reader struct {
	name   string // its brokers
	users  int    // guarded by readers.mu
	client *kgo.Client
	away   *outage
	ended  chan struct{}

	mu     sync.Mutex
	turn   *sync.Cond
	polls  int64 // how often the client was asked
	wake   context.CancelFunc
	closed bool
	feeds  map[partition]*feed
	ids    map[string]string // of the topics, as the client knows them
}

// partition is one of a topic.
type partition struct {
	topic  string
	number int32
}

// take returns the reader of some brokers. Give it back.
func (s *readers) take(brokers []string, log *slog.Logger) (*reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.Join(brokers, ",")
	r, ok := s.open[name]
	if !ok {
		var err error
		if r, err = newReader(name, brokers, s.options, log); err != nil {
			return nil, err
		}
		s.open[name] = r
	}
	r.users++
	return r, nil
}

func (s *readers) giveBack(r *reader) {
	s.mu.Lock()
	r.users--
	last := r.users == 0
	if last {
		delete(s.open, r.name)
	}
	s.mu.Unlock()
	if last {
		r.close()
	}
}

// newReader opens no connection: the first request does.
func newReader(name string, brokers []string, options []kgo.Opt, log *slog.Logger) (*reader, error) {
	away := &outage{log: log, brokers: name}
	all := append([]kgo.Opt{kgo.FetchMaxPartitionBytes(MaxPartitionBytes), kgo.FetchMaxWait(fetchMaxWait),
		kgo.MetadataMinAge(metadataMinAge)}, options...)
	all = append(all, kgo.SeedBrokers(brokers...), kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.WithHooks(away))
	client, err := kgo.NewClient(all...)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", name, err)
	}
	if group, ok := client.OptValue(kgo.ConsumerGroup).(string); ok && group != "" {
		client.Close()
		return nil, errors.New("the options of the loop name a consumer group: take it out, the cluster deals partitions out; to commit to it set config.group")
	}
	r := &reader{name: name, client: client, away: away, ended: make(chan struct{}), feeds: map[partition]*feed{},
		ids: map[string]string{}, wake: func() {}}
	r.turn = sync.NewCond(&r.mu)
	go r.run()
	return r, nil
}

func (r *reader) close() {
	r.mu.Lock()
	r.closed = true
	r.wake()
	r.mu.Unlock()
	<-r.ended
	r.client.Close()
}

// run hands out what the client fetches, until the reader is closed.
func (r *reader) run() {
	defer close(r.ended)
	for {
		ctx, ok := r.nextPoll()
		if !ok {
			return
		}
		r.client.PollFetches(ctx).EachPartition(r.deliver)
	}
}

// nextPoll begins a turn, which ends at the next one. What was polled in a turn is delivered in it.
func (r *reader) nextPoll() (context.Context, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake()
	r.polls++
	r.turn.Broadcast()
	ctx, cancel := context.WithCancel(context.Background())
	r.wake = cancel
	if r.closed {
		cancel()
	}
	return ctx, !r.closed
}

func (r *reader) deliver(p kgo.FetchTopicPartition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := batch{records: p.Records, end: p.HighWatermark, err: p.Err}
	f := r.feeds[partition{p.Topic, p.Partition}]
	switch {
	case errors.Is(p.Err, context.Canceled) || errors.Is(p.Err, kgo.ErrClientClosed): // the end of a turn
	case f != nil && (len(b.records) > 0 || b.err != nil):
		f.put(b)
	case b.err != nil && p.Partition < 0:
		r.tell(p.Topic, b)
	}
}

// tell hands an error to all partitions of a topic, and to those of all topics where it names none.
func (r *reader) tell(topic string, b batch) {
	for p, f := range r.feeds { // in any order: each has its own
		if topic == "" || topic == p.topic {
			f.put(b)
		}
	}
}

// errAnew ends runs of a topic that is another by now.
var errAnew = errors.New("the topic was recreated")

// renew makes the client forget a topic that was recreated, which it would ask for under the old ID for ever. Runs that
// still consume the old one end with an error. One that knows no ID changes nothing.
func (r *reader) renew(topic, id string) {
	if id == "" || r.ids[topic] == id {
		return
	}
	if r.ids[topic] != "" {
		r.tell(topic, batch{err: errAnew})
		r.client.PurgeTopicsFromConsuming(topic)
	}
	r.ids[topic] = id
}

// consume begins to fetch a partition from an offset on.
func (r *reader) consume(p partition, at position) *feed {
	f := newFeed(func(open bool) {
		one := map[string][]int32{p.topic: {p.number}}
		if open {
			r.client.ResumeFetchPartitions(one)
		} else {
			r.client.PauseFetchPartitions(one)
		}
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renew(p.topic, at.Topic)
	r.feeds[p] = f
	from := kgo.NewOffset().At(at.Offset).WithEpoch(at.Epoch)
	r.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{p.topic: {p.number: from}})
	return f
}

// leave stops to fetch a partition. It returns when nothing of it is on its way any more: the next run of it would take
// late records of this one for its own, and the gap before them for deleted ones.
func (r *reader) leave(p partition) {
	r.client.RemoveConsumePartitions(map[string][]int32{p.topic: {p.number}})
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.feeds, p)
	r.wake()
	for before := r.polls; r.polls == before && !r.closed; {
		r.turn.Wait()
	}
	r.client.ResumeFetchPartitions(map[string][]int32{p.topic: {p.number}})
}

// part is what the key of a partition of the task says. A topic's name has neither "/" nor "@" in it.
type part struct {
	topic   string
	watches bool  // "orders" or "orders@12": it looks for partitions
	first   int32 // the first partition that it looks for
	number  int32 // "orders/7": it consumes this one
}

// longestTopic is Kafka's limit.
const longestTopic = 249

func parsePart(key string) (p part, err error) {
	topic, rest := key, ""
	at := strings.IndexAny(key, "/@")
	if at >= 0 {
		topic, rest = key[:at], key[at+1:]
	}
	p = part{topic: topic, watches: at < 0 || key[at] == '@'}
	if !validTopic(topic) {
		return p, fmt.Errorf("the key %q names no topic: it has 1 to %d letters, digits, '.', '_' and '-'", key,
			longestTopic)
	}
	if at < 0 {
		return p, nil
	}
	n, err := strconv.ParseUint(rest, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != rest {
		return p, fmt.Errorf("the key %q names no partition: want a topic alone", key)
	}
	if p.watches {
		p.first = int32(n)
	} else {
		p.number = int32(n)
	}
	return p, nil
}

func validTopic(name string) bool {
	if name == "" || len(name) > longestTopic || name == "." || name == ".." {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	})
}

func (p part) key() string {
	switch {
	case !p.watches:
		return p.topic + "/" + strconv.Itoa(int(p.number))
	case p.first == 0:
		return p.topic
	}
	return p.topic + "@" + strconv.Itoa(int(p.first))
}

// position is how far a partition was consumed. It is written as JSON.
type position struct {
	Offset int64  `json:"offset"` // of the record to consume next
	Epoch  int32  `json:"epoch"`  // of the leader that wrote the record before it; -1: not known
	Topic  string `json:"topic_id,omitempty"`
}

func (p position) encode() ([]byte, error) { return json.Marshal(p) }

// decodePosition returns nil where nothing was saved.
func decodePosition(data []byte) (*position, error) {
	if data == nil {
		return nil, nil
	}
	p := position{Epoch: -1}
	err := json.Unmarshal(data, &p)
	if err == nil && p.Offset < 0 {
		err = errors.New("the offset is negative")
	}
	if err != nil {
		return nil, fmt.Errorf("decode the saved position %.100q: %w", data, err)
	}
	return &p, nil
}
