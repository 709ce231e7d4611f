package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// membersOf are commands by which these members join, one after the other, all with two slots.
func membersOf(ids ...cluster.MemberID) (all []cluster.Command) {
	for i, id := range ids {
		heartbeat := "p/" + string(id)
		all = append(all, cluster.PrepareJoin{Member: id, Heartbeat: heartbeat, Weight: 100, Slots: 2, Capacity: 1})
		if i > 0 {
			by := cluster.Incarnation(max(1, 2*i-2))
			all = append(all, cluster.AcceptJoin{Member: id, Incarnation: cluster.Incarnation(2 * i), By: ids[i-1],
				ByIncarnation: by})
		}
	}
	return all
}

// TestWhoTakesTasks: of the other members, those that are joined, are not drained themselves and have room; neither
// slots nor Rota's own tasks count.
func TestWhoTakesTasks(t *testing.T) {
	t.Parallel()
	pool := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "x", Spread: cluster.SpreadPool}}}
	for want, more := range map[string][]cluster.Command{
		"b c": {cluster.SubmitJob{Job: "pool", Spec: pool}},
		"c":   {cluster.DrainMember{Member: "b", On: true}},
		"b": {cluster.SubmitJob{Job: "full", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "x", Pin: "c"}}}},
			cluster.SubmitJob{Job: "rota.own",
				Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "x", Pin: "b"}}}}},
	} {
		v := valueOf(t, append(membersOf("a", "b", "c"), more...)...)
		n := &Node{c: Config{Member: "a"}, member: &tenant{value: v}}
		var got []string
		for _, m := range n.takers() {
			got = append(got, string(m.ID))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q take tasks, want %q of %v", got, want, v)
		}
	}
}

// TestWhatAbsenceKnows: of members and of partitions that nobody runs.
func TestWhatAbsenceKnows(t *testing.T) {
	t.Parallel()
	pinned := func(to cluster.MemberID) cluster.Command {
		return cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "x", Pin: to}}}}
	}
	here := append(membersOf("a", "b"), pinned("c"))
	gone := slices.Concat(here, []cluster.Command{cluster.LeaveCluster{Member: "b", Incarnation: 2}})
	back := slices.Concat(gone, []cluster.Command{cluster.PrepareJoin{Member: "b", Heartbeat: "p/b/1", Weight: 100}})
	var a absence
	a.look(valueOf(t, membersOf("a", "b")...), "a", 100)
	a.look(valueOf(t, here...), "a", 200)
	a.look(valueOf(t, gone...), "a", 300)
	if d, known, handed := a.before("other", "b", "a", 350); d != 50 || !known || handed {
		t.Errorf("from a member that went: %v, %t, %t", d, known, handed)
	}
	a.look(valueOf(t, back...), "a", 400)
	if _, known, handed := a.before("other", "b", "a", 450); !known || !handed {
		t.Error("a member that came back counts as gone")
	}
	v := valueOf(t, append(membersOf("a", "b"), pinned("a"))...)
	if p, _ := v.Partition("x"); p.Owner != "a" {
		t.Fatalf("x is on %q", p.Owner)
	}
	a.look(v, "a", 500)
	if d, known, handed := a.before("x", "", "a", 600); d != 400 || !known || handed {
		t.Errorf("of a partition that waited and was given to this member: %v, %t, %t, want 400ns", d, known, handed)
	}
	var other absence // of b, which did not get it
	other.look(valueOf(t, here...), "b", 100)
	other.look(v, "b", 200)
	if d, _, handed := other.before("x", "a", "b", 300); !handed {
		t.Errorf("what another member got waited for %v", d)
	}
	for _, from := range []cluster.MemberID{"b", "gone before"} { // who had it may have stopped at any time
		if d, known, handed := other.before("y", from, "b", 400); d != 300 || known || handed {
			t.Errorf("from %s: %v, known %t, handed %t", from, d, known, handed)
		}
	}
	a.look(valueOf(t, here...), "a", 700) // from before it was claimed
	a.look(v, "a", 800)
	if d, _, handed := a.before("x", "b", "a", 900); !handed {
		t.Errorf("what runs here waited for %v, by a value that is older", d)
	}
	a.ended("x")
	a.look(valueOf(t, here...), "a", 1000)
	if d, _, _ := a.before("x", "b", "a", 1100); d != 100 {
		t.Errorf("what ran here has waited for %v, want 100ns", d)
	}
}

