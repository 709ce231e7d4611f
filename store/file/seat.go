package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"

	"github.com/rota-run/rota/store"
)

// MaxProcesses is how many handles may have sessions in one directory at a time, unless Options say otherwise. Each process follows what the others write,
// so the work grows with the square of their number: beyond some seventy the heartbeats of all come late, all remove each other, and that makes more work.
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
	return fmt.Errorf("%w: %d processes take part here, and a directory is for at most so many", ErrFull, d.options.Processes)
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
