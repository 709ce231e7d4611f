package storecheck

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

func run(t *testing.T, s store.Full) Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return Run(ctx, s)
}

func TestAGoodStore(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	defer s.Close()
	// Of one that was interrupted. It stays, and the second run finds what the first one has left.
	must.Succeed(t, must.Err(s.Put(t.Context(), store.Doc{Key: "check/7/doc"})))
	for range 2 {
		r := run(t, s)
		if !r.OK || len(r.Steps) != 8 {
			t.Fatalf("%+v", r)
		}
		for _, step := range r.Steps[1:3] { // append, read
			if step.Times != rounds {
				t.Errorf("%+v", step)
			}
		}
	}
	c := &check{}
	c.try("three", func() (string, error) {
		c.took = []time.Duration{9 * time.Millisecond, time.Millisecond, 1504 * time.Microsecond}
		return "", nil
	})
	if got := c.steps[0]; got.Times != 3 || got.TypicalMS != 1.5 || got.WorstMS != 9 {
		t.Errorf("%+v", got)
	}
	p, err := s.Read(context.Background(), 0, 1)
	if !errors.Is(err, store.ErrTruncated) {
		t.Errorf("records stay behind: %v, %v", p, err)
	}
	docs, err := s.List(context.Background(), "")
	if err != nil || len(docs) != 1 {
		t.Errorf("documents stay behind: %v, %v", docs, err)
	}
}

// bare has no watches and no sessions.
type bare struct {
	store.Store
	store.Docs
	store.Log
}

func TestAStoreThatCanLess(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	defer s.Close()
	r := run(t, bare{s, s, s})
	if !r.OK {
		t.Fatalf("%+v", r)
	}
	for _, name := range []string{"watch", "session"} {
		if step := stepOf(r, name); step.OK || !step.Optional || step.Note == "" {
			t.Errorf("%+v", step)
		}
	}
}

// The place of a cluster is left alone.
func TestAPlaceInUse(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	defer s.Close()
	must.Succeed(t, must.Err(s.Put(context.Background(), store.Doc{Key: "pulse/a"})))
	r := run(t, s)
	if p, err := s.Read(context.Background(), 0, 1); r.OK || err != nil || p.Head != 0 {
		t.Errorf("%+v; head %d, %v", r, p.Head, err)
	}
}

func stepOf(r Report, name string) Step {
	for _, s := range r.Steps {
		if s.Name == name {
			return s
		}
	}
	return Step{}
}

// careless takes every write, whatever the version.
type careless struct{ bare }

func (c careless) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	now, err := c.Get(ctx, d.Key)
	if err == nil {
		d.Version = now.Version
	}
	return c.bare.Put(ctx, d)
}

// readOnly takes no write.
type readOnly struct{ bare }

func (readOnly) Append(context.Context, []byte) (uint64, error) {
	return 0, errors.New("append: permission denied")
}

// forgetful has lost something of what it has acknowledged.
type forgetful struct {
	bare
	lose func(*store.Page)
}

func (f forgetful) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	p, err := f.bare.Read(ctx, after, limit)
	f.lose(&p)
	return p, err
}

// old reads another version than was acknowledged.
type old struct{ bare }

func (o old) Get(ctx context.Context, key string) (store.Doc, error) {
	d, err := o.bare.Get(ctx, key)
	d.Version += "0"
	return d, err
}

// stuck gives each record the same index.
type stuck struct{ bare }

func (s stuck) Append(ctx context.Context, b []byte) (uint64, error) {
	_, err := s.bare.Append(ctx, b)
	return 1, err
}

// cutting keeps half of a snapshot.
type cutting struct{ bare }

func (c cutting) Snapshot(ctx context.Context) (store.Record, error) {
	r, err := c.bare.Snapshot(ctx)
	r.Data = r.Data[:len(r.Data)/2]
	return r, err
}

// lenient takes a write of any version, and refuses a second creation.
type lenient struct{ bare }

func (l lenient) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if d.Version != "" {
		return careless(l).Put(ctx, d)
	}
	return l.bare.Put(ctx, d)
}

// vague says of each write that it refuses the same.
type vague struct{ bare }

func (v vague) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	version, err := v.bare.Put(ctx, d)
	if err != nil {
		err = errors.New("something is wrong")
	}
	return version, err
}

// keeping deletes nothing.
type keeping struct{ bare }

func (keeping) Delete(context.Context, string, store.Version) error { return store.ErrUnavailable }

// doubling lists each document twice.
type doubling struct{ bare }

func (d doubling) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	docs, err := d.bare.List(ctx, prefix)
	return append(docs, docs...), err
}

// lasting keeps the documents of closed sessions.
type lasting struct{ *memory.Store }

type lastingSession struct{ store.Session }

func (lastingSession) Close(context.Context) error { return nil }

func (l lasting) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	s, err := l.Store.OpenSession(ctx, ttl)
	return lastingSession{s}, err
}

// mute never gives a hint. Whoever waits for one has enough at once.
type mute struct {
	*memory.Store
	enough context.CancelFunc
}

func (m mute) Watch(context.Context, string) (<-chan struct{}, error) {
	m.enough()
	return nil, nil
}

func TestAMuteWatchEnds(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if r := Run(ctx, mute{s, cancel}); r.OK || !strings.Contains(stepOf(r, "watch").Error, "no hint") {
		t.Errorf("%+v", r)
	}
}

func TestABadStoreIsFoundOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, step, want string
		make             func(bare) store.Full
	}{
		{"careless", "conditional write", "a second creation was taken",
			func(b bare) store.Full { return careless{b} }},
		{"read only", "append", "permission denied", func(b bare) store.Full { return readOnly{b} }},
		{"forgetful", "read", "was acknowledged",
			func(b bare) store.Full { return forgetful{b, func(p *store.Page) { p.Records = nil }} }},
		{"behind", "read", "was acknowledged",
			func(b bare) store.Full { return forgetful{b, func(p *store.Page) { p.Head-- }} }},
		{"old", "conditional write", "was acknowledged, and", func(b bare) store.Full { return old{b} }},
		{"stuck", "append", "index 1 after 1", func(b bare) store.Full { return stuck{b} }},
		{"cutting", "snapshot", "is read at", func(b bare) store.Full { return cutting{b} }},
		{"lenient", "conditional write", "an old version was taken", func(b bare) store.Full { return lenient{b} }},
		{"vague", "conditional write", "a second creation: something", func(b bare) store.Full { return vague{b} }},
		{"keeping", "list", "delete: ", func(b bare) store.Full { return keeping{b} }},
		{"doubling", "list", "2 are listed", func(b bare) store.Full { return doubling{b} }},
		{"lasting", "session", "a closed session was taken",
			func(b bare) store.Full { return lasting{b.Store.(*memory.Store)} }},
	} {
		s := memory.New().Open()
		r := run(t, c.make(bare{s, s, s}))
		step := stepOf(r, c.step)
		if r.OK || step.OK || step.Times != 0 || !strings.Contains(step.Error, c.want) {
			t.Errorf("%s: %+v", c.name, r)
		}
		s.Close()
	}
}
