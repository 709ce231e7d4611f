package log

import (
	"slices"
	"time"
)

// end is the newest index.
func (s state) end() uint64 { return s.cut + uint64(len(s.tail)) }

// pageEnd is the last index of the page of an index.
func (s state) pageEnd(index uint64) uint64 { return (index + s.size - 1) / s.size * s.size }

// full are the pages that the tail can give away. Those that are trimmed need not be written.
func (s state) full() (pages []page) {
	for at := s.cut; s.pageEnd(at+1) <= s.end(); at = s.pageEnd(at + 1) {
		if to := s.pageEnd(at + 1); to > s.base {
			pages = append(pages, page{at, s.tail[at-s.cut : to-s.cut]})
		}
	}
	return pages
}

// without is the state without the pages that it can give away.
func (s state) without() state {
	if to := s.end() / s.size * s.size; to > s.cut {
		s.tail, s.cut = s.tail[to-s.cut:], to
	}
	return s
}

// added is the state with entries of one append behind its newest one. Pages of one record do not wait in the head:
// they are returned, to be written with it.
func (s state) added(name string, entries []entry) (state, []page) {
	s.tail = append(slices.Clone(s.tail), entries...)
	s.tail[len(s.tail)-len(entries)].name = name
	if s.size > 1 {
		return s, nil
	}
	pages := s.full()
	return s.without(), pages
}

// trimmed is the state with a base of at least index. Pages that are trimmed leave the head without having been
// written.
func (s state) trimmed(index uint64) state {
	s.base = max(s.base, min(index, s.end()))
	if to := s.base / s.size * s.size; to > s.cut {
		s.tail, s.cut = s.tail[to-s.cut:], to
	}
	return s
}

// begun is an empty state that begins behind an index.
func (s state) begun(index uint64, name string) state {
	return state{size: s.size, base: index, freed: index, cut: index, first: index, seed: name}
}

// unused reports whether nothing was appended behind the seed with which it began.
func (s state) unused() bool { return s.first > 0 && s.end() == s.first }

// owner says whose the record at an index is.
type owner int

const (
	ours    owner = iota
	nobodys       // another's, or nobody's: it is not ours, and will not be
	inPage        // the page tells, if it is still there
)

// whose judges an append with a lost answer that can come no more, by a later state. Its first record would be at
// index.
func (s state) whose(index uint64, name string) owner {
	switch {
	case index <= s.first: // a seed was put into the log while it was empty
		return nobodys
	case index <= s.cut:
		return inPage
	case index <= s.end() && s.tail[index-s.cut-1].name == name:
		return ours
	}
	return nobodys
}

// has says whether a page has the first record of an append at an index.
func (p page) has(index uint64, name string) bool {
	at := index - p.after - 1
	return index > p.after && at < uint64(len(p.entries)) && p.entries[at].name == name
}

// found is a record at its index.
type found struct {
	index uint64
	entry
}

// behind are at most limit records behind an index.
func (p page) behind(after uint64, limit int) (out []found) {
	for i, e := range p.entries {
		if index := p.after + 1 + uint64(i); index > after && len(out) < limit { //nolint:gosec // i is not negative
			out = append(out, found{index, e})
		}
	}
	return out
}

// between are the last indexes of the pages that hold what is behind an index, up to a cut.
func (s state) between(after, cut uint64, most int) (ends []uint64) {
	for at := after; at < cut && len(ends) < most; at = ends[len(ends)-1] {
		ends = append(ends, s.pageEnd(at+1))
	}
	return ends
}

// contest is an append that competes with those of other handles. Each swap sends the whole head, and of those that
// name one version one wins. A loser that comes back at once sends all of it for another one to win, and the bytes of n
// handles grow with the square of n. So a loser waits, longer with each loss, and then reads what stands there.
type contest struct{ lost int }

const (
	leastPause = time.Millisecond
	mostPause  = time.Second
	doublings  = 4 // more would not save much, and a loser that waits for long after the others are done
)

// lose notes a loss, and says how long to wait before the next try. The last request took so long: the server's queue
// shows in it. Losers give seeds of their own, so that they do not come back at once.
func (c *contest) lose(took time.Duration, seed uint32) time.Duration {
	c.lost++
	about := min(max(took, leastPause)<<min(c.lost, doublings), mostPause)
	return about/2 + about>>16*time.Duration(seed>>16) // half of it to one and a half
}
