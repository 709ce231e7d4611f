package call

import (
	"context"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
)

// Listed is one call as the store has it.
type Listed struct {
	ID    string `json:"call"`
	Queue string `json:"queue"` // the name of who submitted it
	Record
}

// List reads all calls that the store has, sorted by ID: those that wait or run, and the outcomes that nobody has collected yet. What cannot be read is counted.
func List(ctx context.Context, docs store.Docs) (calls []Listed, unreadable int, err error) {
	heads, err := docs.List(ctx, pagePrefix)
	if err != nil {
		return nil, 0, fmt.Errorf("list calls: %w", err)
	}
	for _, h := range heads {
		at, ok := parseHead(h.Key)
		if !ok {
			continue
		}
		page, err := docs.List(ctx, at.dir())
		if err != nil {
			return nil, 0, fmt.Errorf("list calls: %w", err)
		}
		for _, d := range page {
			r, err := decode(d.Value)
			if err != nil {
				unreadable++
				continue
			}
			calls = append(calls, Listed{ID: strings.TrimPrefix(d.Key, prefix), Queue: at.queue, Record: r})
		}
	}
	return calls, unreadable, nil
}
