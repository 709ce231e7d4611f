package heartbeat_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/store"
)

// What a watcher writes of a silence can be read back, and what it cannot know is said to be unknown.
func TestReasonTellsOfTheSilence(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Second
	read := func(versions ...string) heartbeat.Observation { // one each second
		o := heartbeat.Observation{Key: "p"}
		for i, v := range versions {
			o = o.Read(store.Version(v), limit, at(time.Duration(i+1)*time.Second), at(time.Duration(i+1)*time.Second))
		}
		return o
	}
	for want, c := range map[string]struct {
		o       heartbeat.Observation
		silence time.Duration
		known   bool
	}{
		"found":                      {read("1", "2", ""), 0, true}, // it went with its process
		"found, for an unknown time": {read("", ""), 0, false},
		"found, silent for 3000 ms":  {read("1", "2", "2", "2", "2"), 3 * time.Second, true},
		"found, silent for 8000 ms":  {read("1", "1", "1", "1", "1", "1", "1", "1", ""), 8 * time.Second, true}, // its session ended for its silence
	} {
		if got := c.o.Reason("found", limit); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if silence, known := heartbeat.SilenceIn("a left: " + want); silence != c.silence || known != c.known {
			t.Errorf("%s: read back as %s, %t", want, silence, known)
		}
	}
	if silence, known := heartbeat.SilenceIn("a left: left gracefully"); silence != 0 || !known {
		t.Errorf("in order: %s, %t", silence, known)
	}
}
