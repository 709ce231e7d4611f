package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
	memstore "github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// group is members with copies of the source s, one of which reads. Its time is counted in looks.
type group struct {
	t        *testing.T
	world    world
	holdings map[cluster.MemberID]*holding
	folders  map[cluster.MemberID]Scan
	said     map[cluster.MemberID]Inventory // what stands in the store
	reader   cluster.MemberID
	memory   memory
	now      time.Duration
	records  []journal.Record
}

func newGroup(t *testing.T) *group {
	return &group{t: t, holdings: map[cluster.MemberID]*holding{}, folders: map[cluster.MemberID]Scan{},
		said: map[cluster.MemberID]Inventory{}}
}

// start starts a member; one that was there before takes up what it published.
func (g *group) start(m cluster.MemberID, files ...string) {
	g.world.declare(m)
	h := &holding{}
	if before, ok := g.said[m]; ok {
		h.resume(before, g.world.value, "s")
	}
	g.holdings[m], g.folders[m] = h, found(files...)
	if g.reader == "" {
		g.reads(m)
	}
}

// kill takes a member out of the cluster. What it published stays.
func (g *group) kill(m cluster.MemberID) {
	member, _ := g.world.value.Member(m)
	g.world.apply(cluster.LeaveCluster{Member: m, Incarnation: member.Incarnation})
	delete(g.holdings, m)
	if g.reader == m {
		g.reader = ""
	}
}

// reads makes a member the reader; it gets what its predecessor remembered.
func (g *group) reads(m cluster.MemberID) {
	data, err := g.memory.encode()
	must.Succeed(g.t, err)
	g.reader, g.memory = m, memory{}
	must.Succeed(g.t, decodeMemory(data, &g.memory))
}

// look is one look of each member, and then what the reader does.
func (g *group) look() {
	for m, h := range g.holdings {
		h.look(g.folders[m], g.world.value, "s")
		member, _ := g.world.value.Member(m)
		g.said[m] = h.inventory(member.Incarnation)
	}
	if g.reader == "" {
		return
	}
	g.now += time.Second
	copies := CopiesOf(g.world.value, "s", g.said)
	want := g.memory.step(g.folders[g.reader], g.world.value, "s", Fence{}, copies, g.now)
	g.records = append(g.records, want.records...)
	g.world.apply(want.commands...)
	for _, m := range copies.needless() {
		delete(g.said, m)
	}
}

// settle looks so often that everything that will happen has happened, and compares what runs and how the copies
// differ.
func (g *group) settle(what, jobs, differ string) {
	g.t.Helper()
	for range 10 {
		g.look()
	}
	var out []string
	for j := range g.world.value.Jobs() {
		if j.State == cluster.JobRunning {
			out = append(out, string(j.ID)+"="+string(j.Spec.Tasks[0].Definition))
		}
	}
	if got := strings.Join(out, " "); got != jobs {
		g.t.Errorf("%s: %s run, want %s", what, got, jobs)
	}
	if got := CopiesOf(g.world.value, "s", g.said).Differ(); got != differ {
		g.t.Errorf("%s: differ: %s, want %s", what, got, differ)
	}
}

// copyOf is the copy that an act of testdata/copies.txt gives a member.
func copyOf(files []string) Scan {
	named := func(word string) bool { return slices.Contains(files, word) }
	s := found(slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == "blind" || f == "emptied" })...)
	if s.Complete = !named("blind"); named("emptied") {
		s.Empty = []string{"tasks"}
	}
	return s
}

// TestCopies plays what befalls members whose copies differ.
func TestCopies(t *testing.T) {
	t.Parallel()
	for _, story := range stories.Read(t, "testdata/copies.txt") {
		t.Run(story.Name, func(t *testing.T) {
			t.Parallel()
			g := newGroup(t)
			for i, act := range story.Acts {
				words := strings.Fields(act)
				m := cluster.MemberID(slices.Concat(words, []string{""})[1])
				switch verb, rest, _ := strings.Cut(act, " "); verb {
				case "start":
					g.start(m, words[2:]...)
				case "kill":
					g.kill(m)
				case "reads":
					g.reads(m)
				case "joins":
					g.world.apply(cluster.PrepareJoin{Member: m, Heartbeat: words[1]})
				case "declare":
					g.world.declare(m)
				case "files":
					g.folders[m] = copyOf(words[2:])
				case "look":
					g.look()
				case "runs":
					jobs, differ, _ := strings.Cut(rest, ";")
					g.settle(fmt.Sprintf("act %d, %s", i+1, act), jobs, strings.TrimSpace(differ))
				case "journal":
					if got := kinds(g.records); got != rest {
						t.Errorf("the journal has %s", got)
					}
				default:
					t.Fatalf("unknown act %s", act)
				}
			}
		})
	}
}

