package nats

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/store"
)

// TestAShorterLogIsBelievedLate reads a log whose end moves back and forth, once every ten seconds, after the index 100 was seen.
func TestAShorterLogIsBelievedLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		answers  []uint64
		believed []bool
	}{
		{"it grows", []uint64{100, 101, 105}, []bool{true, true, true}},
		{"an old leader answers for a while", []uint64{90, 95, 101, 99}, []bool{false, false, true, false}},
		{"now and then an old leader answers", []uint64{90, 100, 90, 100, 90, 100}, []bool{false, true, false, true, false, true}},
		{"the end is lost", []uint64{90, 90, 90, 90, 91}, []bool{false, false, false, true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &bucket{wire: &wire{replicas: 3}}
				s.head.reached(100)
				for i, answer := range c.answers {
					switch err := s.believe(answer); {
					case c.believed[i] && err != nil:
						t.Errorf("answer %d, %d: %v, want it believed", i, answer, err)
					case !c.believed[i] && !errors.Is(err, store.ErrUnavailable):
						t.Errorf("answer %d, %d: error %v, want ErrUnavailable", i, answer, err)
					}
					time.Sleep(10 * time.Second)
				}
			})
		})
	}
}

func TestWhatAShorterLogLacks(t *testing.T) {
	t.Parallel()
	var h head
	h.reached(100)
	if lacks, old := h.lacks(90, time.Now()); !old || lacks != 10 {
		t.Errorf("90 of 100 lacks %d, %v; want 10", lacks, old)
	}
}

// TestALoneServerIsBelieved since no other one can have more.
func TestALoneServerIsBelieved(t *testing.T) {
	t.Parallel()
	s := &bucket{wire: &wire{replicas: 1}}
	s.head.reached(100)
	if err := s.believe(90); err != nil {
		t.Error(err)
	}
}
