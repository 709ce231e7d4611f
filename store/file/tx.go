package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rota-run/rota/store"
)

// tx is the transaction that the writer has open; ops change the database through it.
type tx struct {
	conn       *sql.Conn
	statements statements // of conn
	lazy       bool       // commits do not wait for the disk
	changed    slots
	renewed    bool     // heartbeats
	index      uint64   // newest record that it appends, 0 for none
	after      []func() // run after the commit
}

// The transaction's statements never end with a caller's ctx: it holds the changes of others too.
var background = context.Background()

func newTx(conn *sql.Conn) *tx { return &tx{conn: conn, statements: statements{from: conn}} }

func (t *tx) exec(text string, args ...any) (changed int64, err error) {
	s, err := t.statements.get(background, text) //nolint:sqlclosecheck // it is kept for the next transaction; close closes it
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(background, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads one row; sql.ErrNoRows if there is none.
func (t *tx) row(text string, args, to []any) error {
	return t.statements.row(background, text, args, to)
}

// column reads the first column, text, of all rows.
func (t *tx) column(text string, args ...any) ([]string, error) {
	rows, err := t.statements.rows(background, text, args...)
	if err != nil {
		return nil, err
	}
	return texts(rows)
}

func texts(rows *sql.Rows) ([]string, error) {
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// close frees the connection.
func (t *tx) close() error { return errors.Join(t.statements.close(), t.conn.Close()) }

// vacuum returns space to the file system.
func (t *tx) vacuum() error {
	_, err := t.exec(fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, freePages))
	return err
}

// wait says whether commits from now on wait for the disk, as all do but those of leases.
func (t *tx) wait(disk bool) error {
	if t.lazy != disk {
		return nil
	}
	level := "normal"
	if disk {
		level = "full"
	}
	if _, err := t.conn.ExecContext(background, "PRAGMA synchronous = "+level); err != nil {
		return err
	}
	t.lazy = !disk
	return nil
}

func (t *tx) begin() error {
	t.changed, t.renewed, t.index, t.after = slots{}, false, 0, nil
	_, err := t.exec("BEGIN IMMEDIATE")
	return err
}

func (t *tx) commit() error {
	_, err := t.exec("COMMIT")
	return err
}

// rollback ends what is open. SQLite may have ended it by itself; then its error means nothing.
func (t *tx) rollback() { _, _ = t.exec("ROLLBACK") }

// op is one change that waits for its place in a transaction.
type op struct {
	// run makes the change. A refusal says that it changed nothing and the transaction goes on; any other error ends
	// the transaction. It must not keep what the caller gave after it returned.
	run   func(tx *tx) error
	size  int  // bytes, to bound a transaction
	light bool // a lease: it may be lost with the machine's power, so a transaction of such ops alone does not wait for the disk
	state atomic.Int32
	done  chan error      // gets the outcome, once; has room for it
	then  func(err error) // called with the outcome instead, from the writer's goroutine; it must not wait
}

// An op is either taken by the writer or withdrawn by its caller.
const (
	waiting int32 = iota
	taken
	withdrawn
)

func newOp(size int, run func(tx *tx) error) *op {
	return &op{run: run, size: size, done: make(chan error, 1)}
}

// finish passes the outcome to the waiter.
func (o *op) finish(err error) {
	if o.then != nil {
		o.then(err)
		return
	}
	o.done <- err
}

func (o *op) take() bool     { return o.state.CompareAndSwap(waiting, taken) }
func (o *op) withdraw() bool { return o.state.CompareAndSwap(waiting, withdrawn) }

// wait waits for the outcome. If ctx ends while the op is in a transaction, the outcome is unknown.
func (o *op) wait(ctx context.Context) error {
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
	}
	if o.withdraw() {
		return context.Cause(ctx)
	}
	select {
	case err := <-o.done:
		return err
	default:
		return fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
	}
}