// TestAFileBetweenTwoInventories: the reader has submitted a file that came and went between two looks of its member's
// publisher. No inventory has ever named it, and its job ends all the same. A reader that has not seen it removes
// nothing.
func TestAFileBetweenTwoInventories(t *testing.T) {
	t.Parallel()
	for _, sawIt := range []bool{true, false} {
		g := newGroup(t)
		g.start("a", "x=1")
		g.settle("begin", "x=1", "")
		published := g.said["a"]
		value := func() cluster.Value { return g.world.value }
		step := func(scan Scan) {
			copies := CopiesOf(value(), "s", map[cluster.MemberID]Inventory{"a": published})
			g.world.apply(g.memory.step(scan, value(), "s", Fence{}, copies, g.now).commands...)
		}
		step(found("x=1", "y=1"))
		if !sawIt {
			g.reads("a") // another run of the reader
		}
		step(found("x=1"))
		step(found("x=1"))
		if runs(value(), "y", "s") == sawIt {
			t.Errorf("seen by this reader: %v; y runs: %v", sawIt, !sawIt)
		}
	}
}

// TestAFileRemovedBeforeTheMemberHasJoined: the last member that had published a file dies; the next one has seen it,
// and it is removed before that one has joined, or reaches the store. Found by chaos on PostgreSQL and Kafka.
func TestAFileRemovedBeforeTheMemberHasJoined(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	g.start("a", "x=1", "y=1")
	g.settle("begin", "x=1 y=1", "")
	joined := false
	p := &publisher{
		name: "s", log: slog.New(slog.DiscardHandler),
		Config: Config{
			Member: "b", Docs: memstore.New().Open(), Value: func() cluster.Value { return g.world.value },
			Incarnation: func() (cluster.Incarnation, bool) {
				m, _ := g.world.value.Member("b")
				return m.Incarnation, joined
			},
		},
	}
	p.act(t.Context(), found("x=1", "!y"))
	g.kill("a")
	p.act(t.Context(), found("x=1"))
	g.start("b", "x=1")
	joined = true
	p.act(t.Context(), found("x=1"))
	p.act(t.Context(), found("x=1"))
	g.holdings["b"] = &p.holding
	g.reads("b")
	g.settle("removed", "x=1", "")
}

// TestAMemberThatJoinsAgain publishes its inventory under its new incarnation soon, though no file has changed and the
// next rescan is far.
func TestAMemberThatJoinsAgain(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var inc atomic.Uint64
		inc.Store(1)
		c := Config{Incarnation: func() (cluster.Incarnation, bool) { return cluster.Incarnation(inc.Load()), true }}
		hints := make(chan struct{}, 1)
		go c.hintAtJoins(ctx, hints)
		time.Sleep(time.Minute)
		if len(hints) != 0 {
			t.Error("a hint, and nothing has changed")
		}
		inc.Store(2)
		time.Sleep(joinLook)
		synctest.Wait()
		if len(hints) != 1 {
			t.Error("no hint after it has joined again")
		}
		cancel()
		synctest.Wait()
	})
}

// TestAnInventoryThatCouldNotBePublished is published soon, not after the next rescan: until then nobody removes
// anything. Found by chaos on PostgreSQL. An answer that is lost says nothing about the version that is there now: the
// next look reads it.
func TestAnInventoryThatCouldNotBePublished(t *testing.T) {
	t.Parallel()
	var value cluster.Value
	docs := &flaky{Docs: memstore.New().Open()}
	p := &publisher{
		name: "s", log: slog.New(slog.DiscardHandler),
		Config: Config{
			Member: "a", Docs: docs, Value: func() cluster.Value { return value },
			Incarnation: func() (cluster.Incarnation, bool) { return 1, true },
		},
	}
	for i, fails := range []error{store.ErrUnavailable, nil, store.ErrUnknown, nil, store.ErrUnknown, nil} {
		docs.fails = fails
		sum := fmt.Sprintf("v%d", i%2) // an edit that is taken back
		if again := p.act(t.Context(), found("x="+sum)); again != (fails != nil) {
			t.Errorf("look %d, the store says %v: asks for a further look: %t", i, fails, again)
		}
		all := must.Get(docs.List(t.Context(), prefix("s")))(t)
		if there := len(all) == 1 && strings.Contains(string(all[0].Value),
			fmt.Sprintf(`"x":"%s"`, sum)); there == errors.Is(fails, store.ErrUnavailable) {
			t.Errorf("look %d, the store says %v: its inventory is in the store: %t", i, fails, there)
		}
	}
}

