package directory

import (
	"context"
	"log/slog"
	"time"
)

const (
	usualRescan = 5 * time.Second
	maxRescan   = 30 * time.Second
	unwatched   = 1500 * time.Millisecond // between scans where changes are not told
	secondLook  = 300 * time.Millisecond
	share       = 20 // a scan may take one part in this many of the time
)

// looks scans the directories of a source and calls act: at once, soon after something changed or act asked for it, and now and then, until ctx ends.
// A hint from others leads to a look too; act is told of it.
func (c Config) looks(ctx context.Context, name string, log *slog.Logger, others <-chan struct{}, act func(scan Scan, hinted bool) (again bool)) {
	w := newWatcher(log)
	defer w.close()
	scanner := NewScanner(c.Dirs[name], name, c.Types())
	scanner.files = c.Files[name]
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	hinted := false
	for {
		start := time.Now()
		scan := scanner.Scan()
		took := time.Since(start)
		unseen := w.follow(scan.Folders)
		again := act(scan, hinted)
		timer.Reset(c.pause(took, w.whole && scanner.files == nil, again || unseen))
		hinted = false
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-w.hints:
		case _, open := <-others:
			hinted = true
			if !open {
				others = nil
			}
		}
	}
}

// pause is how long to wait for a hint before the next look.
func (c Config) pause(took time.Duration, watched, again bool) time.Duration {
	usual := c.Rescan
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
