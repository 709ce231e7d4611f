package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
	memstore "github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// bundle is a cluster of one member with one source, and what is journaled.
type bundle struct {
	t    *testing.T
	dir  string
	host *worktest.Host

	types func() work.Types
	docs  *memstore.Store

	mu      sync.Mutex
	world   world
	away    int // how many proposals have no answer
	records []journal.Record
	files   []string // what the journal says of files
	changed chan struct{}
}

func setup(t *testing.T, files map[string]string) *bundle {
	b := &bundle{t: t, dir: tree(t, files), host: worktest.NewHost(), types: types, docs: memstore.New().Open(),
		changed: make(chan struct{})}
	t.Cleanup(func() { b.docs.Close() })
	b.world.apply(cluster.PrepareJoin{Member: "m1", Heartbeat: "p",
		Labels: []cluster.Label{{Key: LabelKey("s"), Value: "yes"}}})
	b.world.apply(Job("s"))
	return b
}

func (b *bundle) locked(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *bundle) value() (v cluster.Value) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.world.value
}

// run starts the source under the present grant; the function that it returns stops it.
func (b *bundle) run() (stop func()) {
	b.t.Helper()
	conf := Config{
		Dirs: map[string][]string{"s": {b.dir}}, Types: b.types, Value: b.value, Member: "m1", Docs: b.docs,
		Incarnation: func() (cluster.Incarnation, bool) { m, ok := b.value().Member("m1"); return m.Incarnation, ok },
		Propose: func(_ context.Context, commands ...cluster.Command) (results []cluster.Result, err error) {
			b.locked(func() {
				if b.away--; b.away >= 0 {
					err = errors.New("nobody answers")
					return
				}
				results = b.world.apply(commands...)
			})
			return results, err
		},
		Journal: func(r journal.Record) { b.locked(func() { b.record(r) }) },
		Rescan:  time.Hour, // only watches find changes
	}
	p, ok := b.value().Partition("rota.source.s")
	if !ok || p.Owner != "m1" {
		b.t.Fatalf("the source has no owner: %v", p)
	}
	d := work.Definition{Config: []byte(`{"source":"s"}`)}
	r, err := conf.Type().New(d)
	must.Succeed(b.t, err)
	g := worktest.NewGrantOf(b.t, b.host, p.ID, p.Token, d)
	ctx, cancel := context.WithCancel(b.t.Context())
	ended, published := make(chan error, 1), make(chan struct{})
	go func() { ended <- r.Run(ctx, g) }()
	go func() { defer close(published); conf.Publish(ctx, g.Log) }()
	stop = sync.OnceFunc(func() {
		cancel()
		<-published
		if err := <-ended; err != nil {
			b.t.Errorf("the source ended: %v", err)
		}
	})
	b.t.Cleanup(stop)
	return stop
}

// record keeps a record: of files that came, changed and went apart from the others.
func (b *bundle) record(r journal.Record) {
	switch r.Kind {
	case journal.TaskAdded, journal.TaskChanged, journal.TaskRemoved:
		b.files = append(b.files, string(r.Kind)+" "+r.Partition)
	default:
		b.records = append(b.records, r)
	}
}

// wait returns when jobs and journal are as they should be.
func (b *bundle) wait(what, jobs, records string) {
	b.t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		b.mu.Lock()
		gotJobs, gotRecords, changed := b.jobs(), kinds(b.records), b.changed
		b.mu.Unlock()
		if gotJobs == jobs && gotRecords == records {
			b.locked(func() { b.records = nil })
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			b.t.Fatalf("%s: got jobs %q and journal %q, want %q and %q", what, gotJobs, gotRecords, jobs, records)
		}
	}
}

// jobs are the live ones of the source with their definitions.
func (b *bundle) jobs() string {
	var out []string
	for j := range b.world.value.Jobs() {
		if j.State == cluster.JobRunning && !strings.HasPrefix(string(j.ID), "rota.") {
			out = append(out, string(j.ID)+string(j.Spec.Tasks[0].Definition))
		}
	}
	return strings.Join(out, " ")
}

