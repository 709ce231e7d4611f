package directory

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

const (
	usualRescan = 5 * time.Second
	maxRescan   = 30 * time.Second
	unwatched   = 1500 * time.Millisecond // between scans where changes are not told
	secondLook  = 300 * time.Millisecond
	share       = 20 // a scan may take one part in so many of the time
)

// reader is one run of a source.
type reader struct {
	Config
	name   string
	dirs   []string
	memory memory
}

// Run implements work.Runner: it looks until ctx ends.
func (r *reader) Run(ctx context.Context, g *work.Grant) error {
	if err := r.remember(ctx, g); err != nil {
		return err
	}
	w := newWatcher(g.Log)
	defer w.close()
	scanner := NewScanner(r.dirs, r.name, r.Types())
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		start := time.Now()
		scan := scanner.Scan()
		took := time.Since(start)
		unseen := w.follow(scan.Folders)
		again, err := r.act(ctx, g, scan)
		if err != nil && ctx.Err() == nil {
			g.Log.Warn("bring tasks in line with the directory", "err", err)
		}
		timer.Reset(r.pause(took, w.whole, again || unseen || err != nil))
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-w.hints:
		}
	}
}

// pause is how long to wait for a hint before looking by oneself.
func (r *reader) pause(took time.Duration, watched, again bool) time.Duration {
	usual := r.Rescan
	if usual <= 0 {
		usual = usualRescan
	}
	if again {
		return max(secondLook, 2*took)
	}
	if !watched {
		usual = min(usual, unwatched)
	}
	return max(usual, min(share*took, maxRescan))
}

// act does what a look leads to, and tells whether to look again soon.
func (r *reader) act(ctx context.Context, g *work.Grant, scan Scan) (again bool, err error) {
	want := r.memory.step(scan, r.Value(), r.name, Fence{g.Partition, g.Token})
	for _, rec := range want.records {
		r.Journal(rec)
	}
	changed := want.changed
	for commands := want.commands; len(commands) > 0 && err == nil; {
		n := batch(commands)
		var results []cluster.Result
		if results, err = r.Propose(ctx, commands[:n]...); err != nil {
			break
		}
		changed = r.tellRefused(commands[:n], results) || changed
		commands = commands[n:]
	}
	if changed {
		r.save(ctx, g)
	}
	return want.again, err
}

func (r *reader) tellRefused(commands []cluster.Command, results []cluster.Result) (told bool) {
	for i, res := range results[:min(len(results), len(commands))] {
		if res.Accepted {
			continue
		}
		if rec, fresh := r.memory.refused(commands[i], res.Reason); fresh {
			r.Journal(rec)
			told = true
		}
	}
	return told
}

// remember loads what was journaled by whoever ran the source before. What cannot be decoded is forgotten: faults are told again then.
func (r *reader) remember(ctx context.Context, g *work.Grant) error {
	r.memory = memory{}
	data, err := g.LoadPosition(ctx)
	if err != nil {
		return fmt.Errorf("remember which faults were told: %w", err)
	}
	if len(data) == 0 {
		return nil
	}
	if err := decodeMemory(data, &r.memory); err != nil {
		r.memory = memory{}
		g.Log.Warn("remember which faults were told", "err", err)
	}
	return nil
}

func (r *reader) save(ctx context.Context, g *work.Grant) {
	data, err := r.memory.encode()
	if err == nil {
		err = g.SavePosition(ctx, data)
	}
	if err != nil && ctx.Err() == nil {
		g.Log.Warn("remember which faults were told", "err", err)
	}
}
