package cluster

import (
	"fmt"
	"runtime"
	"testing"
)

// bench folds commands into a value, one entry each.
type bench struct {
	b   *testing.B
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

func (w *bench) join(id MemberID) {
	w.write(PrepareJoin{Member: id, Heartbeat: "pulse/" + string(id)})
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
		w.join(MemberID(fmt.Sprintf("member-%04d", i)))
	}
	for j := range (partitions + 999) / 1000 {
		keys := make([]string, min(1000, partitions))
		for i := range keys {
			keys[i] = fmt.Sprintf("key-%04d", i)
		}
		w.write(SubmitJob{Job: JobID(fmt.Sprintf("job-%04d", j)), Spec: JobSpec{Tasks: []TaskSpec{{Type: "noop", Spread: SpreadPartitioned, Partitions: keys, Handover: HandoverFast}}}})
	}
	return w
}

// BenchmarkApply is simple commands of owners (an attempt failed, and is tried again by the same owner) with 100 members and 10,000 partitions:
// decoding apart, all that a replica does. An entry has one command, or as many as a busy member writes at once.
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
			e.Commands = append(e.Commands, FinishPartition{Partition: p.ID, Token: p.Token, Outcome: OutcomeFailed, Fresh: true, Message: "connection refused"})
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

// BenchmarkJobsMemory is the memory of a value with 100,000 jobs of one task each, on three members, as a directory of task files makes them: as it came about
// by entries of 1,000 jobs, and as loaded from its snapshot.
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
		if err != nil {
			b.Fatal(err)
		}
		loaded = heap() - before
		runtime.KeepAlive(w)
		runtime.KeepAlive(v)
	}
	b.ReportMetric(float64(applied)/jobs, "applied-B/job")
	b.ReportMetric(float64(loaded)/jobs, "loaded-B/job")
}

// manyJobs has jobs of one task each on three members, all alike or each with a definition of its own. Entries are decoded, as those of a log are.
func manyJobs(b *testing.B, jobs int, alike bool) *bench {
	b.Helper()
	w := &bench{b: b}
	for i := range 3 {
		w.join(MemberID(fmt.Sprintf("m%03d", i)))
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
		if err != nil {
			b.Fatal(err)
		}
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

// BenchmarkLeaveJoin is one entry that takes a member away, and the two that bring one in, at 1,000 members and 100,000 partitions: the plan, all the
// records that change, and the digest.
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
			w.join("member-0500a")
		}
	})
}

// BenchmarkDeath is what a survivor does with the entry that removes one of three members that have 100,000 jobs of one task each: what it applies, and
// what it derives of it for itself.
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
	task := TaskSpec{Name: "x", Type: "http", Selector: []Label{{"zone", "a"}}, Definition: []byte(`{"every_ms":60000}`)}
	large := []Command{SubmitJob{Job: "job-1", Spec: JobSpec{Source: "files", Version: "1", Tasks: []TaskSpec{task, task}}}, PrepareJoin{Member: "a", Slots: 4, Heartbeat: "pulse/a/1"}}
	for name, commands := range map[string][]Command{"small": small, "large": large} {
		e := Entry{Index: 1001, Writer: "0123456789abcdef", Seq: 17, AtMS: 1_700_000_000_000, BaseIndex: 1000, BaseChain: 1 << 60, Commands: commands}
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
				if _, err := DecodeEntry(1001, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
