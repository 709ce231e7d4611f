package drivermap

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Seeing is a handle on a [Map] that also sees processes end.
type Seeing struct{ Ordered }

// OpenSeeing opens a handle.
func (m *Map) OpenSeeing() Seeing { return Seeing{m.OpenOrdered()} }

var (
	_ driver.Vigils = Seeing{}
	_ driver.Vigil  = (*vigil)(nil)
)

// vigils are those of a map that have not ended, by their keys.
type vigils struct {
	begun uint64
	open  map[string]*vigil
}

// vigil is one with the rows that it has written.
type vigil struct {
	of    Seeing
	key   string
	ended chan struct{}
	rows  map[string]driver.Version // nil: it has ended
}

// Vigil implements driver.Vigils. The ttl has no meaning here.
func (s Seeing) Vigil(ctx context.Context, _ time.Duration) (driver.Vigil, error) {
	v := &vigil{of: s, ended: make(chan struct{}), rows: map[string]driver.Version{}}
	return v, s.do(ctx, func() error {
		s.m.vigils.begun++
		v.key = strconv.FormatUint(s.m.vigils.begun, 10)
		s.m.vigils.open[v.key] = v
		return nil
	})
}

// EndVigil implements driver.Vigils.
func (s Seeing) EndVigil(ctx context.Context, key string) error {
	return s.do(ctx, func() error {
		if v := s.m.vigils.open[key]; v != nil {
			v.end()
			return nil
		}
		if n, err := strconv.ParseUint(key, 10, 64); err != nil || n < 1 || n > s.m.vigils.begun {
			return fmt.Errorf("no vigil has the key %q", key)
		}
		return nil
	})
}

// end removes the rows that are still the vigil's.
func (v *vigil) end() {
	m := v.of.m
	for key, at := range v.rows { // order-free: all vanish
		if m.row(key).Version == at {
			m.write(driver.Op{Key: key, Delete: true})
		}
	}
	v.rows = nil
	delete(m.vigils.open, v.key)
	close(v.ended)
}

// Swap implements driver.Hold.
func (v *vigil) Swap(ctx context.Context, op driver.Op) (at driver.Version, err error) {
	err = v.of.do(ctx, func() error {
		if v.rows == nil {
			return store.ErrSession
		}
		if at, err = v.of.m.swap(op, nil); err == nil {
			v.rows[op.Key] = at
		}
		return err
	})
	return at, err
}

// End implements driver.Hold.
func (v *vigil) End(ctx context.Context) error { return v.of.EndVigil(ctx, v.key) }

// Close implements driver.Hold.
func (v *vigil) Close() {}

// EndKey implements driver.Vigil.
func (v *vigil) EndKey() store.EndKey { return store.EndKey{Text: v.key} }

// Ended implements driver.Vigil.
func (v *vigil) Ended() <-chan struct{} { return v.ended }
