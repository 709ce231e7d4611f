package leader

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/protocol/beat"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Caller makes the store calls of one member and turns their answers into events. It decides nothing. The shell has
// one, and so has a simulated member, with a simulated store and clock. Call may be called from any goroutine.
type Caller struct {
	*shell.LogCaller
	decoded decoded
}

// Call makes one store call and returns the event that answers it.
func (c *Caller) Call(ctx context.Context, e member.Effect) member.Event {
	switch e := e.(type) {
	case Get:
		return c.get(ctx, e)
	case List:
		return c.list(ctx, e)
	case Put:
		return c.put(ctx, e)
	case Delete:
		err := c.Store.Delete(ctx, e.Key, e.Version)
		if errors.Is(err, store.ErrNotFound) {
			err = nil // it is as was asked
		}
		return c.wrote(e.Key, "", err)
	}
	return c.LogCaller.Call(ctx, e)
}

func (c *Caller) get(ctx context.Context, e Get) member.Event {
	sent := c.Now()
	d, err := c.Store.Get(ctx, e.Key)
	out := Doc{Key: e.Key}
	if err == nil {
		out = c.document(d)
	} else if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return c.OrClosed(err, Got{Now: c.Now(), Sent: sent, Doc: out, Err: shell.Text(err)})
}

func (c *Caller) list(ctx context.Context, e List) member.Event {
	docs, err := c.Store.List(ctx, e.Prefix)
	out := make([]Doc, len(docs))
	for i, d := range docs {
		out[i] = c.document(d)
	}
	return Listed{Now: c.Now(), Prefix: e.Prefix, Docs: out, Err: shell.Text(err)}
}

// document decodes what was read.
func (c *Caller) document(d store.Doc) Doc {
	out := Doc{Key: d.Key, Version: d.Version}
	if strings.HasPrefix(d.Key, protocol.HeartbeatPrefix) {
		out.TTL = heartbeat.StatedTTL(d.Value)
		return out
	}
	value, err := c.decoded.decode(d)
	out.Value, out.Bad = value, shell.Text(err)
	return out
}

func (c *Caller) put(ctx context.Context, e Put) member.Event {
	switch d := e.Doc.(type) {
	case holderDoc:
		d.AtMS = c.Wall().UnixMilli()
		e.Doc = d
	case planDoc:
		d.AtMS = cmp.Or(d.AtMS, c.Wall().UnixMilli())
		e.Doc = d
	}
	value, err := Encode(e.Doc)
	if err != nil {
		return c.wrote(e.Key, "", err)
	}
	d := store.Doc{Key: e.Key, Value: value, Version: e.Version}
	var v store.Version
	if e.Life == 0 {
		v, err = c.Store.Put(ctx, d)
	} else {
		v, err = c.Writer.Put(ctx, e.Life-1, d)
	}
	return c.wrote(e.Key, v, err)
}

func (c *Caller) wrote(key string, v store.Version, err error) member.Event {
	conflict := errors.Is(err, store.ErrConflict)
	return c.OrClosed(err, Wrote{Now: c.Now(), Key: key, Outcome: outbox.OutcomeOf(err), Conflict: conflict, Version: v,
		Late: errors.Is(err, beat.ErrFormerLife), Err: shell.Text(err)})
}

// decoded keeps what some documents say: without hints a member reads the same ones again and again, and they seldom
// change. The zero value is ready.
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
	if c.docs == nil || len(c.docs) >= maxDecoded && !ok {
		c.docs = make(map[string]decodedDoc, maxDecoded)
	}
	if err == nil {
		c.docs[d.Key] = decodedDoc{d.Value, value}
	}
	return value, err
}

type (
	// Got answers Get. Sent is an instant before the call was sent; the document's Version is "" when there is none.
	Got struct {
		member.Now
		Sent protocol.Instant
		Doc  Doc
		Err  string
	}
	// Listed answers List. A key that is missing proves nothing, and what is there may be old.
	Listed struct {
		member.Now
		Prefix string
		Docs   []Doc // sorted by key
		Err    string
	}
	// Wrote answers Put and Delete. Conflict: not done, since the document was at another version. Late: not sent: it
	// is of a former life.
	Wrote struct {
		member.Now
		Key      string
		Outcome  outbox.Outcome
		Conflict bool
		Late     bool
		Version  store.Version // when done; "" when deleted
		Err      string
	}
)

// Doc is a document as it was read.
type Doc struct {
	Key     string
	Version store.Version
	Value   any           // one of the documents of this package; nil for a heartbeat, and for what Bad is said of
	Bad     string        // why it cannot be what it should be
	TTL     time.Duration // of a heartbeat: for which its owner says that others wait; 0: it does not say
}

type (
	// Get reads one document.
	Get struct {
		member.Call
		Key string
	}
	// List reads the documents below a prefix.
	List struct {
		member.Call
		Prefix string
	}
	// Put writes a document if it is still at Version; "" creates it. With Life, the store removes it with the
	// heartbeat of that life; 0 for none.
	Put struct {
		member.Call
		Key     string
		Doc     any
		Version store.Version
		Life    uint64
	}
	// Delete removes a document at Version.
	Delete struct {
		member.Call
		Key     string
		Version store.Version
	}
)
