package file

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rota-run/rota/store"
)

// SQLite reads a database with a journal only if it can make the journal's files, or finds them. Who closes it last
// removes them. So on a file system that takes no writes, such as a backup, an observer tells SQLite that nobody
// writes, where the journal is not there. Where it is, after a crash or because somebody writes by another path, SQLite
// must read it: it has what was acknowledged last.

// logName is the journal.
const logName = dbName + "-wal"

func logThere(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, logName))
	return !os.IsNotExist(err)
}

// stirred says why a database that was at rest must not be read any more; nil if all is well.
func (d *disk) stirred() error {
	if d.still == nil {
		return nil
	}
	now, err := os.Stat(filepath.Join(d.dir, dbName))
	if err == nil && os.SameFile(now, d.still) && now.ModTime().Equal(d.still.ModTime()) && !logThere(d.dir) {
		return nil
	}
	return fmt.Errorf("%w: members write to the directory by another path: use that one", store.ErrUnavailable)
}
