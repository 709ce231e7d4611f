//go:build proof

package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

// remote is a handle on a memory server behind a link that is a plan of a Faulty, with sessions that expire: what a
// driver of a server is, without a network. Hooks of mutants are in faultmutants_test.go.
type remote struct {
	*faults.Faulty
	link   *planLink
	server *keeper
	broken string
	cached sync.Map // of a mutant: documents by key
}

// keeper is the server's side of one client: it remembers the session that was opened last.
type keeper struct {
	*memory.Store
	last store.Session
}

func (k *keeper) OpenSession(ctx context.Context, ttl time.Duration) (s store.Session, err error) {
	k.last, err = k.Store.OpenSession(ctx, ttl)
	return k.last, err
}

// planLink breaks a Faulty as a network would break a connection.
type planLink struct {
	faulty *faults.Faulty

	mu       sync.Mutex
	state    string        // "" when whole
	next     chan struct{} // of a cut to come
	replies  bool          // the cut comes in the reply
	answered int           // of the cuts in a request, every other was complete
	cuts     int           // resets so far
	healed   chan struct{} // closed by the next Heal
}

var _ storetest.Link = (*planLink)(nil)

func (l *planLink) set(state string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = state
	if state == "cut" {
		l.cuts++
	}
}

func (l *planLink) Cut() { l.set("cut") }
func (l *planLink) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cuts++
}
func (l *planLink) Refuse()       {}
func (l *planLink) Stall()        { l.set("stall") }
func (l *planLink) StallReplies() { l.set("stall") }
func (l *planLink) DropReplies()  { l.set("drop") }

func (l *planLink) Delay(time.Duration, time.Duration) {} // calls take no time anyway

func (l *planLink) CutRequests(int64) <-chan struct{} { return l.once(false) }
func (l *planLink) CutReplies(int64) <-chan struct{}  { return l.once(true) }

func (l *planLink) once(replies bool) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next, l.replies = make(chan struct{}), replies
	return l.next
}

func (l *planLink) Heal() error {
	l.mu.Lock()
	l.state, l.next = "", nil
	close(l.healed)
	l.healed = make(chan struct{})
	l.mu.Unlock()
	l.faulty.Release()
	return nil
}

func (l *planLink) is() (state string, cuts int, healed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, l.cuts, l.healed
}

// plan is what the link does to a call.
func (l *planLink) plan(faults.Call) faults.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case "cut":
		return faults.Refused
	case "stall":
		return faults.Held
	case "drop":
		return faults.LostReply
	}
	if l.next == nil {
		return faults.Pass
	}
	close(l.next)
	l.next = nil
	l.cuts++
	l.answered++
	if l.replies || l.answered%2 == 0 {
		return faults.LostReply
	}
	return faults.LostRequest
}

// openRemote is the store behind breakable links; broken names the rule that the handles through a link break.
func openRemote(broken string) storetest.OpenThrough[*remote] {
	ttl := 400 * time.Millisecond // what is broken shows at any TTL
	switch broken {
	case "":
		ttl = 4 * time.Second // a busy machine must not end the sessions of a sound driver
	case "close says done":
		ttl = time.Minute // the document must not go by itself before anybody looks
	}
	return func(*testing.T) storetest.Reach[*remote] {
		server := memory.New()
		through := func(t *testing.T, broken string) *remote {
			k := &keeper{Store: server.Open()}
			link := &planLink{healed: make(chan struct{})}
			link.faulty = faults.NewFaulty(k, link.plan)
			t.Cleanup(func() { k.Close() })
			return &remote{Faulty: link.faulty, link: link, server: k, broken: broken}
		}
		return storetest.Reach[*remote]{
			Direct:  func(t *testing.T) *remote { return through(t, "") },
			Through: func(t *testing.T) (*remote, storetest.Link) { r := through(t, broken); return r, r.link },
			Crash:   func(t *testing.T) { lose(t, server.Open(), broken) },
			TTL:     ttl,
		}
	}
}

// lose is what a crash takes from a server: nothing, unless that is what is broken.
func lose(t *testing.T, server *memory.Store, broken string) {
	t.Helper()
	defer server.Close()
	ctx := t.Context()
	switch broken {
	case "crash loses documents":
		docs := must.Get(server.List(ctx, "k"))(t)
		for _, d := range docs {
			if err := server.Delete(ctx, d.Key, d.Version); !errors.Is(err, store.ErrConflict) {
				must.Succeed(t, err)
			}
		}
	case "crash loses records":
		page := must.Get(server.Read(ctx, 0, 1))(t)
		must.Succeed(t, server.SaveSnapshot(ctx, store.Record{Index: page.Head}))
		must.Succeed(t, server.Trim(ctx, page.Head))
	}
}

// SessionsExpire implements store.Sessions.
func (r *remote) SessionsExpire() bool { return true }

// lease is a session that expires at the server ttl after its last renewal, and for its owner before that.
type lease struct {
	store.Session // through the link
	r             *remote
	done          chan struct{}
	ttl           time.Duration

	mu     sync.Mutex
	over   bool
	server *time.Timer // ends the session for others
	owner  *time.Timer // ends it for its owner
}

// OpenSession implements store.Sessions.
func (r *remote) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	session, err := r.Faulty.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	far := r.server.last
	l := &lease{Session: session, r: r, done: make(chan struct{}), ttl: ttl}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = time.AfterFunc(ttl, func() {
		if r.broken != "session documents outlive it" {
			_ = far.Close(context.Background()) // the session of a memory store closes
		}
	})
	l.owner = time.AfterFunc(ttl*3/4, l.expire)
	return l, nil
}

func (l *lease) expire() {
	if state, _, _ := l.r.link.is(); l.r.broken == "owner learns from the server" && state != "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.done)
	}
}

// Done implements store.Session.
func (l *lease) Done() <-chan struct{} { return l.done }

// Put implements store.Session.
func (l *lease) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	if over && l.r.broken != "ended session tries" {
		return "", fmt.Errorf("put %q: %w", d.Key, store.ErrSession)
	}
	v, err := l.r.put(ctx, d, l.Session.Put)
	if l.r.broken == "session ends with its network" && l.r.wasCut() {
		l.expire()
	}
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.server.Reset(l.ttl)
		l.owner.Reset(l.ttl * 3 / 4)
	}
	return v, err
}

// Close implements store.Session.
func (l *lease) Close(ctx context.Context) error {
	err := l.Session.Close(ctx)
	if err == nil {
		l.server.Stop()
	}
	l.owner.Stop()
	l.expire()
	if l.r.broken == "close says done" && errors.Is(err, store.ErrUnknown) {
		return nil
	}
	return err
}

// Watch implements store.Watcher.
func (r *remote) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	hints, err := r.Faulty.Watch(ctx, prefix)
	return r.carry(hints), err
}

// WatchLog implements store.LogWatcher.
func (r *remote) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	hints, err := r.Faulty.WatchLog(ctx)
	return r.carry(hints), err
}

// carry brings hints over the link: what comes while it is broken waits until it is whole.
func (r *remote) carry(hints <-chan struct{}) <-chan struct{} {
	if hints == nil {
		return nil
	}
	out := make(chan struct{}, 1)
	go func() {
		defer close(out)
		for range hints {
			for state, cuts, healed := r.link.is(); state != "" || r.broken == "watch dies" && cuts > 0; state, cuts,
				healed = r.link.is() {
				select {
				case <-healed:
				case _, open := <-hints:
					if !open {
						return
					}
				}
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out
}
