package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// ill is a periodic type whose rounds fail until it is cured.
func ill(cured *atomic.Bool) func(*Config) {
	return func(c *Config) {
		c.Types["ill"] = work.Type{Name: "ill", Periodic: true, DefaultEvery: time.Second,
			New: func(work.Definition) (work.Runner, error) {
				return work.RunnerFunc(func(context.Context, *work.Grant) error {
					if cured.Load() {
						return nil
					}
					return errors.New("no luck")
				}), nil
			}}
	}
}

// failingAt reads the document of a member; false where there is none.
func failingAt(t *testing.T, docs store.Docs, member cluster.MemberID) (Failing, bool) {
	t.Helper()
	d, err := docs.Get(t.Context(), failingKey(member))
	if errors.Is(err, store.ErrNotFound) {
		return Failing{}, false
	}
	var f Failing
	if err == nil {
		err = json.Unmarshal(d.Value, &f)
	}
	must.Succeed(t, err)
	return f, true
}

func TestWhatFailsIsADocument(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New()
		var cured atomic.Bool
		a := start(t, s, "a", ill(&cured))
		look := s.Open()
		defer look.Close()
		a.submit("well", cluster.TaskSpec{Type: "stay"})
		time.Sleep(time.Minute) // waits: in a bubble
		if f, ok := failingAt(t, look, "a"); ok {
			t.Errorf("a member on which nothing fails has written %+v", f)
		}
		a.submit("retry", cluster.TaskSpec{Type: "fail",
			Definition: []byte(`{"retry":{"min_ms":3600000,"max_ms":3600000}}`), MaxAttempts: 9})
		await(t, "the first is there", func() bool { f, _ := failingAt(t, look, "a"); return f.BackingOff == 1 })
		a.submit("sick", cluster.TaskSpec{Type: "ill"})
		await(t, "both are in the document", func() bool {
			f, _ := failingAt(t, look, "a")
			return f.Failing == 1 && f.BackingOff == 1 && len(f.Runs) == 2
		})
		began := time.Now().UnixMilli()
		time.Sleep(2 * time.Minute) // waits: in a bubble, so that the row of failures is long
		synctest.Wait()
		f, _ := failingAt(t, look, "a")
		p, _ := a.Value().Partition("sick")
		retry, sick := f.Runs[0], f.Runs[1]
		if sick.State != StateFailing || sick.Rounds != sick.Failures || sick.Rounds < 20 || sick.SinceMS > began ||
			sick.Message != "no luck" || sick.Token != p.Token || a.stats.read().late.Count < 20 {
			t.Errorf("of the periodic task it says %+v", sick)
		}
		if retry.State != StateBackingOff || retry.Message != "no luck" {
			t.Errorf("of the task that is tried again it says %+v", retry)
		}
		if got := a.Status().Work.Counts.Failing; got != 1 {
			t.Errorf("%d are counted as failing", got)
		}
		cured.Store(true)
		await(t, "the cured one is well again", func() bool {
			f, _ := failingAt(t, look, "a")
			return f.Failing == 0 && len(f.Runs) == 1
		})
		a.leave()
		if f, ok := failingAt(t, look, "a"); ok {
			t.Errorf("a member that has left has left behind %+v", f)
		}
	})
}

// A process that was killed has left a document, and rounds fail every 10 ms: the next one takes the document over, and
// writes it seldom.
func TestTheDocumentIsTakenOverAndWrittenSeldom(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New()
		look := s.Open()
		defer look.Close()
		must.Succeed(t, must.Err(look.Put(t.Context(),
			store.Doc{Key: failingKey("a"), Value: []byte(`{"member":"a","failing":7}`)})))
		c := &putCounter{Store: s.Open(), key: failingKey("a")}
		t.Cleanup(func() { c.Store.Close() })
		var cured atomic.Bool
		a := start(t, s, "a", func(conf *Config) {
			ill(&cured)(conf)
			conf.Store = c
		})
		a.submit("sick", cluster.TaskSpec{Type: "ill", Definition: []byte(`{"every_ms":10}`)})
		await(t, "the document is the new one", func() bool { f, _ := failingAt(t, look, "a"); return f.Failing == 1 })
		before := c.writes.Load()
		time.Sleep(time.Minute) // waits: in a bubble
		if n := c.writes.Load() - before; n != 1 {
			t.Errorf("%d writes in a minute in which the same task fails", n)
		}
	})
}

func TestTheDocumentIsBounded(t *testing.T) {
	t.Parallel()
	s := supervisor.Status{Counts: supervisor.Counts{Failing: 3 * MaxFailing}}
	for i := range 3 * MaxFailing {
		s.Runs = append(s.Runs, supervisor.RunStatus{
			Partition: cluster.PartitionID(fmt.Sprintf("t%03d", i)), State: "running", Rounds: 2, Failures: 1,
			FailedInRow: 1,
			LastError:   "x" + strings.Repeat("ü", maxMessage),
		})
	}
	f := failingOf("a", s, 1)
	if len(f.Runs) != MaxFailing || f.Failing != 3*MaxFailing || f.Runs[0].Message != "x"+
		strings.Repeat("ü", maxMessage/2-1)+"…" ||
		f.Runs[longOnes].Message != "x"+strings.Repeat("ü", maxOfOthers/2-1)+"…" {
		t.Errorf("%d runs of %d, a message %q", len(f.Runs), f.Failing, f.Runs[0].Message)
	}
}

