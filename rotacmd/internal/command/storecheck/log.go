package storecheck

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/rota-run/rota/store"
)

// size of a record, in bytes: about that of an entry with a few commands.
const size = 200

func (c *check) appends() (string, error) {
	return "", c.repeat(func() error {
		i, err := c.store.Append(c.ctx, bytes.Repeat([]byte{'x'}, size))
		if err == nil && i <= c.last {
			return fmt.Errorf("index %d after %d: it must grow", i, c.last)
		}
		c.last = i
		return err
	})
}

func (c *check) reads() (string, error) {
	if c.last == 0 {
		return "", errors.New("nothing could be appended")
	}
	return "", c.repeat(func() error {
		p, err := c.store.Read(c.ctx, c.last-1, 1)
		if err != nil {
			return err
		}
		if p.Head < c.last || len(p.Records) != 1 || len(p.Records[0].Data) != size {
			return fmt.Errorf("record %d was acknowledged, and reading behind %d gives %d records and head %d",
				c.last, c.last-1, len(p.Records), p.Head)
		}
		return nil
	})
}

// large is more than the usual limit of a message or of a node.
const large = 3 << 20

// snapshot writes one, reads it, and has what it covers trimmed: so the next check finds little.
func (c *check) snapshot() (string, error) {
	if c.last == 0 {
		return "", errors.New("nothing could be appended")
	}
	want := bytes.Repeat([]byte("snapshot"), large/8)
	err := c.time(func() error { return c.store.SaveSnapshot(c.ctx, store.Record{Index: c.last, Data: want}) })
	if err != nil {
		return "", fmt.Errorf("save: %w", err)
	}
	got, err := c.store.Snapshot(c.ctx)
	if err != nil {
		return "", fmt.Errorf("read: %w", err)
	}
	if got.Index < c.last || got.Index == c.last && !bytes.Equal(got.Data, want) {
		return "", fmt.Errorf("what was saved at %d is read at %d with %d bytes of %d", c.last, got.Index,
			len(got.Data), len(want))
	}
	if err := c.store.Trim(c.ctx, c.last-1); err != nil {
		return "", fmt.Errorf("trim: %w", err)
	}
	i, err := c.store.Append(c.ctx, []byte("the last one"))
	if err != nil {
		return "", fmt.Errorf("append after trim: %w", err)
	}
	if err := c.store.SaveSnapshot(c.ctx, store.Record{Index: i}); err != nil {
		return "", fmt.Errorf("save a small one: %w", err)
	}
	if err := c.store.Trim(c.ctx, i); err != nil {
		return "", fmt.Errorf("trim again: %w", err)
	}
	return fmt.Sprintf("%d MiB in one piece", large>>20), nil
}
