package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// TestWhatStatsCount: a run that starts again under its token is no move; a definition is malformed until it is
// well, or gone.
func TestWhatStatsCount(t *testing.T) {
	t.Parallel()
	ta := newStats()
	none := func() func(cluster.PartitionID) bool { return func(cluster.PartitionID) bool { return true } }
	first := []bool{ta.first("p", 1, none)}
	ta.stopped("p", 5)
	if first = append(first, ta.first("p", 1, none), ta.first("p", 2, none)); !slices.Equal(first,
		[]bool{true, false, true}) {
		t.Errorf("first under its token: %v", first)
	}
	if d, again := ta.startsAgain("p", 12); d != 7 || !again {
		t.Errorf("not run for %v, %t", d, again)
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
	fail    error // of each drop
	gone    string
	meets   func() // called before a document is found gone
}

func (d *dropping) DropFlow(_ context.Context, flow string) error {
	d.dropped = append(d.dropped, flow)
	return d.fail
}

func (d *dropping) Delete(ctx context.Context, key string, v store.Version) error {
	if key == d.gone {
		if d.meets != nil {
			d.meets()
		}
		return store.ErrNotFound
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
	d := &dropping{Docs: docs, gone: supervisor.FlowPrefix + "removed@1"}
	must.Succeed(t, dropFlows(t.Context(), v, d, d))
	if want := []string{"again@1", "removed@1", "zz@1"}; !slices.Equal(d.dropped, want) {
		t.Errorf("dropped %q, want %q", d.dropped, want)
	}
	d.gone, d.fail = "", store.ErrUnavailable
	if err := dropFlows(t.Context(), v, d, d); !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := docs.Get(t.Context(), supervisor.FlowPrefix+"removed@1"); err != nil {
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
		if n := openKept(t, path, "a").Tasks(); n != 1 {
			t.Errorf("%d tasks are kept over the restart", n)
		}
	})
}

// TestTwoDrainAtOnce: whoever meets another one's document reads it, and says whether the member was drained before.
func TestTwoDrainAtOnce(t *testing.T) {
	t.Parallel()
	server := memory.New()
	other := server.Open()
	defer other.Close()
	var met atomic.Bool
	docs := faults.NewFaulty(server.Open(), func(c faults.Call) faults.Outcome {
		if c.Op == "put" && !met.Swap(true) {
			_, err := KeepDrained(context.Background(), other, "m", true, "bob")
			must.Succeed(t, err)
		}
		return faults.Pass
	})
	defer docs.Close()
	if was, err := KeepDrained(t.Context(), docs, "m", true, "ann"); err != nil || !was {
		t.Errorf("drained before: %t, %v", was, err)
	}
}

// TestTwoUndrainAtOnce: a document that somebody else removes meanwhile is no error.
func TestTwoUndrainAtOnce(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	defer docs.Close()
	must.Succeed(t, must.Err(KeepDrained(t.Context(), docs, "m", true, "ann")))
	must.Succeed(t, must.Err(KeepDrained(t.Context(), &dropping{Docs: docs, gone: drainPrefix + "m", meets: func() {
		must.Succeed(t, must.Err(KeepDrained(t.Context(), docs, "m", false, "bob")))
	}}, "m", false, "ann")))
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
			asks        int
			waits       time.Duration
		}{
			"alone":      {nil, alive, alive, 0, 0},
			"removed":    {[]cluster.MemberID{"b"}, gone, alive, 1, 0},
			"in a hurry": {[]cluster.MemberID{"b"}, alive, gone, 1, 0},
			"held up":    {[]cluster.MemberID{"b"}, alive, alive, 1, time.Minute},
		} {
			all := membersOf(append([]cluster.MemberID{"a"}, c.others...)...)
			before := min(len(all), 2) // b joins when a has the task
			m := &tenant{value: valueOf(t,
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
		if got := n.whyRemoved(c.of); !errors.Is(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestWhichSinksAreTold: those on servers, and any that has lost something or failed.
func TestWhichSinksAreTold(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range sinksOf([]publish.Status{
		{Name: "stdout"}, {Name: "file a", Stats: publish.Stats{Dropped: 1}},
		{Name: "file b", Stats: publish.Stats{Errors: 1}}, {Name: "kafka://k"},
	}) {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, ", "); got != "file a, file b, kafka://k" {
		t.Errorf("told of %s", got)
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

// TestHalfALineOfTheWitness: the line after one that was written in part begins with a new line, also where nothing
// was written between.
func TestHalfALineOfTheWitness(t *testing.T) {
	t.Parallel()
	for lost := range 2 { // lines before there is space again
		d := &fullDisk{free: 10}
		w := &witness{member: "m", file: d, log: slog.New(slog.DiscardHandler)}
		for i := range lost + 3 {
			if w.note(0, "start", "p", cluster.Token(i+1)); i == lost {
				d.free = 1 << 10
			}
		}
		lines := bytes.Split(bytes.TrimSpace(d.Bytes()), []byte("\n"))
		if len(lines) != 3 || len(lines[0]) != 10 || !json.Valid(lines[1]) || !json.Valid(lines[2]) {
			t.Errorf("the file has %q", lines)
		}
	}
}