// TestWhatStatsCount: a run that starts again under its token is no move, and what is owned is never forgotten; a
// definition is malformed until it is well, or gone. A gap whose beginning nobody has seen counts as the longest alone.
func TestWhatStatsCount(t *testing.T) {
	t.Parallel()
	ta := newStats()
	sweeps := 0
	owned := func() func(cluster.PartitionID) bool {
		sweeps++
		return func(p cluster.PartitionID) bool { return p == "p" || strings.HasPrefix(string(p), "1") }
	}
	first := []bool{ta.first("p", 1, owned)}
	ta.stopped("p", 5)
	first = append(first, ta.first("p", 1, owned), ta.first("p", 2, owned))
	for i := range 10 * minTold {
		ta.first(cluster.PartitionID(fmt.Sprint(i)), 1, owned)
	}
	if first = append(first, ta.first("p", 2, owned)); !slices.Equal(first, []bool{true, false, true, false}) {
		t.Errorf("first under its token: %v", first)
	}
	if len(ta.told) > 6*minTold || sweeps < 2 || sweeps > 20 {
		t.Errorf("it remembers %d after %d sweeps", len(ta.told), sweeps)
	}
	if d, again := ta.startsAgain("p", 12); d != 7 || !again {
		t.Errorf("not run for %v, %t", d, again)
	}
	ta.gap(3)
	ta.atLeast(5)
	if ta.gap(-1); ta.read().longest != 5 || ta.read().gap.Count != 2 || ta.read().gap.Sum != 3 {
		t.Errorf("the gaps are %+v", ta.read())
	}
	for i, r := range []journal.Record{
		{Kind: journal.Malformed, Partition: "a"}, {Kind: journal.Malformed, Partition: "b"},
		{Kind: journal.Malformed, Partition: "a"},
		{Kind: journal.Recovered, Partition: "a"}, {Kind: journal.TaskRemoved, Partition: "b"},
	} {
		if ta.definition(r); ta.read().malformed != []int64{1, 2, 2, 1, 0}[i] {
			t.Errorf("after %d records %d definitions are malformed", i+1, ta.read().malformed)
		}
	}
}

// dropping is a queue and its documents, of which some cannot be dropped, or are gone.
type dropping struct {
	store.Docs
	store.Queue
	dropped []string
	fail    error            // of each drop
	ends    map[string]error // of the removal of a document
}

func (d *dropping) DropFlow(_ context.Context, flow string) error {
	d.dropped = append(d.dropped, flow)
	return d.fail
}

func (d *dropping) Delete(ctx context.Context, key string, v store.Version) error {
	if err := d.ends[key]; err != nil {
		return err
	}
	return d.Docs.Delete(ctx, key, v)
}

