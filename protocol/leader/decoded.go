package leader

import (
	"bytes"
	"sync"

	"github.com/rota-run/rota/store"
)

// decoded keeps what some documents say: without hints a member reads the same ones again and again, and they seldom change. The zero value is ready.
type decoded struct {
	mu   sync.Mutex
	docs map[string]decodedDoc
}

// decodedDoc is what a text says. Neither is ever changed.
type decodedDoc struct {
	text  []byte
	value any
}

// maxDecoded bounds what is kept, so that a member's memory does not depend on how many documents there are.
const maxDecoded = 64

// decode is Decode of a document. What cannot be read is not kept.
func (c *decoded) decode(d store.Doc) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, ok := c.docs[d.Key]
	if ok && bytes.Equal(was.text, d.Value) {
		return was.value, nil
	}
	value, err := Decode(d.Key, d.Value)
	if err != nil {
		return value, err
	}
	if c.docs == nil || len(c.docs) >= maxDecoded && !ok {
		c.docs = make(map[string]decodedDoc, maxDecoded)
	}
	c.docs[d.Key] = decodedDoc{d.Value, value}
	return value, nil
}
