// Package bare has the clients of the stores' servers with nothing around them, as their manuals show them: what our
// logs are compared with.
package bare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/rota-run/rota/proof/bench/internal/place"
)

// Client writes records to a server. Its calls may be made from any goroutine.
type Client interface {
	// Write writes one record and returns when that was acknowledged.
	Write(ctx context.Context, data []byte) error
	// Batch writes n records at once.
	Batch(ctx context.Context, data []byte, n int) error
	// Applied writes one record and reads it back.
	Applied(ctx context.Context, data []byte) error
	// Close ends the connection.
	Close() error
}

// Open opens the client of a place's server.
func Open(ctx context.Context, p *place.Place) (Client, error) {
	switch p.Kind {
	case "file":
		return opened(openSQLite(ctx, p.Dir))
	case "elastic", "opensearch":
		return opened(openElastic(ctx, p.Hosts()))
	case "etcd":
		return opened(openEtcd(p.Hosts()))
	case "kafka":
		return opened(openKafka(ctx, p.Hosts()))
	case "nats":
		return opened(openNATS(ctx, p.Hosts()))
	case "postgres":
		return opened(openPostgres(ctx, p.Hosts()))
	case "zookeeper":
		return opened(openZooKeeper(ctx, p.Hosts()))
	}
	return nil, fmt.Errorf("the store %s has no bare client", p.Kind)
}

// opened is nil where there was an error, and not a client that is.
func opened[C Client](c C, err error) (Client, error) {
	if err != nil {
		return nil, fmt.Errorf("open the bare client: %w", err)
	}
	return c, nil
}

// elastic writes documents over HTTP.
type elastic struct {
	client *http.Client
	url    string // of the index
	last   atomic.Uint64
}

// elasticRecord is a document with a record in it.
type elasticRecord struct {
	Data []byte `json:"data"`
}

func openElastic(ctx context.Context, hosts []string) (*elastic, error) {
	b := &elastic{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, url: "http://" + hosts[0] +
		"/bare"}
	const index = `{"settings":{"number_of_shards":1,"auto_expand_replicas":"0-2"},"mappings":{"dynamic":"strict","properties":{"data":{"type":"binary"}}}}`
	return b, b.send(ctx, http.MethodPut, "", []byte(index), nil)
}

// send makes a request; check, where it is given, looks at the answer.
func (b *elastic) send(ctx context.Context, method, path string, body []byte, check func([]byte) error) error {
	req, err := http.NewRequestWithContext(ctx, method, b.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("status %d: %.200s", resp.StatusCode, text)
	}
	if err == nil && check != nil {
		err = check(text)
	}
	return err
}

func (b *elastic) Write(ctx context.Context, data []byte) error {
	_, err := b.write(ctx, data)
	return err
}

func (b *elastic) write(ctx context.Context, data []byte) (id string, err error) {
	id = fmt.Sprintf("%020d", b.last.Add(1))
	text, err := json.Marshal(elasticRecord{data})
	if err != nil {
		return "", err
	}
	return id, b.send(ctx, http.MethodPut, "/_create/"+id, text, nil)
}

func (b *elastic) Batch(ctx context.Context, data []byte, n int) error {
	text, err := json.Marshal(elasticRecord{data})
	if err != nil {
		return err
	}
	var all bytes.Buffer
	for range n {
		fmt.Fprintf(&all, "{\"create\":{\"_id\":\"%020d\"}}\n%s\n", b.last.Add(1), text)
	}
	return b.send(ctx, http.MethodPost, "/_bulk", all.Bytes(), func(answer []byte) error {
		var a struct{ Errors bool }
		if err := json.Unmarshal(answer, &a); err != nil || a.Errors {
			return fmt.Errorf("bulk: %.200s: %w", answer, err)
		}
		return nil
	})
}

func (b *elastic) Applied(ctx context.Context, data []byte) error {
	id, err := b.write(ctx, data)
	if err != nil {
		return err
	}
	return b.send(ctx, http.MethodGet, "/_doc/"+id, nil, nil)
}

func (b *elastic) Close() error {
	b.client.CloseIdleConnections()
	return nil
}
