package storetest

import (
	"context"
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
