package call

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// How a member looks for work.
const (
	headsSoonest = 15 * time.Millisecond  // between two lists of the pages, when slots are idle
	headsBusy    = 100 * time.Millisecond // the same while there is enough to do
	pageSoonest  = 10 * time.Millisecond  // between two lists of one page
	pageLazily   = 2 * time.Second        // the same where nothing is expected
	pageLazier   = 5 * time.Millisecond   // and so much for each page that there is
	pageFailed   = 100 * time.Millisecond // the same after a call of the store that failed
	pageYoung    = 2 * time.Second        // how long a page may get calls after a newer one of its client was seen
	mostHeld     = 32 << 20               // bytes of calls that are kept to be claimed
	stagger      = 8 * time.Millisecond   // for calls that another member is nearer to
)

// backlog is what one member knows of the calls that wait. It holds the pages, which are few, and the calls of at most
// one page of each queue.
type backlog struct {
	w      *Worker
	hinted bool
	hintAt protocol.Instant // when the newest hint came, as far as pages are concerned
	listed protocol.Instant
	queues []*queue // sorted by name
	turn   int      // the queue whose turn it is
	held   int      // bytes of candidates
	pages  int
	open   int // pages that may get further calls

	members  string
	rank, of int // of this member among the joined
	epoch    int // grows when members come or go: then each page is looked at again
	value    cluster.Value
}

// queue is one caller's.
type queue struct {
	name  string
	pages []*leaf // sorted by page
	next  int     // where the search for a page with work begins
}

// leaf is what is known of a page.
type leaf struct {
	at      place
	version store.Version
	newest  bool             // of its client
	aged    protocol.Instant // when a newer one was seen
	listed  protocol.Instant // 0: never
	hint    protocol.Instant // of the backlog, when it was listed
	epoch   int
	waiting []candidate
	later   map[string]later // calls that rest: before their next attempt, or because another member is nearer to them
	dueAt   protocol.Instant // the first of them; 0: none
	size    int
	lost    *atomic.Int64 // claims that somebody else won, since it was listed
	failed  *atomic.Bool  // the store failed since
	queued  int64
}

// later is when a call that rests may be claimed.
type later struct {
	version store.Version
	due     protocol.Instant
}

// candidate is a call to claim.
type candidate struct {
	stored
	at      place
	unbegun bool
	lost    *atomic.Int64
	failed  *atomic.Bool
	bytes   int
}

func newBacklog(w *Worker) backlog { return backlog{w: w, of: 1} }

// regard applies the present members.
func (b *backlog) regard(v cluster.Value) {
	b.value = v
	now := membership(v)
	if now == b.members {
		return
	}
	b.members = now
	b.epoch++
	b.rank, b.of = 0, 0
	for m := range v.Members() {
		if m.State != cluster.MemberJoined || m.Slots == 0 {
			continue
		}
		if m.ID == b.w.c.Member {
			b.rank = b.of
		}
		b.of++
	}
	b.of = max(b.of, 1)
}

// refresh lists the pages, if that is due, and returns when it is due next.
func (b *backlog) refresh(ctx context.Context, now protocol.Instant, room int64) time.Duration {
	pause := headsBusy
	if room > 0 && b.held == 0 {
		pause = headsSoonest
	}
	since := now.Sub(b.listed)
	if b.listed != 0 && (since < pause || !b.hinted && since < pollEvery) {
		if b.hinted {
			return pause - since
		}
		return pollEvery - since
	}
	b.listed = now
	if b.hinted {
		b.hintAt, b.hinted = now, false
	}
	heads, err := b.w.c.Docs.List(ctx, pagePrefix)
	if err != nil {
		b.w.c.Logger.Debug("list the pages of calls", "err", err)
		b.hinted = true
		return headsBusy
	}
	b.merge(heads, now)
	if room <= 0 {
		b.peek(ctx, now)
	}
	return pollEvery
}