func TestSourceFollowsItsFiles(t *testing.T) {
	t.Parallel()
	b := setup(t, map[string]string{"a.yaml": good, "sub/b.yaml": "type: noop\nevery: 1s\n"})
	b.run()
	b.wait("start", `a{} b{"every_ms":1000}`, "")
	grow(t, b.dir, map[string]string{"a.yaml": "type: noop\nevery: 2s\n"})
	b.wait("edit", `a{"every_ms":2000} b{"every_ms":1000}`, "")
	grow(t, b.dir, map[string]string{"a.yaml": "type: noop\nevry: 3s\n"})
	b.wait("break", `a{"every_ms":2000} b{"every_ms":1000}`,
		`malformed-task-error a unknown field "evry" (did you mean "every"?)`)
	grow(t, b.dir, map[string]string{"a.yaml": "type: noop\nevery: 3s\n"})
	b.wait("mend", `a{"every_ms":3000} b{"every_ms":1000}`, "recovered a "+filepath.Join(b.dir, "a.yaml")+
		" is well-formed again, or gone")
	must.Succeed(t, os.Rename(filepath.Join(b.dir, "a.yaml"), filepath.Join(b.dir, "c.yaml")))
	b.wait("rename", `b{"every_ms":1000} c{"every_ms":3000}`, "")
	grow(t, b.dir, map[string]string{"new/deep/d.yaml": good})
	b.wait("new directories", `b{"every_ms":1000} c{"every_ms":3000} d{}`, "")
	grow(t, b.dir, map[string]string{"new/deep/e.yaml": good})
	b.wait("a file in a new directory", `b{"every_ms":1000} c{"every_ms":3000} d{} e{}`, "")
	must.Succeed(t, os.RemoveAll(filepath.Join(b.dir, "new")))
	must.Succeed(t, os.Remove(filepath.Join(b.dir, "sub", "b.yaml")))
	b.wait("remove", `c{"every_ms":3000}`, "")
}

// TestWhatNoWatchTellsAtOnce: a folder in a directory is watched only when a scan has found it, and what is written all
// the time never becomes quiet. Both are looked at all the same, long before the next scan of everything.
func TestWhatNoWatchTellsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		had            string
		checks, looked func(dir string)
	}{
		// A check comes when the directory has been listed, a look is over when its folder is watched.
		"a file between the scan and the watch": {"sub/a.yaml",
			func(dir string) { grow(t, dir, map[string]string{"sub/b.yaml": good}) }, func(string) {}},
		"a file that is written all the time": {"a.yaml", func(string) {},
			func(dir string) { grow(t, dir, map[string]string{"b.yaml": good}) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{c.had: good})
			conf := Config{Dirs: map[string][]string{"s": {dir}}, Rescan: time.Hour, Types: func() work.Types {
				all := types()
				slow := all["noop"]
				slow.New = func(work.Definition) (work.Runner, error) {
					c.checks(dir)
					return work.RunnerFunc(nil), nil
				}
				all["noop"] = slow
				return all
			}}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var first sync.Once
			var writer sync.WaitGroup
			found := 0
			conf.looks(ctx, "s", slog.New(slog.DiscardHandler), nil, func(scan Scan, _ bool) bool {
				if found = len(scan.Definitions); found == 2 {
					cancel()
				}
				first.Do(func() {
					writer.Go(func() {
						for ctx.Err() == nil {
							c.looked(dir)
							time.Sleep(debounce / 4) // waits: file watches follow the wall clock
						}
					})
				})
				return false
			})
			if writer.Wait(); found != 2 {
				t.Errorf("found %d files of two", found)
			}
		})
	}
}

