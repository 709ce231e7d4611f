package cluster

import (
	"fmt"
	"testing"
)

// manyJobs is a value with three members and n jobs of one task, as a directory of task files makes them.
func manyJobs(b *testing.B, n int) Value {
	b.Helper()
	w := &bench{b: b}
	for i := range 3 {
		w.join(MemberID(fmt.Sprintf("m%03d", i)))
	}
	const atOnce = 2_000
	for first := 0; first < n; first += atOnce {
		var commands []Command
		for i := first; i < min(n, first+atOnce); i++ {
			commands = append(commands, SubmitJob{Job: JobID(fmt.Sprintf("check-%06d", i)), Spec: JobSpec{
				Source: "files", Version: fmt.Sprintf("%016x", i),
				Tasks: []TaskSpec{{Type: "noop", Spread: SpreadSingle, Definition: []byte(`{"every":"1m0s"}`)}},
			}})
		}
		w.write(commands...)
	}
	return w.v
}

// BenchmarkDecodeSnapshot is what each look at the cluster begins with: 100,000 jobs of one task.
func BenchmarkDecodeSnapshot(b *testing.B) {
	data := manyJobs(b, 100_000).Snapshot()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, err := DecodeSnapshot(data); err != nil {
			b.Fatal(err)
		}
	}
}
