package drivertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

func swapCompares(t *testing.T, b *bench) {
	d := b.setup.Open(t)()
	first := b.op("k", "x", "")
	v := b.swap(t, d, first)
	b.holds(t, d, first)
	b.conflict(t, d, b.op("k", "y", ""))
	b.conflict(t, d, b.op("k", "y", "no such version\x00\xff"))
	b.conflict(t, d, b.op("other", "y", v))
	second := b.op("k", "y", v)
	b.swap(t, d, second)
	b.holds(t, d, second)
	third := b.op("k", "z", v)
	b.conflict(t, d, third)
	third.Value, third.Delete = nil, true
	b.conflict(t, d, third)
}

// versionsNeverComeBack writes the same bytes again, and deletes and creates; all versions differ, and none but the
// last is taken.
func versionsNeverComeBack(t *testing.T, b *bench) {
	d := b.setup.Open(t)()
	seen := map[driver.Version]bool{"": true}
	var v driver.Version
	for i, value := range []string{"x", "y", "x", "x", "", "x", "y", "x"} {
		o := b.op("k", value, v)
		o.Delete = value == ""
		v = b.swap(t, d, o)
		if seen[v] && !o.Delete {
			t.Fatalf("write %d gave version %q, which was there before", i, v)
		}
		for old := range seen { // order-free: each is refused
			if old != v {
				b.conflict(t, d, b.op("k", "late", old))
			}
		}
		seen[v] = true
	}
}

