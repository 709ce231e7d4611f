package file

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"os"
	"strings"
)

// Slot 0 is the log's; documents share the others by the first segment of their keys.
const slotCount = 65

const logSlot = 0

// slots says what a transaction changed.
type slots [slotCount]bool

// docSlot is the slot of a key, or of a prefix that is not "".
func docSlot(path string) int {
	first, _, _ := strings.Cut(path, "/")
	h := fnv.New32a()
	h.Write([]byte(first))
	return 1 + int(h.Sum32()%(slotCount-1))
}

// bell is the file whose counters grow after each commit. Who writes it holds the turn.
type bell struct{ file *os.File }

// peal is what the bell showed at one time.
type peal [slotCount]uint64

func openBell(root *os.Root, readOnly bool) (*bell, error) {
	flags := os.O_RDWR | os.O_CREATE
	if readOnly {
		flags = os.O_RDONLY
	}
	f, err := root.OpenFile(bellName, flags, 0o600)
	if err != nil {
		return nil, hinted(err)
	}
	return &bell{file: f}, nil
}

// look reads the counters; those that were never written are zero.
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

// ring raises the counters of what changed.
func (b *bell) ring(changed slots) error {
	if changed == (slots{}) {
		return nil
	}
	p, err := b.look()
	if err != nil {
		return err
	}
	var raw [slotCount * 8]byte
	for i := range p {
		if changed[i] {
			p[i]++
		}
		binary.LittleEndian.PutUint64(raw[i*8:], p[i])
	}
	_, err = b.file.WriteAt(raw[:], 0)
	return err
}

func (b *bell) close() error { return b.file.Close() }
