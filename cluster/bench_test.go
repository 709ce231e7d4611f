package cluster

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// bench folds commands into a value, one entry each.
type bench struct {
	b   testing.TB
	v   Value
	seq uint64
}

func (w *bench) write(commands ...Command) {
	w.seq++
	var did Applied
	w.v, did = w.v.Apply(Entry{Index: w.v.index + 1, Writer: "w", Seq: w.seq, Commands: commands})
	for i, r := range did.Results {
		if !r.Accepted {
			w.b.Fatalf("%v: %s", commands[i], r.Reason)
		}
	}
}

func (w *bench) join(id MemberID, slots int64) {
	w.write(PrepareJoin{Member: id, Slots: slots, Heartbeat: "pulse/" + string(id)})
	if m, _ := w.v.Member(id); m.State == MemberPrepared {
		by, _ := w.v.Member(w.v.before(id))
		w.write(AcceptJoin{id, m.Incarnation, by.ID, by.Incarnation})
	}
}

// filledBench has members, and partitions in jobs of 1,000 keys, all granted.
func filledBench(b *testing.B, members, partitions int) *bench {
	b.Helper()
	w := &bench{b: b}
	w.write(Configure{MoveBudget: int64(partitions)})
	for i := range members {
		w.join(MemberID(fmt.Sprintf("member-%04d", i)), 0)
	}
	for j := range (partitions + 999) / 1000 {
		keys := make([]string, min(1000, partitions))
		for i := range keys {
			keys[i] = fmt.Sprintf("key-%04d", i)
		}
		w.write(SubmitJob{Job: JobID(fmt.Sprintf("job-%04d", j)),
			Spec: JobSpec{Tasks: []TaskSpec{{Type: "noop", Spread: SpreadPartitioned, Partitions: keys,
				Handover: HandoverFast}}}})
	}
	return w
}

// BenchmarkApply is simple commands of owners (an attempt failed, and is tried again by the same owner) with 100
// members and 10,000 partitions: decoding apart, all that a replica does. An entry has one command, or as many as a
// busy member writes at once.
func BenchmarkApply(b *testing.B) {
	for _, size := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("entry=%d", size), func(b *testing.B) { benchmarkApply(b, size) })
	}
}

func benchmarkApply(b *testing.B, size int) {
	w := filledBench(b, 100, 10_000)
	var all []Partition
	for p := range w.v.Partitions() {
		all = append(all, p)
	}
	entries := make([]Entry, 0, len(all)/size)
	for at := 0; at+size <= len(all); at += size {
		e := Entry{Index: 1, Writer: "w"}
		for _, p := range all[at : at+size] {
			e.Commands = append(e.Commands, FinishPartition{Partition: p.ID, Token: p.Token, Outcome: OutcomeFailed,
				Fresh: true, Message: "connection refused"})
		}
		e.data = e.Encode() // as it comes from the log
		entries = append(entries, e)
	}
	v := w.v
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if i%len(entries) == 0 {
			v, w.seq = w.v, 1<<40 // the failures are counted: begin again
		}
		e := &entries[i%len(entries)]
		w.seq++
		e.Index, e.Seq = v.index+1, w.seq
		var did Applied
		v, did = v.Apply(*e)
		if !did.Results[0].Accepted {
			b.Fatal(did.Results[0].Reason)
		}
	}
	b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "commands/s")
}

// BenchmarkValueMemory is the memory of a value with 1,000 members and 100,000 partitions, and of its snapshot.
func BenchmarkValueMemory(b *testing.B) {
	var bytes uint64
	var snapshot int
	for b.Loop() {
		before := heap()
		w := filledBench(b, 1000, 100_000)
		bytes = heap() - before
		snapshot = len(w.v.Snapshot())
		runtime.KeepAlive(w)
	}
	b.ReportMetric(float64(bytes), "heap-B")
	b.ReportMetric(float64(bytes)/100_000, "heap-B/partition")
	b.ReportMetric(float64(snapshot), "snapshot-B")
}

