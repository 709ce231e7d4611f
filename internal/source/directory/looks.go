package directory

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
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

// looks looks at the directories of a source and calls act: at once, soon after something changed or act asked for it,
// and now and then, until ctx ends. A look after a change costs what changed; scans of everything take at most a third
// of the time. A hint from others leads to a look too; act is told of it.
func (c Config) looks(ctx context.Context, name string, log *slog.Logger, others <-chan struct{},
	act func(scan Scan, hinted bool) (again bool)) {
	w := newWatcher(c.Dirs[name], log)
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
			due, calm = time.Now().Add(apart(c.pause(took, w.whole && s.files == nil, false))),
				time.Now().Add(min(2*took, maxRescan))
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

// sweep is a scan of everything that several scanners of a source may use: nobody changes it.
type sweep struct {
	scan         Scan
	paths        claims
	folders      map[string]place
	began, ended time.Time
}

func (w *sweep) took() time.Duration { return w.ended.Sub(w.began) }

// current reports whether it shows as much as a scan by a scanner whose last look ended at an instant, zero for none: a
// scan is as old as it took when it ends, and one that took as long may as well be used by the next. It began after
// that look, with a while between: so it shows no older state, and what two looks must confirm, two sweeps have seen.
func (w *sweep) current(last, now time.Time) bool {
	return w != nil && now.Sub(w.ended) < w.took() && (last.IsZero() || w.began.Sub(last) >= secondLook)
}

// use takes a sweep as the last scan of this scanner.
func (s *Scanner) use(w *sweep) Scan {
	s.last, s.paths, s.folders, s.shared, s.took, s.looked = w.scan, w.paths, w.folders, true, w.took(), time.Now()
	return s.last
}

// own makes the last scan this scanner's own, before it is changed.
func (s *Scanner) own() {
	if !s.shared {
		return
	}
	s.shared, s.paths = false, s.paths.clone()
	s.last.Definitions, s.last.Faults, s.last.Blocked = slices.Clone(s.last.Definitions), slices.Clone(s.last.Faults),
		slices.Clone(s.last.Blocked)
}
