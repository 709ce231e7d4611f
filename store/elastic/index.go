package elastic

import (
	"encoding/json"
	"fmt"

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
		return fmt.Errorf("the index %q has %s primary shards, and a store needs exactly 1: %s", name, set.Shards, another)
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
