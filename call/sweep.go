package call

import (
	"context"
	"hash/fnv"
	"strings"

	"github.com/rota-run/rota/store"
)

// sweeper removes what nobody else removes: outcomes that nobody collects, and pages that are empty. One member of the cluster does it, by its own clock
// alone: what has not changed since that member saw it first is so old at least.
type sweeper struct {
	w    *Worker
	seen map[place]sight
}

func newSweeper(w *Worker) *sweeper { return &sweeper{w: w, seen: make(map[place]sight)} }

// sweep looks at all pages, one after the other.
func (s *sweeper) sweep(ctx context.Context) {
	if first, ok := s.w.c.Value().FirstJoined(); !ok || first != s.w.c.Member {
		clear(s.seen)
		return
	}
	heads, err := s.w.c.Docs.List(ctx, pagePrefix)
	if err != nil {
		s.w.c.Logger.Debug("sweep calls", "err", err)
		return
	}
	now := make(map[place]sight, len(heads))
	for _, d := range heads {
		at, ok := parseHead(d.Key)
		if !ok || ctx.Err() != nil {
			continue
		}
		if sight, ok := s.look(ctx, at, d); ok {
			now[at] = sight
		}
	}
	s.seen = now
}

// look removes a page, or what is on it, if it has not changed for long enough. false: there is nothing to remember.
func (s *sweeper) look(ctx context.Context, at place, head store.Doc) (sight, bool) {
	docs, err := s.w.c.Docs.List(ctx, at.dir())
	if err != nil {
		return s.seen[at], s.seen[at].since != 0
	}
	sum := fnv.New64a()
	sum.Write([]byte(head.Version))
	for _, d := range docs {
		sum.Write([]byte(d.Key + "\x00" + string(d.Version) + "\x00"))
	}
	now := sight{sum.Sum64(), s.w.c.Clock()}
	before, known := s.seen[at]
	switch fateOf(before, known, now, len(docs), s.w.c.Retention) {
	case changed:
		return now, true
	case abandoned:
		if _, err := remove(ctx, s.w.c.Docs, head.Key, head.Version); err == nil {
			return sight{}, false
		}
	case expired:
		s.expire(ctx, head, docs)
	case stay:
	}
	return before, true
}

// expire removes outcomes, and calls whose submission was given up.
func (s *sweeper) expire(ctx context.Context, head store.Doc, docs []store.Doc) {
	h, _ := decodeHead(head) // one that cannot be read makes nothing void
	for _, d := range docs {
		r, err := decode(d.Value)
		if err != nil || !expires(r, numberOf(d.Key), h.Void) {
			continue
		}
		removed, err := remove(ctx, s.w.c.Docs, d.Key, d.Version)
		if err != nil {
			s.w.c.Logger.Debug("remove an uncollected outcome", "key", d.Key, "err", err)
			return
		}
		if removed {
			s.w.counts.expired.Add(1)
		}
	}
}

// numberOf is -1 for a key that is not that of a call.
func numberOf(key string) int {
	at, err := parseID(strings.TrimPrefix(key, prefix))
	if err != nil {
		return -1
	}
	return at.number
}
