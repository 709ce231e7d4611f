package elastic

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// formatNumber is what this code reads and writes.
const formatNumber = 2

// index is what a server says of an index.
type index struct {
	Mappings mappings `json:"mappings"`
	Settings struct {
		Index settings `json:"index"`
	} `json:"settings"`
}

type mappings struct {
	Dynamic    string              `json:"dynamic,omitempty"`
	Meta       *meta               `json:"_meta,omitempty"`
	Properties map[string]property `json:"properties,omitempty"`
}

// meta says that an index is a store of ours.
type meta struct {
	Rota int `json:"rota"` // the number of the format
}

type property struct {
	Type      string `json:"type"`
	Index     *bool  `json:"index,omitempty"`
	DocValues *bool  `json:"doc_values,omitempty"`
	Enabled   *bool  `json:"enabled,omitempty"`
}

type settings struct {
	Shards   string   `json:"number_of_shards,omitempty"`
	Replicas string   `json:"number_of_replicas,omitempty"`
	Expand   string   `json:"auto_expand_replicas,omitempty"`
	Translog translog `json:"translog"`
	Blocks   *blocks  `json:"blocks,omitempty"`
}

type translog struct {
	Durability string `json:"durability,omitempty"`
}

type blocks struct {
	ReadOnly    string `json:"read_only,omitempty"`
	AllowDelete string `json:"read_only_allow_delete,omitempty"`
	Write       string `json:"write,omitempty"`
	Read        string `json:"read,omitempty"`
}

// ours is the mapping of a store. Only the key is searched for.
func ours() mappings {
	no := false
	return mappings{Dynamic: "strict", Meta: &meta{Rota: formatNumber}, Properties: map[string]property{
		"key":   {Type: "keyword"},
		"kind":  {Type: "keyword", Index: &no, DocValues: &no},
		"value": {Type: "object", Enabled: &no},
		"bytes": {Type: "binary"},
		"sum":   {Type: "long", Index: &no, DocValues: &no},
		"by":    {Type: "keyword", Index: &no, DocValues: &no},
	}}
}

// creation is the request that makes an index: one shard, so that there is one order of all writes, and a write is on disk before it is acknowledged.
func creation(copies int) ([]byte, error) {
	i := index{Mappings: ours()}
	i.Settings.Index = settings{Shards: "1", Expand: "0-2", Translog: translog{Durability: "request"}}
	if copies > 0 {
		i.Settings.Index.Expand, i.Settings.Index.Replicas = "false", strconv.Itoa(copies-1)
	}
	return json.Marshal(i)
}

// check reports why an index is no store that this program can use, nil if it is one.
func (i index) check(name string, writes bool) error {
	m, set := i.Mappings, i.Settings.Index
	switch {
	case m.Meta == nil || m.Meta.Rota == 0:
		return fmt.Errorf("the index %q has the mapping of something else, not of a Rota store: give the name of another index, which Rota then makes", name)
	case m.Meta.Rota > formatNumber:
		return fmt.Errorf("the store has format %d, this program knows format %d: use a newer version of Rota", m.Meta.Rota, formatNumber)
	case m.Meta.Rota < formatNumber:
		return fmt.Errorf("the store has format %d, which only earlier versions of Rota read: copy it to a directory with the "+
			"version that wrote it (rota store copy), then from there to another index with this one", m.Meta.Rota)
	case set.Shards != "1":
		return fmt.Errorf("the index %q has %s primary shards, and a store needs exactly 1: give the name of another index, which Rota then makes", name, set.Shards)
	case set.Translog.Durability == "async":
		return fmt.Errorf("the index %q acknowledges writes before they are on disk: set index.translog.durability to request", name)
	}
	if err := m.check(name); err != nil {
		return err
	}
	if b := set.Blocks; b != nil && writes {
		return b.check(name)
	}
	return nil
}

func (m mappings) check(name string) error {
	want := ours()
	for field, p := range want.Properties {
		if got, ok := m.Properties[field]; !ok || got.Type != p.Type && (got.Type != "" || p.Type != "object") {
			return fmt.Errorf("the index %q has the wrong mapping: field %q is %q, not %q: give the name of another index, which Rota then makes",
				name, field, got.Type, p.Type)
		}
	}
	if m.Dynamic != want.Dynamic || len(m.Properties) != len(want.Properties) {
		return fmt.Errorf("the index %q has the wrong mapping: it takes fields that a Rota store has not: give the name of another index, which Rota then makes", name)
	}
	return nil
}

func (b blocks) check(name string) error {
	switch "true" {
	case b.AllowDelete:
		return fmt.Errorf("the index %q is read-only: %s", name, blockHint("flood"))
	case b.ReadOnly, b.Write, b.Read:
		return fmt.Errorf("the index %q is blocked: set index.blocks.read_only, index.blocks.write and index.blocks.read to null", name)
	}
	return nil
}