// peek lists one page while all slots are taken, so that what waits is known.
func (b *backlog) peek(ctx context.Context, now protocol.Instant) {
	var oldest *leaf
	for _, q := range b.queues {
		for _, l := range q.pages {
			if len(l.waiting) == 0 && l.listIn(b, now) <= 0 && (oldest == nil || l.listed < oldest.listed) {
				oldest = l
			}
		}
	}
	if oldest != nil && b.held <= mostHeld {
		oldest.list(ctx, b, now)
		b.count()
	}
}

// merge applies a listing of the pages.
func (b *backlog) merge(heads []store.Doc, now protocol.Instant) {
	known := make(map[place]*leaf)
	for _, q := range b.queues {
		for _, l := range q.pages {
			known[l.at] = l
		}
	}
	old := b.queues
	b.queues, b.held, b.pages, b.open = nil, 0, len(heads), 0
	for _, d := range heads { // sorted by key: queue, client, page
		at, ok := parseHead(d.Key)
		if !ok {
			continue
		}
		l := known[at]
		if l == nil {
			l = &leaf{at: at, lost: new(atomic.Int64), failed: new(atomic.Bool)}
		}
		l.version = d.Version
		b.add(l, now)
		b.held += l.size
	}
	b.keepTurns(old)
	b.count()
}

// count returns how many calls wait, as far as it is known.
func (b *backlog) count() {
	var queued int64
	for _, q := range b.queues {
		for _, l := range q.pages {
			queued += l.queued
		}
	}
	b.w.counts.queued.Store(queued)
}

func (b *backlog) add(l *leaf, now protocol.Instant) {
	if n := len(b.queues); n == 0 || b.queues[n-1].name != l.at.queue {
		b.queues = append(b.queues, &queue{name: l.at.queue})
	}
	q := b.queues[len(b.queues)-1]
	if n := len(q.pages); n > 0 && q.pages[n-1].at.submitter() == l.at.submitter() {
		if before := q.pages[n-1]; before.newest || before.aged == 0 {
			before.newest, before.aged = false, now
		}
		b.open--
	}
	b.open++
	l.newest = true
	q.pages = append(q.pages, l)
}

// keepTurns goes on behind the queue that was served last.
func (b *backlog) keepTurns(old []*queue) {
	if len(old) == 0 || b.turn >= len(old) {
		b.turn = 0
		return
	}
	served := old[b.turn].name
	b.turn, _ = slices.BinarySearchFunc(b.queues, served,
		func(q *queue, name string) int { return strings.Compare(q.name, name) })
	if b.turn >= len(b.queues) {
		b.turn = 0
	}
}

// next takes the next call to claim: one of each queue in turn. Where there is none it tells when to look again.
func (b *backlog) next(ctx context.Context, now protocol.Instant) (candidate, time.Duration, bool) {
	wait := pollEvery
	for range b.queues {
		b.turn = (b.turn + 1) % len(b.queues)
		c, due, ok := b.queues[b.turn].take(ctx, b, now)
		if ok {
			return c, 0, true
		}
		wait = min(wait, due)
	}
	return candidate{}, wait, false
}

// take gives a call of the queue: of a page that was listed, or of the next that is worth listing.
func (q *queue) take(ctx context.Context, b *backlog, now protocol.Instant) (candidate, time.Duration, bool) {
	wait := pollEvery
	for i := range q.pages {
		l := q.pages[(q.next+i)%len(q.pages)]
		if len(l.waiting) == 0 || l.lost.Load() >= 2 {
			if due := l.listIn(b, now); due > 0 || b.held > mostHeld {
				wait = min(wait, max(due, time.Millisecond))
				continue
			}
			l.list(ctx, b, now)
		}
		if c, ok := l.pop(b); ok {
			q.next = (q.next + i) % len(q.pages)
			return c, 0, true
		}
		wait = min(wait, max(l.listIn(b, now), time.Millisecond))
	}
	return candidate{}, wait, false
}

// pop takes the first call.
func (l *leaf) pop(b *backlog) (candidate, bool) {
	if len(l.waiting) == 0 {
		return candidate{}, false
	}
	c := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.size -= c.bytes
	b.held -= c.bytes
	return c, true
}

