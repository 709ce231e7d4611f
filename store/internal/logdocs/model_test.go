package logdocs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/logdocs"
	"github.com/rota-run/rota/store/memory"
)

// badLog is a log whose appends fail as the test says.
type badLog struct {
	*memory.Store
	fate *fate
}

// fate is what becomes of the next append.
type fate int

const (
	done         fate = iota
	requestLost       // it is not appended, and nobody knows
	replyLost         // it is appended, and nobody knows
	arrivesLater      // it will be appended before one of the next calls
)

func (l badLog) Append(ctx context.Context, data []byte) (uint64, error) {
	switch *l.fate {
	case requestLost, arrivesLater:
		return 0, fmt.Errorf("append: %w", store.ErrUnknown)
	case replyLost:
		if _, err := l.Store.Append(ctx, data); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("append: %w", store.ErrUnknown)
	}
	return l.Store.Append(ctx, data)
}

// model is what the documents must be: those of one machine that does one change after the other.
type model struct {
	t       *rapid.T
	docs    map[string]store.Doc // a version of "?" was not seen yet
	seen    map[store.Version]bool
	known   map[string][]store.Version
	handles []*logdocs.Store
	fate    fate
	late    []change
	server  *memory.Server
	plain   *logdocs.Store // what comes late goes through it
}

type change struct {
	del bool
	doc store.Doc
}

// decide does a change, or says why not.
func (m *model) decide(c change) error {
	old, exists := m.docs[c.doc.Key]
	switch {
	case c.del && !exists:
		return store.ErrNotFound
	case old.Version != c.doc.Version || c.del && c.doc.Version == "":
		return store.ErrConflict
	case c.del:
		delete(m.docs, c.doc.Key)
		return nil
	}
	m.docs[c.doc.Key] = store.Doc{Key: c.doc.Key, Value: c.doc.Value, Version: "?"}
	return nil
}

func (m *model) open() *logdocs.Store {
	o := logdocs.Options{SnapshotEvery: rapid.IntRange(1, 8).Draw(m.t, "every")}
	s, err := logdocs.New(badLog{m.server.Open(), &m.fate}, o)
	if err != nil {
		m.t.Fatal(err)
	}
	m.handles = append(m.handles, s)
	return s
}

// do makes a change through a handle, and compares what it says.
func (m *model) do(s *logdocs.Store, c change) {
	var v store.Version
	var err error
	if ctx := context.Background(); c.del {
		err = s.Delete(ctx, c.doc.Key, c.doc.Version)
	} else {
		v, err = s.Put(ctx, c.doc)
	}
	switch m.fate {
	case requestLost, arrivesLater:
		if !errors.Is(err, store.ErrUnknown) {
			m.t.Fatalf("%+v, whose request was lost: %v, want ErrUnknown", c, err)
		}
		if m.fate == arrivesLater {
			m.late = append(m.late, c)
		}
		return
	}
	if want := m.decide(c); !errors.Is(err, want) || (want == nil) != (err == nil) {
		m.t.Fatalf("%+v: %v, want %v", c, err, want)
	}
	if err == nil && !c.del {
		m.learn(c.doc.Key, v)
	}
}

// learn notes the version of a document that was just written.
func (m *model) learn(key string, v store.Version) {
	if m.seen[v] || v == "" {
		m.t.Fatalf("version %q of %s came back", v, key)
	}
	d := m.docs[key]
	d.Version = v
	m.docs[key], m.seen[v] = d, true
	m.known[key] = append(m.known[key], v)
}

// arrive lets a change come that was sent before.
func (m *model) arrive() {
	c := m.late[0]
	m.late = m.late[1:]
	m.fate = done
	m.do(m.plain, c)
}

func (m *model) check(s *logdocs.Store, key string) {
	m.fate = done
	d, err := s.Get(context.Background(), key)
	want, exists := m.docs[key]
	if !exists {
		if !errors.Is(err, store.ErrNotFound) {
			m.t.Fatalf("get %s: %+v, %v; want ErrNotFound", key, d, err)
		}
		return
	}
	if err != nil || string(d.Value) != string(want.Value) || d.Version != want.Version {
		m.t.Fatalf("get %s: %+v, %v; want %+v", key, d, err, want)
	}
}

