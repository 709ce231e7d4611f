package call

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestAnErrorIsBounded: whatever a function returns as an error, the document stays small enough for every store.
func TestAnErrorIsBounded(t *testing.T) {
	t.Parallel()
	long := errors.New(strings.Repeat("x", 1<<20))
	if cut, ok := (&way{err: errors.New("x" + strings.Repeat("ü", 1<<20))}).event("id", Limits{}).(Fail); !ok || cut.Error != "x"+strings.Repeat("ü", 2047)+"…" {
		t.Errorf("an error that is cut inside a character ends in %q", cut.Error[4090:])
	}
	for name, end := range map[string]way{"failed": {err: long}, "timed out": {err: long, timedOut: true}} {
		fail, ok := end.event("id", Limits{TimeoutMS: 5}).(Fail)
		if !ok || len(fail.Error) < 4<<10 || len(fail.Error) > 5<<10 {
			t.Errorf("%s: an error of %d bytes, want about 4 KiB", name, len(fail.Error))
		}
	}
}

// TestShortDurationsAreKept: what is shorter than a millisecond becomes one; it does not become the default, or no bound at all.
func TestShortDurationsAreKept(t *testing.T) {
	t.Parallel()
	l := Options{Timeout: time.Microsecond, Backoff: time.Microsecond, MaxBackoff: time.Microsecond}.limits()
	if l.TimeoutMS != 1 || l.BackoffMS != 1 || l.MaxBackoffMS != 1 {
		t.Errorf("got %+v, want 1 ms each", l)
	}
	if l := (Options{Backoff: -1}).limits(); l.BackoffMS != 0 {
		t.Errorf("a negative back-off: %+v, want none", l)
	}
	if l := (Options{}).limits(); l.TimeoutMS != 0 || l.BackoffMS != 1000 || l.MaxBackoffMS != 60_000 {
		t.Errorf("the defaults: %+v", l)
	}
}
