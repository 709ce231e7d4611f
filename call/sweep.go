package call

import (
	"context"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// sweeper removes what nobody else removes: outcomes that nobody collects, and pages that are empty. One member of the cluster does it, by its own clock
// alone: what has not changed since that member saw it first is so old at least.
type sweeper struct {
	w    *Worker
	seen map[place]sight
}

// sight is a page as it was first seen.
type sight struct {
	sum   uint64
	since protocol.Instant
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
	before, ok := s.seen[at]
	if !ok || before.sum != now.sum {
		return now, true
	}
	age := now.since.Sub(before.since)
	switch {
	case len(docs) == 0 && age >= pageRest:
		if _, err := remove(ctx, s.w.c.Docs, head.Key, head.Version); err == nil {
			return sight{}, false
		}
	case age >= s.w.c.Retention:
		s.expire(ctx, head, docs)
	}
	return before, true
}

// expire removes outcomes, and calls whose submission was given up.
func (s *sweeper) expire(ctx context.Context, head store.Doc, docs []store.Doc) {
	for _, d := range docs {
		r, err := decode(d.Value)
		if err != nil || !r.State.Final() && (r.State != Queued || r.Token > 0 || !voided(head, d.Key)) {
			continue
		}
		removed, err := remove(ctx, s.w.c.Docs, d.Key, d.Version)
		if err != nil {
			s.w.c.Logger.Debug("remove an outcome that nobody collected", "key", d.Key, "err", err)
			return
		}
		if removed {
			s.w.counts.expired.Add(1)
		}
	}
}

// voided tells whether the submission of a call was given up.
func voided(d store.Doc, key string) bool {
	h, err := decodeHead(d)
	at, bad := parseID(strings.TrimPrefix(key, prefix))
	return err == nil && bad == nil && slices.Contains(h.Void, at.number)
}
