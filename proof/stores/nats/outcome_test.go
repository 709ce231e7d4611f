package nats_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// proxied opens one handle through a proxy, and one without.
func proxied(t *testing.T, timeout time.Duration) (p *faultproxy.Proxy, through, past *nats.Store) {
	t.Helper()
	p = proxyTo(t, address)
	b := bucket()
	past = openWith(t, nats.Options{Bucket: b})
	through = openWith(t, nats.Options{URLs: []string{"nats://" + p.Addr()}, Bucket: b, Timeout: timeout})
	return p, through, past
}

// contents are the data of all records.
func contents(t *testing.T, s *nats.Store) string {
	t.Helper()
	var all []string
	for after := uint64(0); ; {
		page, err := s.Read(rig.Deadline(t), after, 1000)
		must.Succeed(t, err)
		for _, r := range page.Records {
			all = append(all, string(r.Data))
			after = r.Index
		}
		if after == page.Head {
			return strings.Join(all, " ")
		}
	}
}

// usable waits until a handle's connection is there again.
func usable(t *testing.T, s *nats.Store) {
	t.Helper()
	rig.Eventually(t, "the handle can be used again", func() bool {
		_, err := s.Read(context.Background(), 0, 1)
		return err == nil || errors.Is(err, store.ErrTruncated)
	})
}

// noticed waits until a handle knows that its connection broke. The client knows it a little earlier, and a call that begins between the two fails with
// an unknown outcome.
func noticed(t *testing.T, s *nats.Store) {
	t.Helper()
	rig.Eventually(t, "the handle notices that its connection broke", func() bool {
		_, err := s.Get(context.Background(), "a")
		return err != nil && strings.Contains(err.Error(), "not connected")
	})
}

// ping is more bytes than a ping of the client or the server has, and fewer than any request or answer.
const ping = 16

type stopped struct{}

func (stopped) Error() string { return "stopped by the test" }

// stoppedWhen is a ctx that ends, because of stopped, when something has happened.
func stoppedWhen(t *testing.T, happened func() bool) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(rig.Deadline(t))
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for !happened() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		cancel(stopped{})
	})
	t.Cleanup(func() {
		cancel(nil)
		wg.Wait()
	})
	return ctx
}

// changes are calls that change something with one request, which the server would do.
func changes(t *testing.T, s *nats.Store) map[string]func(context.Context) error {
	t.Helper()
	v1, v2 := mustPut(t, s, "c/1", "x", ""), mustPut(t, s, "c/2", "x", "")
	owner := newSession(t, s, time.Hour)
	return map[string]func(context.Context) error{
		"append": func(ctx context.Context) error { _, err := s.Append(ctx, []byte("one")); return err },
		"create": func(ctx context.Context) error { _, err := s.Put(ctx, store.Doc{Key: "c/3"}); return err },
		"update": func(ctx context.Context) error {
			_, err := s.Put(ctx, store.Doc{Key: "c/1", Version: v1})
			return err
		},
		"delete":      func(ctx context.Context) error { return s.Delete(ctx, "c/2", v2) },
		"session put": func(ctx context.Context) error { _, err := owner.Put(ctx, store.Doc{Key: "c/4"}); return err },
	}
}

// TestLostAnswers has the server do what it is asked, and loses its answers.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	p, through, past := proxied(t, 20*time.Second)
	all := changes(t, through)
	p.DropReplies()
	for name, call := range all {
		before := p.Stats().Dropped
		ctx := stoppedWhen(t, func() bool { return p.Stats().Dropped > before+ping })
		if err := call(ctx); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, stopped{}) {
			t.Errorf("%s: error %v, want ErrUnknown and the cause", name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(100*time.Millisecond, func() { cancel(stopped{}) })
	_, getErr := through.Get(ctx, "c/1")
	_, listErr := through.List(ctx, "")
	_, readErr := through.Read(ctx, 0, 1)
	for name, err := range map[string]error{"get": getErr, "list": listErr, "read": readErr} {
		if !errors.Is(err, stopped{}) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error %v, want the cause alone", name, err)
		}
	}
	must.Succeed(t, p.Heal())
	usable(t, through)
	if got := contents(t, past); got != "one" {
		t.Errorf("the log has %q: want the record whose answer was lost, once", got)
	}
}

