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

// TakeSeat makes this handle one of those that may have sessions, until it is closed or its process ends. OpenSession does so too.
func (s *Store) TakeSeat() error { return s.wrap(s.takeSeat(), "take part") }

func (s *Store) takeSeat() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil // the caller meets that
	case s.seat != nil:
		return nil
	case s.writer == nil:
		return store.ErrReadOnly
	}
	if err := s.root.Mkdir(seatsDir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return hinted(err)
	}
	if err := narrow(s.root, seatsDir, dirMode, s.options); err != nil {
		return err
	}
	for n := range s.options.Processes {
		file, err := s.freeSeat(path.Join(seatsDir, strconv.Itoa(n)))
		if err != nil {
			return err
		}
		if file != nil {
			s.seat = file
			return nil
		}
	}
	return fmt.Errorf("%w: %d processes take part here, and a directory is for at most so many", ErrFull, s.options.Processes)
}

// freeSeat takes one seat; nil if another process has it.
func (s *Store) freeSeat(name string) (*os.File, error) {
	file, err := openPrivate(s.root, name, 0, s.options)
	if err != nil {
		return nil, err
	}
	got, err := flock(file, true, false)
	if err == nil && got {
		return file, nil
	}
	return nil, errors.Join(err, file.Close())
}