// TestWhichFlowsAreDropped: those of jobs that a value newer than the flow does not know, or knows as submitted
// again; first the flow goes, then what names it.
func TestWhichFlowsAreDropped(t *testing.T) {
	t.Parallel()
	spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "x", Spread: cluster.SpreadPool}}}
	v := valueOf(t, append(membersOf("a"), cluster.SubmitJob{Job: "again", Spec: spec})...)
	docs := memory.New().Open()
	defer docs.Close()
	for _, name := range []string{"again@1", "again@2", "later@3", "no-number@x", "removed@1", "zz@1"} {
		_, err := docs.Put(t.Context(), store.Doc{Key: supervisor.FlowPrefix + name})
		must.Succeed(t, err)
	}
	removed := supervisor.FlowPrefix + "removed@1"
	d := &dropping{Docs: docs, ends: map[string]error{removed: store.ErrNotFound}}
	must.Succeed(t, dropFlows(t.Context(), v, d, d))
	if want := []string{"again@1", "removed@1", "zz@1"}; !slices.Equal(d.dropped, want) {
		t.Errorf("dropped %q, want %q", d.dropped, want)
	}
	d.ends[removed] = store.ErrUnavailable
	kept := dropFlows(t.Context(), v, d, d)
	d.ends, d.fail = nil, store.ErrUnavailable
	if err := dropFlows(t.Context(), v, d, d); !errors.Is(err, store.ErrUnavailable) || !errors.Is(kept, err) {
		t.Error(kept, err)
	}
	if _, err := docs.Get(t.Context(), removed); err != nil {
		t.Errorf("nothing names a flow any more that was not dropped: %v", err)
	}
}

// TestAFileThatCannotBeWritten: it is written by the next try, also where nothing new is assigned, and no draft of it
// stays.
func TestAFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	path := filepath.Join(dir, "a.json")
	k := openKept(t, path, "a")
	spec := cluster.TaskSpec{Name: "t", Type: "noted", Definition: []byte(`{"on_store_loss":"keep"}`)}
	a := protocol.Assignment{Version: 1, Grants: []*protocol.Grant{{Partition: "j/t", Token: 7, Spec: &spec}}}
	if err := k.write(a); err == nil {
		t.Fatal("there is no such directory")
	}
	must.Succeed(t, os.MkdirAll(filepath.Join(path, "in the way"), 0o700))
	for version := range uint64(2) {
		a.Version = version + 2
		if err := k.write(a); err == nil {
			t.Fatal("a file took the place of a directory")
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("drafts stay: %v, %v", all, err)
	}
	must.Succeed(t, os.RemoveAll(path))
	must.Succeed(t, k.write(a))
	if got := openKept(t, path, "a"); got.Tasks() != 1 {
		t.Errorf("%d tasks are kept", got.Tasks())
	}
}

// TestAnAnnouncedRestartKeepsItsFile: the tasks wait for the member, so what it had stays in its file.
func TestAnAnnouncedRestartKeepsItsFile(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		path, r := filepath.Join(t.TempDir(), "a.json"), &running{}
		a := start(t, memory.New(), "a", func(c *Config) {
			c.Types, c.Kept, c.Hold = r.types(), openKept(t, path, "a"), time.Minute
		})
		a.submit("on", cluster.TaskSpec{Type: "noted", Definition: []byte(`{"on_store_loss":"keep"}`)})
		await(t, "it is kept", func() bool { return openKept(t, path, "a").Tasks() == 1 })
		a.leave()
		if n := openKept(t, path, "a").Tasks(); n != 1 || len(a.records(journal.StoreBack)) != 0 {
			t.Errorf("%d tasks are kept over the restart; %+v", n, a.records(journal.StoreBack))
		}
	})
}