// TestLostTrim loses the answer to the purge of a trim.
func TestLostTrim(t *testing.T) {
	t.Parallel()
	b, r := bucket(), startRelay(t)
	door, others := backdoorTo(t, b), openWith(t, nats.Options{Bucket: b})
	indexes := appendN(t, others, 4)
	saveAt(t, others, indexes[2], []byte("old"))
	s := r.open(t, nats.Options{Bucket: b})
	var lost atomic.Bool
	r.with(func(m *nc.Msg, pass func() []byte) []byte {
		data := pass()
		if strings.HasPrefix(m.Subject, "$JS.API.STREAM.PURGE."+door.log()) {
			lost.Store(true)
			return nil
		}
		return data
	})
	err := s.Trim(stoppedWhen(t, lost.Load), indexes[1])
	if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, stopped{}) {
		t.Errorf("error %v, want the cause, and ErrUnknown", err)
	}
	if first := door.stream(t, door.log()).CachedInfo().State.FirstSeq; first != indexes[2] {
		t.Errorf("the log begins at %d, want %d", first, indexes[2])
	}
}

// TestOwnTimeout bounds calls whose ctx has no end.
func TestOwnTimeout(t *testing.T) {
	t.Parallel()
	p, through, _ := proxied(t, time.Second) // the client itself gives up a silent server after two seconds, at the earliest
	p.StallReplies()
	_, err := through.Append(context.Background(), nil)
	if !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "within the store's timeout") {
		t.Errorf("append: error %v, want ErrUnknown and the store's timeout", err)
	}
	_, err = through.Get(context.Background(), "a")
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("get: error %v, want ErrUnavailable", err)
	}
}

// TestLateRequest has a request reach the server after its caller gave up.
func TestLateRequest(t *testing.T) {
	t.Parallel()
	p, through, past := proxied(t, 20*time.Second)
	p.StallRequests()
	ctx := stoppedWhen(t, func() bool { return p.Stats().HeldRequests > ping })
	if _, err := through.Append(ctx, []byte("late")); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("append: error %v, want ErrUnknown", err)
	}
	if got := contents(t, past); got != "" {
		t.Fatalf("the log has %q before the network lets the request pass", got)
	}
	must.Succeed(t, p.Heal())
	rig.Eventually(t, "the record arrives", func() bool { return contents(t, past) == "late" })
}

// TestNothingIsKeptForTheNextConnection calls while there is no connection: that is provably not done, then and later.
func TestNothingIsKeptForTheNextConnection(t *testing.T) {
	t.Parallel()
	p, through, past := proxied(t, 20*time.Second)
	v := mustPut(t, through, "a", "x", "")
	p.Refuse() // where connections begin and break, a request may get into one
	p.Reset()
	noticed(t, through)
	for i := range 20 {
		_, appendErr := through.Append(rig.Deadline(t), []byte("never"))
		_, putErr := through.Put(rig.Deadline(t), store.Doc{Key: "a", Value: []byte(fmt.Sprint(i)), Version: v})
		_, getErr := through.Get(rig.Deadline(t), "a")
		for call, err := range map[string]error{"append": appendErr, "put": putErr, "get": getErr, "delete": through.Delete(rig.Deadline(t), "a", v)} {
			if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
				t.Fatalf("%s: error %v, want ErrUnavailable", call, err)
			}
		}
	}
	must.Succeed(t, p.Heal())
	usable(t, through)
	if _, err := through.Append(rig.Deadline(t), []byte("now")); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, past); got != "now" {
		t.Fatalf("the log has %q: what was refused came later", got)
	}
	wantValue(t, past, "a", "x", v)
}

// TestBrokenConnectionIsNoticed breaks the connection of a call, whose answer cannot come any more.
func TestBrokenConnectionIsNoticed(t *testing.T) {
	t.Parallel()
	p, through, _ := proxied(t, time.Hour)
	p.StallReplies()
	failed := make(chan error, 1)
	go func() {
		_, err := through.Append(context.Background(), []byte("x"))
		failed <- err
	}()
	rig.Eventually(t, "the request is on its way", func() bool { return p.Stats().HeldReplies > ping })
	p.Cut()
	select {
	case err := <-failed:
		if !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "connection to the server broke") {
			t.Fatalf("append: error %v, want ErrUnknown because the connection broke", err)
		}
	case <-time.After(rig.Patience):
		t.Fatal("the call still waits for an answer")
	}
}