// TestTheFirstScanIsNotRepeated: the directories are watched before the first scan begins. So a change that comes after
// that needs no second scan of everything: the next look reads only what changed, and one more, where it is asked for,
// the same.
func TestTheFirstScanIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t, map[string]string{"a.yaml": good})
	c := Config{Dirs: map[string][]string{"files": {b.dir}}, Types: types, Rescan: time.Hour}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var looked []string
	c.looks(ctx, "files", slog.New(slog.DiscardHandler), nil, func(scan Scan, _ bool) bool {
		looked = append(looked, fmt.Sprint(len(scan.Definitions), scan.only))
		switch len(looked) {
		case 1:
			grow(t, b.dir, map[string]string{"b.yaml": good})
		case 3:
			cancel()
		}
		return len(looked) == 2
	})
	if want := []string{"1 map[]", "2 map[b:true]", "2 map[b:true]"}; !slices.Equal(looked, want) {
		t.Errorf("looked at %v, want %v", looked, want)
	}
}

// TestLostEvents: where the system says that events are lost, everything may have changed.
func TestLostEvents(t *testing.T) {
	t.Parallel()
	w := newWatcher([]string{t.TempDir()}, slog.New(slog.DiscardHandler))
	defer w.close()
	w.fs.Errors <- fsnotify.ErrEventOverflow
	if <-w.hints; !w.take().all {
		t.Error("only what is named is looked at")
	}
}

func TestSwappedConfiguration(t *testing.T) {
	t.Parallel()
	b := setup(t, map[string]string{"a.yaml": "→..data/a.yaml", "..data": "→..1", "..1/a.yaml": good,
		"..2/a.yaml": "type: noop\nevery: 9s\n"})
	b.run()
	b.wait("start", "a{}", "")
	must.Succeed(t, os.Symlink("..2", filepath.Join(b.dir, "..tmp")))
	must.Succeed(t, os.Rename(filepath.Join(b.dir, "..tmp"), filepath.Join(b.dir, "..data")))
	b.wait("swap", `a{"every_ms":9000}`, "")
}

func TestToldOnceAcrossRestarts(t *testing.T) {
	t.Parallel()
	b := setup(t, map[string]string{"a.yaml": "type: nopp\n", "b.yaml": good})
	stop := b.run()
	b.wait("start", "b{}", `malformed-task-error a unknown type "nopp" (did you mean "noop"?)`)
	b.host.Wait(t.Context(), t, func(h *worktest.Host) bool { return h.Position("rota.source.s") != nil })
	stop()
	b.run()
	grow(t, b.dir, map[string]string{"c.yaml": good}) // applied by a look that saw a.yaml too
	b.wait("another look", "b{} c{}", "")
	grow(t, b.dir, map[string]string{"a.yaml": good})
	b.wait("mend", "a{} b{} c{}", "recovered a "+filepath.Join(b.dir, "a.yaml")+" is well-formed again, or gone")
}

func TestFormerOwnerChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, map[string]string{"a.yaml": good})
	b.run()
	b.wait("start", "a{}", "")
	b.locked(func() {
		b.world.apply(cluster.KillJob{Job: "rota.source.s"})
		b.world.apply(Job("s"))
	})
	grow(t, b.dir, map[string]string{"a.yaml": "type: noop\nevery: 2s\n", "b.yaml": good})
	b.mu.Lock()
	deadline, changed := time.After(time.Minute), b.changed
	b.mu.Unlock()
	for done := false; !done; {
		select {
		case <-changed:
		case <-deadline:
			t.Fatal("no refusal was journaled")
		}
		b.mu.Lock()
		done, changed = len(b.records) >= 2, b.changed
		if got := b.jobs(); got != "a{}" {
			t.Errorf("a former owner changed jobs: %s", got)
		}
		b.mu.Unlock()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.records {
		if r.Kind != journal.Refused {
			t.Errorf("got %+v", r)
		}
	}
}

func TestBrokenPositionIsForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t, map[string]string{"a.yaml": good})
	b.host.SetPosition("rota.source.s", 0, []byte(`{"told":{"a":{"path":"half of it"}},"differ":7}`))
	b.run()
	b.wait("start", "a{}", "")
	// One that cannot be read is not forgotten: the run ends, and another one reads it again.
	if err := (&reader{}).Run(t.Context(), &work.Grant{Host: unread{}}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a position that cannot be read: %v", err)
	}
}

// unread is a host whose store is away.
type unread struct{ work.Host }

func (unread) LoadPosition(context.Context, *work.Grant) ([]byte, error) {
	return nil, store.ErrUnavailable
}

// TestAProposalWithoutAnswer is made again, though no file changes.
func TestAProposalWithoutAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, map[string]string{"a.yaml": good})
	b.away = 2
	b.run()
	b.wait("start", "a{}", "")
}

// TestARefusalIsToldOnce: a refusal is reported again only when its reason changes.
func TestARefusalIsToldOnce(t *testing.T) {
	t.Parallel()
	var told []string
	r := &reader{Config: Config{Journal: func(rec journal.Record) { told = append(told, rec.Message) }}}
	for _, reason := range []string{"full", "full", "late", ""} {
		r.tellRefused([]cluster.Command{cluster.SubmitJob{Job: "a"}}, []cluster.Result{{Accepted: reason == "", Reason: reason}})
	}
	if len(told) != 2 || !strings.Contains(told[0], "full") || !strings.Contains(told[1], "late") {
		t.Errorf("told %q", told)
	}
}

func TestUndeclaredSource(t *testing.T) {
	t.Parallel()
	_, err := Config{}.Type().New(work.Definition{Config: []byte(`{"source":"x"}`)})
	if err == nil || err.Error() != `config.source: this member does not declare the source "x"` {
		t.Errorf("got %v", err)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		took           time.Duration
		watched, again bool
		want           time.Duration
	}{
		{time.Millisecond, true, false, 5 * time.Second},
		{time.Millisecond, false, false, 1500 * time.Millisecond},
		{time.Millisecond, true, true, 300 * time.Millisecond},
		{200 * time.Millisecond, true, false, 12 * time.Second},
		{500 * time.Millisecond, true, false, 30 * time.Second},
		{500 * time.Millisecond, false, false, 10 * time.Second},
		{time.Minute, false, false, 30 * time.Second},
		{time.Second, false, true, 2 * time.Second},
	} {
		if got := (&reader{}).pause(c.took, c.watched, c.again); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// TestAnInventoryThatOthersHaveRemoved is published again at the next look, without a word: a member that was out and
// is back must not be told of a conflict each time.
func TestAnInventoryThatOthersHaveRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	var log strings.Builder
	inc := cluster.Incarnation(1)
	p := &publisher{Config: Config{Value: b.value, Member: "m1", Docs: b.docs,
		Incarnation: func() (cluster.Incarnation, bool) { return inc, true }}, name: "s",
		log: slog.New(slog.NewTextHandler(&log, nil))}
	for i, want := range []bool{false, true, false, false} { // the second look is in vain, and the last one writes nothing
		if i == 1 {
			inc = 2
			must.Succeed(t, b.docs.Delete(t.Context(), p.key(), p.version))
		}
		before := p.version
		if again := p.act(t.Context(), Scan{only: map[cluster.JobID]bool{}}); again != want || log.Len() > 0 ||
			i == 3 && p.version != before {
			t.Errorf("look %d: again %t, log %s", i, again, &log)
		}
	}
	// The reader of the source deletes the inventories of members that are gone, and only those.
	must.Succeed(t, must.Err(b.docs.Put(t.Context(), store.Doc{Key: prefix("s") + "gone", Value: []byte("{}")})))
	must.Succeed(t, (&reader{Config: Config{Docs: b.docs}, name: "s"}).list(t.Context(), b.value(), true))
	if all, err := Inventories(t.Context(), b.docs, "s"); err != nil || all["m1"].Incarnation != 2 || len(all) != 1 {
		t.Errorf("published: %+v, %v", all, err)
	}
}