// race lets a writer go on until the reader has looked a hundred times.
func (b *bench) race(t *testing.T, write func(d driver.Documents, n int) error, look func(d driver.Documents)) {
	t.Helper()
	open := b.setup.Open(t)
	var enough atomic.Bool
	failed, d := make(chan error, 1), open()
	go func() {
		for n := 1; !enough.Load(); n++ {
			if err := write(d, n); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	reader := open()
	for range 100 {
		look(reader)
	}
	enough.Store(true)
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

// raise is a writer that raises keys one after the other.
func (b *bench) raise(keys ...string) func(d driver.Documents, n int) error {
	at := map[string]driver.Version{}
	return func(d driver.Documents, n int) (err error) {
		for _, key := range keys {
			op := driver.Op{Key: key, Name: fmt.Sprint(key, n), If: at[key], Value: fmt.Append(nil, n)}
			if at[key], err = d.Swap(b.ctx, op); err != nil {
				return err
			}
		}
		return nil
	}
}

func number(r driver.Row) int {
	n, _ := strconv.Atoi(string(r.Value)) // none is 0
	return n
}

// keysInOrder: a is raised before c, so who reads c first and a behind it finds a at least as high, also where a was
// read before.
func keysInOrder(t *testing.T, b *bench) {
	b.race(t, b.raise("a", "b", "c"), func(d driver.Documents) {
		rows := b.read(t, d, driver.Query{Keys: []string{"a", "c", "b", "a"}}).Keys
		for i, first := range rows {
			for _, then := range rows[i+1:] {
				if first.Key >= then.Key && number(first) > number(then) {
					t.Errorf("%s was read at %d, and %s behind it at %d", first.Key, number(first), then.Key,
						number(then))
				}
			}
		}
	})
}

// rangeBefore: the key is raised before each row of the range.
func rangeBefore(t *testing.T, b *bench) {
	if b.setup.Open(t)().Limits().Range == driver.Late {
		return
	}
	b.race(t, b.raise("key", "r/1"), func(d driver.Documents) {
		rows := b.read(t, d, driver.Query{From: "r/", To: "r0", Limit: 5, Keys: []string{"key"}})
		for _, r := range rows.Range {
			if number(r) > number(rows.Keys[0]) {
				t.Errorf("the range shows %d, and the key behind it %d", number(r), number(rows.Keys[0]))
			}
		}
	})
}

func readsAreFresh(t *testing.T, b *bench) {
	open := b.setup.Open(t)
	writer, reader := open(), open()
	var v driver.Version
	for n := range 20 {
		o := b.op("k", fmt.Sprint(n), v)
		v = b.swap(t, writer, o)
		b.holds(t, reader, o)
		rows := b.read(t, reader, driver.Query{Keys: []string{"k", "none"}, Known: []driver.Version{v, ""}}).Keys
		wrong := rows[0].Version != v || !rows[0].Same && string(rows[0].Value) != string(o.Value)
		if wrong || rows[1].Version != "" || rows[1].Same {
			t.Errorf("of versions that are known: %+v", rows)
		}
	}
}

func rangeIsSorted(t *testing.T, b *bench) {
	d := b.setup.Open(t)()
	if d.Limits().Range == driver.Late {
		return
	}
	for _, key := range []string{"r/b", "r/a", "r/a/c", "r/a.", "q/z", "r0", "r/A"} {
		b.swap(t, d, b.op(key, key, ""))
	}
	const all = "r/A r/a r/a. r/a/c r/b "
	for limit, want := range map[int]string{1: "r/A +", 4: "r/A r/a r/a. r/a/c +", 5: all, 9: all} { // order-free: each is read alone
		rows := b.read(t, d, driver.Query{From: "r/", To: "r0", Limit: limit})
		var got strings.Builder
		for _, r := range rows.Range {
			got.WriteString(string(r.Value) + " ")
		}
		if rows.More {
			got.WriteString("+")
		}
		if got.String() != want {
			t.Errorf("at most %d: %q, want %q", limit, got.String(), want)
		}
	}
	rest := b.read(t, d, driver.Query{From: "r/a\x00", To: "r0", Limit: 9}).Range // as who goes on behind r/a
	if len(rest) != 3 || rest[0].Key != "r/a." {
		t.Errorf("behind r/a is %+v, want r/a. r/a/c r/b", rest)
	}
}

func swapWith(t *testing.T, b *bench) {
	d := b.setup.Open(t)()
	if d.Limits().With < 2 {
		return
	}
	v := b.swap(t, d, b.op("head", "0", ""))
	one, two := b.op("l/1", "one", ""), b.op("l/2", "two", "")
	one.Once, two.Once = true, true
	if _, err := d.Swap(b.ctx, b.op("head", "2", "old"), one, two); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("a conflict of the first: %v", err)
	}
	for _, r := range b.read(t, d, driver.Query{Keys: []string{"l/1", "l/2"}}).Keys {
		if r.Version != "" {
			t.Errorf("a refused swap has written %+v", r)
		}
	}
	b.swap(t, d, b.op("head", "2", v), one, two)
	b.holds(t, d, one)
	b.holds(t, d, two)
}

func tooLarge(t *testing.T, b *bench) {
	d := b.setup.Open(t)()
	v := b.swap(t, d, b.op("k", "x", ""))
	for key, at := range map[string]driver.Version{"k": v, "new": ""} { // order-free: each is refused
		before := b.row(t, d, key)
		o := b.op(key, strings.Repeat("x", d.Limits().Value+1), at)
		if _, err := d.Swap(b.ctx, o); !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("a value over the limit: %v", err)
		}
		if now := b.row(t, d, key); !same(now, before) {
			t.Errorf("%+v became %+v", before, now)
		}
	}
	b.swap(t, d, b.op("full", strings.Repeat("x", d.Limits().Value), ""))
}

// freed frees more keys than one request may, of which a crash has left a few.
func freed(t *testing.T, b *bench) {
	d := b.setup.Open(t)()
	var keys, there []string
	for i := range 1200 {
		key := fmt.Sprintf("p/%04d", i+1)
		if keys = append(keys, key); i%400 < 2 || i == 1199 {
			there = append(there, key)
		}
	}
	there = append(there, "p/0000", "p/1201")
	for _, key := range there {
		o := b.op(key, "x", "")
		o.Once = true
		b.swap(t, d, o)
	}
	for range 2 { // it may be repeated
		if err := d.Free(b.ctx, keys); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range b.read(t, d, driver.Query{Keys: there}).Keys {
		if free := r.Key != "p/0000" && r.Key != "p/1201"; free != (r.Version == "") {
			t.Errorf("after the free %+v stands", r)
		}
	}
}

// givenUp: a free that is lost says that some may be left, and a watch that does not begin leaves the handle free.
func givenUp(t *testing.T, b *bench) {
	if b.setup.Through == nil {
		return
	}
	witness, through, link := b.setup.Through(t)
	once := b.op("p/k", "x", "")
	once.Once = true
	b.swap(t, witness, once)
	within := func(d time.Duration, call func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(b.ctx, d)
		defer cancel()
		return call(ctx)
	}
	link.Next(LostRequest, func() {})
	err := within(3*time.Second, func(ctx context.Context) error { return through.Free(ctx, []string{once.Key}) })
	link.Arrive()
	if err == nil && b.row(t, witness, once.Key).Version != "" {
		t.Error("a free that was lost is done, it says")
	}
	link.Next(LateRequest, func() {})
	_ = within(time.Second/10, func(ctx context.Context) error { return through.Watch(ctx, "w/", func() {}) })
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = through.Close() // whatever it says of what is late
	}()
	select {
	case <-closed:
	case <-b.ctx.Done():
		t.Error("a watch that was given up keeps its handle open")
	}
	link.Arrive()
}

func bytesAreTheCallers(t *testing.T, b *bench) {
	d := b.setup.Open(t)()
	o := b.op("k", "mine", "")
	given := []byte("mine")
	o.Value = given
	b.swap(t, d, o)
	copy(given, "xxxx")
	twice := b.read(t, d, driver.Query{Keys: []string{"k", "k"}}).Keys
	copy(twice[0].Value, "yyyy")
	for _, r := range []driver.Row{twice[1], b.row(t, d, "k")} {
		if string(r.Value) != "mine" {
			t.Errorf("the value became %q", r.Value)
		}
	}
}

func watchHints(t *testing.T, b *bench) {
	open := b.setup.Open(t)
	var v driver.Version
	d, n := open(), 0
	watch := func(ctx context.Context, hint func()) error { return d.Watch(ctx, "w/", hint) }
	hintsOf(b.ctx, t, watch, func() {
		n++
		v = b.swap(t, open(), b.op("w/k", fmt.Sprint(n), v))
	})
}

// hintsOf wants a hint at the beginning, after what changes during that one, and after each change, and that the watch
// ends with its context.
func hintsOf(ctx context.Context, t *testing.T, watch func(context.Context, func()) error, change func()) {
	t.Helper()
	cause := errors.New("that is enough")
	watching, cancel := context.WithCancelCause(ctx)
	defer cancel(cause)
	over, beside, hints := make(chan error, 2), make(chan struct{}, 1), make(chan struct{}, 1)
	begin := func(hint func()) { go func() { over <- watch(watching, hint) }() }
	tell := func(hints chan struct{}) {
		select {
		case hints <- struct{}{}:
		default:
		}
	}
	await := func(hints chan struct{}, n int) bool {
		select {
		case <-hints:
			return true
		case err := <-over:
			if n > 0 || !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("a watch ended by itself: %v", err)
			}
		case <-ctx.Done():
			t.Errorf("hint %d does not come", n)
		}
		return false
	}
	begin(func() { tell(beside) })
	if !await(beside, 0) {
		return
	}
	begun, calls := make(chan struct{}), atomic.Int32{}
	begin(func() {
		if calls.Add(1) > 1 {
			tell(hints)
			return
		}
		defer close(begun)
		change()
		select { // until the handle has heard of it
		case <-beside:
		case <-time.After(time.Second / 10): // one that hints from one goroutine hears of it later
		}
	})
	for n := range 4 {
		if !await(hints, n+1) {
			return
		}
		<-begun
		change()
	}
	cancel(cause)
	for range 2 {
		if err := <-over; !errors.Is(err, cause) {
			t.Errorf("the watch ended with %v", err)
		}
	}
}