// BenchmarkJobsMemory is the memory of a value with 100,000 jobs of one task each, on three members, as a directory of
// task files makes them: as it came about by entries of 1,000 jobs, and as loaded from its snapshot.
func BenchmarkJobsMemory(b *testing.B) {
	const jobs = 100_000
	var applied, loaded uint64
	for b.Loop() {
		before := heap()
		w := manyJobs(b, jobs, true)
		applied = heap() - before
		snapshot := w.v.Snapshot()
		before = heap()
		v, err := DecodeSnapshot(snapshot)
		must.Succeed(b, err)
		loaded = heap() - before
		runtime.KeepAlive(w)
		runtime.KeepAlive(v)
	}
	b.ReportMetric(float64(applied)/jobs, "applied-B/job")
	b.ReportMetric(float64(loaded)/jobs, "loaded-B/job")
}

// manyJobs has jobs of one task each on three members, all alike or each with a definition of its own. Entries are
// decoded, as those of a log are.
func manyJobs(b *testing.B, jobs int, alike bool) *bench {
	b.Helper()
	w := &bench{b: b}
	for i := range 3 {
		w.join(MemberID(fmt.Sprintf("m%03d", i)), 0)
	}
	for at := 0; at < jobs; at += 1000 {
		w.seq++
		e := Entry{Index: w.v.index + 1, Writer: "w", Seq: w.seq}
		for i := at; i < min(at+1000, jobs); i++ {
			definition := `{"every_ms":60000}`
			if !alike {
				definition = fmt.Sprintf(`{"every_ms":%d}`, 60_000+i)
			}
			e.Commands = append(e.Commands, SubmitJob{Job: JobID(fmt.Sprintf("check-%06d", i)), Spec: JobSpec{
				Source: "tasks", Tasks: []TaskSpec{{Type: "noop", Definition: []byte(definition)}},
			}})
		}
		read, err := DecodeEntry(e.Index, e.Encode())
		must.Succeed(b, err)
		w.v, _ = w.v.Apply(read)
	}
	return w
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkLeaveJoin is one entry that takes a member away, and the two that bring one in, at 1,000 members and 100,000
// partitions: the plan, all the records that change, and the digest.
func BenchmarkLeaveJoin(b *testing.B) {
	w := filledBench(b, 1000, 100_000)
	full, seq := w.v, w.seq
	m, _ := full.Member("member-0500")
	b.Run("leave", func(b *testing.B) {
		for b.Loop() {
			w.b, w.v, w.seq = b, full, seq
			w.write(LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: "its heartbeat is gone"})
		}
	})
	b.Run("join", func(b *testing.B) {
		for b.Loop() {
			w.b, w.v, w.seq = b, full, seq
			w.join("member-0500a", 0)
		}
	})
}

// BenchmarkDeath is what a survivor does with the entry that removes one of three members that have 100,000 jobs of one
// task each: what it applies, and what it derives of it for itself.
func BenchmarkDeath(b *testing.B) {
	w := manyJobs(b, 100_000, true)
	full, seq := w.v, w.seq
	m, _ := full.Member("m000")
	duties := full.Duties("m001")
	b.Run("apply", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.b, w.v, w.seq = b, full, seq
			w.write(LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Died: true, Reason: "its process is gone"})
		}
	})
	b.Run("duties", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if n := len(w.v.DutiesAfter(full, duties, "m001")); n != 50_000 {
				b.Fatalf("%d duties", n)
			}
		}
	})
}

