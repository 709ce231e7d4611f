package file

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

// closePatience is how long close waits for its last turn to write.
const closePatience = 2 * time.Second

// disk is what one handle has open in the directory.
type disk struct {
	dir     string
	options Options
	log     *slog.Logger
	root    *os.Root
	home    home
	writes  *sql.DB // nil for an observer
	reads   *sql.DB
	asks    statements  // of reads
	still   fs.FileInfo // of a database to which nobody writes: see still.go
	turn    *turn
	bell    *bell
	writer  *writer // nil for an observer
	notice  *notifier

	mu      sync.Mutex
	closed  bool
	inside  sync.WaitGroup  // calls; Add only with mu held and not closed
	seat    *os.File        // nil until this handle has sessions
	burying map[string]bool // sessions whose rows are about to be removed
}

// enter lets a call in, or says why not. After a nil error the call must end with d.inside.Done().
func (d *disk) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	moved := errors.Join(d.home.there(), d.stirred())
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return store.ErrClosed
	case moved != nil:
		return moved
	}
	d.inside.Add(1)
	return nil
}

// change runs a change in the writer's next transaction.
func (d *disk) change(ctx context.Context, size int, run func(tx *tx) error) error {
	return d.do(ctx, newOp(size, run))
}

func (d *disk) do(ctx context.Context, o *op) error {
	if err := d.enter(ctx); err != nil {
		return err
	}
	defer d.inside.Done()
	if d.writer == nil {
		return store.ErrReadOnly
	}
	return d.writer.do(ctx, o)
}

// wrap adds the place to an error.
func (d *disk) wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", d.dir, fmt.Sprintf(format, args...), err)
}

// close ends the calls and watches of this handle. What waits for a turn to write gets it if that comes soon. A second
// call does nothing.
func (d *disk) close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	if d.writer != nil {
		d.stopWriter()
	}
	d.notice.stop()
	d.inside.Wait()
	return d.free()
}

func (d *disk) stopWriter() {
	close(d.writer.closing)
	patience := time.AfterFunc(closePatience, func() { d.writer.abandon(store.ErrClosed) })
	<-d.writer.finished
	patience.Stop()
	d.writer.abandon(store.ErrClosed)
}

// free closes all files that are open; nil fields are not open yet.
func (d *disk) free() error {
	var errs []error
	if d.writer != nil {
		errs = append(errs, d.writer.tx.close())
	}
	errs = append(errs, d.asks.close())
	for _, db := range []*sql.DB{d.reads, d.writes} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if d.turn != nil {
		errs = append(errs, d.turn.close())
	}
	if d.seat != nil {
		errs = append(errs, d.seat.Close())
	}
	if d.bell != nil {
		errs = append(errs, d.bell.close())
	}
	return errors.Join(append(errs, d.root.Close())...)
}

// The mark follows the numbers of the bell: the newest committed index of the log, and its checksum. It is written
// after the commit has reached the disk and is never synced, so a power cut cannot leave a mark greater than the
// database's end. A database that ends before the mark has lost acknowledged entries: to the database itself, a journal
// whose end was cut off looks like one whose last transactions never happened.
const (
	markAt   = slotCount * 8
	markSize = 16
)

// setMark notes that the log was committed up to an index. Who calls it holds the turn.
func (b *bell) setMark(index uint64) error {
	var raw [markSize]byte
	binary.LittleEndian.PutUint64(raw[:], index)
	binary.LittleEndian.PutUint64(raw[8:], markSum(raw[:8]))
	_, err := b.file.WriteAt(raw[:], markAt)
	return err
}

// mark is the newest index that is known to have been committed; 0 if there is none, or half of one.
func (b *bell) mark() (uint64, error) {
	var raw [markSize]byte
	if _, err := b.file.ReadAt(raw[:], markAt); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if binary.LittleEndian.Uint64(raw[8:]) != markSum(raw[:8]) {
		return 0, nil
	}
	return binary.LittleEndian.Uint64(raw[:]), nil
}

// markSum is never that of zeros.
func markSum(index []byte) uint64 { return uint64(dataSum(index))<<8 | 1 }

// complete refuses a log that ends before the mark. The mark is read first: the log only grows.
func (d *disk) complete(ctx context.Context, c *sql.Conn) error {
	mark, err := d.bell.mark()
	if err != nil {
		return fmt.Errorf("read %s: %w", bellName, err)
	}
	var head uint64
	if err := c.QueryRowContext(ctx, `SELECT coalesce(max(idx), 0) FROM log WHERE idx > 0`).Scan(&head); err != nil {
		return describeOpen(err)
	}
	if head < mark {
		return lost(head, mark)
	}
	return nil
}

// unused is what an observer says of a database without tables: nobody has used it, or all of it is lost.
func (d *disk) unused() error {
	mark, err := d.bell.mark()
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", bellName, err)
	case mark > 0:
		return lost(0, mark)
	}
	return fmt.Errorf("%s is empty: no member has used it yet", dbName)
}

func lost(head, mark uint64) error {
	return fmt.Errorf("%w: the log ends at %d, and %d was acknowledged: the end of %s-wal, or the whole file, is lost"+
		" (restore a copy of the whole directory; to go on with what is left, remove the file %s and start a member: then tokens may be given twice)",
		ErrDamaged, head, mark, dbName, bellName)
}
