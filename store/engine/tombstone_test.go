package engine

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// left are the keys of all rows.
func left(t *testing.T, d driver.Documents) string {
	t.Helper()
	rows := must.Get(d.Read(t.Context(), driver.Query{From: "d/", To: "d0", Limit: 100}))(t)
	var keys []string
	for _, row := range rows.Range {
		keys = append(keys, strings.TrimPrefix(row.Key, "d/"))
	}
	return strings.Join(keys, " ")
}

// TestSweep: tombstones below the prefix are freed when they have stood for long, and nothing else is.
func TestSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, h := t.Context(), drivermap.New().Open()
		d := NewDocs(NewRows(h, "a"))
		write := func(key string) store.Version {
			v := must.Get(d.Put(ctx, store.Doc{Key: key, Value: []byte("x")}))(t)
			return v
		}
		remove := func(key string) { must.Succeed(t, d.Delete(ctx, key, write(key))) }
		s := d.Sweeper("p/")
		sweep := func(want string) {
			t.Helper()
			must.Succeed(t, s.Sweep(ctx))
			if got := left(t, h); got != want {
				t.Errorf("after the sweep there are %q, want %q", got, want)
			}
		}
		write("p/stays")
		for _, key := range []string{"p/gone", "p/again", "p/anew", "q/other"} {
			remove(key)
		}
		sweep("p/again p/anew p/gone p/stays q/other")
		time.Sleep(Quiet - 1) // waits: in virtual time
		write("p/again")
		remove("p/anew")
		sweep("p/again p/anew p/gone p/stays q/other")
		time.Sleep(time.Nanosecond) // waits: in virtual time
		sweep("p/again p/anew p/stays q/other")
		time.Sleep(Quiet) // waits: in virtual time
		sweep("p/again p/stays q/other")
	})
}

// TestHowLongATombstoneStands: for as long as it must, from when the rows had been read to when they are read again.
func TestHowLongATombstoneStands(t *testing.T) {
	t.Parallel()
	rows := []driver.Row{{Key: "k", Value: []byte{tomb}, Version: "1"}}
	_, seen := ripe(rows, nil, moment{began: 10, ended: 20}, 100)
	for began, want := range map[time.Duration]int{119: 0, 120: 1} { // order-free: each is judged alone
		if free, _ := ripe(rows, seen, moment{began: began, ended: 200}, 100); len(free) != want {
			t.Errorf("read again at %d, %d are freed, want %d", began, len(free), want)
		}
	}
}

// TestEnd: what a life has written is gone, and it can write no more, wherever it has ended. Others can.
func TestEnd(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), drivermap.New()
	open := func(life string) *Docs { return NewDocs(NewRows(m.Open(), life)) }
	owner, other, guardian := open("o"), open("ox"), open("g")
	put := func(d *Docs, key string, v store.Version) (store.Version, error) {
		return d.Put(ctx, store.Doc{Key: key, Value: []byte("x"), Version: v})
	}
	v := must.Get(put(owner, "there", ""))(t)
	others, err := put(other, "others", "")
	must.Succeed(t, err)
	for range 2 { // it may be repeated
		must.Succeed(t, guardian.End(ctx, "o", "there", "none", "others"))
	}
	if docs, err := other.List(ctx, ""); err != nil || len(docs) != 1 || docs[0].Key != "others" {
		t.Errorf("after the end there are %+v, %v", docs, err)
	}
	for key, at := range map[string]store.Version{"there": v, "none": ""} { // order-free: each is judged alone
		if _, err := guardian.Get(ctx, key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q after the end: %v", key, err)
		}
		for _, at := range []store.Version{at, ""} {
			if _, err := put(owner, key, at); !errors.Is(err, store.ErrSession) {
				t.Errorf("who was ended wrote %q over %q: %v", key, at, err)
			}
		}
		must.Succeed(t, must.Err(put(other, key, "")))
	}
	must.Succeed(t, must.Err(put(other, "others", others)))
}
