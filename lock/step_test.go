package lock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

func entries(from, n int) []entry {
	var out []entry
	for i := range n {
		out = append(out, entry{ID: fmt.Sprint("id", from+i), Heartbeat: fmt.Sprint("pulse", from+i), TTLMS: 1000})
	}
	return out
}

// TestNewerReadsCount: of what two claims have observed the later reads stay, and what was not read for long goes.
func TestNewerReadsCount(t *testing.T) {
	t.Parallel()
	read := func(key string, sent protocol.Instant) heartbeat.Observation {
		return heartbeat.Observation{Key: key}.Read("1", time.Second, sent, sent)
	}
	first := heartbeat.Observations{read("a", 1), read("b", 1)}
	second := heartbeat.Observations{read("a", 1), read("b", 3), read("c", 2)}
	for name, got := range map[string]heartbeat.Observations{"the other's": newer(first, second, 0),
		"its own": newer(second, first, 0)} { // order-free: each alone
		if !slices.Equal(got, second) {
			t.Errorf("%s are newer: %+v", name, got)
		}
	}
	if got := newer(second, nil, 2); !slices.Equal(got, second[1:]) || len(second) != 3 || second[0].Key != "a" {
		t.Errorf("since 2: %+v of %+v", got, second)
	}
}

// TestTableProperties: whatever comes and goes, nobody is lost or there twice, no place is empty while somebody waits,
// the line keeps its order, tokens grow, and no change touches the table that it was made from.
func TestTableProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := table{Format: format, Size: rapid.IntRange(1, 3).Draw(t, "size")}
		var present []string
		for n := range rapid.IntRange(1, 30).Draw(t, "steps") {
			before, text := now, fmt.Sprintf("%+v", now)
			if len(present) > 0 && rapid.Bool().Draw(t, "leave") {
				i := rapid.IntRange(0, len(present)-1).Draw(t, "who")
				now = now.without(present[i])
				present = slices.Delete(slices.Clone(present), i, i+1)
			} else {
				e := entries(n, 1)[0]
				now = now.with(e)
				present = append(present, e.ID)
			}
			if got := fmt.Sprintf("%+v", before); got != text {
				t.Fatalf("the table was changed:\n%s\n%s", text, got)
			}
			wantTable(t, now, present)
			if now.Token < before.Token {
				t.Fatalf("token %d after %d", now.Token, before.Token)
			}
			data := must.Get(now.encode())(t)
			if back, err := decodeTable(data); err != nil || fmt.Sprintf("%+v", back) != fmt.Sprintf("%+v", now) {
				t.Fatalf("read back: %+v, %v", back, err)
			}
		}
	})
}

func wantTable(t *rapid.T, now table, present []string) {
	var ids []string
	for _, e := range slices.Concat(now.Holders, now.Waiters) {
		ids = append(ids, e.ID)
	}
	if !slices.Equal(ids, present) { // who comes is put behind all others, so the order is that of coming
		t.Fatalf("%q are there, want %q", ids, present)
	}
	if err := now.check(); err != nil && len(present) > 0 {
		t.Fatal(err)
	}
	last := now.Token
	for i, e := range slices.Backward(now.Holders) {
		if e.Token == 0 || e.Token > last || i < len(now.Holders)-1 && e.Token == last {
			t.Fatalf("tokens %+v", now.Holders)
		}
		last = e.Token
	}
}

