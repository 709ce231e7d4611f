package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

type witnessConfig struct {
	Path string `json:"path"`
}

// witnessLine is what one round writes down. Lines of all members on one machine go to one file; the order of lines and
// their tokens show an overlap even if a member was frozen between its check and its write, the times show how long it
// was.
type witnessLine struct {
	Member    string `json:"member"`
	Token     uint64 `json:"token"`
	Partition string `json:"partition"`
	AtNS      int64  `json:"at_ns"` // clock that advances during suspension, the same for all processes of the machine
	Event     string `json:"event"`
	Item      int64  `json:"item,omitempty"` // of witness-items: which one was done
}

func (o Options) witness() work.Type {
	return work.Type{
		Name: "witness", Doc: "writes down when it acts (for tests of Rota)", Periodic: true,
		DefaultEvery: defaultEvery,
		New: typed(func(c witnessConfig, _ work.Definition, f *faults) work.Runner {
			c.check(f)
			return work.RunnerFunc(c.run)
		}),
	}
}

func (c witnessConfig) check(f *faults) {
	if !filepath.IsAbs(c.Path) {
		f.add("path", "members may run in different directories", "%q is not an absolute path", c.Path)
	}
}

func (c witnessConfig) run(_ context.Context, g *work.Grant) error { return c.act(g, 0) }

// act writes one line, if the member may act.
func (c witnessConfig) act(g *work.Grant, item int64) (err error) {
	f, err := os.OpenFile(c.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open witness file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	at := int64(protocol.Now()) // comparable between processes on Linux alone
	line, err := json.Marshal(witnessLine{string(g.Member), uint64(g.Token), string(g.Partition), at, "act", item})
	if err != nil {
		return fmt.Errorf("encode witness line: %w", err)
	}
	line = append(line, '\n')
	if !g.Valid() {
		return fmt.Errorf("act as witness: %w", work.CauseLeaseLost)
	}
	if _, err := f.Write(line); err != nil { // one write with O_APPEND: never mixed with another member's
		return fmt.Errorf("write witness line: %w", err)
	}
	return nil
}

// itemsPause is the time between two items.
const itemsPause = 20 * time.Millisecond

type itemsConfig struct {
	witnessConfig
	Items int64 `json:"items"`
}

// witnessItems is a task with an end: it writes down that it does items 1 to Items, and saves how far it is after each.
func (o Options) witnessItems() work.Type {
	return work.Type{
		Name: "witness-items", Doc: "writes down items and comes to an end (for tests of Rota)",
		New: typed(func(c itemsConfig, _ work.Definition, f *faults) work.Runner {
			c.check(f)
			if c.Items < 1 {
				f.add("items", "items: 100", "%d items are none", c.Items)
			}
			return work.RunnerFunc(c.run)
		}),
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
		if err := c.act(g, done+1); err != nil {
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
