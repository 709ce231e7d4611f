package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/rota-run/rota/store"
)

// readers is how many connections read at the same time.
const readers = 4

// open opens or makes the directory.
func open(ctx context.Context, dir string, o Options) (*disk, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if dir == "" { // not the working directory: a setting is missing
		return nil, errors.New("no directory is named: give one")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := openDir(dir, o)
	if err != nil {
		return nil, err
	}
	d := &disk{dir: dir, log: o.Logger, options: o, root: root, burying: make(map[string]bool)}
	if err = d.openFiles(ctx, o); err == nil {
		d.home, err = newHome(dir)
	}
	if err != nil {
		if d.writer != nil {
			d.stopWriter()
		}
		return nil, errors.Join(err, d.free())
	}
	d.notice = newNotifier(d, o)
	d.sweep()
	return d, nil
}

func (d *disk) openFiles(ctx context.Context, o Options) error {
	var err error
	if d.bell, err = openBell(d.root, o); err != nil {
		return err
	}
	if o.ReadOnly {
		if o.frozen(d.dir) && !logThere(d.dir) {
			if d.still, err = os.Stat(filepath.Join(d.dir, dbName)); err != nil {
				return err
			}
			return d.openReader(ctx, "ro&immutable=1", o)
		}
		return d.openReader(ctx, "ro", o)
	}
	if d.turn, err = openTurn(d.root, o); err != nil {
		return err
	}
	if err := d.openWriter(ctx, o); err != nil {
		return err
	}
	return d.openReader(ctx, "rw", o)
}

// openWriter opens the connection that writes, makes the tables if there are none, and starts the writer.
func (d *disk) openWriter(ctx context.Context, o Options) error {
	if err := d.turn.take(ctx); err != nil {
		return err
	}
	conn, err := d.firstConn(ctx, o)
	if err := errors.Join(err, d.turn.give()); err != nil {
		if conn != nil {
			_ = conn.Close()
		}
		return err
	}
	d.writer = newWriter(newTx(conn), d.turn, d.bell, d.log)
	return nil
}

// firstConn runs while the handle has the turn.
func (d *disk) firstConn(ctx context.Context, o Options) (*sql.Conn, error) {
	err := makeDB(d.root, o)
	if err != nil {
		return nil, err
	}
	if d.writes, err = openDB(d.dir, "rw", o); err != nil {
		return nil, err
	}
	d.writes.SetMaxOpenConns(1)
	conn, err := d.writes.Conn(ctx)
	if err != nil {
		return nil, describeOpen(err)
	}
	empty, err := identify(ctx, conn)
	if err == nil && empty {
		if err = prepare(ctx, conn); err == nil {
			err = syncDir(d.dir)
		}
	}
	if err == nil {
		err = tune(ctx, conn, o)
	}
	return conn, err
}

// openReader opens the connections that read. An observer looks here for the first time what kind of file it is.
func (d *disk) openReader(ctx context.Context, mode string, o Options) error {
	var err error
	if d.reads, err = openDB(d.dir, mode, o); err != nil {
		return err
	}
	d.asks.from = d.reads
	d.reads.SetMaxOpenConns(readers)
	d.reads.SetMaxIdleConns(readers)
	conn, err := d.reads.Conn(ctx)
	if err != nil {
		return describeOpen(err)
	}
	defer func() { _ = conn.Close() }()
	empty, err := identify(ctx, conn)
	if err == nil && empty {
		return d.unused()
	}
	if err != nil {
		return err
	}
	return d.complete(ctx, conn)
}

// MaxProcesses is how many handles may have sessions in one directory at a time, unless Options say otherwise. Each
// process follows what the others write, so the work grows with the square of their number: beyond some seventy the
// heartbeats of all come late, all remove each other, and that makes more work.
const MaxProcesses = 64

// ErrFull marks a directory in which as many processes have sessions as may.
var ErrFull = errors.New("the directory is full")

const seatsDir = "seats"

// takeSeat makes this handle one of those that may have sessions.
func (d *disk) takeSeat() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil // the caller meets that
	case d.seat != nil:
		return nil
	case d.writer == nil:
		return store.ErrReadOnly
	}
	if err := d.root.Mkdir(seatsDir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return hinted(err)
	}
	if err := narrow(d.root, seatsDir, dirMode, d.options); err != nil {
		return err
	}
	for n := range d.options.Processes {
		file, err := d.freeSeat(path.Join(seatsDir, strconv.Itoa(n)))
		if err != nil {
			return err
		}
		if file != nil {
			d.seat = file
			return nil
		}
	}
	return fmt.Errorf("%w: %d processes take part here, and a directory is for at most so many", ErrFull,
		d.options.Processes)
}

// freeSeat takes one seat; nil if another process has it.
func (d *disk) freeSeat(name string) (*os.File, error) {
	file, err := openPrivate(d.root, name, 0, d.options)
	if err != nil {
		return nil, err
	}
	got, err := flock(file, true, false)
	if err == nil && got {
		return file, nil
	}
	return nil, errors.Join(err, file.Close())
}