// listIn returns when the page is worth listing.
func (l *leaf) listIn(b *backlog, now protocol.Instant) time.Duration {
	since := now.Sub(l.listed)
	soonest := pageLazily + time.Duration(b.pages)*pageLazier
	switch {
	case l.listed == 0, l.epoch != b.epoch:
		soonest = 0
	case l.lost.Load() >= 2:
		soonest = pageSoonest
	case l.failed.Load():
		soonest = pageFailed
	case (l.newest || now.Sub(l.aged) < pageYoung) && l.hint < b.hintAt:
		soonest = max(pageSoonest, time.Duration(b.open)*time.Millisecond) // many callers share what a member has for looking
	}
	if l.dueAt != 0 {
		soonest = min(soonest, max(l.dueAt.Sub(l.listed), pageSoonest))
	}
	return soonest - since
}

// list looks for what may be claimed. The head is read after the list: it tells which documents came late and are not
// to run.
func (l *leaf) list(ctx context.Context, b *backlog, now protocol.Instant) {
	b.held -= l.size
	l.waiting, l.size, l.queued, l.listed, l.epoch, l.hint = nil, 0, 0, now, b.epoch, b.hintAt
	l.lost, l.failed = new(atomic.Int64), new(atomic.Bool)
	docs, err := b.w.c.Docs.List(ctx, l.at.dir())
	var h head
	if err == nil && len(docs) > 0 {
		h, err = readHead(ctx, b.w.c.Docs, l.at)
	}
	if err != nil {
		l.failed.Store(true)
		return
	}
	resting := l.later
	l.later, l.dueAt = nil, 0
	for i, d := range docs {
		l.consider(b, d, i, h, resting, now)
	}
	b.held += l.size
}

// consider adds a document to what may be claimed.
func (l *leaf) consider(b *backlog, d store.Doc, ordinal int, h head, resting map[string]later, now protocol.Instant) {
	r, err := decode(d.Value)
	if err != nil {
		b.w.counts.bad.Add(1)
		b.w.c.Logger.Debug("read a call", "key", d.Key, "err", err)
		return
	}
	at, err := parseID(strings.TrimPrefix(d.Key, prefix))
	if err != nil || !(listed{r, at.number, h.Void}).waits() {
		return
	}
	c := candidate{stored: stored{d.Key, d.Version, r}, at: at, lost: l.lost, failed: l.failed, bytes: len(d.Value)}
	if !b.claimable(&c) {
		return
	}
	if r.State == Queued {
		l.queued++
	}
	if l.rests(b, &c, resting, ordinal, now) {
		return
	}
	l.waiting = append(l.waiting, c)
	l.size += c.bytes
}

// rests reports whether a call is to be left alone for a while, from when this member saw it first as it is.
func (l *leaf) rests(b *backlog, c *candidate, resting map[string]later, ordinal int, now protocol.Instant) bool {
	pause := b.distance(ordinal)
	if c.State == Queued {
		pause = max(pause, time.Duration(c.BackoffMS)*time.Millisecond)
	}
	if pause == 0 {
		return false
	}
	rest, ok := resting[c.key]
	if !ok || rest.version != c.version {
		rest = later{c.version, now.Add(pause)}
	}
	if rest.due <= now {
		return false
	}
	if l.later == nil {
		l.later = make(map[string]later)
	}
	l.later[c.key] = rest
	if l.dueAt == 0 || rest.due < l.dueAt {
		l.dueAt = rest.due
	}
	return true
}

// claimable reports whether this member may claim a call now.
func (b *backlog) claimable(c *candidate) bool {
	w := b.w
	if _, ok := w.functions[c.Function]; !ok {
		return false
	}
	w.mu.Lock()
	_, live := w.runs[c.key]
	w.mu.Unlock()
	if live {
		return false
	}
	unbegun, ok := claimant{w.c.Member, w.nonce, b.value}.may(c.Record)
	c.unbegun = unbegun
	return ok
}

// distance spreads the members over the list: each begins with its own share, and takes the shares of others only if
// they are still there at its next, slightly later check. So many idle members read, but not all of them write.
func (b *backlog) distance(ordinal int) time.Duration {
	d := ((ordinal-b.rank)%b.of + b.of) % b.of
	if d == 0 {
		return 0
	}
	return stagger + time.Duration(min(d, 20))*time.Millisecond
}
