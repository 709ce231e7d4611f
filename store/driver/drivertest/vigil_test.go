package drivertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
)

// seer is a handle whose vigils are wrong in the way that is its name.
type seer struct {
	drivermap.Seeing
	wrong string
	open  []*wrongVigil
}

type wrongVigil struct {
	driver.Vigil
	of   *seer
	rows map[string]bool
	post *lossy // nil: what is sent arrives
}

func (s *seer) Vigil(ctx context.Context, ttl time.Duration) (driver.Vigil, error) {
	v, err := s.Seeing.Vigil(ctx, ttl)
	w := &wrongVigil{Vigil: v, of: s, rows: map[string]bool{}}
	s.open = append(s.open, w)
	return w, err
}

// Swap passes the post, if there is one.
func (w *wrongVigil) Swap(ctx context.Context, op driver.Op) (driver.Version, error) {
	if w.post != nil {
		return w.post.Swap(ctx, op)
	}
	w.rows[op.Key] = true
	v, err := w.Vigil.Swap(ctx, op)
	if w.of.wrong == "a create comes after the end" && errors.Is(err, store.ErrSession) {
		return w.of.Seeing.Swap(ctx, op)
	}
	return v, err
}

func (w *wrongVigil) End(ctx context.Context) error {
	switch w.of.wrong {
	case "rows stay":
		return nil
	case "all vigils of a handle end":
		for _, v := range w.of.open {
			_ = v.Vigil.End(ctx)
		}
	case "rows of others go":
		for key := range w.rows { // order-free: all go
			_ = w.of.Free(ctx, []string{key})
		}
	}
	return w.Vigil.End(ctx)
}

func (s *seer) EndVigil(ctx context.Context, key string) error {
	if err := s.Seeing.EndVigil(ctx, key); err != nil && s.wrong != "any key will do" {
		return err
	}
	return nil
}

// carrier sends what a vigil writes by a post.
type carrier struct {
	*seer
	post *lossy
}

func (c carrier) Vigil(ctx context.Context, ttl time.Duration) (driver.Vigil, error) {
	v, err := c.seer.Vigil(ctx, ttl)
	c.post.Documenter = beneath{c.seer, v}
	return &wrongVigil{Vigil: v, of: c.seer, post: c.post}, err
}

// beneath is a handle that writes under a vigil.
type beneath struct {
	*seer
	under driver.Vigil
}

func (b beneath) Swap(ctx context.Context, op driver.Op, _ ...driver.Op) (driver.Version, error) {
	return b.under.Swap(ctx, op)
}

func vigilSetup(wrong string) drivertest.VigilSetup {
	return drivertest.VigilSetup{
		Open: func(*testing.T) func() drivertest.Seer {
			m := drivermap.New()
			return func() drivertest.Seer { return &seer{Seeing: m.OpenSeeing(), wrong: wrong} }
		},
		Through: func(*testing.T) (witness, through drivertest.Seer, link drivertest.Link) {
			m, post := drivermap.New(), &lossy{}
			return m.OpenSeeing(), carrier{&seer{Seeing: m.OpenSeeing(), wrong: wrong}, post}, post
		},
	}
}

func TestSeeing(t *testing.T) {
	t.Parallel()
	drivertest.Vigils(t, vigilSetup(""))
}

// wrongVigils are mistakes, and the tests that notice them.
var wrongVigils = map[string]string{
	"rows stay":                    "rows go with their vigil",
	"rows of others go":            "a plain swap unties",
	"all vigils of a handle end":   "others' rows are not touched",
	"a create comes after the end": "what comes late is nothing",
	"any key will do":              "others end it",
}
