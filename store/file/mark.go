package file

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The mark follows the numbers of the bell: the newest committed index of the log, and its checksum. It is written after the
// commit has reached the disk and is never synced, so a power cut cannot leave a mark greater than the database's end. A
// database that ends before the mark has lost acknowledged entries: to the database itself, a journal whose end was cut off looks like one
// whose last transactions never happened.
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
