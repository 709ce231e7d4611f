package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// pageAge is how long a page takes new calls. pageRest is how long members let an empty page stand, which is far longer: by then nobody adds to it but
// a process that was suspended, and that looks after the page again.
const (
	pageAge  = time.Minute
	pageRest = 10 * time.Minute
)

// head is what the document of a page says.
type head struct {
	// Void are the numbers whose submission was given up with its outcome unknown: such a document may come late, and is not to run.
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
	since  protocol.Instant
	opened chan struct{} // closed when err is set
	err    error

	mu      sync.Mutex // guards what follows; held over writes of the head
	head    head
	version store.Version

	room sync.Mutex // guards what follows; never held over a call of the store
	used int        // numbers given
	size int        // bytes of their documents
	live int        // calls that are not known to be removed
	shut bool       // no further number is given
}

func (p *page) full(size int) bool {
	p.room.Lock()
	defer p.room.Unlock()
	return p.used == pageSize || p.used > 0 && p.size+size > pageBytes || p.old()
}

func (p *page) old() bool { return protocol.Now().Sub(p.since) > pageAge }

func (p *page) take(size int) place {
	p.room.Lock()
	defer p.room.Unlock()
	at := p.at
	at.number = p.used
	p.used++
	p.live++
	p.size += size
	return at
}

// open writes the head. Everybody who has a number waits for that.
func (p *page) open(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = p.writeHead(ctx, head{}, "")
	if p.err != nil {
		p.err = fmt.Errorf("open a page: %w", p.err)
	}
	close(p.opened)
}

// writeHead writes the head at a version. p.mu is held. Only this client writes it, so what stands there is the outcome.
func (p *page) writeHead(ctx context.Context, h head, at store.Version) error {
	body, err := json.Marshal(h)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		v, err := p.docs.Put(ctx, store.Doc{Key: p.at.head(), Value: body, Version: at})
		if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrConflict) {
			if at, err = p.stands(ctx, body, &v); err == nil && v == "" {
				err = rest(ctx, try)
				if err == nil {
					continue
				}
			}
		}
		if err != nil {
			return err
		}
		p.head, p.version = h, v
		return nil
	}
}

// stands gives the version that is there, "" for none, and sets done to it if it says body.
func (p *page) stands(ctx context.Context, body []byte, done *store.Version) (store.Version, error) {
	d, err := p.docs.Get(ctx, p.at.head())
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", errors.Join(store.ErrUnknown, err)
	}
	if string(d.Value) == string(body) {
		*done = d.Version
	}
	return d.Version, nil
}

// put creates the document of a call. again: it provably never runs, and another number is needed.
func (p *page) put(ctx context.Context, at place, body []byte) (again bool, err error) {
	_, err = p.docs.Put(ctx, store.Doc{Key: at.key(), Value: body})
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrConflict) { // a conflict: a driver's own second try met its first
		again, err = p.resolve(ctx, at)
	}
	if err != nil || again || !p.old() {
		return again, err
	}
	return false, p.touch(ctx)
}

// resolve finds out what became of a submission whose outcome is unknown. One that is not there may still come, even after a second try was run,
// collected and removed; so its number is made void, and then it is looked at once more.
func (p *page) resolve(ctx context.Context, at place) (again bool, err error) {
	if _, err := read(ctx, p.docs, at.key()); !errors.Is(err, store.ErrNotFound) {
		return false, unknown(err)
	}
	if err := p.void(ctx, at.number); err != nil {
		return false, unknown(err)
	}
	now, err := read(ctx, p.docs, at.key())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return true, nil
	case err != nil:
		return false, unknown(err)
	case now.Token > 0: // claimed before it was void
		return false, nil
	}
	removed, err := remove(ctx, p.docs, now.key, now.version)
	return removed, unknown(err)
}

func unknown(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(store.ErrUnknown, err)
}

func (p *page) void(ctx context.Context, number int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := head{Void: append(slices.Clone(p.head.Void), number)}
	return p.writeHead(ctx, h, p.version)
}

// touch makes sure that the page is there after a late submission: a member that takes it for abandoned either finds it changed, or has removed it
// already, and then it is written again.
func (p *page) touch(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.writeHead(ctx, p.head, p.version); err != nil {
		return fmt.Errorf("look after an old page: %w", unknown(err))
	}
	return nil
}

// close gives no further number; left tells that one call is removed or never was. The last of these removes the page.
func (p *page) close(ctx context.Context) { p.leave(ctx, func() { p.shut = true }) }
func (p *page) left(ctx context.Context)  { p.leave(ctx, func() { p.live-- }) }

func (p *page) leave(ctx context.Context, change func()) {
	p.room.Lock()
	change()
	last := p.shut && p.live == 0
	p.room.Unlock()
	if last {
		p.remove(ctx)
	}
}

// remove deletes the head, unless something may come late: then members do it, when they have seen that nothing does.
func (p *page) remove(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.head.Void) == 0 && p.version != "" {
		_, _ = remove(ctx, p.docs, p.at.head(), p.version) // members remove what is left behind
	}
}
