package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
)

// Slot 0 is the log's; documents share the others by the first two segments of their keys, so heartbeats of different members use different slots.
const slotCount = 65

const logSlot = 0

// slots says what a transaction changed.
type slots [slotCount]bool

// docSlot is the slot of a key, or of a prefix of two segments or more.
func docSlot(path string) int {
	first, rest, _ := strings.Cut(path, "/")
	second, _, _ := strings.Cut(rest, "/")
	h := fnv.New32a()
	h.Write([]byte(first + "/" + second))
	return 1 + int(h.Sum32()%(slotCount-1))
}

// bell is the file in which each commit puts another number, by chance, into the slots of what it changed.
//
// A renewed heartbeat rings nothing: it would wake each process of the directory. It changes a number in another file, so that a look at the database's own
// version does not take it for a commit whose bell was not rung.
type bell struct{ file, beats *os.File }

// peal is what the bell showed at one time.
type peal [slotCount]uint64

func openBell(root *os.Root, o Options) (*bell, error) {
	if !o.ReadOnly {
		f, err := openPrivate(root, bellName, 0, o)
		if err != nil {
			return nil, err
		}
		beats, err := openPrivate(root, turnName, 0, o)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return &bell{file: f, beats: beats}, nil
	}
	f, err := root.Open(bellName)
	if errors.Is(err, fs.ErrNotExist) { // the database is there, or we would not have come here
		return nil, fmt.Errorf("%s is there, but the file %s beside it is not: it was not made by Rota, or copied without its other files: %w", dbName, bellName, ErrDamaged)
	}
	if err != nil {
		return nil, hinted(err)
	}
	beats, err := root.Open(turnName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(hinted(err), f.Close())
	}
	return &bell{file: f, beats: beats}, nil
}

// beat notes that a heartbeat was renewed. Who calls it holds the turn.
func (b *bell) beat() error {
	var raw [8]byte
	binary.LittleEndian.PutUint64(raw[:], rand.Uint64())
	_, err := b.beats.WriteAt(raw[:], 0)
	return err
}

// renewed is a number that each renewal changes.
func (b *bell) renewed() (uint64, error) {
	var raw [8]byte
	if b.beats == nil { // nobody writes here
		return 0, nil
	}
	if _, err := b.beats.ReadAt(raw[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return binary.LittleEndian.Uint64(raw[:]), nil
}

// look reads the numbers; those that were never written are zero.
func (b *bell) look() (peal, error) {
	var raw [slotCount * 8]byte
	if _, err := b.file.ReadAt(raw[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return peal{}, err
	}
	var p peal
	for i := range p {
		p[i] = binary.LittleEndian.Uint64(raw[i*8:])
	}
	return p, nil
}

// ring gives each slot that changed another number.
func (b *bell) ring(changed slots) error {
	var errs error
	for i, is := range changed {
		if !is {
			continue
		}
		var raw [8]byte
		binary.LittleEndian.PutUint64(raw[:], rand.Uint64())
		_, err := b.file.WriteAt(raw[:], int64(i)*8)
		errs = errors.Join(errs, err)
	}
	return errs
}

func (b *bell) close() error {
	if b.beats == nil {
		return b.file.Close()
	}
	return errors.Join(b.file.Close(), b.beats.Close())
}
