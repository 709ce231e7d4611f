package cluster

import (
	"fmt"
	"testing"
)

// manyJobs is a value with three members and n jobs of one task, as a directory of task files makes them: all alike, or each with a definition of its own.
func manyJobs(b *testing.B, n int, alike bool) Value {
	b.Helper()
	w := &bench{b: b}
	for i := range 3 {
		w.join(MemberID(fmt.Sprintf("m%03d", i)))
	}
	const atOnce = 2_000
	for first := 0; first < n; first += atOnce {
		var commands []Command
		for i := first; i < min(n, first+atOnce); i++ {
			definition := `{"every_ms":60000}`
			if !alike {
				definition = fmt.Sprintf(`{"every_ms":%d}`, 60_000+i)
			}
			commands = append(commands, SubmitJob{Job: JobID(fmt.Sprintf("check-%06d", i)), Spec: JobSpec{
				Source: "files", Tasks: []TaskSpec{{Type: "noop", Definition: []byte(definition)}},
			}})
		}
		w.write(commands...)
	}
	return w.v
}

// BenchmarkDecodeSnapshot is what each look at the cluster begins with: 100,000 jobs of one task.
func BenchmarkDecodeSnapshot(b *testing.B) {
	b.Run("alike", func(b *testing.B) { benchmarkDecodeSnapshot(b, true) })
	b.Run("different", func(b *testing.B) { benchmarkDecodeSnapshot(b, false) })
}

func benchmarkDecodeSnapshot(b *testing.B, alike bool) {
	data := manyJobs(b, 100_000, alike).Snapshot()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if _, err := DecodeSnapshot(data); err != nil {
			b.Fatal(err)
		}
	}
}
