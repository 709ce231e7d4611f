package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/store"
)

// Out collects the output segments of one batch. It is not safe for concurrent use.
type Out struct {
	edges  []*egress
	size   int
	beside int // bytes of what is put out with it
	count  int // segments, over all edges once
	err    error
}

// egress is an edge and what a batch has for each of its shards.
type egress struct {
	flow.Edge
	shards []parcel
	plain  int // the shard of a batch that is not sharded by a key
}

type parcel struct {
	data     []byte
	segments int
}

// newOut begins a batch; its number says where what is not sharded goes.
func newOut(edges []flow.Edge, number uint64) *Out {
	o := &Out{edges: make([]*egress, len(edges))}
	for i, e := range edges {
		o.edges[i] = &egress{Edge: e, shards: make([]parcel, e.Shards), plain: int(number % uint64(e.Shards))} //nolint:gosec // at most MaxShards
	}
	return o
}

// Keyer gives the key of a segment by which an edge is sharded.
type Keyer func(by string) (string, error)

// Send puts out a segment, to each edge that leads away. It keeps nothing of it. A nil keyer takes keys from a field of
// the segment, which is JSON. After an error the batch has failed; nothing of it is stored.
func (o *Out) Send(segment []byte, key Keyer) error {
	if o.err != nil {
		return o.err
	}
	if key == nil {
		key = func(by string) (string, error) { return Field(segment, by) }
	}
	o.count++
	for _, e := range o.edges {
		at := e.plain
		if e.By != "" {
			k, err := key(e.By)
			if err != nil {
				return o.Fail(fmt.Errorf("key of the edge to %s: %w", e.To, err))
			}
			at = flow.ShardOf(k, len(e.shards))
		}
		p := &e.shards[at]
		before := len(p.data)
		p.data = AppendSegment(p.data, segment)
		p.segments++
		o.size += len(p.data) - before
	}
	switch {
	case o.size > MaxOutput:
		return o.Fail(fmt.Errorf("one batch puts out more than %d bytes: put out less, or take fewer segments at a time", MaxOutput))
	case o.beside+o.size > MaxOutput:
		return o.Fail(fmt.Errorf("the segments of its batch put out more than %d bytes together: put it back, and it is a batch of its own", MaxOutput))
	}
	return nil
}

// Fail makes the batch fail.
func (o *Out) Fail(err error) error {
	o.err = err
	return err
}

// puts are the messages. An edge that is not sharded by a key gets one of each batch, also an empty one.
func (o *Out) puts() (out []store.Put) {
	for _, e := range o.edges {
		for i, p := range e.shards {
			if p.segments > 0 || e.By == "" && i == e.plain {
				out = append(out, store.Put{Shard: store.Shard{Edge: e.Name(), Number: i}, Segments: p.segments,
					Data: p.data})
			}
		}
	}
	return out
}

// some are the messages that have segments.
func (o *Out) some() (out []store.Put) {
	for _, p := range o.puts() {
		if p.Segments > 0 {
			out = append(out, p)
		}
	}
	return out
}

// add takes over what another has.
func (o *Out) add(other *Out) {
	for i, e := range other.edges {
		for k, p := range e.shards {
			to := &o.edges[i].shards[k]
			to.data = append(to.data, p.data...)
			to.segments += p.segments
		}
	}
	o.size += other.size
	o.count += other.count
}

// Field is the text of a field of a JSON object, or of a whole JSON text if the name is "*".
func Field(segment []byte, name string) (string, error) {
	if name == "*" {
		return string(segment), nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(segment, &object); err != nil {
		return "", fmt.Errorf("the segment %.60q is no JSON object with the field %q", segment, name)
	}
	raw, ok := object[name]
	if !ok {
		return "", fmt.Errorf("the segment %.60q has no field %q", segment, name)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	return string(raw), nil
}

type (
	batchKey struct{}
	taskKey  struct{}
)

// BatchName names the batch that a function works on: the same for everybody who works on it again, and no other batch
// of the task has it. An output that overwrites what it has written under this name writes each segment once. ""
// outside of a function of a stage.
func BatchName(ctx context.Context) string {
	name, _ := ctx.Value(batchKey{}).(string)
	return name
}

// BatchKey is BatchName with the submission of the job and the task: no other batch of any job has it. "" outside of a
// function of a stage.
func BatchKey(ctx context.Context) string {
	task, ok := ctx.Value(taskKey{}).(string)
	if !ok {
		return ""
	}
	return task + "/" + BatchName(ctx)
}

// named is a context in which a batch has its name.
func named(ctx context.Context, m store.Message) context.Context {
	from := m.Shard.Edge
	if parts := strings.Split(from, "/"); len(parts) == 3 { // edge/FROM/TO
		from = parts[1]
	}
	return context.WithValue(ctx, batchKey{}, fmt.Sprintf("%s.%d.%d", from, m.Shard.Number, m.Number))
}

// segmentNamed is a context in which one segment of a batch has a name of its own.
func segmentNamed(ctx context.Context, i int) context.Context {
	return context.WithValue(ctx, batchKey{}, fmt.Sprintf("%s.%d", BatchName(ctx), i))
}
