package call

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	planned "github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// lister reports each list of calls before its caller gets it.
type lister struct {
	store.Docs
	listed func()
}

func (l lister) List(ctx context.Context, dir string) ([]store.Doc, error) {
	docs, err := l.Docs.List(ctx, dir)
	l.listed()
	return docs, err
}

// A call that is collected while its client is closed is removed all the same.
func TestCloseWaitsForTheRemovalOfWhatWasCollected(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	var c *Client
	hold := sync.OnceFunc(func() { c.mu.Lock() }) // until the waiter has its outcome
	c, err := NewClient(lister{docs, func() { hold() }}, ClientOptions{Queue: "q"})
	must.Succeed(t, err)
	h := must.Get(c.Submit(t.Context(), "f", []byte("1"), Options{}))(t)
	must.Succeed(t, h.Cancel(t.Context()))
	if _, err := h.Wait(t.Context()); !errors.Is(err, ErrCancelled) {
		t.Fatalf("got %v", err)
	}
	hold() // the outcome may have come before the first list
	c.closed = true
	c.mu.Unlock()
	c.Close()
	if got := keys(t, docs); len(got) > 0 {
		t.Errorf("%q are left", got)
	}
}

// returned ends the only call with this argument, as its runner does; false where it is not there yet.
func returned(t *testing.T, docs store.Docs, arg string) bool {
	t.Helper()
	all := must.Get(docs.List(t.Context(), prefix))(t)
	for _, d := range all {
		r := must.Get(decode(d.Value))(t)
		if string(r.Arg) == arg {
			running, _ := step(r, d.Key, claim{By: Runner{Member: "m", Incarnation: 1}})
			done, _ := step(running, d.Key, finish{Result: r.Arg})
			put(t, docs, d.Key, done, d.Version)
			return true
		}
	}
	return false
}

// When ctx ends, a wait for a call of a Map ends too. That does not end the call: it is cancelled, whichever of the two
// is noticed first.
func TestAMapWhoseContextEndsCancelsAllThatIsOutstanding(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		for range 20 { // what is noticed first is chance
			docs := memory.New().Open()
			c := must.Get(NewClient(docs, ClientOptions{Queue: "q", Clock: protocol.NewProcessClock()}))(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan struct{})
			enough, errs := errors.New("enough"), []error(nil)
			m := mapping[int, int]{f: NewFunc("f", func(context.Context, int) (int, error) { return 0, nil },
				Options{}), to: c, window: 4}
			go func() {
				defer close(ended)
				m.run(ctx, slices.Values([]int{0, 1, 2, 3, 4, 5, 6}), func(_ int, err error) bool {
					if err != nil {
						errs = append(errs, err)
						return true
					}
					if len(m.outstanding) != 3 { // and this one
						t.Errorf("%d are outstanding besides, of a window of 4", len(m.outstanding))
					}
					cancel(enough)
					for _, i := range m.outstanding {
						<-i.done
					}
					return true
				})
			}()
			for !returned(t, docs, "0") {
				time.Sleep(time.Millisecond) // waits: in virtual time
			}
			<-ended
			late := mapping[int, int]{f: m.f, to: c, window: 4} // it begins when ctx has ended
			late.run(ctx, slices.Values([]int{7}), func(_ int, err error) bool { errs = append(errs, err); return true })
			late.outstanding = []*item[int]{{done: ended}, // its submission failed
				{done: ended, call: must.Get(m.f.Submit(t.Context(), c, 8))(t)}}
			late.abandon()
			c.Close()
			cancel(nil)
			if len(errs) != 2 || !errors.Is(errs[0], enough) || !errors.Is(errs[1], enough) {
				t.Fatalf("they yielded the errors %v, want the cause once each", errs)
			}
			all := must.Get(docs.List(t.Context(), prefix))(t)
			for _, d := range all {
				if r, err := decode(d.Value); err != nil || r.State != Cancelled && r.State != Done {
					t.Fatalf("a call that was outstanding is %s, %v", r.State, err)
				}
			}
		}
	})
}

// slow is a store whose writes wait for a signal, and are done even if their caller has left.
type slow struct {
	store.Docs
	on chan struct{}
}

