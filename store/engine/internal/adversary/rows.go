package adversary

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// request is one call of a driver.
type request struct {
	kind     string // read, swap, free, rest, outlive, and those to a journal
	q        driver.Query
	ops      []driver.Op // of a swap, the one that is compared first
	keys     []string    // of a free
	records  [][]byte    // of an append
	index    uint64      // of a request to a journal
	n        int         // of a look at a journal
	from, of int         // of a late one: its caller, and how many operations that had ended; from: the one to outlive
}

// The requests that ask for nothing, but wait.
const (
	rest    = "rest"
	outlive = "outlive"
)

func (r request) waits() bool { return r.kind == rest || r.kind == outlive }

// steps is in how many parts a request is executed: the rows of a read are read one after the other, a range as one.
func (r request) steps() int {
	n := 1
	if r.kind == "read" {
		n = len(r.q.Keys)
		if r.q.From != "" {
			n++
		}
	}
	return n
}

func (r request) String() string {
	switch r.kind {
	case "read":
		return fmt.Sprint("read ", r.q.From, " ", r.q.Keys)
	case "free":
		return fmt.Sprint("free ", r.keys)
	case rest, outlive:
		return fmt.Sprint(r.kind, r.from)
	case appends, looks, frees, starts, puts, gets, drops:
		return fmt.Sprintf("%s %d %q %q", r.kind, r.index, r.records, r.keys)
	}
	return fmt.Sprintf("swap %s if %q by %s", r.ops[0].Key, r.ops[0].If, r.ops[0].Name)
}

// key tells all of it.
func (r request) key() string {
	return fmt.Sprintf("%s %v %v %d %d %q %d", r.kind, r.ops, r.keys, r.from, r.of, r.records, r.index)
}

// answer is what a call returned.
type answer struct {
	rows    driver.Rows
	version driver.Version
	row     *driver.Row // of a conflict
	err     error

	indexes     []uint64 // of a journal
	records     []store.Record
	first, head uint64
}

func (a answer) String() string {
	row := driver.Row{}
	if a.row != nil {
		row = *a.row
	}
	of := fmt.Sprint(a.indexes, a.records, a.first, a.head)
	return fmt.Sprintf("%v %v %v %s %v %v %s", a.rows.Range, a.rows.More, a.rows.Keys, a.version, row, a.err, of)
}

// Rows are the contents of a store. They are never changed, but copied.
type Rows struct {
	rows  map[string]driver.Row
	lives map[string]int // versions given so far, by key: writes of different keys commute
	log   log
	text  string
}

// All are the rows by their keys.
func (s Rows) All() map[string]driver.Row { return s.rows }

func (s Rows) written() Rows {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.lives)) {
		r := s.rows[key]
		fmt.Fprintf(&b, "%s %d %s %s %q\n", key, s.lives[key], r.Name, r.Version, r.Value)
	}
	fmt.Fprintln(&b, s.log)
	s.text = b.String()
	return s
}

func (s Rows) row(key string) driver.Row {
	r := s.rows[key]
	r.Key = key
	return r
}

// swap executes a swap.
func (s Rows) swap(ops []driver.Op) (Rows, answer) {
	if now := s.row(ops[0].Key); now.Version != ops[0].If {
		return s, answer{row: &now, err: store.ErrConflict}
	}
	next := Rows{rows: maps.Clone(s.rows), lives: maps.Clone(s.lives), log: s.log}
	for _, op := range ops {
		next.lives[op.Key]++
		delete(next.rows, op.Key)
		if !op.Delete {
			v := driver.Version(fmt.Sprint("v", next.lives[op.Key]))
			next.rows[op.Key] = driver.Row{Key: op.Key, Name: op.Name, Value: op.Value, Version: v}
		}
	}
	return next.written(), answer{version: next.rows[ops[0].Key].Version}
}

func (s Rows) free(keys []string) Rows {
	next := Rows{rows: maps.Clone(s.rows), lives: s.lives, log: s.log}
	for _, key := range keys {
		delete(next.rows, key)
	}
	return next.written()
}

// read executes one step of a read, and adds it to what was read before.
func (s Rows) read(q driver.Query, step int, before driver.Rows) driver.Rows {
	if q.From != "" {
		if step == 0 {
			for _, key := range slices.Sorted(maps.Keys(s.rows)) {
				if key >= q.From && key < q.To {
					before.Range = append(slices.Clip(before.Range), s.row(key))
				}
			}
			return before
		}
		step--
	}
	before.Keys = append(slices.Clip(before.Keys), s.row(q.Keys[step]))
	return before
}
