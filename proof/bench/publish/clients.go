package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/elastic"
	"github.com/rota-run/rota/publish/kafka"
)

const (
	name = "samples"     // of the topic and of the data stream
	bulk = elastic.Batch // documents of a request, for both
)

// prepare makes the topic and the template of the data stream.
func prepare(ctx context.Context, broker, search string) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 4, 1
	req.Topics = append(req.Topics, topic)
	if resp, err := req.RequestWith(ctx, c); err != nil || resp.Topics[0].ErrorCode != 0 {
		return fmt.Errorf("create the topic: %w, %+v", err, resp)
	}
	return call(ctx, search, "PUT", "/_index_template/"+name,
		`{"index_patterns":["samples"],"data_stream":{},"template":{"settings":{"number_of_replicas":0},
		"mappings":{"properties":{"name":{"type":"keyword"},"value":{"type":"double"},"tags":{"type":"flattened"}}}}}`,
		nil)
}

func call(ctx context.Context, server, method, path, body string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+server+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: status %d: %.300s: %w", path, resp.StatusCode, text, err)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// bareKafka produces records without waiting for each other, as the client does it best.
func bareKafka(broker string) client {
	return func(all []publish.Sample) error {
		c, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.DefaultProduceTopic(name))
		if err != nil {
			return err
		}
		defer c.Close()
		var mu sync.Mutex
		var failed error
		for _, s := range all {
			value, err := json.Marshal(s)
			if err != nil {
				return err
			}
			c.Produce(context.Background(), &kgo.Record{Key: []byte(s.Name + s.Tags["task"]), Value: value},
				func(_ *kgo.Record, err error) {
					if err != nil {
						mu.Lock()
						failed = err
						mu.Unlock()
					}
				})
		}
		return errors.Join(c.Flush(context.Background()), failed)
	}
}

func oursKafka(broker string) client {
	return func(all []publish.Sample) error {
		s, err := kafka.New(kafka.Options{Brokers: []string{broker}, Topic: name})
		if err != nil {
			return err
		}
		return through(s, all, kafka.Batch)
	}
}

// through publishes samples, as a member does it, one after the other.
func through(s publish.Sink, all []publish.Sample, batch int) error {
	b := publish.NewBatcher("bench", s, publish.Options{Batch: batch, Queue: len(all), FlushTimeout: 10 * time.Minute})
	for _, s := range all {
		b.Publish(s)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // it ends when all is sent
	if err := b.Run(ctx); err != nil {
		return err
	}
	if got := b.Stats(); got.Sent != int64(len(all)) || got.Errors > 0 {
		return fmt.Errorf("%+v of %d: %+v", got, len(all), b.Sinks())
	}
	return nil
}

// document is what one writes by hand; the server makes the _id.
type document struct {
	At    int64             `json:"@timestamp"`
	Name  string            `json:"name"`
	Value float64           `json:"value"`
	Tags  map[string]string `json:"tags"`
}

func bareElastic(server string) client {
	return func(all []publish.Sample) error {
		for len(all) > 0 {
			some := all[:min(bulk, len(all))]
			all = all[len(some):]
			var body bytes.Buffer
			enc := json.NewEncoder(&body)
			for _, s := range some {
				body.WriteString(`{"create":{}}` + "\n")
				if err := enc.Encode(document{s.Points[0].AtMS, s.Name, s.Points[0].Value, s.Tags}); err != nil {
					return err
				}
			}
			var answer struct{ Errors bool }
			if err := call(context.Background(), server, "POST", "/"+name+"/_bulk?filter_path=errors", body.String(),
				&answer); err != nil {
				return err
			}
			if answer.Errors {
				return errors.New("a document was refused")
			}
		}
		return nil
	}
}

func oursElastic(server string) client {
	return func(all []publish.Sample) error {
		s, err := elastic.New(elastic.Options{Servers: []string{server}, Target: name})
		if err != nil {
			return err
		}
		return through(s, all, bulk)
	}
}
