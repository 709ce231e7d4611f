package directory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/source"
)

// world is a value that commands are applied to.
type world struct{ value cluster.Value }

func (w *world) apply(commands ...cluster.Command) []cluster.Result {
	var a cluster.Applied
	w.value, a = w.value.Apply(values.Entry(w.value, 0, commands...))
	return a.Results
}

// declare makes members that declare the source s.
func (w *world) declare(members ...cluster.MemberID) {
	for _, m := range members {
		w.apply(cluster.PrepareJoin{Member: m, Heartbeat: string(m),
			Labels: []cluster.Label{{Key: LabelKey("s"), Value: "yes"}}})
	}
}

// copies are what members with these holdings publish.
func (w *world) copies(all map[cluster.MemberID]*holding) *Copies {
	inventories := make(map[cluster.MemberID]Inventory)
	for id, h := range all {
		m, _ := w.value.Member(id)
		inventories[id] = h.inventory(m.Incarnation)
	}
	return CopiesOf(w.value, "s", inventories)
}

func spec(from, definition string) cluster.JobSpec {
	return cluster.JobSpec{Source: from, Tasks: []cluster.TaskSpec{{Type: "noop", Definition: []byte(definition)}}}
}

// found is a complete scan with these files: "a=1" for a good one, "!a" for a malformed one.
func found(files ...string) Scan {
	s := Scan{Complete: true}
	for _, f := range files {
		if id, bad := strings.CutPrefix(f, "!"); bad {
			s.Faults = append(s.Faults, fault(id, "bad"))
			s.Blocked = append(s.Blocked, cluster.JobID(id))
			continue
		}
		id, content, _ := strings.Cut(f, "=")
		s.Definitions = append(s.Definitions, Definition{ID: cluster.JobID(id), Spec: new(spec("s", content)),
			Path: id + ".yaml", Sum: content})
	}
	return s
}

func fault(id, message string) *source.MalformedError {
	return &source.MalformedError{Path: id + ".yaml", Message: message}
}

func text(commands []cluster.Command) string {
	var out []string
	for _, c := range commands {
		out = append(out, fmt.Sprint(c))
	}
	return strings.Join(out, "; ")
}

func TestDiff(t *testing.T) {
	t.Parallel()
	incomplete := found("a=1")
	incomplete.Complete = false
	emptied := found()
	emptied.Empty = []string{"tasks"}
	completed := []cluster.Command{
		cluster.PrepareJoin{Member: "m", Heartbeat: "m"}, cluster.SubmitJob{Job: "a", Spec: spec("s", "1")},
		cluster.FinishPartition{Partition: "a", Token: 2},
	}
	for name, c := range map[string]struct {
		present      []cluster.Command
		scan         Scan
		want, faults string
	}{
		"new":       {nil, found("a=1", "b=2"), "submit-job a noop by p token=7; submit-job b noop by p token=7", ""},
		"unchanged": {[]cluster.Command{cluster.SubmitJob{Job: "a", Spec: spec("s", "1")}}, found("a=1"), "", ""},
		"changed": {[]cluster.Command{cluster.SubmitJob{Job: "a", Spec: spec("s", "1")}}, found("a=2"),
			"update-job a noop by p token=7", ""},
		"gone": {[]cluster.Command{cluster.SubmitJob{Job: "a", Spec: spec("s", "1")}}, found(),
			"kill-job a by p token=7", ""},
		"malformed": {[]cluster.Command{cluster.SubmitJob{Job: "a", Spec: spec("s", "1")}}, found("!a"), "", ""},
		"incomplete": {[]cluster.Command{cluster.SubmitJob{Job: "b", Spec: spec("s", "1")}}, incomplete,
			"submit-job a noop by p token=7", ""},
		"of a client": {[]cluster.Command{cluster.SubmitJob{Job: "a", Spec: spec("", "1")}}, found("a=1"), "",
			`a.yaml: a job "a" exists already, from a client (rename the file, or kill the job)`},
		"of another": {[]cluster.Command{cluster.SubmitJob{Job: "a", Spec: spec("x", "1")}}, found("a=1"), "",
			`a.yaml: a job "a" exists already, from the source x (rename the file, or kill the job)`},
		"others stay": {[]cluster.Command{cluster.SubmitJob{Job: "a", Spec: spec("x", "1")},
			cluster.SubmitJob{Job: "b", Spec: spec("", "1")}}, found(), "", ""},
		"killed by hand comes back": {
			[]cluster.Command{cluster.SubmitJob{Job: "a", Spec: spec("s", "1")}, cluster.KillJob{Job: "a"}},
			found("a=1"), "submit-job a noop by p token=7", "",
		},
		"completed stays":        {completed, found("a=1"), "", ""},
		"completed, and changed": {completed, found("a=2"), "submit-job a noop by p token=7", ""},
		"killed stays gone": {[]cluster.Command{cluster.SubmitJob{Job: "a", Spec: spec("s", "1")},
			cluster.KillJob{Job: "a"}}, found(), "", ""},
		"emptied, few": {many("s", tooMany), emptied,
			"kill-job j00 by p token=7; kill-job j01 by p token=7; kill-job j02 by p token=7; kill-job j03 by p token=7; kill-job j04 by p token=7; kill-job j05 by p token=7; kill-job j06 by p token=7; kill-job j07 by p token=7; kill-job j08 by p token=7; kill-job j09 by p token=7", ""},
		"emptied, many": {many("s", tooMany+1), emptied, "",
			"tasks: the directory is suddenly empty; its 11 tasks are kept (is its disk mounted? to remove the tasks put any file there)"},
	} {
		var w world
		for _, c := range c.present {
			w.apply(c)
		}
		commands, faults := diff(c.scan, w.value, "s", Fence{"p", 7}, nil)
		said := ""
		for _, f := range faults {
			said += f.Error()
		}
		if got := text(commands); got != c.want || said != c.faults {
			t.Errorf("%s: got %s and %q, want %s and %q", name, got, said, c.want, c.faults)
		}
	}
}

