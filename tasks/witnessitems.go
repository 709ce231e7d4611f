package tasks

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rota-run/rota/work"
)

// itemsPause is the time between two items.
const itemsPause = 20 * time.Millisecond

type itemsConfig struct {
	Path  string `json:"path"`
	Items int64  `json:"items"`
}

// witnessItems is a task with an end: it writes down that it does items 1 to Items, and saves how far it is after each.
func (o Options) witnessItems() work.Type {
	return work.Type{
		Name: "witness-items", Doc: "writes down items and comes to an end (for tests of Rota)",
		New: func(d work.Definition) (work.Runner, error) {
			var c itemsConfig
			if err := decode(d, &c); err != nil {
				return nil, err
			}
			var f faults
			if !filepath.IsAbs(c.Path) {
				f.add("path", "members may run in different directories", "%q is not an absolute path", c.Path)
			}
			if c.Items < 1 {
				f.add("items", "items: 100", "%d items are none", c.Items)
			}
			return checked(work.RunnerFunc(c.run), f)
		},
	}
}

func (c itemsConfig) run(ctx context.Context, g *work.Grant) error {
	done, err := c.load(ctx, g)
	if err != nil {
		return err
	}
	pause := time.NewTicker(itemsPause)
	defer pause.Stop()
	for done < c.Items {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-pause.C:
		}
		if err := (witnessConfig{c.Path}).act(g, done+1); err != nil {
			if errors.Is(err, work.CauseLeaseLost) {
				continue // it comes back, or ctx ends
			}
			return err
		}
		if err := c.save(ctx, g, done+1); err != nil {
			return err
		}
		done++
	}
	return nil
}

func (c itemsConfig) load(ctx context.Context, g *work.Grant) (int64, error) {
	var text []byte
	err := c.patiently(ctx, func() (err error) {
		text, err = g.LoadPosition(ctx)
		return err
	})
	if err != nil || text == nil {
		return 0, err
	}
	done, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the position: %w", err)
	}
	return done, nil
}

func (c itemsConfig) save(ctx context.Context, g *work.Grant, done int64) error {
	return c.patiently(ctx, func() error { return g.SavePosition(ctx, strconv.AppendInt(nil, done, 10)) })
}

// patiently calls again while the store is away.
func (c itemsConfig) patiently(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || errors.Is(err, work.ErrToken) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(itemsPause):
		}
	}
}