// BenchmarkEntry writes and reads entries as members write them: a report of one owner, and a job.
func BenchmarkEntry(b *testing.B) {
	small := []Command{Started{Partition: "job-1", Token: 1000}}
	task := TaskSpec{Name: "x", Type: "http", Selector: []Label{{"zone", "a"}},
		Definition: []byte(`{"every_ms":60000}`)}
	large := []Command{SubmitJob{Job: "job-1", Spec: JobSpec{Source: "files", Version: "1",
		Tasks: []TaskSpec{task, task}}}, PrepareJoin{Member: "a", Slots: 4, Heartbeat: "pulse/a/1"}}
	for name, commands := range map[string][]Command{"small": small, "large": large} {
		e := Entry{Index: 1001, Writer: "0123456789abcdef", Seq: 17, AtMS: 1_700_000_000_000, BaseIndex: 1000,
			BaseChain: 1 << 60, Commands: commands}
		data := e.Encode()
		b.Run("encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Encode()
			}
		})
		b.Run("decode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Succeed(b, must.Err(DecodeEntry(1001, data)))
			}
		})
	}
}

// BenchmarkEpoch applies epochs of 100 members that own 100,000 partitions: one of them is lost, so that its thousand
// are placed, and then comes back.
func BenchmarkEpoch(b *testing.B) {
	const members, partitions = 100, 100_000
	name := func(i int) MemberID { return MemberID(fmt.Sprintf("m%02d", i)) }
	var v Value
	next := func(c Command) {
		e := Entry{Index: v.Index() + 1, Writer: "w", Seq: uint64(v.Index()) + 1, Commands: []Command{c}}
		after, did := v.Apply(e)
		if !did.Results[0].Accepted {
			b.Fatal(did.Results[0].Reason)
		}
		v = after
	}
	epoch := func(generation uint64, lost int) Epoch {
		e := Epoch{Start: 1, Generation: generation, Leader: name(members - 1)}
		for i := range members {
			if i == lost {
				continue
			}
			m := EpochMember{Join: PrepareJoin{Member: name(i), Heartbeat: "g/" + string(name(i))}}
			if old, ok := v.Member(name(i)); ok {
				m.Incarnation = old.Incarnation
			}
			e.Members = append(e.Members, m)
		}
		return e
	}
	next(epoch(1, -1))
	spec := oneTask(SpreadPartitioned, HandoverAtMostOne)
	for i := range partitions {
		spec.Tasks[0].Partitions = append(spec.Tasks[0].Partitions, fmt.Sprintf("p%06d", i))
	}
	next(SubmitJob{Job: "x", Spec: spec})
	generation := uint64(1)
	for b.Loop() {
		lost := int(generation/2) % (members - 1)
		if generation++; generation%2 == 1 {
			lost = -1
		}
		next(epoch(generation, lost))
	}
	n := 0
	for m := range v.Members() {
		for range v.OwnedBy(m.ID) {
			n++
		}
	}
	if n != partitions {
		b.Fatalf("%d of %d partitions have owners", n, partitions)
	}
}

// BenchmarkDecodeSnapshot is what each look at the cluster begins with: 100,000 jobs of one task.
func BenchmarkDecodeSnapshot(b *testing.B) {
	b.Run("alike", func(b *testing.B) { benchmarkDecodeSnapshot(b, true) })
	b.Run("different", func(b *testing.B) { benchmarkDecodeSnapshot(b, false) })
}

func benchmarkDecodeSnapshot(b *testing.B, alike bool) {
	data := manyJobs(b, 100_000, alike).v.Snapshot()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		must.Succeed(b, must.Err(DecodeSnapshot(data)))
	}
}

// BenchmarkSnapshot is that of 100,000 jobs of one task each.
func BenchmarkSnapshot(b *testing.B) {
	v := manyJobs(b, 100_000, true).v
	b.ReportAllocs()
	for b.Loop() {
		v.Snapshot()
	}
}

// BenchmarkWindow puts items through a window of 256 on ten members: listed 64 at a time, finished one by one, taken
// out 64 at a time; alone, and beside 100,000 partitions of other tasks.
func BenchmarkWindow(b *testing.B) {
	for _, others := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("beside=%d", others), func(b *testing.B) {
			w := newWindowBench(b, others)
			for b.Loop() {
				w.item()
			}
			b.ReportMetric(float64(len(w.v.Snapshot())), "snapshot-B")
		})
	}
}