func many(from string, n int) []cluster.Command {
	var out []cluster.Command
	for i := range n {
		out = append(out, cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("j%02d", i)), Spec: spec(from, "1")})
	}
	return out
}

// TestEachFieldCounts: a definition is not the same where one field of its task is another.
func TestEachFieldCounts(t *testing.T) {
	t.Parallel()
	one := func() cluster.JobSpec {
		return cluster.JobSpec{Tasks: []cluster.TaskSpec{{Selector: []cluster.Label{{Key: "zone", Value: "a"}},
			Partitions: []string{"k"}, Definition: []byte("1")}}}
	}
	a, b := one(), one()
	if !same(&a, &b) {
		t.Error("equal definitions are not the same")
	}
	for i, change := range []func(*cluster.TaskSpec){
		func(s *cluster.TaskSpec) { s.Name = "x" }, func(s *cluster.TaskSpec) { s.Type = "x" },
		func(s *cluster.TaskSpec) { s.Spread = cluster.SpreadEvery },
		func(s *cluster.TaskSpec) { s.Weight = 2 }, func(s *cluster.TaskSpec) { s.Handover = cluster.HandoverFast },
		func(s *cluster.TaskSpec) { s.Selector[0].Value = "b" }, func(s *cluster.TaskSpec) { s.SpreadOver = "x" },
		func(s *cluster.TaskSpec) { s.Pin = "x" },
		func(s *cluster.TaskSpec) { s.Stay = !s.Stay }, func(s *cluster.TaskSpec) { s.MaxAttempts = 3 },
		func(s *cluster.TaskSpec) { s.Partitions[0] = "l" }, func(s *cluster.TaskSpec) { s.Definition[0] = '2' },
	} {
		b := one()
		if change(&b.Tasks[0]); same(&a, &b) {
			t.Errorf("change %d is not seen: %+v", i, b.Tasks[0])
		}
	}
}

// TestDiffConverges: what a scan says is true after its commands are applied, nothing else changed, and the same scan
// wants nothing more.
func TestDiffConverges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var w world
		ids := []string{"a", "b", "c", "d", "e"}
		for _, id := range ids {
			from := rapid.SampledFrom([]string{"none", "", "s", "x"}).Draw(rt, "from "+id)
			if from == "none" {
				continue
			}
			w.apply(cluster.SubmitJob{Job: cluster.JobID(id),
				Spec: spec(from, rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "present"))})
			if rapid.IntRange(0, 3).Draw(rt, "killed") == 0 {
				w.apply(cluster.KillJob{Job: cluster.JobID(id)})
			}
		}
		before := w.value
		var files []string
		for _, id := range ids {
			files = append(files, rapid.SampledFrom([]string{"", "!" + id, id + "=1", id + "=2"}).Draw(rt, "file "+id))
		}
		scan := found(slices.DeleteFunc(files, func(s string) bool { return s == "" })...)
		scan.Complete = rapid.Bool().Draw(rt, "complete")
		commands, _ := diff(scan, w.value, "s", Fence{}, nil)
		for _, c := range commands {
			if r := w.apply(c)[0]; !r.Accepted {
				rt.Fatalf("%v: %s", c, r.Reason)
			}
		}
		for _, id := range ids {
			checkJob(rt, cluster.JobID(id), scan, before, w.value)
		}
		if again, _ := diff(scan, w.value, "s", Fence{}, nil); len(again) > 0 {
			rt.Fatalf("the same scan wants more: %s", text(again))
		}
	})
}