// TestWordsOfTwoAtOnce: a call that meets the document of another one reads it, and says whether the member was drained
// before. A store that refuses is an error.
func TestWordsOfTwoAtOnce(t *testing.T) {
	t.Parallel()
	type word func(store.Docs) (bool, error)
	drains := func(on bool) word {
		return func(d store.Docs) (bool, error) { return KeepDrained(context.Background(), d, "m", on, "ann") }
	}
	evict := func(d store.Docs) (bool, error) {
		return false, KeepEvicted(context.Background(), d, cluster.Member{ID: "m", Incarnation: 7}, "ann")
	}
	drain, undrain := drains(true), drains(false)
	for _, c := range []struct {
		there, asks word
		at          string // the first such call of the store
		other       word   // comes before it; nil: it is refused
		want        string
	}{
		{nil, drain, "put", drain, "true, <nil>"}, {drain, undrain, "delete", undrain, "false, <nil>"},
		{nil, evict, "put", evict, "false, <nil>"},
		{nil, drain, "get", nil, "false, read whether m is drained: "},
		{nil, drain, "put", nil, "false, keep that m is drained: "},
		{nil, evict, "get", nil, "false, read whether m is evicted: "},
		{nil, evict, "put", nil, "false, keep that m is evicted: "},
	} {
		inner, met := memory.New().Open(), false
		defer inner.Close()
		if c.there != nil {
			must.Succeed(t, must.Err(c.there(inner)))
		}
		was, err := c.asks(faults.NewFaulty(inner, func(call faults.Call) faults.Outcome {
			switch {
			case call.Op != c.at || met:
			case c.other == nil:
				return faults.Refused
			default:
				met = true
				must.Succeed(t, must.Err(c.other(inner)))
			}
			return faults.Pass
		}))
		if got := fmt.Sprintf("%t, %v", was, err); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
	}
}

// TestWhenADrainWaits: not where no other member takes tasks, nor after the member was removed or was told to hurry.
func TestWhenADrainWaits(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "x"}}}
		gone, alive := make(chan struct{}), make(chan struct{})
		close(gone)
		for name, c := range map[string]struct {
			others      []cluster.MemberID
			gone, hurry chan struct{}
			says        []string
			asks        int
			waits       time.Duration
		}{
			"alone":      {nil, alive, alive, nil, 0, 0},
			"removed":    {[]cluster.MemberID{"b"}, gone, alive, nil, 1, 0},
			"in a hurry": {[]cluster.MemberID{"b"}, alive, gone, nil, 1, 0},
			"not heard":  {[]cluster.MemberID{"b"}, alive, alive, []string{""}, 1, 0},
			"held up":    {[]cluster.MemberID{"b"}, alive, alive, nil, 1, time.Minute},
		} {
			all := membersOf(append([]cluster.MemberID{"a"}, c.others...)...)
			before := min(len(all), 2) // b joins when a has the task
			m := &tenant{says: c.says, value: valueOf(t,
				slices.Insert(all, before, cluster.Command(cluster.SubmitJob{Job: "here", Spec: spec}))...)}
			n := &Node{c: Config{Member: "a", DrainTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)},
				member: m}
			began := time.Now()
			n.drain(c.gone, c.hurry)
			if took := time.Since(began); took != c.waits || m.asked != c.asks {
				t.Errorf("%s: drained for %v, asked %d times; want %v, %d", name, took, m.asked, c.waits, c.asks)
			}
		}
	})
}

// TestAnEvictionBeforeTheJoin: a start that has not joined yet cannot know whether it is meant.
func TestAnEvictionBeforeTheJoin(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	defer docs.Close()
	n := &Node{c: Config{Member: "a", Store: docs, Logger: slog.New(slog.DiscardHandler)}}
	n.evict = func(err error) { t.Errorf("evicted: %v", err) }
	must.Succeed(t, n.readEvicted()) // there is no such word
	must.Succeed(t, KeepEvicted(t.Context(), docs, cluster.Member{ID: "a", Incarnation: 7}, "ann"))
	must.Succeed(t, n.readEvicted())
	n.first.Store(8)
	must.Succeed(t, n.readEvicted())
	if d, err := docs.Get(t.Context(), evictPrefix+"a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what was for a former start is there: %s, %v", d.Value, err)
	}
}

