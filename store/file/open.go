package file

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
)

// readers is how many connections read at the same time.
const readers = 4

// open opens or makes the directory.
func open(ctx context.Context, dir string, o Options) (*disk, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
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