type windowBench struct {
	*bench
	listed  int
	running []PartitionID
	done    []string
}

func newWindowBench(b testing.TB, others int) *windowBench {
	w := &windowBench{bench: &bench{b: b}}
	for i := range 10 {
		w.join(MemberID(fmt.Sprintf("m%02d", i)), 0)
	}
	if others > 0 {
		t := TaskSpec{Type: "x", Spread: SpreadPartitioned}
		for i := range others {
			t.Partitions = append(t.Partitions, fmt.Sprintf("k%06d", i))
		}
		w.write(SubmitJob{Job: "others", Spec: JobSpec{Tasks: []TaskSpec{t}}})
	}
	w.write(SubmitJob{Job: "j",
		Spec: JobSpec{Tasks: []TaskSpec{{Type: "x", Spread: SpreadPartitioned, Partitions: []string{"list"}}}}})
	return w
}

// item finishes one item, and lets the partitioner take a step where one is due.
func (w *windowBench) item() {
	if len(w.running) <= 192 {
		w.step()
	}
	id := w.running[0]
	w.running = w.running[1:]
	p, _ := w.v.Partition(id)
	w.write(FinishPartition{Partition: id, Token: p.Token})
	_, _, key := id.Split()
	w.done = append(w.done, key)
}

func (w *windowBench) step() {
	p, _ := w.v.Partition("j#list")
	c := AdvanceWindow{Partition: p.ID, Token: p.Token, Step: p.Step, Cursor: fmt.Appendf(nil, "%09d", w.listed),
		Done: w.done}
	for len(w.running)+len(c.Items) < 256 {
		w.listed++
		c.Items = append(c.Items, Item{Key: fmt.Sprintf("bucket/%09d.gz", w.listed), Input: []byte("etag")})
	}
	w.write(c)
	for _, it := range c.Items {
		w.running = append(w.running, NewPartitionID("j", "", it.Key))
	}
	w.done = nil
}

// BenchmarkSlots applies entries to a value with 1,000 members of 10 slots and 1,000 jobs of 10 tasks, all slots given.
func BenchmarkSlots(b *testing.B) {
	w := &bench{b: b}
	for i := range 1000 {
		w.join(MemberID(fmt.Sprintf("member-%04d", i)), 10)
	}
	var submit []Command
	for j := range 1000 {
		c := SubmitJob{Job: JobID(fmt.Sprintf("job-%04d", j))}
		for t := range 10 {
			c.Spec.Tasks = append(c.Spec.Tasks, TaskSpec{Name: fmt.Sprint("t", t), Type: "noop", Spread: SpreadPool})
		}
		submit = append(submit, c)
	}
	empty := w.v
	b.Run("submit=1000", func(b *testing.B) {
		for b.Loop() {
			w.b, w.v = b, empty
			w.write(submit...)
		}
	})
	w.b, w.v = b, empty
	w.write(submit...)
	v := w.v
	m, _ := v.Member("member-0500")
	b.Run("crash", func(b *testing.B) {
		for b.Loop() {
			w.b, w.v = b, v
			w.write(LeaveCluster{Member: m.ID, Incarnation: m.Incarnation})
		}
	})
	b.Run("finish", func(b *testing.B) {
		for b.Loop() {
			slot := v.JobSlots("job-0500")[0].Slots[0]
			p, _ := v.Partition(slotID("job-0500", "t0", slot))
			w.b, w.v = b, v
			w.write(FinishPartition{Partition: p.ID, Token: p.Token})
		}
	})
	b.Run("check", func(b *testing.B) { // an ordinary task beside them costs nothing of this
		for b.Loop() {
			w.b, w.v = b, v
			w.write(SubmitJob{Job: "check", Spec: JobSpec{Tasks: []TaskSpec{{Type: "noop"}}}})
		}
	})
}
