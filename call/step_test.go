package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// history is what the test remembers of one call, beside its record.
type history struct {
	ends      int
	cancelled bool
}

func drawEvent(t *rapid.T, r Record) event {
	switch rapid.IntRange(0, 5).Draw(t, "event") {
	case 0:
		return finish{Result: json.RawMessage("1")}
	case 1:
		return fail{ID: "q/p/000", Error: "no", TimedOut: rapid.Bool().Draw(t, "late"),
			Final: rapid.Bool().Draw(t, "final")}
	case 2:
		return release{}
	case 3:
		return requestCancel{}
	}
	return claim{By: Runner{Member: "m", Incarnation: 3, Nonce: "n"}, Unbegun: r.State == Running &&
		rapid.Bool().Draw(t, "unbegun")}
}

func TestStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 4).Draw(t, "attempts")
		r := Record{Format: format, Function: "f", Arg: json.RawMessage("7"), State: Queued,
			Limits: Limits{Attempts: limit, BackoffMS: rapid.Int64Range(0, 9).Draw(t, "backoff"), MaxBackoffMS: 20}}
		if rapid.Bool().Draw(t, "handler") {
			r.OnFailure = &Handler{Function: "h", Limits: Limits{Attempts: 2}}
		}
		h := history{}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			e := drawEvent(t, r)
			next, ok := step(r, "q/p/000", e)
			if !ok {
				if !reflect.DeepEqual(r, next) {
					t.Fatalf("%+v changed %+v to %+v and says that it did not", e, r, next)
				}
				continue
			}
			h.see(t, r, next, e)
			r = next
		}
	})
}

// see checks one step.
func (h *history) see(t *rapid.T, old, now Record, e event) {
	if old.State.Final() {
		t.Fatalf("%+v changed the final %+v", e, old)
	}
	before, had := old.Ended()
	after, has := now.Ended()
	if had && (!has || !reflect.DeepEqual(before, after)) {
		t.Fatalf("the outcome %+v became %+v", before, after)
	}
	if !had && has {
		h.ends++
	}
	if now.Token < old.Token || now.State == Running && old.State != Running && now.Token != old.Token+1 {
		t.Fatalf("token %d became %d", old.Token, now.Token)
	}
	if now.Attempt < 0 || now.Attempt > now.Limits.Attempts {
		t.Fatalf("attempt %d of %d", now.Attempt, now.Limits.Attempts)
	}
	if _, ok := e.(requestCancel); ok && !had {
		h.cancelled = true
	}
	if h.cancelled && h.ends > 0 && (after.State == Failed || now.Function == "h") {
		t.Fatalf("a cancelled call ended as %+v", now)
	}
	if now.State == Failed && old.OnFailure != nil && old.Outcome == nil {
		t.Fatalf("the handler was left out: %+v", now)
	}
	if _, lost := e.(claim); lost && has && !had && !old.Cancel && old.Attempt < old.Limits.Attempts {
		t.Fatalf("a runner was lost and %d attempts are left, but it ended: %+v", old.Limits.Attempts-old.Attempt, now)
	}
	body := must.Get(now.encode())(t)
	back, err := decode(body)
	again, err2 := back.encode()
	if err != nil || err2 != nil || !bytes.Equal(body, again) {
		t.Fatalf("%s came back as %s, %v", body, again, err)
	}
}

func TestAttemptsAndBackoff(t *testing.T) {
	t.Parallel()
	r := Record{Function: "f", State: Queued, Limits: Limits{Attempts: 5, BackoffMS: 100, MaxBackoffMS: 350},
		OnFailure: &Handler{Function: "h", Limits: Limits{Attempts: 1}}}
	claim := claim{By: Runner{Member: "m", Incarnation: 9, Nonce: "n"}}
	do := func(e event) {
		t.Helper()
		next, ok := step(r, "q/p/001", e)
		if !ok {
			t.Fatalf("%+v does nothing to %+v", e, r)
		}
		r = next
	}
	var rests []int64
	for range 4 {
		do(claim)
		do(release{}) // uses up nothing
		do(claim)
		do(fail{Error: "no"})
		rests = append(rests, r.BackoffMS)
	}
	if want := []int64{100, 200, 350, 350}; !reflect.DeepEqual(rests, want) {
		t.Errorf("it rests %v, want %v", rests, want)
	}
	do(claim)
	do(claim) // its runner is gone: that was the fifth attempt
	out, ended := r.Ended()
	if !ended || out.State != Failed || out.Attempts != 5 || out.Error != "member m was lost during attempt 5" ||
		r.Function != "h" || r.State != Queued || r.Token != 9 {
		t.Errorf("got %+v", r)
	}
	var f Failure
	if err := json.Unmarshal(r.Arg, &f); err != nil || f.Call != "q/p/001" || f.Function != "f" || f.Attempts != 5 ||
		f.Member != "m" {
		t.Errorf("the handler gets %+v, %v", f, err)
	}
	do(claim)
	do(finish{Result: json.RawMessage("0")})
	if again, _ := r.Ended(); !reflect.DeepEqual(out, again) || r.State != Done {
		t.Errorf("the handler changed the outcome to %+v", again)
	}
}

