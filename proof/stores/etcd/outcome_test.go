package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/etcd"
)

// errGaveUp is the cause of contexts that a test ends early.
var errGaveUp = errors.New("the caller gave up")

// changes returns all calls that change something. The direct handle makes the state that they need.
func (e linkedStore) changes(t *testing.T) map[string]func(ctx context.Context) error {
	t.Helper()
	ctx := rig.Deadline(t)
	v, err := e.direct.Put(ctx, store.Doc{Key: "old", Value: []byte("x")})
	for i := 0; i < 3 && err == nil; i++ {
		_, err = e.direct.Append(ctx, record)
	}
	if err == nil {
		err = e.direct.SaveSnapshot(ctx, store.Record{Index: 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func(ctx context.Context) error{
		"put":    func(ctx context.Context) error { _, err := e.s.Put(ctx, store.Doc{Key: "new"}); return err },
		"delete": func(ctx context.Context) error { return e.s.Delete(ctx, "old", v) },
		"append": func(ctx context.Context) error { _, err := e.s.Append(ctx, record); return err },
	}
}

// TestLostAnswer is the case in which a change is executed and no answer arrives.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(p *faultproxy.Proxy, cancel func()){
		"the deadline passes":   func(*faultproxy.Proxy, func()) {},
		"the caller gives up":   func(_ *faultproxy.Proxy, cancel func()) { cancel() },
		"the connection breaks": func(p *faultproxy.Proxy, _ func()) { p.Cut() },
		"the server comes back": func(p *faultproxy.Proxy, _ func()) { p.Cut(); rig.Heal(t, p) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := linked(t, options())
			for call, do := range e.changes(t) {
				rig.Heal(t, e.link)
				rig.Eventually(t, "there is a connection", func() bool {
					_, err := e.s.Get(rig.Deadline(t), "old")
					return err == nil || errors.Is(err, store.ErrNotFound)
				})
				if call == "append" { // the handle knows the head, so that nothing but the append itself is sent
					if _, err := e.s.Append(rig.Deadline(t), record); err != nil {
						t.Fatal(err)
					}
				}
				e.link.DropReplies()
				seen := e.raw.observe(t)
				if name == "the deadline passes" {
					untilSent(t, call, do)
					seen(call)
					continue
				}
				ctx, cancel := context.WithCancel(rig.Deadline(t))
				result := make(chan error, 1)
				go func() { result <- do(ctx) }()
				seen(call)
				after(e.link, cancel)
				err := <-result
				cancel()
				found := err == nil && name == "the server comes back" && call != "delete" // by its name; a delete leaves none
				if !found && !errors.Is(err, store.ErrUnknown) {
					t.Errorf("%s: error %v, want ErrUnknown", call, err)
				}
			}
		})
	}
}

// untilSent makes a call with a deadline, and again where a busy machine has not sent it by then.
func untilSent(t *testing.T, call string, do func(context.Context) error) {
	t.Helper()
	for end := time.Now().Add(rig.Patience); ; {
		ctx, cancel := context.WithTimeoutCause(context.Background(), silence*2/3, errGaveUp) // before the connection counts as silent
		err := do(ctx)
		cancel()
		switch {
		case !errors.Is(err, errGaveUp):
			t.Errorf("%s: error %v does not wrap the cause", call, err)
			return
		case errors.Is(err, store.ErrUnknown):
			return
		case time.Now().After(end):
			t.Errorf("%s: error %v, want ErrUnknown", call, err)
			return
		}
	}
}

// observe returns a function that waits until the server has executed a change below the prefix.
func (r raw) observe(t *testing.T) func(call string) {
	t.Helper()
	began := r.revision(t)
	return func(call string) {
		for w := range r.Watch(rig.Deadline(t), r.prefix, clientv3.WithPrefix(), clientv3.WithRev(began+1)) {
			if len(w.Events) > 0 {
				return
			}
		}
		t.Errorf("%s: not executed", call)
	}
}

// TestNeverSent is the case in which no server can be reached: nothing is unknown then.
func TestNeverSent(t *testing.T) {
	t.Parallel()
	e := linked(t, options())
	s, calls, session := e.s, e.changes(t), openSession(t, e.s, rig.Patience)
	calls["put with session"] = func(ctx context.Context) error { _, err := session.Put(ctx, store.Doc{Key: "s"}); return err }
	calls["save"] = func(ctx context.Context) error { return s.SaveSnapshot(ctx, store.Record{Index: 2}) }
	calls["trim"] = func(ctx context.Context) error { return s.Trim(ctx, 1) }
	calls["open session"] = func(ctx context.Context) error { _, err := s.OpenSession(ctx, rig.Patience); return err }
	calls["get"] = func(ctx context.Context) error { _, err := s.Get(ctx, "old"); return err }
	calls["list"] = func(ctx context.Context) error { _, err := s.List(ctx, ""); return err }
	calls["read"] = func(ctx context.Context) error { _, err := s.Read(ctx, 0, 1); return err }
	calls["snapshot"] = func(ctx context.Context) error { _, err := s.Snapshot(ctx); return err }
	calls["watch"] = func(ctx context.Context) error { _, err := s.Watch(ctx, ""); return err }
	e.link.Refuse()
	e.link.Cut()
	rig.Eventually(t, "the client has noticed that its connection is gone", func() bool { return calls["get"](rig.Deadline(t)) != nil })
	for name, do := range calls {
		err := do(rig.Deadline(t))
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error %v, want ErrUnavailable alone", name, err)
		}
	}
	if head := headOf(t, e.direct); head != 3 {
		t.Errorf("the log ends at %d, want 3", head)
	}
}

func headOf(t *testing.T, s *etcd.Store) uint64 {
	t.Helper()
	return readPage(t, s, 1<<40, 1).Head
}

