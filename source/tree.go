package source

import (
	"encoding/json"
	"slices"
	"strings"
)

// place is a place in a file, in lines and characters from 1. The zero place means the whole file.
type place struct{ line, column int }

func (p place) before(q place) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

type kind uint8

const (
	nothing kind = iota // null, or nothing at all
	boolean
	number
	text
	list
	mapping
)

// String names the kind for people.
func (k kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "a text", "a list", "a mapping"}[k]
}

// node is a value in a file, whatever the format.
type node struct {
	kind  kind
	place place
	raw   string  // a scalar as it is written, without quotes
	json  string  // a boolean or number in canonical JSON
	items []*node // of a list
	pairs []pair  // of a mapping, in the order of the file; each key once
}

type pair struct {
	key   string
	place place // of the key
	value *node
}

// get finds a field of a mapping.
func (n *node) get(key string) (pair, bool) {
	for _, p := range n.pairs {
		if p.key == key {
			return p, true
		}
	}
	return pair{}, false
}

// maxDepth bounds the nesting of a definition.
const maxDepth = 50

// encode writes a value as canonical JSON: keys sorted, no spaces.
func (n *node) encode() json.RawMessage {
	var b strings.Builder
	n.encodeTo(&b)
	return json.RawMessage(b.String())
}

func (n *node) encodeTo(b *strings.Builder) {
	switch n.kind {
	case nothing:
		b.WriteString("null")
	case boolean, number:
		b.WriteString(n.json)
	case text:
		quote(b, n.raw)
	case list:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.encodeTo(b)
		}
		b.WriteByte(']')
	case mapping:
		sorted := slices.SortedFunc(slices.Values(n.pairs), func(a, b pair) int { return strings.Compare(a.key, b.key) })
		b.WriteByte('{')
		for i, p := range sorted {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(b, p.key)
			b.WriteByte(':')
			p.value.encodeTo(b)
		}
		b.WriteByte('}')
	}
}

func quote(b *strings.Builder, s string) {
	q, err := json.Marshal(s)
	if err != nil {
		q = []byte(`""`) // a string cannot fail
	}
	b.Write(q)
}