func checkJob(t *rapid.T, id cluster.JobID, scan Scan, before, after cluster.Value) {
	was, had := before.Job(id)
	is, has := after.Job(id)
	wasLive, isLive := had && was.State == cluster.JobRunning, has && is.State == cluster.JobRunning
	i := slices.IndexFunc(scan.Definitions, func(d Definition) bool { return d.ID == id })
	foreign := wasLive && was.Spec.Source != "s"
	gone := i < 0 && !slices.Contains(scan.Blocked, id) && scan.Complete
	switch {
	case foreign, i < 0 && !gone:
		if wasLive != isLive || isLive && !same(was.Spec, is.Spec) {
			t.Fatalf("%s was touched", id)
		}
	case gone && isLive:
		t.Fatalf("%s has no file and lives", id)
	case i >= 0 && (!isLive || !same(is.Spec, scan.Definitions[i].Spec)):
		t.Fatalf("%s is not what its file says", id)
	}
}

// kinds are records as text.
func kinds(records []journal.Record) string {
	var out []string
	for _, r := range records {
		out = append(out, string(r.Kind)+" "+r.Partition+" "+r.Message)
	}
	return strings.Join(out, "; ")
}

func TestMemory(t *testing.T) {
	t.Parallel()
	var w world
	w.apply(cluster.SubmitJob{Job: "a", Spec: spec("s", "1")})
	w.declare("m")
	var m memory
	var h holding
	look := func(s Scan, commands, records string, again bool) {
		t.Helper()
		h.look(s, w.value, "s")
		got := m.step(s, w.value, "s", Fence{}, w.copies(map[cluster.MemberID]*holding{"m": &h}), 0)
		if text(got.commands) != commands || kinds(got.records) != records || got.again != again {
			t.Errorf("got %q, %q, again %v\nwant %q, %q, again %v", text(got.commands), kinds(got.records), got.again,
				commands, records, again)
		}
	}
	worse := found("!a")
	worse.Faults[0].Message = "worse"
	blind := found()
	blind.Complete = false
	look(found("!a"), "", "", true)
	look(found("!a"), "", "malformed-task-error a bad", false)
	look(found("!a"), "", "", false)
	look(worse, "", "", true)
	look(worse, "", "malformed-task-error a worse", false)
	look(blind, "", "", false)
	look(worse, "", "", false) // the blind look did not see it, so it was no mending
	look(found("a=1"), "", "recovered a a.yaml is well-formed again, or gone", false)
	look(found("a=1"), "", "", false)
	look(found(), "", "", true)
	look(found("a=1"), "", "", false)
	look(found(), "", "", true)
	look(found(), "kill-job a", "", false)
	unsettled := found("a=1")
	unsettled.Unsettled = true
	look(unsettled, "", "", true)
}

func TestMemoryIsKeptAcrossOwners(t *testing.T) {
	t.Parallel()
	var w world
	scan := found("!a")
	first := reader{}
	first.memory.step(scan, w.value, "s", Fence{}, nil, 0)
	if got := first.memory.step(scan, w.value, "s", Fence{}, nil, 0); len(got.records) != 1 || !got.changed {
		t.Fatalf("got %+v", got)
	}
	first.memory.refused(cluster.KillJob{Job: "b"}, "no")
	data := must.Get(first.memory.encode())(t)
	var second memory
	must.Succeed(t, decodeMemory(data, &second))
	if _, fresh := second.refused(cluster.KillJob{Job: "b"}, "no"); fresh {
		t.Error("a refusal was told again")
	}
	for range 3 {
		if got := second.step(scan, w.value, "s", Fence{}, nil, 0); len(got.records) != 0 {
			t.Errorf("told again: %s", kinds(got.records))
		}
	}
	if got := second.step(found(), w.value, "s", Fence{}, nil,
		0); kinds(got.records) != "recovered a a.yaml is well-formed again, or gone" {
		t.Errorf("got %s", kinds(got.records))
	}
}

