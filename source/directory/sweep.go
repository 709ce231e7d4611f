package directory

import (
	"slices"
	"time"
)

// sweep is a scan of everything that several scanners of a source may use: nobody changes it.
type sweep struct {
	scan         Scan
	paths        claims
	folders      map[string]place
	began, ended time.Time
}

func (w *sweep) took() time.Duration { return w.ended.Sub(w.began) }

// current reports whether it shows as much as a scan by a scanner whose last look ended at an instant, zero for none: a scan is as old as it took when it ends, and
// one that took as long may as well be used by the next. It began after that look, with a while between: so it shows no older state, and what two looks must
// confirm, two sweeps have seen.
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
	s.last.Definitions, s.last.Faults, s.last.Blocked = slices.Clone(s.last.Definitions), slices.Clone(s.last.Faults), slices.Clone(s.last.Blocked)
}
