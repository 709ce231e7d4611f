package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Seeing is a handle on a [Map] that sees processes end.
type Seeing struct{ *Handle }

// vigils are those of a map, by their keys.
type vigils struct {
	mu   sync.Mutex
	made int
	all  map[string]*vigil
}

// vigil is a vigil with the rows that it has written.
type vigil struct {
	of    Seeing
	key   string
	ended chan struct{}
	over  bool
	rows  map[string]driver.Version
}

// OpenSeeing opens a handle.
func (m *Map) OpenSeeing() Seeing { return Seeing{m.Open()} }

// Vigil implements driver.Vigils.
func (s Seeing) Vigil(ctx context.Context, ttl time.Duration) (driver.Vigil, error) {
	if err := s.do(ctx, func() error { return nil }); err != nil {
		return nil, err
	}
	all := &s.m.vigils
	all.mu.Lock()
	defer all.mu.Unlock()
	all.made++
	v := &vigil{s, fmt.Sprint("vigil ", all.made), make(chan struct{}), false, map[string]driver.Version{}}
	all.all[v.key] = v
	return v, nil
}

// EndVigil implements driver.Vigils.
func (s Seeing) EndVigil(ctx context.Context, key string) error {
	all := &s.m.vigils
	all.mu.Lock()
	defer all.mu.Unlock()
	v := all.all[key]
	if v == nil {
		return errors.New("no vigil has this key")
	}
	return s.do(ctx, func() error { v.end(); return nil })
}

// end removes the rows that are still the vigil's.
func (v *vigil) end() {
	if v.over {
		return
	}
	v.over = true
	close(v.ended)
	for key, at := range v.rows { // order-free: all vanish
		if v.of.m.rows[key].Version == at {
			v.of.m.write(driver.Op{Key: key, Delete: true})
		}
	}
}

// Swap implements driver.Hold.
func (v *vigil) Swap(ctx context.Context, op driver.Op) (driver.Version, error) {
	all := &v.of.m.vigils
	all.mu.Lock()
	defer all.mu.Unlock()
	if v.over {
		return "", store.ErrSession
	}
	at, err := v.of.Swap(ctx, op)
	if err == nil {
		v.rows[op.Key] = at
	}
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
