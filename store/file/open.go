package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
)

// readers is how many connections read at the same time.
const readers = 4

// Open opens the store in dir, and creates it if it does not exist and the options allow that. An error says what failed, where, and
// what to try; then nothing is left open. ctx bounds only Open.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	s, err := open(ctx, dir, o.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("open file store in %s: %w", dir, err)
	}
	return s, nil
}

func open(ctx context.Context, dir string, o Options) (*Store, error) {
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
	s := &Store{dir: dir, log: o.Logger, options: o, root: root, sessions: make(map[*session]struct{}), burying: make(map[string]bool)}
	if err = s.openFiles(ctx, o); err == nil {
		s.home, err = newHome(dir)
	}
	if err != nil {
		if s.writer != nil {
			s.stopWriter()
		}
		return nil, errors.Join(err, s.free())
	}
	s.notice = newNotifier(s, o)
	s.sweep()
	return s, nil
}

func (s *Store) openFiles(ctx context.Context, o Options) error {
	var err error
	if s.bell, err = openBell(s.root, o); err != nil {
		return err
	}
	if o.ReadOnly {
		return s.openReader(ctx, "ro", o)
	}
	if s.turn, err = openTurn(s.root, o); err != nil {
		return err
	}
	if err := s.openWriter(ctx, o); err != nil {
		return err
	}
	return s.openReader(ctx, "rw", o)
}

// openWriter opens the connection that writes, makes the tables if there are none, and starts the writer.
func (s *Store) openWriter(ctx context.Context, o Options) error {
	if err := s.turn.take(ctx); err != nil {
		return err
	}
	conn, err := s.firstConn(ctx, o)
	if err := errors.Join(err, s.turn.give()); err != nil {
		if conn != nil {
			_ = conn.Close()
		}
		return err
	}
	s.writer = newWriter(newTx(conn), s.turn, s.bell, s.log)
	return nil
}

// firstConn runs while the handle has the turn.
func (s *Store) firstConn(ctx context.Context, o Options) (*sql.Conn, error) {
	err := makeDB(s.root, o)
	if err != nil {
		return nil, err
	}
	if s.writes, err = openDB(s.dir, "rw", o); err != nil {
		return nil, err
	}
	s.writes.SetMaxOpenConns(1)
	conn, err := s.writes.Conn(ctx)
	if err != nil {
		return nil, describeOpen(err)
	}
	empty, err := identify(ctx, conn)
	if err == nil && empty {
		if err = prepare(ctx, conn); err == nil {
			err = syncDir(s.dir)
		}
	}
	if err == nil {
		err = tune(ctx, conn, o)
	}
	return conn, err
}

// openReader opens the connections that read. An observer looks here for the first time what kind of file it is.
func (s *Store) openReader(ctx context.Context, mode string, o Options) error {
	var err error
	if s.reads, err = openDB(s.dir, mode, o); err != nil {
		return err
	}
	s.asks.from = s.reads
	s.reads.SetMaxOpenConns(readers)
	s.reads.SetMaxIdleConns(readers)
	conn, err := s.reads.Conn(ctx)
	if err != nil {
		return describeOpen(err)
	}
	defer func() { _ = conn.Close() }()
	empty, err := identify(ctx, conn)
	if err == nil && empty {
		return s.unused()
	}
	if err != nil {
		return err
	}
	return s.complete(ctx, conn)
}
