package source

import (
	"encoding/json"
	"slices"
	"strings"
)

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