// fakeSinks is a publisher whose sinks say what a test wants.
type fakeSinks struct {
	publish.Publisher
	mu  sync.Mutex
	all []publish.Status
	ran atomic.Bool
}

func (f *fakeSinks) Publish(...publish.Sample)     {}
func (f *fakeSinks) Run(ctx context.Context) error { f.ran.Store(true); <-ctx.Done(); return nil }
func (f *fakeSinks) Stats() publish.Stats          { return publish.Stats{} }

func (f *fakeSinks) Sinks() []publish.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all
}

func (f *fakeSinks) say(all ...publish.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = all
}

// TestWhatSinksSayIsADocument: of those on servers, and of any that has lost something or failed. It is written when
// something changes that matters, and seldom while a server is away; what a killed process has left goes.
func TestWhatSinksSayIsADocument(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New()
		look := s.Open()
		defer look.Close()
		must.Succeed(t, must.Err(look.Put(t.Context(),
			store.Doc{Key: SinksPrefix + "a", Value: []byte(`{"member":"a","sinks":[{"name":"old"}]}`)})))
		f := &fakeSinks{}
		f.say(publish.Status{Name: "stdout", Stats: publish.Stats{Sent: 9}})
		c := &putCounter{Store: s.Open(), key: SinksPrefix + "a"}
		t.Cleanup(func() { c.Store.Close() })
		a := start(t, s, "a", func(conf *Config) { conf.Store, conf.Publisher = c, f })
		after := func(d time.Duration, writes int64, want ...Sink) {
			t.Helper()
			time.Sleep(d) // waits: in a bubble
			synctest.Wait()
			d0, err := look.Get(t.Context(), SinksPrefix+"a")
			var got Sinks
			if err == nil {
				err = json.Unmarshal(d0.Value, &got)
			}
			if n := c.writes.Swap(0); err != nil || n != writes || len(got.Sinks)+len(want) > 0 &&
				!reflect.DeepEqual(got.Sinks, want) {
				t.Errorf("%d writes, want %d: %+v, %v; want %+v", n, writes, got, err, want)
			}
		}
		after(0, 1) // the old one is gone
		f.say(publish.Status{Name: "kafka://k:1"}, publish.Status{Name: "file a", Stats: publish.Stats{Dropped: 1}},
			publish.Status{Name: "stdout"}, publish.Status{Name: "file b", Stats: publish.Stats{Errors: 1}})
		after(sinksRest+sinksLook, 1, Sink{Name: "kafka://k:1"}, Sink{Name: "file a", Dropped: 1},
			Sink{Name: "file b", Errors: 1})
		f.say(publish.Status{Name: "kafka://k:1"})
		after(sinksRest+sinksLook, 1, Sink{Name: "kafka://k:1"})
		f.say(publish.Status{Name: "kafka://k:1", Stats: publish.Stats{Queued: 5, Sent: 100}, LagMS: 40_000})
		after(time.Hour, 0, Sink{Name: "kafka://k:1"})
		go func() { // the server is away: each second one more attempt fails
			for i := range int64(600) {
				f.say(publish.Status{Name: "kafka://k:1", Stats: publish.Stats{Dropped: i, Errors: i}, LagMS: 70_000,
					LastError: "away"})
				time.Sleep(time.Second) // waits: in a bubble
			}
		}()
		after(10*time.Minute+sinksRest, 18, Sink{Name: "kafka://k:1", Dropped: 599, Errors: 599, Late: true,
			LastError: "away"})
		a.leave()
		if _, err := look.Get(t.Context(), SinksPrefix+"a"); !errors.Is(err, store.ErrNotFound) || !f.ran.Load() {
			t.Errorf("a member that has left has left the document behind: %v; it has published: %t", err, f.ran.Load())
		}
	})
}

// putCounter counts the writes of one document.
type putCounter struct {
	*memory.Store
	key    string
	writes atomic.Int64
}

func (c *putCounter) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if d.Key == c.key {
		c.writes.Add(1)
	}
	return c.Store.Put(ctx, d)
}

// One entry may end several jobs: each end has its record.
func TestTheEndsOfOneEntryAreJournaled(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		a := start(t, memory.New(), "a", func(c *Config) {
			c.Types["gate"] = work.Type{Name: "gate", New: func(work.Definition) (work.Runner, error) {
				return work.RunnerFunc(func(context.Context, *work.Grant) error { <-gate; return nil }), nil
			}}
		})
		const jobs = 24
		together := func(ended int) bool {
			for i := range jobs {
				a.submit(fmt.Sprint("x", ended+i), cluster.TaskSpec{Type: "gate"})
			}
			await(t, "all run", func() bool { return a.Status().Work.Counts.Running == jobs })
			for range jobs {
				gate <- struct{}{}
			}
			await(t, "all ends are journaled", func() bool { return len(a.records(journal.JobEnded)) == ended+jobs })
			entries := map[cluster.Index]bool{}
			for i := range jobs {
				j, _ := a.Value().Job(cluster.JobID(fmt.Sprint("x", ended+i)))
				entries[j.SpecIndex] = true
			}
			return len(entries) < jobs
		}
		for ended := 0; !together(ended); ended += jobs {
			if ended == 20*jobs {
				t.Fatal("no entry has ended two jobs")
			}
		}
	})
}
