package adversary

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

var errConflict = store.ErrConflict

// Judge holds what callers are told against what happened. It is a value that is cloned before it changes.
type Judge interface {
	Clone() Judge
	// Mark is taken when an operation sends its first request, and given to Told with what came of it.
	Mark() uint64
	// Executed is called when a store has executed a swap.
	Executed(op driver.Op)
	// Told is called with what a script tells.
	Told(event any, mark uint64, rows Rows)
	// Broken is the first promise that was broken, or "".
	Broken() string
	// Text tells all that Executed, Told and Mark depend on.
	Text() string
}

// Model is a system of callers for package check.
type Model struct {
	Scripts []Script
	Before  Script // is run first, alone
	After   Script // is run at each end, alone, and told to the judge
	Judge   func() Judge
	// Final judges the rows behind After; it is "" if they are as they should be.
	Final  func(m Model, rows Rows) string
	Faults int    // that may happen
	Only   string // the fault that happens; "": any
	Mute   bool   // a conflict does not tell which row stands there
	Lags   bool   // ranges are empty
	With   int    // how many rows a swap may write beside the first
	Names  bool   // driver.Names; a stale read of keys may find none of them
	Order  bool   // the store orders logs by itself
	Values bool   // and keeps values beside them
}

// caller is a script and how far it is.
type caller struct {
	past    []answer
	sum     string // of past
	next    request
	step    int         // of next
	part    driver.Rows // that next has read so far
	over    bool        // or dead
	told    int
	mark    uint64
	started bool  // the operation has sent a request
	rests   []int // while it rests: for each caller, how many operations must have ended
}

// World is one state.
type World struct {
	rows    Rows
	callers []caller
	late    []request // whose answer was lost, and which may arrive at any time
	faults  int
	judge   Judge
}

// Start implements check.Model.
func (m Model) Start() []World {
	w := World{rows: Rows{rows: map[string]driver.Row{}, lives: map[string]int{}}, faults: m.Faults, judge: m.Judge()}
	if m.Before != nil {
		w = m.alone(w, "before", m.Before)
	}
	w.callers = make([]caller, len(m.Scripts))
	for i := range m.Scripts {
		w = m.resume(w, i)
	}
	return []World{w}
}

// alone runs a script to its end, without faults.
func (m Model) alone(w World, name string, s Script) World {
	w.judge = w.judge.Clone()
	mark := w.judge.Mark()
	p := &Player{Name: name, with: m.With, names: m.Names, order: m.Order, values: m.Values}
	judged := 0
	tell := func() {
		for ; judged < len(p.told); judged++ {
			w.judge.Told(p.told[judged], mark, w.rows)
			mark = w.judge.Mark()
		}
	}
	p.direct = func(r request) (a answer) {
		tell()
		if r.waits() {
			return a
		}
		for step := range r.steps() {
			w, a = m.execute(w, r, step, a.rows)
		}
		return a
	}
	s(p)
	tell()
	return w
}

// resume runs a script up to its next request, and judges what it tells.
func (m Model) resume(w World, i int) World {
	w.callers = slices.Clone(w.callers)
	c := &w.callers[i]
	p := &Player{Name: fmt.Sprint("p", i), past: c.past, with: m.With, names: m.Names, order: m.Order, values: m.Values}
	over := play(p, m.Scripts[i])
	if len(p.told) > c.told {
		w.judge = w.judge.Clone()
		for _, event := range p.told[c.told:] {
			w.judge.Told(event, c.mark, w.rows)
		}
		c.started = false
	}
	c.told, c.next, c.over, c.step, c.part = len(p.told), p.next, over, 0, driver.Rows{}
	return w
}

// execute executes a step of a request.
func (m Model) execute(w World, r request, step int, before driver.Rows) (World, answer) {
	switch r.kind {
	case "read":
		if m.Lags && r.q.From != "" && step == 0 {
			return w, answer{}
		}
		return w, answer{rows: w.rows.read(r.q, step, before)}
	case "free":
		w.rows = w.rows.free(r.keys)
		return w, answer{}
	case appends, looks, frees, starts, puts, gets, drops:
		next, a, ops := w.rows.executeLog(r)
		w.rows = next
		return w.executed(ops), a
	}
	next, a := w.rows.swap(r.ops)
	if a.err == nil {
		w = w.executed(r.ops)
	}
	if m.Mute {
		a.row = nil
	}
	w.rows = next
	return w, a
}

// executed tells the judge of writes.
func (w World) executed(ops []driver.Op) World {
	if len(ops) == 0 {
		return w
	}
	w.judge = w.judge.Clone()
	for _, op := range ops {
		w.judge.Executed(op)
	}
	return w
}

// begin notes that an operation has sent its first request.
func (m Model) begin(w World, i int) World {
	w.callers = slices.Clone(w.callers)
	if c := &w.callers[i]; !c.started {
		c.started, c.mark = true, w.judge.Mark()
	}
	return w
}