func ended(t *testing.T, b *bench) {
	d := b.setup.Open(t)()
	endedCalls(b.ctx, t, d, func(ctx context.Context) map[string]error {
		_, read := d.Read(ctx, driver.Query{Keys: []string{"k"}})
		_, swap := d.Swap(ctx, b.op("k", "x", ""))
		free, watch := d.Free(ctx, []string{"p"}), d.Watch(ctx, "k", func() {})
		return map[string]error{"read": read, "swap": swap, "free": free, "watch": watch}
	})
}

// endedCalls wants all calls to be refused after their context ended, and after Close.
func endedCalls(ctx context.Context, t *testing.T, d driver.Driver, calls func(context.Context) map[string]error) {
	t.Helper()
	cause := errors.New("no time")
	over, cancel := context.WithCancelCause(ctx)
	cancel(cause)
	for call, err := range calls(over) { // order-free: each is judged alone
		if !errors.Is(err, cause) && (call != "watch" || !errors.Is(err, errors.ErrUnsupported)) {
			t.Errorf("%s after its ctx ended: %v", call, err)
		}
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for call, err := range calls(ctx) { // order-free: each is judged alone
		if !errors.Is(err, store.ErrClosed) && (call != "watch" || !errors.Is(err, errors.ErrUnsupported)) {
			t.Errorf("%s after close: %v", call, err)
		}
	}
}