func TestManyFaultsAreToldBitByBit(t *testing.T) {
	t.Parallel()
	var w world
	var files []string
	for i := range 2*maxTold + 10 {
		files = append(files, fmt.Sprintf("!f%04d", i))
	}
	scan := found(files...)
	var m memory
	told := make(map[string]int)
	var counts []int
	for range 6 {
		got := m.step(scan, w.value, "s", Fence{}, nil, 0)
		counts = append(counts, len(got.records))
		for _, r := range got.records {
			told[r.Partition]++
		}
	}
	if want := []int{0, maxTold, maxTold, 10, 0, 0}; !slices.Equal(counts, want) || len(told) != len(files) {
		t.Errorf("got %v records in each look about %d tasks, want %v about %d", counts, len(told), want, len(files))
	}
}

func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	big := spec("s", strings.Repeat("x", 200<<10))
	huge := spec("s", strings.Repeat("x", maxBytes+1))
	for name, c := range map[string]struct {
		commands []cluster.Command
		want     int
	}{
		"none": {nil, 0},
		"few":  {many("s", 3), 3},
		"many": {many("s", maxBatch+1), maxBatch},
		"large": {[]cluster.Command{cluster.SubmitJob{Spec: big}, cluster.UpdateJob{Spec: big},
			cluster.SubmitJob{Spec: big}}, 2},
		"too large":     {[]cluster.Command{cluster.SubmitJob{Spec: huge}, cluster.KillJob{}}, 1},
		"large at last": {[]cluster.Command{cluster.KillJob{}, cluster.SubmitJob{Spec: huge}}, 1},
		"many partition": {[]cluster.Command{cluster.KillJob{},
			cluster.SubmitJob{Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Partitions: slices.Repeat([]string{"0123456789"}, 50_000)}}}}}, 1},
	} {
		if got := batch(c.commands); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// TestWhatWasNotLookedAtStays: a look at a few files compares these and what is pending, and nothing else.
func TestWhatWasNotLookedAtStays(t *testing.T) {
	t.Parallel()
	var w world
	w.declare("m")
	for _, c := range many("s", 5) {
		w.apply(c)
	}
	w.apply(cluster.SubmitJob{Job: "of-a-client", Spec: spec("", "1")})
	all := []string{"j00=1", "j01=1", "j02=1", "j03=1", "j04=1", "of-a-client=1", "!z"}
	var m memory
	var h holding
	look := func(what string, s Scan, only []cluster.JobID, commands, records string) {
		t.Helper()
		if only != nil {
			s.only = make(map[cluster.JobID]bool)
			for _, id := range only {
				s.only[id] = true
			}
		}
		h.look(s, w.value, "s")
		got := m.step(s, w.value, "s", Fence{}, w.copies(map[cluster.MemberID]*holding{"m": &h}), 0)
		if text(got.commands) != commands || kinds(got.records) != records {
			t.Errorf("%s: got %q, %q\nwant %q, %q", what, text(got.commands), kinds(got.records), commands, records)
		}
		for _, c := range got.commands {
			w.apply(c)
		}
		fresh := everything(s)
		for id := range h.missing {
			if sum, kept := h.have.sum[id]; kept {
				fresh.put(id, sum)
			}
		}
		gotIDs, gotSum := h.have.sums()
		if ids, sum := fresh.sums(); ids != gotIDs || sum != gotSum || fresh.bytes != h.have.bytes {
			t.Errorf("%s: the copy has %v, the scan %v", what, h.have.sum, fresh.sum)
		}
	}
	look("first", found(all...), nil, "", "")
	look("second", found(all...), nil, "",
		"malformed-task-error z bad; malformed-task-error of-a-client a job \"of-a-client\" exists already, from a client (rename the file, or kill the job)")
	w.apply(cluster.KillJob{Job: "j04"})
	changed := slices.Clone(all)
	changed[1] = "j01=2"
	look("one changed", found(changed...), []cluster.JobID{"j01"}, "update-job j01 noop", "")
	look("nothing", found(changed...), []cluster.JobID{}, "", "")
	fewer := slices.Delete(slices.Clone(changed), 2, 3)
	look("one removed", found(fewer...), []cluster.JobID{"j02"}, "", "")
	look("confirmed by a look at another one", found(fewer...), []cluster.JobID{"j00"}, "kill-job j02", "")
	look("and everything", found(fewer...), nil, "submit-job j04 noop", "")
}
