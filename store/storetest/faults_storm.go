package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

// Seeds are printed; this variable repeats one.
const seedVariable = "ROTA_STORETEST_SEED"

// stormTime is how long clients work; a test of the suites that are meant to fail shortens it.
var stormTime = 4 * time.Second

// storm is a run of several clients, of which some go through links that break at random.
type storm struct {
	*history
	seed    uint64
	stop    chan struct{}
	clients sync.WaitGroup
	breaks  sync.WaitGroup
}

func newStorm(t *test) *storm {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		t.succeed(seedVariable+" is a number", err)
		seed = n
	}
	t.Logf("%s=%d", seedVariable, seed)
	return &storm{history: newHistory(false), seed: seed, stop: make(chan struct{})}
}

// over waits for a little, and reports whether the storm is over.
func (s *storm) over(milliseconds int) bool {
	select {
	case <-s.stop:
		return true
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
		return false
	}
}

// client runs calls of one client, each with a little time, until the storm is over.
func client[C any](ctx context.Context, s *storm, number int, handle C, call calling[C]) {
	s.clients.Go(func() {
		r := rand.New(rand.NewPCG(s.seed, uint64(number)))
		for n := 0; !s.over(5 + r.IntN(20)); n++ {
			one, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			call(one, handle, number, n, r)
			cancel()
		}
	})
}

// breaker breaks one link now and then.
func (s *storm) breaker(t *test, number int, link Link) {
	all := append(outages(), outage{"reset", Link.Reset},
		outage{"slow", func(l Link) { l.Delay(20*time.Millisecond, 20*time.Millisecond) }})
	s.breaks.Go(func() {
		r := rand.New(rand.NewPCG(s.seed, 1000+uint64(number)))
		cuts := []outage{
			{"request cut", func(l Link) { l.CutRequests(1 + r.Int64N(400)) }},
			{"reply cut", func(l Link) { l.CutReplies(1 + r.Int64N(200)) }},
		}
		counts := map[string]int{}
		for over := false; !over && !s.over(20+r.IntN(400)); {
			o := append(all, cuts...)[r.IntN(len(all)+len(cuts))]
			o.make(link)
			counts[o.name]++
			over = s.over(10 + r.IntN(250))
			if r.IntN(2) == 0 {
				link.Cut()
			}
			if err := link.Heal(); err != nil {
				t.Errorf("heal: %v", err)
			}
		}
		t.Logf("faults of client %d: %v", number, counts)
	})
}

// end lets the storm end, and returns when all calls have returned and all links are whole.
func (s *storm) end(t *test) {
	close(s.stop)
	s.breaks.Wait()
	s.clients.Wait()
	s.opens(t.T)
}

// blow runs clients of both kinds until the storm is over.
func (b *bench[C]) blow(s *storm, call calling[C]) {
	b.Helper()
	for i := range clientsThrough {
		handle, link := b.another()
		s.breaker(b.test, i, link)
		client(b.ctx, s, i, handle, call)
	}
	for i := range clientsDirect {
		client(b.ctx, s, clientsThrough+i, b.direct(), call)
	}
	select {
	case <-time.After(stormTime):
	case <-b.ctx.Done():
	}
	s.end(b.test)
}

// keptCrash kills the server, again and again, while clients work whose links are whole: what was acknowledged is there
// afterwards, and all that was seen of the documents and of the log fits one order.
func keptCrash(b *bench[store.Full]) {
	v := b.put(b.witness, "f/a", "one", "")
	docs, log := newStorm(b.test), newStorm(b.test)
	docsCall, logCall := docsCalls(docs.history, 6), logCalls(log.history)
	for i := range clientsThrough {
		client[store.Docs](b.ctx, docs, i, b.direct(), docsCall)
		client[store.Log](b.ctx, log, i, b.direct(), logCall)
	}
	for range 3 {
		pass(400 * time.Millisecond) // the clients work
		b.crash()
	}
	pass(400 * time.Millisecond)
	docs.end(b.test)
	log.end(b.test)
	b.warm(b.witness)
	b.doc(b.witness, "f/a", "one", v)
	b.put(b.witness, "f/a", "two", v)
	docs.checkDocs(b.test, b.witness)
	log.checkLog(b.test, b.witness)
	b.append(b.witness, fmt.Sprint("after ", log.seed))
}