func (m *model) step(n int) {
	key := rapid.SampledFrom([]string{"a", "b", "c/d"}).Draw(m.t, "key")
	s := rapid.SampledFrom(m.handles).Draw(m.t, "handle")
	c := change{del: rapid.IntRange(0, 3).Draw(m.t, "delete") == 0, doc: store.Doc{Key: key, Value: fmt.Append(nil, n)}}
	switch rapid.IntRange(0, 9).Draw(m.t, "step") {
	case 0, 1:
		m.check(s, key)
	case 2:
		if len(m.late) > 0 {
			m.arrive()
		}
	case 3:
		if len(m.handles) < 6 {
			m.check(m.open(), key)
		}
	case 4: // a version of the past, or of no document
		c.doc.Version = rapid.SampledFrom(append(m.known[key], "", "zz", "!", "0", "01")).Draw(m.t, "version")
		m.fate = fate(rapid.IntRange(0, 3).Draw(m.t, "fate"))
		m.do(s, c)
	default:
		c.doc.Version = m.docs[key].Version
		m.fate = fate(max(0, rapid.IntRange(-3, 3).Draw(m.t, "fate")))
		m.do(s, c)
	}
}

// TestModel lets some handles change documents while requests and answers get lost, and come late; handles come, and read snapshots.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, docs: map[string]store.Doc{}, seen: map[store.Version]bool{}, known: map[string][]store.Version{}, server: memory.New()}
		var err error
		if m.plain, err = logdocs.New(m.server.Open(), logdocs.Options{}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			for _, s := range append(m.handles, m.plain) {
				s.Close()
			}
		}()
		m.open()
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			m.step(n)
		}
		for len(m.late) > 0 {
			m.arrive()
		}
		for _, s := range append(m.handles, m.open()) {
			for _, key := range []string{"a", "b", "c/d"} {
				m.check(s, key)
			}
			if docs, err := s.List(context.Background(), ""); err != nil || len(docs) != len(m.docs) {
				t.Fatalf("list: %v, %v; want %v", docs, err, m.docs)
			}
		}
	})
}

// slowLog holds the answer of a read that is taken until the gate opens.
type slowLog struct {
	*memory.Store
	taken, gate chan struct{}
}

func (l slowLog) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	page, err := l.Store.Read(ctx, after, limit)
	select {
	case l.taken <- struct{}{}:
		<-l.gate
	default:
	}
	return page, err
}

// TestReadingThatBeganBefore has a Get that begins while another one reads: what that one has read is too old for it.
func TestReadingThatBeganBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, ctx := memory.New(), context.Background()
		l := slowLog{server.Open(), make(chan struct{}), make(chan struct{})}
		s := opened(t, l, logdocs.Options{})
		writer := opened(t, server.Open(), logdocs.Options{})
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { <-l.taken }() // it takes the first reading alone
		synctest.Wait()
		go func() { _, err := s.Get(ctx, "a"); first <- err }()
		synctest.Wait() // the first has read the log, which was empty
		must.Succeed(t, must.Err(writer.Put(ctx, store.Doc{Key: "a"})))
		go func() { _, err := s.Get(ctx, "a"); second <- err }()
		synctest.Wait()
		close(l.gate)
		if err := <-first; err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the get before the put: %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("the get after the put: %v", err)
		}
	})
}

// oldLog answers reads as the leader does that was replaced, and has not noticed: until something was appended, and some reads more.
type oldLog struct {
	*memory.Store
	end  *uint64 // where it believes that the log ends; 0: it knows
	lags *int    // reads after an append that still get the old end
}

func (l oldLog) Append(ctx context.Context, data []byte) (uint64, error) {
	*l.lags--
	return l.Store.Append(ctx, data)
}

func (l oldLog) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	page, err := l.Store.Read(ctx, after, limit)
	if *l.end == 0 || *l.lags < 0 {
		return page, err
	}
	if *l.lags < 3 {
		*l.lags--
	}
	page.Head = *l.end
	for len(page.Records) > 0 && page.Records[len(page.Records)-1].Index > *l.end {
		page.Records = page.Records[:len(page.Records)-1]
	}
	return page, err
}

// TestConfirmed reads behind a leader that was replaced.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	server, ctx := memory.New(), context.Background()
	end, lags := uint64(0), 3
	s := opened(t, oldLog{server.Open(), &end, &lags}, logdocs.Options{Confirm: true})
	writer := opened(t, server.Open(), logdocs.Options{})
	v, err := writer.Put(ctx, store.Doc{Key: "a", Value: []byte("old")})
	must.Succeed(t, err)
	end = 1
	v, err = writer.Put(ctx, store.Doc{Key: "a", Value: []byte("new"), Version: v})
	must.Succeed(t, err)
	if d, err := s.Get(ctx, "a"); err != nil || d.Version != v {
		t.Errorf("get behind a leader that was replaced: %s, %v; want the new document", d.Value, err)
	}
}