// TestSilence: a heartbeat is never dead for others while the lease of its process is valid, whatever the TTL and
// whenever they look, also where their clocks run at rates that differ by drift.
func TestSilence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ttl := time.Duration(rapid.Int64Range(int64(minTTL), int64(maxTTL)).Draw(t, "ttl"))
		rate := rapid.Int64Range(1000-drift/2, 1000+drift/2).Draw(t, "rate of the others, in thousandths")
		sent := protocol.Instant(1)
		o, valid := heartbeat.Observation{Key: "p"}, timing(ttl).Valid()
		for at := sent.Add(time.Duration(rapid.Int64Range(0, int64(ttl)).Draw(t, "first look"))); ; {
			theirs := protocol.Instant(int64(at/1000) * rate)
			if o = o.Read("v", 0, theirs, theirs); o.Dead(silenceOf(ttl)) {
				if at < sent.Add(valid) {
					t.Fatalf("dead after %v, valid for %v", at.Sub(sent), valid)
				}
				return
			}
			at = at.Add(time.Duration(rapid.Int64Range(1, int64(ttl)).Draw(t, "pause")))
		}
	})
}

func FuzzDecodeTable(f *testing.F) {
	for _, text := range []string{
		`{"format":1,"size":1,"token":2,"writes":3,"holders":[{"id":"a","pulse":"p","ttl_ms":1000,"token":2}],"waiters":[{"id":"b","pulse":"q","ttl_ms":1}]}`,
		`{"format":1,"size":2,"token":0,"writes":1}`, `{"format":2}`, `{`, `{}{}`, ``,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		was, err := decodeTable(data)
		if err != nil {
			return
		}
		again := must.Get(was.encode())(t)
		if _, err := decodeTable(again); err != nil {
			t.Fatalf("%s is read, and what is written of it is not: %v", data, err)
		}
		if next := was.with(entry{ID: "fresh", Heartbeat: "p", TTLMS: 1}); len(next.Waiters) <= maxWaiting &&
			!was.has("fresh") {
			if err := next.check(); err != nil && err.Error() != "" && len(was.Holders) <= was.Size {
				t.Fatalf("with one more: %v", err)
			}
		}
	})
}

// TestStrays: what was silent for long is removed, and nothing else.
func TestStrays(t *testing.T) {
	t.Parallel()
	c := &Client{}
	text := []byte(`{"ttl_ms":1000}`)
	docs := []store.Doc{{Key: "a", Version: "1", Value: text}, {Key: "b", Version: "1", Value: text},
		{Key: "c", Version: "1", Value: []byte("?")}}
	if got := c.strays(docs, 1); len(got) != 0 {
		t.Errorf("at first sight: %v", got)
	}
	if got := c.strays(docs, protocol.Instant(2*time.Second)); len(got) != 0 {
		t.Errorf("after two TTLs: %v", got)
	}
	docs[1].Version = "2"
	got := c.strays(docs, protocol.Instant(10*time.Second))
	if len(got) != 1 || got[0].Key != "a" {
		t.Errorf("after ten TTLs: %v", got)
	}
}

// TestTheLineIsBounded: with 1,000 claims in the line another one is refused and writes nothing, so the document never
// becomes one that all would count as damaged; with one claim less it may still come in.
func TestTheLineIsBounded(t *testing.T) {
	t.Parallel()
	full := table{Format: format, Size: 1}
	for _, e := range entries(0, 1+maxWaiting) { // one holds it
		full = full.with(e)
	}
	me := entry{ID: "me", Heartbeat: "p", TTLMS: 1000}
	enter := func(now table) effect {
		c := claim{terms: terms{me: me, size: 1, pause: time.Second}}
		_, fx := c.step(tableRead{now: 1, table: now, version: "1"})
		return fx
	}
	if err := full.check(); err != nil {
		t.Fatalf("a full line: %v", err)
	}
	if end, ok := enter(full).(left); !ok || !errors.Is(end.err, ErrCrowded) {
		t.Errorf("a claim at a full line: %#v, want %v", enter(full), ErrCrowded)
	}
	w, ok := enter(full.without("id500")).(writeTable)
	if !ok || len(w.table.Waiters) != maxWaiting || w.table.check() != nil {
		t.Errorf("a claim at a line with one place: %d wait, %v", len(w.table.Waiters), w.table.check())
	}
}

