package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// MaxSnapshot is the maximum size of a snapshot. It is split into parts of partBytes.
const (
	MaxSnapshot = 256 << 20
	partBytes   = 768 << 10
)

// pointer is the data of the snapshots' node: which snapshot counts. Its parts were written before.
type pointer struct {
	index uint64 // 0: none yet
	name  string // random, of this snapshot
	parts int
	bytes int
	sum   uint32 // CRC-32C of all
}

type pointerAt struct {
	pointer
	version int32
}

func (p pointer) encode() []byte {
	return fmt.Appendf(nil, "%d %s %d %d %08x", p.index, p.name, p.parts, p.bytes, p.sum)
}

func decodePointer(data []byte) (p pointer, err error) {
	if len(data) == 0 {
		return pointer{}, nil
	}
	_, err = fmt.Sscanf(string(data), "%d %s %d %d %x", &p.index, &p.name, &p.parts, &p.bytes, &p.sum)
	if err != nil || p.index == 0 || p.parts != partsOf(p.bytes) {
		return pointer{}, fmt.Errorf("the snapshots' node holds %.60q: %w", data, ErrDamaged)
	}
	return p, nil
}

func partsOf(bytes int) int { return (bytes + partBytes - 1) / partBytes }

// partName begins with the index, so that parts of old and abandoned snapshots are known by their names.
func partName(index uint64, name string, part int) string {
	return fmt.Sprintf("%020d-%s-%06d", index, name, part)
}

func (s *Store) readPointer(ctx context.Context) (pointerAt, error) {
	n, err := s.own(ctx, snapNode)
	if err != nil {
		return pointerAt{}, err
	}
	p, err := decodePointer(n.data)
	if err != nil {
		return pointerAt{}, err
	}
	return pointerAt{p, n.stat.Version}, nil
}

// Snapshot implements store.Log.
func (s *Store) Snapshot(ctx context.Context) (r store.Record, err error) {
	defer driver.Wrap(&err, "read snapshot")
	if err := s.enter(ctx); err != nil {
		return store.Record{}, err
	}
	var last pointer
	for {
		var p pointer
		err := s.fresh(ctx, func() error {
			at, err := s.readPointer(ctx)
			if err == nil && at.index != 0 {
				r, err = s.readParts(ctx, at.pointer)
			}
			p = at.pointer
			return err
		})
		switch {
		case err == nil && p.index == 0:
			return store.Record{}, store.ErrNotFound
		case !errors.Is(err, zk.ErrNoNode):
			return r, s.lost(err)
		case p == last: // twice the same, and a part is not there
			return store.Record{}, fmt.Errorf("a part of the snapshot at %d is missing: %w", p.index, ErrDamaged)
		}
		last = p // replaced while it was read: the next one is there
	}
}

func (s *Store) readParts(ctx context.Context, p pointer) (store.Record, error) {
	parts := make([][]byte, p.parts)
	err := parallel(ctx, p.parts, func(ctx context.Context, i int) error {
		n, err := s.node(ctx, s.at(snapNode, partName(p.index, p.name, i)))
		parts[i] = n.data
		return err
	})
	if err != nil {
		return store.Record{}, err
	}
	data := slices.Concat(parts...)
	if len(data) != p.bytes || crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) != p.sum {
		return store.Record{}, fmt.Errorf("the snapshot at %d does not fit its checksum: %w", p.index, ErrDamaged)
	}
	return store.Record{Index: p.index, Data: data}, nil
}

// SaveSnapshot implements store.Log. The parts are written first, one after the other; then the pointer is changed, in one step.
func (s *Store) SaveSnapshot(ctx context.Context, r store.Record) error {
	if err := driver.Because(ctx, s.saveSnapshot(ctx, r)); err != nil {
		return fmt.Errorf("save snapshot at %d: %w", r.Index, err)
	}
	return nil
}

