package call

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// pageAge is how long a page takes new calls. pageRest is how long members keep an empty page, which is far longer: by
// then only a process that was suspended could add to it, and that process checks the page again.
const (
	pageAge  = time.Minute
	pageRest = 10 * time.Minute
)

// head is what the document of a page says.
type head struct {
	// Void are the numbers of submissions that were abandoned with an unknown outcome: such a document may appear late,
	// and must not run.
	Void []int `json:"void,omitempty"`
}

// readHead reads the document of a page.
func readHead(ctx context.Context, docs store.Docs, at place) (head, error) {
	d, err := docs.Get(ctx, at.head())
	if err != nil {
		return head{}, err
	}
	return decodeHead(d)
}

func decodeHead(d store.Doc) (h head, err error) {
	if err := json.Unmarshal(d.Value, &h); err != nil {
		return head{}, fmt.Errorf("decode page %s: %w", d.Key, err)
	}
	return h, nil
}

// page is up to 128 calls of one client, so that members list calls bit by bit.
type page struct {
	docs   store.Docs
	at     place
	clock  func() protocol.Instant
	since  protocol.Instant
	opened chan struct{} // closed when err is set
	err    error

	turn    chan struct{} // has room for the writer of the head, and guards what follows. No mutex: a bubble of testing/synctest must see the waiters
	head    head
	version store.Version
	blind   bool // version may not be that of the head

	room sync.Mutex // guards what follows; never held over a call of the store
	use  pageUse
}

func newPage(docs store.Docs, at place, clock func() protocol.Instant) *page {
	return &page{docs: docs, at: at, clock: clock, since: clock(), opened: make(chan struct{}),
		turn: make(chan struct{}, 1)}
}

func (p *page) full(size int) bool {
	p.room.Lock()
	defer p.room.Unlock()
	return p.use.full(size) || p.old()
}

func (p *page) old() bool { return p.clock().Sub(p.since) > pageAge }

func (p *page) take(size int) place {
	p.room.Lock()
	defer p.room.Unlock()
	at := p.at
	at.number = p.use.used
	p.use = p.use.take(size)
	return at
}

// open writes the head. All holders of numbers wait for that.
func (p *page) open(ctx context.Context) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.err = p.writeHead(ctx, head{}, "")
	if p.err != nil {
		p.err = fmt.Errorf("open a page: %w", p.err)
	}
	close(p.opened)
}

// writeHead writes the head at a version. The caller has the turn.
func (p *page) writeHead(ctx context.Context, h head, at store.Version) error {
	body, err := json.Marshal(h)
	if err != nil {
		return err
	}
	w, fx := heading{body: string(body), at: at, blind: p.blind}.begin()
	for {
		var ans answer
		switch fx := fx.(type) {
		case putHead:
			v, err := p.docs.Put(ctx, store.Doc{Key: p.at.head(), Value: []byte(fx.body), Version: fx.version})
			ans = putEnded{v, err}
		case getHead:
			d, err := p.docs.Get(ctx, p.at.head())
			ans = gotHead{d.Version, string(d.Value), err}
		case pause:
			ans = paused{rest(ctx, fx.try)}
		case headed:
			if p.blind = fx.err != nil; !p.blind {
				p.head, p.version = h, fx.version
			}
			return fx.err
		}
		w, fx = w.step(ans)
	}
}

// put creates the document of a call. again: it provably never runs, and another number is needed.
func (p *page) put(ctx context.Context, at place, body []byte) (again bool, err error) {
	s, fx := submission{}, effect(create{})
	for {
		var ans answer
		switch fx := fx.(type) {
		case create:
			v, err := p.docs.Put(ctx, store.Doc{Key: at.key(), Value: body})
			ans = putEnded{v, err}
		case voidNumber:
			ans = headEnded{p.void(ctx, at.number)}
		case removeCall:
			removed, err := remove(ctx, p.docs, at.key(), fx.version)
			ans = removalEnded{removed, err}
		case askAge:
			ans = aged{p.old()}
		case tend:
			ans = headEnded{p.tend(ctx)}
		case submitted:
			return fx.again, fx.err
		default:
			ans = act(ctx, p.docs, at.key(), fx)
		}
		s, fx = s.step(ans)
	}
}

func (p *page) void(ctx context.Context, number int) error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	h := head{Void: append(slices.Clone(p.head.Void), number)}
	return p.writeHead(ctx, h, p.version)
}

// tend makes sure that the page is there after a late submission: a member that takes it for abandoned either finds it
// changed, or has removed it already, and then it is written again.
func (p *page) tend(ctx context.Context) error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if err := p.writeHead(ctx, p.head, p.version); err != nil {
		return fmt.Errorf("look after an old page: %w", unknown(err))
	}
	return nil
}

// close issues no further number; left reports that one call is removed or never was. The last of these removes the
// page.
func (p *page) close(ctx context.Context) { p.leave(ctx, func() { p.use.shut = true }) }
func (p *page) left(ctx context.Context)  { p.leave(ctx, func() { p.use.live-- }) }

// giveUp is for a call whose submission failed.
func (p *page) giveUp(ctx context.Context, err error) {
	p.leave(ctx, func() { p.use = p.use.giveUp(err) })
}

func (p *page) leave(ctx context.Context, change func()) {
	p.room.Lock()
	change()
	last := p.use.last()
	p.room.Unlock()
	if last {
		p.remove(ctx)
	}
}

// remove deletes the head, unless something may come late: then members do it, when they have seen that nothing does.
func (p *page) remove(ctx context.Context) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if removable(p.head, p.version) {
		_, _ = remove(ctx, p.docs, p.at.head(), p.version) // members remove what is left behind
	}
}

// sweeper removes what nobody else removes: outcomes that nobody collects, and pages that are empty. One member of the
// cluster does it, by its own clock alone: what has not changed since that member saw it first is so old at least.
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
	sum := sha256.New() // package hash/fnv would be one more that every program links
	sum.Write([]byte(head.Version))
	for _, d := range docs {
		sum.Write([]byte(d.Key + "\x00" + string(d.Version) + "\x00"))
	}
	now := sight{binary.BigEndian.Uint64(sum.Sum(nil)), s.w.c.Clock()}
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