// TestAHeartbeatThatIsFoundIsOurs: a look at a heartbeat in doubt makes it known, after which its absence ends the
// lease; before, absence means that it was not written.
func TestAHeartbeatThatIsFoundIsOurs(t *testing.T) {
	t.Parallel()
	l := life{ttl: 10 * time.Second}
	l, _ = l.step(lifeWoken{now: 1})
	l, _ = l.step(beaten{now: 1, outcome: unknown})
	if again, fx := l.step(felt{now: 2, failed: true}); !again.doubt || fx != (rest{again.Next}) ||
		again.Next != l.now.Add(l.retry())+1 {
		t.Errorf("a look without an answer: %+v, %+v", again, fx)
	}
	if l, _ = l.step(felt{now: 2}); l.over {
		t.Error("a heartbeat that was never written has ended the lease")
	}
	if l, _ = l.step(felt{now: 3, version: "7"}); l.over || l.version != "7" {
		t.Errorf("version %q, over %v", l.version, l.over)
	}
	if l, _ = l.step(felt{now: 4}); !l.over {
		t.Error("a heartbeat that has gone has not ended the lease")
	}
}

// TestPlacesOfASemaphore: as text, as many places are read as can be written, and each change of a table counts.
func TestPlacesOfASemaphore(t *testing.T) {
	t.Parallel()
	for n, good := range map[int]bool{0: false, 1: true, maxSize: true, maxSize + 1: false} {
		if err := (Semaphore{name: "a", size: n}).checkText(); (err == nil) != good {
			t.Errorf("%d places: %v", n, err)
		}
	}
	if now := (table{Writes: 3}).touched(); now.Writes != 4 || now.Format != format {
		t.Errorf("a table that was touched: %+v", now)
	}
}

// TestBounds: of what a client is told, and of what it reads.
func TestBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxText)
	for _, c := range []struct {
		o    Options
		good bool
	}{
		{Options{TTL: minTTL}, true}, {Options{TTL: minTTL - 1}, false}, {Options{TTL: maxTTL}, true},
		{Options{TTL: maxTTL + 1}, false},
		{Options{TTL: minTTL, Owner: long}, true}, {Options{TTL: minTTL, Owner: long + "x"}, false},
	} {
		if err := c.o.validate(); (err == nil) != c.good {
			t.Errorf("TTL %s, an owner of %d bytes: %v", c.o.TTL, len(c.o.Owner), err)
		}
	}
	one := func(id string, token int, ttl time.Duration) string {
		return fmt.Sprintf(`{"id":%q,"pulse":"p","token":%d,"ttl_ms":%d}`, id, token, ttl.Milliseconds())
	}
	for text, good := range map[string]bool{
		one("a", 1, maxTTL) + "," + one("b", 2, minTTL):                             true,
		one("a", 1, maxTTL+time.Millisecond):                                        false,
		one("a", 2, minTTL) + "," + one("b", 2, minTTL):                             false, // one token twice
		one("a", 1, minTTL) + "," + one("a", 2, minTTL):                             false,
		one("a", 1, minTTL) + "," + one("b", 2, minTTL) + "," + one("c", 3, minTTL): false, // on two places
		one("a", 1, minTTL) + `],"waiters":[` + one("c", 0, minTTL):                 false, // a place is free
		one("a", 4, minTTL):                     false, // newer than the newest
		one("a", 1, minTTL) + `]}{"holders":[1`: false, // more behind the end
	} {
		if _, err := decodeTable([]byte(`{"format":1,"size":2,"token":3,"writes":1,"holders":[` + text +
			"]}")); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A new claim gets the lock at once where a place is free and nobody waits before it.
func TestWhenATableIsFree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size, holders, waiters int
		free, idle             bool
	}{
		{0, 0, 0, true, true}, {1, 0, 0, true, true}, {1, 1, 0, false, false}, {2, 1, 0, true, false},
		{2, 1, 1, false, false}, {2, 2, 0, false, false}, {2, 0, 1, false, false},
	} {
		table := table{Size: c.size, Holders: make([]entry, c.holders), Waiters: make([]entry, c.waiters)}
		if table.free() != c.free || table.idle() != c.idle {
			t.Errorf("%+v: free %t, idle %t", c, table.free(), table.idle())
		}
	}
	if got := (life{ttl: 3 * time.Second}).retry(); got != 100*time.Millisecond {
		t.Errorf("it tries again after %s of a TTL of 3 s", got)
	}
}

