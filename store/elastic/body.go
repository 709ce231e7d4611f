package elastic

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/rota-run/rota/store"
)

// body is what the index holds for a document. A value that is a JSON object is kept as one, so that people can read it; anything else is kept in base64.
type body struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value,omitempty"`
	Bytes []byte          `json:"bytes,omitempty"`
	Sum   uint32          `json:"sum"` // CRC-32C
	By    string          `json:"by"`  // unique name of the write, for its author
}

// sumOf is the CRC-32C of a key and a value, which hardware computes.
func sumOf(key string, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(0, table, binary.BigEndian.AppendUint32(nil, uint32(len(key)))) //nolint:gosec // at most store.MaxKey
	return crc32.Update(crc32.Update(sum, table, []byte(key)), table, value)
}

// encode lays out a document. plain says that the value must not be kept as JSON.
func encode(d store.Doc, by string, plain bool) ([]byte, error) {
	b := body{Key: d.Key, Bytes: d.Value, Sum: sumOf(d.Key, d.Value), By: by}
	if !plain && isObject(d.Value) {
		b.Value, b.Bytes = d.Value, nil
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // bytes of the value must stay as they are
	err := e.Encode(b)
	return out.Bytes(), err
}

// isObject reports whether a value is a JSON object that an encoder leaves as it is.
func isObject(value []byte) bool {
	if len(value) == 0 || value[0] != '{' || !json.Valid(value) {
		return false
	}
	var compact bytes.Buffer
	return json.Compact(&compact, value) == nil && bytes.Equal(compact.Bytes(), value)
}

// decode reads what encode wrote.
func decode(key string, source json.RawMessage) (value []byte, by string, err error) {
	var b body
	if err := json.Unmarshal(source, &b); err != nil {
		return nil, "", fmt.Errorf("document %q: %w: %w", key, err, ErrDamaged)
	}
	value = b.Bytes
	if b.Value != nil {
		value = b.Value
	}
	if b.Key != key || b.Sum != sumOf(key, value) {
		return nil, "", fmt.Errorf("document %q: wrong checksum: %w", key, ErrDamaged)
	}
	return value, b.By, nil
}
