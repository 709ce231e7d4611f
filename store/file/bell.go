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
	"slices"
	"strings"
)

// Slot 0 is the log's; rows share the others by the first two segments of their keys, so heartbeats of different
// members use different slots.
const slotCount = 65

const logSlot = 0

// Each row also has a family: a second slot, chosen by the first segment of its key alone. Without it, a process that
// watches all heartbeats would wake up whenever a position is saved. The families come after the mark in the file.
const (
	familyCount = 32
	familiesAt  = markAt + markSize
	bellSize    = familiesAt + familyCount*8
)

// slots says what a transaction changed.
type slots struct {
	of       [slotCount]bool
	families [familyCount]bool
}

// log marks the log as changed.
func (s *slots) log() { s.of[logSlot] = true }

// docs is what the keys of documents begin with; what follows is what watches tell apart.
const docs = "d/"

// doc marks a row as changed.
func (s *slots) doc(key string) {
	key = strings.TrimPrefix(key, docs)
	s.of[docSlot(key)] = true
	s.families[family(key)] = true
}

// docSlot is the slot of a key, or of a prefix of two segments or more.
func docSlot(path string) int {
	first, rest, _ := strings.Cut(path, "/")
	second, _, _ := strings.Cut(rest, "/")
	return 1 + hashed(first+"/"+second, slotCount-1)
}

// family is the second slot of a key, or of a prefix of one segment or more.
func family(path string) int {
	first, _, _ := strings.Cut(path, "/")
	return hashed(first, familyCount)
}

func hashed(text string, n uint32) int {
	h := fnv.New32a()
	h.Write([]byte(text))
	return int(h.Sum32() % n)
}

// bell is the file in which each commit puts another number, by chance, into the slots of what it changed.
//
// A renewed heartbeat rings nothing: it would wake each process of the directory. It changes a number in another file,
// so that a look at the database's own version does not take it for a commit whose bell was not rung.
type bell struct{ file, beats *os.File }

// numbers is what the bell showed at one time.
type numbers struct {
	of       [slotCount]uint64
	families [familyCount]uint64
}

// touches reports whether what changed between two numbers of the bell may concern rows below a prefix.
func (p numbers) touches(next numbers, prefix string) bool {
	prefix = strings.TrimPrefix(prefix, docs)
	switch strings.Count(prefix, "/") {
	case 0:
		p.of[logSlot] = next.of[logSlot]
		return p.of != next.of
	case 1:
		return p.families[family(prefix)] != next.families[family(prefix)]
	}
	slot := docSlot(prefix)
	return p.of[slot] != next.of[slot]
}

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
		return nil, fmt.Errorf("%w: %s is there, but the file %s beside it is not: it was not made by Rota, or copied"+
			" without its other files (restore all of them, or start a member to go on with what is there)",
			ErrDamaged, dbName, bellName)
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
func (b *bell) look() (numbers, error) {
	raw, err := b.raw()
	if err != nil {
		return numbers{}, err
	}
	var p numbers
	for i := range p.of {
		p.of[i] = binary.LittleEndian.Uint64(raw[i*8:])
	}
	for i := range p.families {
		p.families[i] = binary.LittleEndian.Uint64(raw[familiesAt+i*8:])
	}
	return p, nil
}

func (b *bell) raw() (raw [bellSize]byte, err error) {
	_, err = b.file.ReadAt(raw[:], 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return raw, err
}

// ring gives each slot that changed another number, with one write for those beside each other: a transaction of
// positions changes half of them. The caller holds the turn.
func (b *bell) ring(changed slots) error {
	raw, err := b.raw()
	if err != nil {
		return err
	}
	return errors.Join(b.put(raw[:], 0, changed.of[:]), b.put(raw[:], familiesAt, changed.families[:]))
}

// put changes numbers from an offset on, and writes from the first to the last of them.
func (b *bell) put(raw []byte, at int, changed []bool) error {
	first := slices.Index(changed, true)
	if first < 0 {
		return nil
	}
	end := at
	for i, is := range changed {
		if is {
			binary.LittleEndian.PutUint64(raw[at+i*8:], rand.Uint64())
			end = at + i*8 + 8
		}
	}
	from := at + first*8
	_, err := b.file.WriteAt(raw[from:end], int64(from))
	return err
}

func (b *bell) close() error {
	if b.beats == nil {
		return b.file.Close()
	}
	return errors.Join(b.file.Close(), b.beats.Close())
}
