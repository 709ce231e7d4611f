package adversary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/store/driver"
)

// Script is what one caller does. It makes its handles of the player, and tells it what came of each operation.
type Script func(p *Player)

// Player runs a script with recorded answers. It is the driver of the script's handles.
type Player struct {
	Name   string // the caller's life
	with   int    // driver.Limits
	names  bool   // driver.Names
	order  bool   // Model.Order
	values bool   // Model.Values
	past   []answer
	at     int
	told   []any
	next   request                // that has no answer yet
	direct func(r request) answer // answers at once, in place of past
}

// waiting is panicked with at the first request that has no answer.
type waiting struct{}

// play runs a script as far as the answers go. over says that it came to its end.
func play(p *Player, s Script) (over bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(waiting); !ok {
				panic(r)
			}
		}
	}()
	s(p)
	return true
}

// Tell says what came of an operation.
func (p *Player) Tell(event any) { p.told = append(p.told, event) }

func (p *Player) ask(r request) answer {
	if p.direct != nil {
		return p.direct(r)
	}
	if p.at == len(p.past) {
		p.next = r
		panic(waiting{})
	}
	p.at++
	return p.past[p.at-1]
}

// Rest ends when all calls that are under way now have ended, and all requests that they have sent have come to their
// end. In real time a long wait does that.
func (p *Player) Rest() { p.ask(request{kind: rest}) }

// Outlive ends when the caller of a number is dead, or through its script.
func (p *Player) Outlive(caller int) { p.ask(request{kind: outlive, from: caller}) }

// Driver is the player as a driver, with journals where the model has them.
func (p *Player) Driver() interface {
	driver.Driver
	driver.Documents
} {
	if p.order {
		return orderly{p}
	}
	return p
}

// Limits implements driver.Driver.
func (p *Player) Limits() driver.Limits {
	most := driver.Limits{Value: 1 << 20, Swap: 1 << 20, Keys: 100, With: p.with}
	if p.names {
		most.Range = driver.Names
	}
	return most
}

// Close implements driver.Driver.
func (p *Player) Close() error { return nil }

// Read implements driver.Documents.
func (p *Player) Read(_ context.Context, q driver.Query) (driver.Rows, error) {
	a := p.ask(request{kind: "read", q: q})
	if a.err != nil {
		return driver.Rows{}, a.err
	}
	return a.rows, nil
}

// Swap implements driver.Documents.
func (p *Player) Swap(_ context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	op.Value = bytes.Clone(op.Value)
	a := p.ask(request{kind: "swap", ops: append([]driver.Op{op}, with...)})
	if errors.Is(a.err, errConflict) {
		return "", &driver.Conflict{Row: a.row}
	}
	return a.version, a.err
}

// Free implements driver.Documents.
func (p *Player) Free(_ context.Context, keys []string) error {
	return p.ask(request{kind: "free", keys: keys}).err
}

// Watch implements driver.Documents.
func (p *Player) Watch(context.Context, string, func()) error { return errors.ErrUnsupported }

// wait is the move of a caller that waits, if there is one.
func (m Model) wait(w World, i int) []Move {
	w.callers = slices.Clone(w.callers)
	c := &w.callers[i]
	switch {
	case c.next.kind == outlive && !w.callers[c.next.from].over, c.rests != nil && !w.rested(i):
		return nil
	case c.next.kind == rest && c.rests == nil:
		for _, other := range w.callers {
			n := other.told
			if other.started {
				n++
			}
			c.rests = append(c.rests, n)
		}
		return []Move{{Name: fmt.Sprintf("p%d begins to rest", i), To: w}}
	}
	return []Move{{Name: fmt.Sprintf("p%d has waited", i), To: m.passed(w, i, answer{})}}
}

// rested reports whether all is over that was under way when a caller began to rest.
func (w World) rested(i int) bool {
	until := w.callers[i].rests
	for j, other := range w.callers {
		if j != i && !other.over && other.told < until[j] {
			return false
		}
	}
	return !slices.ContainsFunc(w.late, func(r request) bool { return r.of < until[r.from] })
}
