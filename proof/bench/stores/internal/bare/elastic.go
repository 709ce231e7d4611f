package bare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

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
	b := &elastic{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, url: "http://" + hosts[0] + "/bare"}
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
