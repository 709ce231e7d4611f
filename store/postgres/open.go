package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine/full"
	inner "github.com/rota-run/rota/store/internal/driver"
	"github.com/rota-run/rota/store/internal/remote"
)

// Open opens the store in o.Schema, and creates it if it does not exist and the options allow that. An error says
// where, what and what to try; nothing is left open then. ctx bounds Open only.
func Open(ctx context.Context, o Options) (*Store, error) {
	d, err := openSchema(ctx, o)
	if err != nil {
		return nil, err
	}
	o = d.options
	return &Store{full.NewVigilant(d, full.Options{Place: o.place(), ReadOnly: o.ReadOnly, Logger: o.Logger})}, nil
}

// Driver is what [OpenDriver] returns.
type Driver interface {
	full.Vigilant
	driver.Journals
}

// OpenDriver opens what Open makes a store of, for tests of drivers. It takes changes even if o.ReadOnly.
func OpenDriver(ctx context.Context, o Options) (Driver, error) {
	d, err := openSchema(ctx, o)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func openSchema(ctx context.Context, o Options) (*schema, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open postgres store: %w", err)
	}
	w, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open store in %s: %w", o.place(), err)
	}
	s := &schema{wire: w}
	s.journal.s = s
	s.journal.page.Store(firstPage)
	return s, nil
}

func open(ctx context.Context, o Options) (*wire, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, done := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("no answer within %v", o.Timeout))
	defer done()
	w := newWire(o)
	if err := w.identify(ctx); err != nil {
		w.life.End()
		w.workers.close()
		return nil, openError(ctx, err)
	}
	return w, nil
}

// identify connects, and checks what is in the schema; it creates a store if there is nothing.
func (w *wire) identify(ctx context.Context) error {
	c, err := w.workers.get(ctx)
	if err != nil {
		return unsent(ctx, err)
	}
	defer w.workers.put(c)
	if err := w.checkPooler(ctx, c); err != nil {
		return err
	}
	if c.server.noSync {
		w.log.Warn("the server has fsync off: what is acknowledged does not survive a power cut")
	}
	for {
		found, err := w.lookAround(ctx, c)
		switch {
		case err != nil:
			return err
		case found.format > 0:
			err := remote.CheckFormat(found.format, formatNumber, "give another schema, or drop this one")
			if err == nil && found.readOnly && !w.options.ReadOnly {
				err = fmt.Errorf("the user may only read the schema %q: grant the user what docs/stores/postgres.md says", w.options.Schema)
			}
			return err
		case found.tables > 0:
			return fmt.Errorf("the schema %q has tables, like %.80q, but not those of a Rota store: give another schema", w.options.Schema, found.example)
		case w.options.MustExist:
			return fmt.Errorf("there is no Rota store in the schema %q: check the schema, or start a member first: %w",
				w.options.Schema, store.ErrNotFound)
		}
		if err := w.create(ctx, c, found.exists); err != nil {
			return err
		}
	}
}

// found is what is in the schema.
type found struct {
	exists  bool // the schema
	tables  int64
	example string // one of the tables
	format  int64  // 0: none
	// readOnly: the user may not write rows.
	readOnly bool
}

const (
	sqlSchema statement = `SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = $1), count(*), coalesce(min(relname::text), ''), coalesce(bool_or(relname = 'format'), false),
  coalesce(bool_or(relname = 'rows' AND NOT has_table_privilege(c.oid, 'INSERT')), false)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`
	sqlFormat statement = `SELECT number FROM ~format WHERE name = $1`
)

func (w *wire) lookAround(ctx context.Context, c *conn) (f found, err error) {
	rows, err := c.exec(ctx, sqlSchema, w.options.Schema)
	if err != nil {
		return f, readError(ctx, err)
	}
	f = found{exists: rows[0].int(0) > 0, tables: rows[0].int(1), example: rows[0].text(2), readOnly: rows[0].bool(4)}
	if !rows[0].bool(3) {
		return f, nil
	}
	rows, err = c.exec(ctx, sqlFormat, formatName)
	switch {
	case isCode(err, codeNoTable, codeNoColumn):
		return f, nil // a table of that name that is not ours
	case err != nil:
		return f, readError(ctx, err)
	}
	if len(rows) == 1 {
		f.format = rows[0].int(0)
	}
	return f, nil
}

// create makes a store, one process after the other: the second one finds it. Whatever the outcome, the caller looks
// again.
func (w *wire) create(ctx context.Context, c *conn, schemaExists bool) error {
	sql := "SELECT pg_advisory_xact_lock(hashtextextended(" + literal("rota "+w.options.Schema) + ", 0));\n"
	if !schemaExists {
		sql += "CREATE SCHEMA IF NOT EXISTS " + identifier(w.options.Schema) + ";\n"
	}
	err := c.run(ctx, sql+w.layout.text(sqlCreate))
	switch {
	case err == nil, isCode(err, codeDuplicateTable, codeUnique, codeDuplicateSchema):
		return nil
	case c.IsClosed():
		return unsent(ctx, err) // it is the same, whichever process makes it
	}
	return inner.NotDone(writeError(ctx, err))
}

// closePatience is how long Close waits for the server to forget the handle.
const closePatience = 2 * time.Second

// wire is the connections of one handle, and what it knows of its vigils.
type wire struct {
	options Options
	log     *slog.Logger
	layout  layout
	owner   int64 // number of the handle, and of its lock
	workers *pool
	hub     *hub
	line    *line
	judge   *judge
	life    *inner.Life
	dial    func(context.Context, pgconn.NotificationHandler) (*conn, error)

	mu     sync.Mutex
	vigils map[int64]*vigil
}

// newWire makes a handle that has no connection yet.
func newWire(o Options) *wire {
	w := &wire{
		options: o, log: o.Logger.With("store", o.place()), layout: newLayout(o.Schema), owner: newID(), hub: newHub(),
		life:   inner.NewLife(),
		vigils: map[int64]*vigil{},
	}
	w.dial = w.dialHosts
	w.workers = newPool(w, o.Connections-lineConnections)
	w.line, w.judge = newLine(w), &judge{w: w, again: wait.NewWake()}
	return w
}

// newID is a number by chance, so that nobody has it before or after.
func newID() int64 {
	b := make([]byte, 8)
	rand.Read(b)                                  // never fails
	return int64(binary.BigEndian.Uint64(b) >> 1) //nolint:gosec // not negative
}

// Close implements driver.Driver.
func (w *wire) Close() error {
	if !w.life.Close() {
		return nil
	}
	w.forget()
	w.life.End()
	w.workers.close()
	return nil
}

// forget tells the server that the end of the connection says nothing about the process. Others find out, else.
func (w *wire) forget() {
	if !w.line.tied.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if _, err := w.change(ctx, sqlUntie, w.owner); err != nil {
		w.log.Debug("forget a handle; others will", "err", err)
	}
}
