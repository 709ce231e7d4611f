package nats

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/rota-run/rota/store"
)

// encodeOutputs writes the record of a unit: its outputs without their data as JSON, after the length of that, and then the data as it is. What fits into
// a message fits into a record: JSON would make a third more of it.
func encodeOutputs(outputs []store.Put) ([]byte, error) {
	heads, size := make([]outputHead, len(outputs)), 0
	for i, p := range outputs {
		heads[i] = outputHead{Shard: p.Shard, Segments: p.Segments, Size: len(p.Data), Seal: p.Seal}
		size += len(p.Data)
	}
	text, err := json.Marshal(heads)
	if err != nil {
		return nil, err
	}
	b := append(binary.AppendUvarint(make([]byte, 0, 10+len(text)+size), uint64(len(text))), text...)
	for _, p := range outputs {
		b = append(b, p.Data...)
	}
	return b, nil
}

// outputHead is an output without its data.
type outputHead struct {
	Shard    store.Shard `json:"shard"`
	Segments int         `json:"segments,omitempty"`
	Size     int         `json:"size,omitempty"`
	Seal     bool        `json:"seal,omitempty"`
}

// decodeOutputs reads a record.
func decodeOutputs(b []byte) ([]store.Put, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, fmt.Errorf("%w: the record of a unit is cut off", ErrDamaged)
	}
	text, data := b[k:k+int(n)], b[k+int(n):] //nolint:gosec // at most the length of b
	var heads []outputHead
	if err := json.Unmarshal(text, &heads); err != nil {
		return nil, fmt.Errorf("%w: the record of a unit: %w", ErrDamaged, err)
	}
	out := make([]store.Put, len(heads))
	for i, h := range heads {
		if h.Size < 0 || h.Size > len(data) {
			return nil, fmt.Errorf("%w: the record of a unit lacks data", ErrDamaged)
		}
		out[i] = store.Put{Shard: h.Shard, Segments: h.Segments, Data: data[:h.Size:h.Size], Seal: h.Seal}
		data = data[h.Size:]
	}
	return out, nil
}