// readPage reads again while there is no leader.
func readPage(t *testing.T, s *etcd.Store, after uint64, limit int) (page store.Page) {
	t.Helper()
	rig.Eventually(t, "a read", func() bool {
		var err error
		page, err = s.Read(rig.Deadline(t), after, limit)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
	return page
}

// attempt is one change and what its caller was told.
type attempt struct {
	id    string
	index uint64 // of the log, or the revision of a document
	err   error
}

// The kinds of what callers are told.
const (
	toldDone    = "done"
	toldUnknown = "unknown"
	toldNotDone = "not done"
)

func (a attempt) told() string {
	switch {
	case a.err == nil:
		return toldDone
	case errors.Is(a.err, store.ErrUnknown):
		return toldUnknown
	}
	return toldNotDone
}

// tale is what several callers were told of their changes.
type tale struct {
	mu    sync.Mutex
	all   []attempt
	count map[string]int
}

func (l *tale) note(a attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, a)
	if l.count == nil {
		l.count = map[string]int{}
	}
	l.count[a.told()]++
}

// diverse tells whether there is one of each kind.
func (l *tale) diverse() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.count) == 3
}

// TestOutcomesUnderCuts cuts connections at random under writers, and then compares what each was told with what the server has.
func TestOutcomesUnderCuts(t *testing.T) {
	t.Parallel()
	e := linked(t, options())
	s := e.s
	var appends, puts tale
	began := e.raw.revision(t)
	stop := make(chan struct{})
	var writers, cutter sync.WaitGroup
	cutter.Go(func() { cutAtRandom(t, e.link, stop) })
	for w := range 6 {
		writers.Go(func() {
			for i, end := 0, time.Now().Add(rig.Patience); i < 80 || !appends.diverse() || !puts.diverse(); i++ {
				if time.Now().After(end) {
					return
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rand.IntN(200+10*i))*time.Millisecond)
				id := fmt.Sprintf("%d/%d", w, i)
				if i%2 == 0 {
					index, err := s.Append(ctx, []byte(id))
					appends.note(attempt{id, index, err})
				} else {
					d, _ := s.Get(ctx, "shared")
					v, err := s.Put(ctx, store.Doc{Key: "shared", Value: []byte(id), Version: d.Version})
					puts.note(attempt{id, revisionOf(v), err})
				}
				cancel()
			}
		})
	}
	writers.Wait()
	close(stop)
	cutter.Wait()
	rig.Heal(t, e.link)
	rig.Eventually(t, "the store is there again", func() bool { _, err := s.Append(rig.Deadline(t), []byte("last")); return err == nil })
	judge(t, "append", appends.all, logged(t, e.direct))
	judge(t, "put", puts.all, e.raw.written(t, "shared", began))
}

func cutAtRandom(t *testing.T, p *faultproxy.Proxy, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rand.IntN(60)) * time.Millisecond):
		}
		switch rand.IntN(4) {
		case 0:
			p.DropReplies()
		case 1:
			p.StallRequests()
		case 2:
			p.Cut()
		default:
			rig.Heal(t, p)
		}
	}
}

// logged maps the data of each record to the indexes at which it is.
func logged(t *testing.T, s *etcd.Store) map[string][]uint64 {
	t.Helper()
	all := map[string][]uint64{}
	for after := uint64(0); ; {
		page := readPage(t, s, after, 1000)
		for _, r := range page.Records {
			if r.Index != after+1 {
				t.Fatalf("index %d follows %d", r.Index, after)
			}
			all[string(r.Data)] = append(all[string(r.Data)], r.Index)
			after = r.Index
		}
		if after == page.Head {
			return all
		}
	}
}

// revisionOf returns the mod revision that a version is, as package etcd documents it; 0 if there is none.
func revisionOf(v store.Version) uint64 {
	n, _ := strconv.ParseUint(string(v), 10, 64)
	return n
}

// written maps each value that a document has had to the revisions at which it was written.
func (r raw) written(t *testing.T, key string, began int64) map[string][]uint64 {
	t.Helper()
	all := map[string][]uint64{}
	last := r.doc("last of all")
	r.put(t, last, "")
	for w := range r.Watch(rig.Deadline(t), r.docs(), clientv3.WithPrefix(), clientv3.WithRev(began)) {
		for _, e := range w.Events {
			switch string(e.Kv.Key) {
			case last:
				return all
			case r.doc(key):
				value := string(e.Kv.Value)
				if size := int(e.Kv.Value[0]); len(value) > size+2 { // the length of a name, the name, a mark, the value
					value = value[size+2:]
				}
				all[value] = append(all[value], uint64(e.Kv.ModRevision))
			}
		}
	}
	t.Fatal("the history has no end")
	return nil
}

// judge compares what callers were told with what is there.
func judge(t *testing.T, what string, attempts []attempt, there map[string][]uint64) {
	t.Helper()
	count := map[string]int{}
	for _, a := range attempts {
		got := there[a.id]
		count[a.told()]++
		switch a.told() {
		case toldDone:
			if len(got) != 1 || got[0] != a.index {
				t.Errorf("%s %s was acknowledged at %d, is at %d", what, a.id, a.index, got)
			}
		case toldUnknown:
			if len(got) > 1 {
				t.Errorf("%s %s was unknown, is at %d", what, a.id, got)
			}
		default:
			if len(got) != 0 {
				t.Errorf("%s %s was not done (%v), is at %d", what, a.id, a.err, got)
			}
		}
	}
	t.Logf("%s: %v", what, count)
	for _, kind := range []string{toldDone, toldUnknown, toldNotDone} {
		if count[kind] == 0 {
			t.Errorf("%s: none was %s: nothing was shown; %s", what, kind, strings.TrimSpace(fmt.Sprint(count)))
		}
	}
}