// emptiedCrash kills the server when all was trimmed and deleted: what was given before is not given again.
func emptiedCrash(b *bench[store.Full]) {
	s, last, seen := b.through, uint64(0), map[store.Version]bool{}
	for range 2 {
		indexes := b.fill(s, 3)
		v := b.put(s, "e", "x", "")
		if indexes[0] <= last || seen[v] {
			b.Fatalf("index %d after %d, version %q: it came back", indexes[0], last, v)
		}
		last, seen[v] = indexes[2], true
		b.succeed("delete", s.Delete(b.ctx, "e", v))
		b.save(s, last, "all")
		b.succeed("trim", s.Trim(b.ctx, last))
		b.crash()
		b.again("snapshot", func(ctx context.Context) error { return errOf(s.Snapshot(ctx)) })
		b.ends("all was trimmed", s, last, last)
		page, err := s.Read(b.ctx, last-1, 1)
		back := err == nil && len(page.Records) == 1 && page.Records[0].Index == last &&
			string(page.Records[0].Data) == "r2"
		if !back { // a crash may undo the trim, and not in part
			b.fails("read of what was trimmed", err, store.ErrTruncated)
		}
		b.snapshot(s, last, "all")
	}
}

// grace is how long a call under a fault may take until its ctx ends; any value is right, and none is asserted.
var grace = 400 * time.Millisecond

// soon is what a call may take to return when its ctx has ended: much more than it needs on a busy machine, less than
// clients wait for a handshake.
const soon = 5 * time.Second

// ask makes a call that runs while its link breaks. It gives the call a little time to return by itself, then ends its
// ctx; a call that still does not return breaks a rule.
func (t *test) ask(what string, call func(context.Context) error) (err error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	returned, early := make(chan struct{}), false
	go func() {
		defer close(returned)
		err = call(ctx)
		early = ctx.Err() == nil
	}()
	select {
	case <-returned:
		return err
	case <-time.After(grace):
		cancel(stoppedError{})
	}
	select {
	case <-returned:
	case <-time.After(min(soon, patience)):
		t.Fatalf("%s has not returned %v after its ctx ended", what, min(soon, patience))
	}
	if err != nil && !early && !errors.Is(err, stoppedError{}) { // who gave up as the call returned may find that out late
		t.stray(what, err)
	}
	return err
}

// stray judges an error that does not wrap the cause of a ctx that had ended. One may have been on its way back
// already, as on a busy machine that of a connection which was cut; a driver that forgets the cause does so each time.
func (t *test) stray(what string, err error) {
	t.Helper()
	tell := t.Logf
	if t.strays++; t.strays > 1 {
		tell = t.Errorf
	}
	tell("%s: error %v after its ctx ended: it does not wrap the cause of the ctx", what, err)
}

// judge fails for errors that a fault cannot explain: the call had nothing wrong with it.
func (t *test) judge(what string, err error) {
	t.Helper()
	for _, never := range []error{store.ErrClosed, store.ErrTooLarge, store.ErrTruncated, store.ErrNotFound,
		store.ErrConflict, store.ErrSession} {
		if errors.Is(err, never) {
			t.Errorf("%s: error %v: it says %q, which is not so", what, err, never)
		}
	}
}

// noAnswer makes calls that change nothing, and that cannot be answered.
func (t *test) noAnswer(while string, all calls) {
	t.Helper()
	for name, call := range all { // order-free: each is judged alone
		what := name + " while the link is " + while
		err := t.ask(what, call)
		if err == nil || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error %v: want one, and a call that changes nothing has no unknown outcome", what, err)
		}
		t.judge(what, err)
	}
}

// again makes a call, each time with a little time, until it is done or not a fault's matter; the link is whole.
func (t *test) again(what string, call func(context.Context) error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		one, cancel := context.WithTimeout(t.ctx, 3*grace)
		err = call(one)
		cancel()
		if err == nil {
			return
		}
		t.judge(what+" after the fault", err)
		time.Sleep(5 * time.Millisecond) // waits: between two attempts to do it, with a deadline
	}
	t.Fatalf("%s does not work %v after the end of the fault: %v", what, patience, err)
}

// warm makes sure that the handle is connected, by a document or a log.
func (t *test) warm(s any) {
	t.Helper()
	if docs, ok := s.(store.Docs); ok {
		t.again("get", func(ctx context.Context) error { return present(errOf(docs.Get(ctx, "f/none"))) })
	}
	if log, ok := s.(store.Log); ok {
		t.again("read", func(ctx context.Context) error { return errOf(log.Read(ctx, 0, 1)) })
	}
}

// present is an error of a read; that there is nothing is an answer.
func present(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// during does something while the link is broken, and returns when it is whole again: what was held may happen then.
func (b *bench[C]) during(breaks func(Link), do func()) {
	b.Helper()
	b.warm(b.through)
	breaks(b.link)
	do()
	b.heal()
	b.warm(b.through)
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d) // waits: while a link is broken, and clients notice; nothing is asserted of how long
}