// TestWhatAClaimDoesNext: what a claim of one place in two asks of the store, by what it was answered. The holders are
// id0 and id1, and its pause is 1 s.
func TestWhatAClaimDoesNext(t *testing.T) {
	t.Parallel()
	me := entry{ID: "me", Heartbeat: "p", TTLMS: 1000}
	taken := table{Format: format, Size: 2}
	for _, e := range entries(0, 2) {
		taken = taken.with(e)
	}
	behind := func(n int) table {
		now := taken
		for _, e := range append(entries(2, n), me) {
			now = now.with(e)
		}
		return now
	}
	const at = protocol.Instant(time.Hour)
	read := func(now table) event { return tableRead{now: at, table: now, version: "1"} }
	seen := func(key string, v store.Version) event { return heartbeatSeen{now: at, sent: at, key: key, version: v} }
	for name, c := range map[string]struct {
		try    bool
		events []event
		want   string
	}{
		"a try while the store is away": {true, []event{tableRead{now: at, err: store.ErrUnavailable}}, "left"},
		"a try where one of two is dead": {true, []event{read(taken), seen("pulse0", ""), seen("pulse1", "1")},
			"look pulse0, look pulse1, write [id1]"},
		"a try where none is dead": {true, []event{read(taken), seen("pulse0", "1"), seen("pulse1", "1")},
			"look pulse0, look pulse1, left"},
		"a write in doubt": {false, []event{read(table{}), tableWritten{now: at, outcome: unknown}},
			"write [me], wait 100ms"},
		"a hint of a holder": {false, []event{read(behind(0)), seen("pulse0", "1"), seen("pulse1", "1"),
			hinted{at, "pulse1"}},
			"look pulse0, look pulse1, wait 1s, look pulse1"},
		"taken out of the line by somebody": {false, []event{read(behind(0)), seen("pulse0", "1"), seen("pulse1", "1"),
			hinted{at, ""}, read(taken)},
			"look pulse0, look pulse1, wait 1s, read, write [id0 id1]"},
		"far behind": {false, []event{read(behind(8)), seen("pulse0", "1"), seen("pulse1", "1"), seen("pulse9", "1")},
			"look pulse0, look pulse1, look pulse9, wait 1.1s"},
	} {
		s := claim{terms: terms{me: me, size: 2, try: c.try, pause: time.Second}}
		var did []string
		for _, ev := range c.events {
			var fx effect
			s, fx = s.step(ev)
			did = append(did, showEffect(fx, ev.at()))
		}
		if got := strings.Join(did, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestOutcomes: what a store's error says of a change. A table that somebody has removed was not current either.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]outcome{
		nil: done, store.ErrConflict: refused, store.ErrNotFound: refused, store.ErrUnknown: unknown,
		store.ErrUnavailable: notDone,
		store.ErrTooLarge:    notDone, store.ErrSession: ended, store.ErrClosed: ended,
		errors.Join(store.ErrUnknown, store.ErrClosed): unknown,
	} {
		if got := outcomeOf(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

func showEffect(fx effect, now protocol.Instant) string {
	switch fx := fx.(type) {
	case readTable:
		return "read"
	case left:
		return "left"
	case lookHeartbeat:
		return "look " + fx.key
	case wait:
		return fmt.Sprint("wait ", fx.until.Sub(now))
	case writeTable:
		var ids []string
		for _, e := range fx.table.Holders {
			ids = append(ids, e.ID)
		}
		return fmt.Sprintf("write %v", ids)
	}
	return fmt.Sprintf("%T", fx)
}