// TestWhyATaskIsTaken: because it was killed, moved, or because its member is to run no more.
func TestWhyATaskIsTaken(t *testing.T) {
	t.Parallel()
	pinned := cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "x", Pin: "a"}}}}
	here := append(membersOf("a", "b"), pinned)
	for want, c := range map[error]struct {
		commands []cluster.Command
		of       cluster.PartitionID
	}{
		work.CauseMoved:   {here, "x"},
		work.CauseKilled:  {here, "y"},
		work.CauseDrained: {slices.Concat(here, []cluster.Command{cluster.DrainMember{Member: "a", On: true}}), "x"},
	} {
		n := &Node{c: Config{Member: "a"}, member: &tenant{value: valueOf(t, c.commands...)}}
		if got := n.whyRemoved(c.of); !errors.Is(got, want) || n.owned()(c.of) != (c.of == "x") {
			t.Errorf("%v, want %v; owned: %t", got, want, n.owned()(c.of))
		}
	}
}

// TestNewAssignmentsDoNotWait: for one that nobody takes; the newest is passed on, and is in the file.
func TestNewAssignmentsDoNotWait(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.json")
		n := &Node{c: Config{Member: "a", Kept: openKept(t, path, "a")}}
		in, all := make(chan protocol.Assignment), sync.WaitGroup{}
		out := n.keeping(&all, in)
		spec := cluster.TaskSpec{Name: "t", Type: "noted", Definition: []byte(`{"on_store_loss":"keep"}`)}
		for version := range uint64(3) {
			in <- protocol.Assignment{Version: version + 1, Grants: make([]*protocol.Grant, 0, 1)}
			synctest.Wait()
		}
		in <- protocol.Assignment{Version: 4, Grants: []*protocol.Grant{{Partition: "j/t", Token: 7, Spec: &spec}}}
		close(in)
		all.Wait()
		if a := <-out; a.Version != 4 || openKept(t, path, "a").Tasks() != 1 {
			t.Errorf("version %d is passed on, %d tasks are kept", a.Version, openKept(t, path, "a").Tasks())
		}
		if a, open := <-out; open {
			t.Errorf("after the last one there is %+v", a)
		}
	})
}

// TestANoteIsTriedAgain: a document for people that the store has refused is written a little later.
func TestANoteIsTriedAgain(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		plan := must.Get(faults.Script("refuse put key=failing/a times=2\nrefuse put key=sinks/a times=1"))(t)
		s, sinks := memory.New(), &fakeSinks{}
		look := s.Open()
		defer look.Close()
		inner := s.Open()
		t.Cleanup(func() { inner.Close() })
		var cured atomic.Bool
		faulty := faults.NewFaulty(inner, plan)
		a := start(t, s, "a", func(c *Config) {
			c.Store, c.Publisher = faulty, sinks
			ill(&cured)(c)
		})
		a.submit("sick", cluster.TaskSpec{Type: "ill"})
		time.Sleep(2 * sinksRest) // waits: in virtual time
		if d, err := look.Get(t.Context(), SinksPrefix+"a"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("there is nothing to say, and it says %s, %v", d.Value, err)
		}
		sinks.say(publish.Status{Name: "kafka://k:1", Stats: publish.Stats{Errors: 3}})
		time.Sleep(3 * sinksRest) // waits: in virtual time
		synctest.Wait()
		if f, ok := failingAt(t, look, "a"); !ok || len(f.Runs) != 1 {
			t.Errorf("what fails: %+v, %t", f, ok)
		}
		faulty.SetPlan(must.Get(faults.Script("refuse put key=failing/a times=3"))(t))
		cured.Store(true)
		time.Sleep(9 * failingRest) // waits: in virtual time
		if f, ok := failingAt(t, look, "a"); !ok || len(f.Runs) != 0 {
			t.Errorf("what fails after it was cured: %+v, %t", f, ok)
		}
		var told Sinks
		d, err := look.Get(t.Context(), SinksPrefix+"a")
		if err = errors.Join(err, json.Unmarshal(d.Value, &told)); err != nil || len(told.Sinks) != 1 ||
			told.Sinks[0].Errors != 3 {
			t.Errorf("what sinks say: %+v, %v", told, err)
		}
	})
}