// TestWhatBecomesOfARun: of its call, at its end.
func TestWhatBecomesOfARun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before Record
		e      event
		want   State
	}{
		"cancelled, and its runner is lost": {Record{Cancel: true}, claim{}, Cancelled},
		"cancelled, and its member leaves":  {Record{Cancel: true}, release{}, Cancelled},
		"failed for good":                   {Record{}, fail{Error: "no", Final: true}, Failed},
		"failed":                            {Record{}, fail{Error: "no"}, Queued},
		"done at last":                      {Record{Error: "no", TimedOut: true}, finish{}, Done},
	} {
		r := c.before
		r.State, r.Attempt, r.Limits, r.Runner = Running, 1, Limits{Attempts: 3}, &Runner{}
		if r, _ = step(r, "id", c.e); r.State != c.want || r.State == Done && (r.Error != "" || r.TimedOut) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	gone := errors.New("gone")
	for name, c := range map[string]struct {
		way  way
		want event
	}{
		"well in its last moment": {way{timedOut: true}, finish{}},
		"handed back":             {way{err: gone, handed: true}, release{}},
		"neither":                 {way{err: gone}, fail{ID: "id", Error: "gone"}},
	} {
		if got := c.way.event("id", Limits{}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	mine, theirs := stored{Record: Record{Runner: &Runner{Nonce: "n"}}},
		stored{Record: Record{Runner: &Runner{Nonce: "o"}}}
	wish := mine
	wish.Cancel = true
	for name, c := range map[string]struct {
		now   got
		began bool
		want  error
	}{
		"its own":      {got{call: mine}, true, nil},
		"cancelled":    {got{call: wish}, true, CauseCancelled},
		"replaced":     {got{call: theirs}, true, CauseReplaced},
		"not yet its":  {got{call: theirs}, false, nil},
		"gone":         {got{err: store.ErrNotFound}, true, CauseReplaced},
		"not answered": {got{err: store.ErrUnavailable}, true, nil},
	} {
		if err := interrupts(c.now, "n", c.began); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if e, ok := (way{result: json.RawMessage("12")}).event("id", Limits{ResultBytes: 1}).(fail); !ok || !e.Final {
		t.Errorf("a result that is too large: %+v", e)
	}
}

// TestWhatBecomesOfAPage: one with calls is kept until nobody has collected them for long, and so is a call that may
// still be claimed.
func TestWhatBecomesOfAPage(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration][2]fate{0: {stay, stay}, pageRest: {abandoned, stay},
		2 * pageRest: {abandoned, expired}} {
		for calls, want := range want {
			if got := fateOf(sight{sum: 1, since: 1}, true, sight{1, protocol.Instant(1).Add(age)}, calls,
				2*pageRest); got != want {
				t.Errorf("%d calls after %s: %d, want %d", calls, age, got, want)
			}
		}
	}
	if expires(Record{State: Queued}, 1, []int{2}) || !expires(Record{State: Queued}, 2, []int{2}) ||
		!expires(Record{State: Done}, 1, nil) {
		t.Error("a call expires that waits, or one does not that was given up or has ended")
	}
	if (pageUse{used: pageSize - 1}).full(1) || !(pageUse{used: pageSize}).full(1) {
		t.Error("a page has one place more or less than its size")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"f":"x","state":"queued","limits":{"attempts":1,"result_bytes":9}}`))
	f.Add([]byte(`{"v":1,"state":"running"}`))
	f.Add([]byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode(b)
		if err != nil {
			return
		}
		for _, e := range []event{claim{By: Runner{Member: "m"}}, finish{}, fail{Error: "no"}, release{},
			requestCancel{}} {
			next, _ := step(r, "q/p/000", e)
			if body, err := next.encode(); err == nil {
				if _, err := decode(body); err != nil {
					t.Errorf("%T of %s gives %s: %v", e, b, body, err)
				}
			}
		}
	})
}

func FuzzParseID(f *testing.F) {
	f.Add("caller/5f0c19aa-000001/007")
	f.Add("a/b/-1")
	f.Add("a/../000")
	f.Fuzz(func(t *testing.T, id string) {
		if p, err := parseID(id); err == nil && p.id() != id {
			t.Errorf("%q is read as %+v", id, p)
		}
	})
}

// TestAnErrorIsBounded: whatever a function returns as an error, the document stays small enough for every store.
func TestAnErrorIsBounded(t *testing.T) {
	t.Parallel()
	long := errors.New(strings.Repeat("x", 1<<20))
	if cut, ok := (&way{err: errors.New("x" + strings.Repeat("ü", 1<<20))}).event("id", Limits{}).(fail); !ok ||
		cut.Error != "x"+strings.Repeat("ü", 2047)+"…" {
		t.Errorf("an error that is cut inside a character ends in %q", cut.Error[4090:])
	}
	for name, end := range map[string]way{"failed": {err: long}, "timed out": {err: long, timedOut: true}} {
		fail, ok := end.event("id", Limits{TimeoutMS: 5}).(fail)
		if !ok || len(fail.Error) < 4<<10 || len(fail.Error) > 5<<10 {
			t.Errorf("%s: an error of %d bytes, want about 4 KiB", name, len(fail.Error))
		}
	}
}

// TestShortDurationsAreKept: what is shorter than a millisecond becomes one; it does not become the default, or no
// bound at all.
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
