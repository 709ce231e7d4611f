package elastic

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/rota-run/rota/store/driver"
)

// body is what the index holds for a row. A letter with which the value begins, as the engine's do, is kept apart. What
// is behind it and is a JSON object is kept as one, so that people can read it; anything else is kept in base64.
type body struct {
	Key   string          `json:"key"`
	Kind  string          `json:"kind,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Bytes []byte          `json:"bytes,omitempty"`
	Sum   uint32          `json:"sum"` // CRC-32C
	By    string          `json:"by"`  // unique name of the write, for its author
}

// idOf is the _id of a row: the key of a document, as callers know it, so that a key of any length is an _id; other keys
// begin with a slash, which no document's key does.
func idOf(key string) string {
	if doc, ok := strings.CutPrefix(key, "d/"); ok {
		return doc
	}
	return "/" + key
}

func keyOf(id string) string {
	if key, ok := strings.CutPrefix(id, "/"); ok {
		return key
	}
	return "d/" + id
}

// sumOf is the CRC-32C of a key and a value, which hardware computes.
func sumOf(key string, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(0, table, binary.BigEndian.AppendUint32(nil, uint32(len(key)))) //nolint:gosec // a key is short
	return crc32.Update(crc32.Update(sum, table, []byte(key)), table, value)
}

// cutKind takes the letter off a value.
func cutKind(value []byte) (kind string, rest []byte) {
	if len(value) > 0 && 'a' <= value[0] && value[0] <= 'z' {
		return string(value[:1]), value[1:]
	}
	return "", value
}

// encode lays out what a write leaves. plain says that the value must not be kept as JSON.
func encode(op driver.Op, plain bool) ([]byte, error) {
	b := body{Key: op.Key, Sum: sumOf(op.Key, op.Value), By: op.Name}
	if b.Kind, b.Bytes = cutKind(op.Value); !plain && isObject(b.Bytes) {
		b.Value, b.Bytes = b.Bytes, nil
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
	value = append([]byte(b.Kind), b.Bytes...)
	if b.Value != nil {
		value = append([]byte(b.Kind), b.Value...)
	}
	if b.Key != key || b.Sum != sumOf(key, value) {
		return nil, "", fmt.Errorf("document %q: wrong checksum: %w", key, ErrDamaged)
	}
	return value, b.By, nil
}