func (s slow) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	select {
	case <-s.on:
		return s.Docs.Put(ctx, d)
	case <-ctx.Done():
		_, _ = s.Docs.Put(context.WithoutCancel(ctx), d) // who waited hears nothing of it
		return "", store.ErrUnknown
	}
}

// TestAMapIsLeftWhileItSubmits: a caller whose context ends gets its answer at once. The calls that were being
// submitted are cancelled later.
func TestAMapIsLeftWhileItSubmits(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		docs := slow{memory.New().Open(), make(chan struct{})}
		c := must.Get(NewClient(docs, ClientOptions{Queue: "q", Clock: protocol.NewProcessClock()}))(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m := mapping[int, int]{f: NewFunc("f", func(context.Context, int) (int, error) { return 0, nil }, Options{}),
			to: c, window: 2}
		m.run(ctx, slices.Values([]int{0, 1, 2}), func(_ int, err error) bool {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it yielded %v", err)
			}
			return true
		})
		close(docs.on)
		synctest.Wait()
		c.Close()
		all := must.Get(docs.List(t.Context(), prefix))(t)
		for _, d := range all {
			if r := must.Get(decode(d.Value))(t); r.State != Cancelled {
				t.Errorf("a call that nobody waits for is %s", r.State)
			}
		}
		if len(all) != 2 {
			t.Errorf("%d calls were submitted, want 2", len(all))
		}
	})
}

// TestASubmissionThatFails: its page goes with its client, unless nobody knows whether there is a call: without its
// page nothing would run it, nor remove it.
func TestASubmissionThatFails(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]struct {
		err  error
		left int
	}{
		"refuse put key=call/*/*/*":                                {store.ErrUnavailable, 0},
		"lose-reply put key=call/*/*/*\nrefuse get key=call/*/*/*": {store.ErrUnknown, 2},
		"refuse put key=callpage/*/* times=1":                      {store.ErrUnavailable, 2}, // of the next call
	} {
		plan := must.Get(planned.Script(script))(t)
		server := memory.New()
		c := must.Get(NewClient(planned.NewFaulty(server.Open(), plan), ClientOptions{Queue: "q"}))(t)
		if _, err := c.Submit(t.Context(), "f", []byte("1"), Options{}); !errors.Is(err, want.err) {
			t.Errorf("%s: %v", script, err)
		}
		if strings.Contains(script, "times") {
			must.Succeed(t, must.Err(c.Submit(t.Context(), "f", []byte("1"), Options{})))
		}
		c.Close()
		if got := keys(t, server.Open()); len(got) != want.left {
			t.Errorf("%s: %q are left", script, got)
		}
	}
}

// TestOneSetOfOptions: a function with two is refused by Submit, before anybody is asked.
func TestOneSetOfOptions(t *testing.T) {
	t.Parallel()
	f := NewFunc("sum", func(context.Context, int) (int, error) { return 0, nil }, Options{Attempts: 1}, Options{})
	if _, err := f.Submit(t.Context(), nil, 1); err == nil || !strings.Contains(err.Error(), "several Options") {
		t.Errorf("got %v", err)
	}
	bad := NewFunc("tell", func(context.Context, Failure) (int, error) { return 0, nil }, Options{MaxResult: -1})
	if _, err := (Options{OnFailure: bad}).handler(); err == nil || !strings.Contains(err.Error(), "tell: MaxResult") {
		t.Errorf("what follows a failure: %v", err)
	}
}

// TestLabelsOfManyFunctions: the names that a member announces are shared out to labels that are not too long.
func TestLabelsOfManyFunctions(t *testing.T) {
	t.Parallel()
	var functions []Function
	var names []string
	for _, letter := range []string{"a", "b", "c", "d"} {
		names = append(names, strings.Repeat(letter, labelSize/2))
		functions = append(functions, NewFunc[int, int](names[len(names)-1], nil))
	}
	m := cluster.Member{}
	for key, value := range Labels(functions) { // order-free: Offered sorts
		if len(value) > labelSize {
			t.Errorf("label %s has %d bytes", key, len(value))
		}
		m.Labels = append(m.Labels, cluster.Label{Key: key, Value: value})
	}
	if got := Offered(m); !slices.Equal(got, names) || len(m.Labels) != 4 {
		t.Errorf("%d labels announce %d functions", len(m.Labels), len(got))
	}
}