func (m Model) answered(w World, i int, a answer) World {
	w = m.begin(w, i)
	return m.passed(w, i, a)
}

// passed gives a caller an answer, and runs it up to its next request.
func (m Model) passed(w World, i int, a answer) World {
	c := &w.callers[i]
	c.rests = nil
	sum := sha256.Sum256([]byte(c.sum + a.String()))
	c.past, c.sum = append(slices.Clip(c.past), a), string(sum[:12])
	return m.resume(w, i)
}

// take takes the next step of a caller.
func (m Model) take(w World, i int) World {
	w = m.begin(w, i)
	c := &w.callers[i]
	next, a := m.execute(w, c.next, c.step, c.part)
	if c.step+1 < c.next.steps() {
		c = &next.callers[i] // cloned by begin
		c.step, c.part = c.step+1, a.rows
		return next
	}
	return m.answered(next, i, a)
}

// Move is one step of a system: what happened, and the state after it. A test gives moves to package check, which the
// product must not import.
type Move struct {
	Name string
	To   World
}

// Moves are all moves out of a state.
func (m Model) Moves(w World) []Move {
	var out []Move
	for i, c := range w.callers {
		if c.over {
			continue
		}
		if c.next.waits() {
			out = append(out, m.wait(w, i)...)
			continue
		}
		name := fmt.Sprintf("p%d %s", i, c.next)
		if c.next.steps() > 1 {
			name = fmt.Sprintf("%s: %d", name, c.step+1)
		}
		out = append(out, Move{Name: name, To: m.take(w, i)})
		if q := c.next.q; m.Names && q.Stale && q.From == "" && c.step == 0 {
			out = append(out, Move{Name: name + ": before they were there",
				To: m.answered(w, i, answer{rows: nothing(q)})})
		}
		if w.faults > 0 {
			out = append(out, m.failures(w, i, name)...)
		}
	}
	for i, r := range w.late {
		next, _ := m.execute(w, r, 0, driver.Rows{})
		next.late = slices.Delete(slices.Clone(w.late), i, i+1)
		out = append(out, Move{Name: fmt.Sprint("arrives late: ", r), To: next})
	}
	return out
}

// nothing is the answer to a query of keys that are not there.
func nothing(q driver.Query) (rows driver.Rows) {
	for _, key := range q.Keys {
		rows.Keys = append(rows.Keys, driver.Row{Key: key})
	}
	return rows
}

// failures are what else can become of a request.
func (m Model) failures(w World, i int, name string) []Move {
	w.faults--
	r := w.callers[i].next
	dead := w
	dead.callers = slices.Clone(w.callers)
	dead.callers[i].over = true
	out := []Move{
		{Name: name + ": refused", To: m.answered(w, i, answer{err: store.ErrUnavailable})},
		{Name: name + ": dies before it", To: dead},
	}
	if !r.asks() {
		done, _ := m.execute(w, r, 0, driver.Rows{})
		late := w
		r.from, r.of = i, w.callers[i].told
		late.late = append(slices.Clip(w.late), r)
		for _, f := range []struct {
			name string
			w    World
		}{{"request lost", w}, {"reply lost", done}, {"late", late}} {
			out = append(out, Move{Name: name + ": " + f.name, To: m.answered(f.w, i, answer{err: store.ErrUnknown})})
		}
	}
	if r.kind == "free" && len(r.keys) > 1 {
		half := w
		half.rows = w.rows.free(r.keys[:len(r.keys)/2])
		out = append(out, Move{Name: name + ": half", To: m.answered(half, i, answer{err: store.ErrUnavailable})})
	}
	return slices.DeleteFunc(out, func(move Move) bool { return !strings.HasSuffix(move.Name, m.Only) })
}

// Key implements check.Model.
func (m Model) Key(w World) string {
	var b strings.Builder
	b.WriteString(w.rows.text)
	for _, c := range w.callers {
		fmt.Fprintln(&b, c.sum, c.over, c.mark, c.started, c.step, answer{rows: c.part}, c.told, c.rests)
	}
	for _, r := range w.late {
		fmt.Fprintln(&b, r.key())
	}
	fmt.Fprintln(&b, w.faults)
	b.WriteString(w.judge.Text())
	return b.String()
}

// Good implements check.Model.
func (m Model) Good(w World) bool {
	return !slices.ContainsFunc(w.callers, func(c caller) bool { return !c.over })
}

// Broken implements check.Model. At an end it also lets somebody new look.
func (m Model) Broken(w World) string {
	broken := w.judge.Broken()
	if broken != "" || !m.Good(w) || m.After == nil {
		return broken
	}
	w = m.alone(w, "after", m.After)
	if broken = w.judge.Broken(); broken == "" && m.Final != nil {
		broken = m.Final(m, w.rows)
	}
	return broken
}