func (s *Store) saveSnapshot(ctx context.Context, r store.Record) error {
	if len(r.Data) > MaxSnapshot {
		return fmt.Errorf("%d bytes, at most %d: %w", len(r.Data), MaxSnapshot, store.ErrTooLarge)
	}
	if err := s.enterWriting(ctx); err != nil {
		return err
	}
	var h headerAt
	var old pointerAt
	err := s.fresh(ctx, func() error {
		var err error
		if h, err = s.readHeader(ctx); err == nil {
			old, err = s.readPointer(ctx)
		}
		return err
	})
	switch {
	case err != nil:
		return s.lost(err)
	case r.Index == 0 || r.Index > h.head:
		return fmt.Errorf("the newest index of the log is %d: give one that was appended", h.head)
	case r.Index <= old.index:
		return nil
	}
	p := pointer{r.Index, newLife(), partsOf(len(r.Data)), len(r.Data), crc32.Checksum(r.Data, crc32.MakeTable(crc32.Castagnoli))}
	if err := s.writeParts(ctx, p, r.Data); err != nil {
		return err
	}
	if err := s.point(ctx, p, old); err != nil {
		return err
	}
	s.dropParts(ctx)
	return nil
}

// writeParts writes what nothing points to yet; whatever becomes of it, nothing was changed.
func (s *Store) writeParts(ctx context.Context, p pointer, data []byte) error {
	for i, part := range slices.Collect(slices.Chunk(data, partBytes)) {
		part = slices.Clone(part) // the library may still send it after ctx has ended, when it is the caller's again
		for {
			_, err := do(ctx, s.link, func(c *zk.Conn) (string, error) {
				return c.Create(s.at(snapNode, partName(p.index, p.name, i)), part, zk.FlagPersistent, s.acl)
			})
			var sent *sentError
			if err == nil || errors.Is(err, zk.ErrNodeExists) { // the latter after a lost answer: the name is ours alone
				break
			}
			if !errors.As(err, &sent) || ctx.Err() != nil || s.isClosed() {
				return s.lost(err)
			}
		}
	}
	return nil
}

// point makes the new snapshot count, unless one that is as new does. Sending it again after a lost answer changes nothing, since it names the version that
// it replaces.
func (s *Store) point(ctx context.Context, p pointer, old pointerAt) error {
	var lost error
	for {
		_, err := do(ctx, s.link, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(s.at(snapNode), p.encode(), old.version) })
		var sent *sentError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &sent) && ctx.Err() == nil && !s.isClosed():
			lost = err
			continue
		case errors.Is(err, zk.ErrBadVersion):
			var again error
			if old, again = s.freshPointer(ctx); again == nil {
				if old.index >= p.index {
					return nil // ours, or one that is as new
				}
				continue
			}
			err = again
		}
		if lost != nil {
			return driver.Because(ctx, s.failed(lost))
		}
		return s.failed(err)
	}
}

func (s *Store) freshPointer(ctx context.Context) (p pointerAt, err error) {
	err = s.fresh(ctx, func() error {
		p, err = s.readPointer(ctx)
		return err
	})
	return p, err
}

// dropParts removes what no pointer will ever name: parts of other snapshots at or before the newest one. Whoever is writing such a snapshot will find
// that it is not newer. What cannot be removed now is removed after the next snapshot.
func (s *Store) dropParts(ctx context.Context) {
	p, err := s.freshPointer(ctx)
	if err != nil {
		return
	}
	names, err := s.children(ctx, s.at(snapNode))
	if err != nil {
		return
	}
	for _, name := range names {
		index, rest, _ := strings.Cut(name, "-")
		i, err := strconv.ParseUint(index, 10, 64)
		if err != nil || i > p.index || strings.HasPrefix(rest, p.name) {
			continue
		}
		_, err = do(ctx, s.link, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(s.at(snapNode, name), -1) })
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			s.log.Debug("remove a part of an old snapshot", "node", name, "err", err)
			return
		}
	}
}
