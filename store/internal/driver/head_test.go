package driver

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/store"
)

// TestAShorterLogIsBelievedLate reads a log whose end moves back and forth, once every ten seconds, after the index 100
// was seen.
func TestAShorterLogIsBelievedLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		answers  []uint64
		believed []bool
	}{
		{"it grows", []uint64{100, 101, 105}, []bool{true, true, true}},
		{"an old leader answers for a while", []uint64{90, 95, 101, 99}, []bool{false, false, true, false}},
		{"now and then an old leader answers", []uint64{90, 100, 90, 100, 90, 100},
			[]bool{false, true, false, true, false, true}},
		{"the end is lost", []uint64{90, 90, 90, 90, 91}, []bool{false, false, false, true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h Head
				h.Reached(100)
				h.Reached(7) // nothing new
				for i, answer := range c.answers {
					switch err := h.Believe(answer); {
					case c.believed[i] && err != nil:
						t.Errorf("answer %d, %d: %v, want it believed", i, answer, err)
					case !c.believed[i] && !errors.Is(err, store.ErrUnavailable):
						t.Errorf("answer %d, %d: error %v, want ErrUnavailable", i, answer, err)
					case answer == 90 && err != nil && !strings.Contains(err.Error(), "lacks 1"):
						t.Errorf("answer %d, %d: %v does not say how many records are missing", i, answer, err)
					}
					time.Sleep(10 * time.Second)
				}
			})
		})
	}
}