// TestWatchesOutliveTheConnection changes something while a watch is cut off.
func TestWatchesOutliveTheConnection(t *testing.T) {
	t.Parallel()
	p, through, past := proxied(t, 20*time.Second)
	ctx := rig.LongDeadline(t)
	docs, err := through.Watch(ctx, "w/")
	must.Succeed(t, err)
	log, err := through.WatchLog(ctx)
	must.Succeed(t, err)
	for i := range 3 {
		drain(docs)
		drain(log)
		p.Cut()
		noticed(t, through)
		mustPut(t, past, fmt.Sprint("w/cut", i), "", "")
		if _, err := past.Append(rig.Deadline(t), nil); err != nil {
			t.Fatal(err)
		}
		must.Succeed(t, p.Heal())
		wantHint(t, docs, "documents")
		wantHint(t, log, "log")
		usable(t, through)
		// Later changes leave hints too: by the same consumers, or by others.
		for j := range 3 {
			rig.Eventually(t, "a hint for a later change", func() bool {
				mustPut(t, past, fmt.Sprintf("w/%d/%d/%d", i, j, time.Now().UnixNano()), "", "")
				return hinted(docs)
			})
			rig.Eventually(t, "a hint for a later append", func() bool {
				if _, err := past.Append(rig.Deadline(t), nil); err != nil {
					t.Fatal(err)
				}
				return hinted(log)
			})
		}
	}
}

func drain(hints <-chan struct{}) {
	select {
	case <-hints:
	default:
	}
}

func hinted(hints <-chan struct{}) bool {
	select {
	case <-hints:
		return true
	case <-time.After(50 * time.Millisecond): // or one more change is made
		return false
	}
}

func wantHint(t *testing.T, hints <-chan struct{}, of string) {
	t.Helper()
	select {
	case <-hints:
	case <-time.After(rig.Patience):
		t.Fatalf("no hint of a change of the %s while the connection was away", of)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := openWith(t, nats.Options{Bucket: bucket()})
	fits, over := make([]byte, most), make([]byte, most+1)
	if _, err := s.Append(rig.Deadline(t), fits); err != nil {
		t.Fatalf("append of %d bytes: %v", len(fits), err)
	}
	key := strings.Repeat("#", store.MaxKey)
	if _, err := newSession(t, s, time.Hour).Put(rig.Deadline(t), store.Doc{Key: key, Value: fits}); err != nil {
		t.Fatalf("put of %d bytes under the longest key: %v", len(fits), err)
	}
	if d, err := s.Get(rig.Deadline(t), key); err != nil || len(d.Value) != len(fits) {
		t.Fatalf("get: %d bytes, %v", len(d.Value), err)
	}
	if page, err := s.Read(rig.Deadline(t), 0, 1); err != nil || len(page.Records[0].Data) != len(fits) {
		t.Fatalf("read: %v", err)
	}
	link := startRelay(t)
	s = link.open(t, nats.Options{Bucket: bucket()})
	sent := link.sent(t, s, func() {
		_, appendErr := s.Append(rig.Deadline(t), over)
		_, putErr := s.Put(rig.Deadline(t), store.Doc{Key: "a", Value: over})
		for call, err := range map[string]error{"append": appendErr, "put": putErr} {
			if !errors.Is(err, store.ErrTooLarge) {
				t.Errorf("%s of %d bytes: error %v, want ErrTooLarge", call, len(over), err)
			}
		}
	})
	if sent != 0 {
		t.Errorf("%d requests were sent", sent)
	}
}

// TestFullServer appends until the server has no room left.
func TestFullServer(t *testing.T) {
	t.Parallel()
	s := openWith(t, nats.Options{URLs: []string{bare(t, &server.Options{JetStream: true, SyncAlways: true, JetStreamMaxStore: 1 << 20, JetStreamMaxMemory: 1 << 20})}})
	data, stored := make([]byte, 64<<10), uint64(0)
	for {
		index, err := s.Append(rig.Deadline(t), data)
		if err == nil {
			stored = index
			continue
		}
		t.Logf("after %d records: %v", stored, err)
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
			t.Fatalf("append to a full server: %v, want ErrUnavailable", err)
		}
		break
	}
	if page, err := s.Read(rig.Deadline(t), stored, 1); err != nil || page.Head != stored {
		t.Fatalf("head %d, %v; want %d, the last that was acknowledged", page.Head, err, stored)
	}
}