// TestInventoriesThatCouldNotBeListed: a reader tells it, and so looks again soon: until then nobody removes anything.
func TestInventoriesThatCouldNotBeListed(t *testing.T) {
	t.Parallel()
	docs := memstore.New().Open()
	docs.Close()
	g, _ := worktest.NewGrant(t, work.Definition{})
	r := &reader{Config: Config{Docs: docs, Value: func() (v cluster.Value) { return v }}, name: "s"}
	if _, err := r.act(t.Context(), g, found(), false); !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v, want what the store says", err)
	}
}

// flaky is a store whose puts fail with the error that the test sets. One that fails with an unknown outcome has
// written.
type flaky struct {
	store.Docs
	fails error
}

func (f *flaky) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if errors.Is(f.fails, store.ErrUnavailable) {
		return "", f.fails
	}
	v, err := f.Docs.Put(ctx, d)
	if err == nil && f.fails != nil {
		return "", f.fails
	}
	return v, err
}

// TestAMalformedFileThatIsRemoved: its reader has found the file, though it could not use it.
func TestAMalformedFileThatIsRemoved(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	g.start("a", "x=1", "y=1")
	g.settle("begin", "x=1 y=1", "")
	published := CopiesOf(g.world.value, "s", map[cluster.MemberID]Inventory{"a": {Incarnation: g.said["a"].Incarnation,
		Names: map[cluster.JobID]string{"x": "1"}, Count: 1}})
	var reads memory
	for _, scan := range []Scan{found("x=1", "!y"), found("x=1"), found("x=1")} {
		g.world.apply(reads.step(scan, g.world.value, "s", Fence{}, published, 0).commands...)
	}
	if runs(g.world.value, "y", "s") {
		t.Error("y runs, though its file is gone from all copies")
	}
}

// TestLargeCopies: copies whose names don't fit into a document are compared by their hashes.
func TestLargeCopies(t *testing.T) {
	t.Parallel()
	var files []string
	for i := range 30_000 {
		files = append(files, fmt.Sprintf("check-%06d-of-a-long-name=1", i))
	}
	g := newGroup(t)
	g.start("a", files...)
	g.start("b", files...)
	g.look()
	for m, inv := range g.said {
		if inv.Names != nil || inv.Count != len(files) {
			t.Fatalf("%s publishes %d names of %d", m, len(inv.Names), inv.Count)
		}
	}
	count := func() (n int) {
		for j := range g.world.value.Jobs() {
			if j.State == cluster.JobRunning {
				n++
			}
		}
		return n
	}
	differ := func() string { return CopiesOf(g.world.value, "s", g.said).Differ() }
	g.folders["a"] = found(files[1:]...)
	for range 4 {
		g.look()
	}
	if got := differ(); count() != len(files) ||
		got != "a has 29999 tasks, b has 30000; a has too many files to name them" {
		t.Errorf("gone from one: %d run, %s", count(), got)
	}
	g.folders["b"] = found(files[1:]...)
	for range 4 {
		g.look()
	}
	if got := differ(); count() != len(files)-1 || got != "" {
		t.Errorf("gone from both: %d run, %s", count(), got)
	}
	g.kill("b")
	g.kill("a")
	g.start("a", files[11:]...)
	for range 4 {
		g.look()
	}
	if got := differ(); count() != len(files)-11 || got != "" {
		t.Errorf("gone while all were down: %d run, %s", count(), got)
	}
	g.kill("a")
	g.start("c", files[5_000:]...)
	if g.look(); !strings.HasPrefix(differ(), "4989 more run than have a file: ") {
		t.Errorf("a new member without them: %s", differ())
	}
}

// TestManyRemovedFiles: what one document cannot name follows when the first jobs have ended.
func TestManyRemovedFiles(t *testing.T) {
	t.Parallel()
	var h holding
	var w world
	w.declare("a")
	h.gone = make(map[cluster.JobID]bool)
	for i := range 20_000 {
		id := cluster.JobID(fmt.Sprintf("check-%06d", i))
		h.gone[id] = true
	}
	inv := h.inventory(1)
	if text := must.Get(json.Marshal(inv.Gone))(t); len(text) > maxGone || len(text) < maxGone-100 {
		t.Fatalf("%d of %d are named, in %d bytes", len(inv.Gone), len(h.gone), len(text))
	}
	h.look(found(), w.value, "s")
	if len(h.gone) != 0 {
		t.Errorf("%d jobs that don't run are remembered", len(h.gone))
	}
}
