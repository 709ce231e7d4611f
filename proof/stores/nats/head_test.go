package nats_test

import (
	. "github.com/rota-run/rota/store/nats"
	"testing"
	"time"
)

func TestAShorterLogIsBelievedLate(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, c := range []struct {
		name    string
		answers []uint64 // one every ten seconds, after 100 was seen
		lacks   []uint64 // 0: believed
	}{
		{"it grows", []uint64{100, 101, 105}, []uint64{0, 0, 0}},
		{"an old leader answers for a while", []uint64{90, 95, 101, 99}, []uint64{10, 5, 0, 2}},
		{"now and then an old leader answers", []uint64{90, 100, 90, 100, 90, 100}, []uint64{10, 0, 10, 0, 10, 0}},
		{"the end is lost", []uint64{90, 90, 90, 90, 91}, []uint64{10, 10, 10, 0, 0}},
	} {
		var h head
		h.reached(100)
		for i, answer := range c.answers {
			lacks, old := h.lacks(answer, start.Add(time.Duration(i)*10*time.Second))
			if lacks != c.lacks[i] || old != (lacks > 0) {
				t.Errorf("%s: answer %d of %d lacks %d (%v), want %d", c.name, i, answer, lacks, old, c.lacks[i])
			}
		}
	}
}
