package cluster

import "testing"

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
		if _, err := DecodeSnapshot(data); err != nil {
			b.Fatal(err)
		}
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
