package directory

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	usualRescan = 5 * time.Second
	maxRescan   = 30 * time.Second
	unwatched   = 1500 * time.Millisecond // between scans where changes are not told
	secondLook  = 300 * time.Millisecond
	// A scan may take one part in so many of the time. Where changes are told, it finds only what was not.
	share        = 20
	watchedShare = 60
)

// looks looks at the directories of a source and calls act: at once, soon after something changed or act asked for it, and now and then, until ctx ends.
// A look after a change costs what changed; scans of everything take at most a third of the time. A hint from others leads to a look too; act is told of it.
func (c Config) looks(ctx context.Context, name string, log *slog.Logger, others <-chan struct{}, act func(scan Scan, hinted bool) (again bool)) {
	w := newWatcher(log)
	defer w.close()
	w.followDirs(c.Dirs[name])
	s := NewScanner(c.Dirs[name], name, c.Types())
	s.files, s.known = c.Files[name], c.Cache.of(name)
	what, hinted := changes{due: true}, false
	var due, calm time.Time // of the next scan of everything; before calm a hint does not lead to one
	for ctx.Err() == nil {
		start := time.Now()
		scan := s.again(what)
		took, unseen := time.Since(start), false
		if scan.only == nil {
			took = s.took
			unseen = w.follow(scan.Folders)
			s.looked = time.Now() // what changes from now on is told
			due, calm = time.Now().Add(apart(c.pause(took, w.whole && s.files == nil, false))), time.Now().Add(min(2*took, maxRescan))
		}
		next := time.Until(due)
		if again := act(scan, hinted); again || unseen {
			next = min(next, c.pause(took, true, true))
		} else {
			what = changes{}
		}
		var open bool
		if hinted, open = wait(ctx, next, w.hints, others); !open {
			others = nil
		}
		what.join(w.take())
		if what.due = what.due || unseen || !time.Now().Before(due); what.all || what.due {
			wait(ctx, time.Until(calm), nil, nil)
		}
	}
}

// apart is up to a quarter less than a pause, so that members that began together do not scan together for ever.
func apart(pause time.Duration) time.Duration { return pause - rand.N(pause/4+1) }

// wait waits so long, or for a hint. other: it was one of others; open is false when these have ended.
func wait(ctx context.Context, atMost time.Duration, hints, others <-chan struct{}) (other, open bool) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-hints:
	case _, open = <-others:
		return true, open
	}
	return false, true
}

// pause is how long to wait for a hint before the next look.
func (c Config) pause(took time.Duration, watched, again bool) time.Duration {
	usual := c.Rescan
	if usual <= 0 {
		usual = usualRescan
	}
	switch {
	case again:
		return max(secondLook, 2*took)
	case watched:
		return max(usual, min(watchedShare*took, maxRescan))
	}
	return max(min(usual, unwatched), min(share*took, maxRescan))
}
