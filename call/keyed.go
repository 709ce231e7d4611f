package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
)

// keyedNumber is the number of the only call of a page that is named by a key.
const keyedNumber = 1

// keyed is the place of a call that has a key: the same for all clients of a queue.
func (c *Client) keyed(key string) place {
	sum := sha256.Sum256([]byte(key))
	return place{queue: c.queue, page: hex.EncodeToString(sum[:12]) + "-key", number: keyedNumber}
}

// submitKeyed writes a call where its key says, unless it is there already.
func (c *Client) submitKeyed(ctx context.Context, key, function string, body []byte) (*Handle, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	at := c.keyed(key)
	d, err := c.docs.Get(ctx, at.key())
	switch {
	case err == nil:
		r, err := decode(d.Value)
		if err == nil && r.Function != function {
			err = fmt.Errorf("the key %q is that of a call of %s", key, r.Function)
		}
		if err != nil {
			return nil, err
		}
		return &Handle{c: c, at: at, function: function, over: make(chan struct{})}, nil
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	if err := c.touch(ctx, at); err != nil {
		return nil, fmt.Errorf("open a page: %w", err)
	}
	if _, err := c.docs.Put(ctx, store.Doc{Key: at.key(), Value: body}); err != nil && !errors.Is(err, store.ErrConflict) {
		return nil, err
	}
	return &Handle{c: c, at: at, function: function, made: time.Now(), over: make(chan struct{})}, nil
}

// touch makes a page, or changes the version of one that is there: whoever would remove it for being empty for long has to begin again.
func (c *Client) touch(ctx context.Context, at place) error {
	for {
		d, err := c.docs.Get(ctx, at.head())
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		_, err = c.docs.Put(ctx, store.Doc{Key: at.head(), Value: fmt.Appendf(nil, `{"touched":%q}`, newNonce()), Version: d.Version})
		if err == nil || !errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}
