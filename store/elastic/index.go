package elastic

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/internal/remote"
)

// formatNumber is what this code reads and writes.
const formatNumber = 2

// ours is the mapping of a store. Only the key is searched for.
const ours = `{"dynamic":"strict","_meta":{"rota":2},"properties":{` +
	`"key":{"type":"keyword"},"kind":{"type":"keyword","index":false,"doc_values":false},` +
	`"value":{"type":"object","enabled":false},"bytes":{"type":"binary"},` +
	`"sum":{"type":"long","index":false,"doc_values":false},"by":{"type":"keyword","index":false,"doc_values":false}}}`

// creation is the request that makes an index: one shard, so that there is one order of all writes, and a write is on
// disk before it is acknowledged.
func creation(copies int) []byte {
	replicas := `"auto_expand_replicas":"0-2"`
	if copies > 0 {
		replicas = fmt.Sprintf(`"auto_expand_replicas":"false","number_of_replicas":"%d"`, copies-1)
	}
	const text = `{"mappings":%s,"settings":{"index":{"number_of_shards":"1",%s,"translog":{"durability":"request"}}}}`
	return fmt.Appendf(nil, text, ours, replicas)
}

// index is what a server says of an index.
type index struct {
	Mappings mappings
	Settings struct {
		Index struct {
			Shards   string `json:"number_of_shards"`
			Translog struct{ Durability string }
			Blocks   struct {
				ReadOnly    string `json:"read_only"`
				AllowDelete string `json:"read_only_allow_delete"`
				Write, Read string
			}
		}
	}
}

type mappings struct {
	Dynamic    string
	Meta       struct{ Rota int64 } `json:"_meta"` // the number of the format
	Properties map[string]struct{ Type string }
}

// check reports why an index is no store that this program can use, nil if it is one.
func (i index) check(name string, writes bool) error {
	const another = "give the name of another index, which Rota then makes"
	n, set := i.Mappings.Meta.Rota, i.Settings.Index
	switch {
	case n == 0:
		return fmt.Errorf("the index %q has the mapping of something else, not of a Rota store: %s", name, another)
	case n != formatNumber:
		return remote.CheckFormat(n, formatNumber, "give another index")
	case set.Shards != "1":
		return fmt.Errorf("the index %q has %s primary shards, and a store needs exactly 1: %s", name, set.Shards,
			another)
	case set.Translog.Durability == "async":
		return fmt.Errorf("the index %q acknowledges writes before they are on disk: set index.translog.durability to request", name)
	}
	if wrong := i.Mappings.wrong(); wrong != "" {
		return fmt.Errorf("the index %q has the wrong mapping: %s: %s", name, wrong, another)
	}
	switch b := set.Blocks; {
	case writes && b.AllowDelete == "true":
		return fmt.Errorf("the index %q is read-only: %s", name, blockHint("flood"))
	case writes && (b.ReadOnly == "true" || b.Write == "true" || b.Read == "true"):
		return fmt.Errorf("the index %q is blocked: set index.blocks.read_only, index.blocks.write and index.blocks.read to null", name)
	}
	return nil
}

// wrong says where a mapping is not ours.
func (m mappings) wrong() string {
	var want mappings
	if err := json.Unmarshal([]byte(ours), &want); err != nil {
		return err.Error()
	}
	for field, p := range want.Properties { // order-free: one is enough
		if got, ok := m.Properties[field]; !ok || got != p && (got.Type != "" || p.Type != "object") {
			return fmt.Sprintf("field %q is %q, not %q", field, got.Type, p.Type)
		}
	}
	if m.Dynamic != want.Dynamic || len(m.Properties) != len(want.Properties) {
		return "it takes fields that a Rota store has not"
	}
	return ""
}

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

// idOf is the _id of a row: the key of a document, as callers know it, so that a key of any length is an _id; other
// keys begin with a slash, which no document's key does.
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
