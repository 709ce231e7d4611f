package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// header is the data of the log's node: three decimal numbers.
type header struct {
	head    uint64 // newest index; 0: none yet
	trimmed uint64 // records up to here are gone, or will be
	freed   uint64 // records up to here were deleted
}

// headerAt is the header with the version of its node.
type headerAt struct {
	header
	version int32
}

func (h header) encode() []byte {
	return fmt.Appendf(nil, "%d %d %d", h.head, h.trimmed, h.freed)
}

func decodeHeader(data []byte) (header, error) {
	fields := strings.Fields(string(data))
	var n [3]uint64
	for i := range n {
		if len(fields) != len(n) {
			return header{}, fmt.Errorf("the log's node holds %.40q: %w", data, ErrDamaged)
		}
		var err error
		if n[i], err = strconv.ParseUint(fields[i], 10, 64); err != nil {
			return header{}, fmt.Errorf("the log's node holds %.40q: %w", data, ErrDamaged)
		}
	}
	h := header{n[0], n[1], n[2]}
	if h.freed > h.trimmed || h.trimmed > h.head {
		return header{}, fmt.Errorf("the log's node holds %.40q, which is out of order: %w", data, ErrDamaged)
	}
	return h, nil
}

// readHeader reads the header as the connected server knows it.
func (s *Store) readHeader(ctx context.Context) (headerAt, error) {
	n, err := s.own(ctx, logNode)
	if err != nil {
		return headerAt{}, err
	}
	h, err := decodeHeader(n.data)
	if err != nil {
		return headerAt{}, err
	}
	at := headerAt{h, n.stat.Version}
	s.appender.learn(at)
	return at, nil
}

// own reads a node that exists as long as the store does.
func (s *Store) own(ctx context.Context, name string) (node, error) {
	n, err := s.node(ctx, s.at(name))
	if errors.Is(err, zk.ErrNoNode) {
		return n, fmt.Errorf("%s is gone: %w: the store was deleted; restart its members", s.at(name), ErrDamaged)
	}
	return n, err
}

func (s *Store) setHeader(h header, version int32) *zk.SetDataRequest {
	return &zk.SetDataRequest{Path: s.at(logNode), Data: h.encode(), Version: version}
}

// recordPath is where a record lies. Indexes are dense, so that readers need no list of names.
func (s *Store) recordPath(index uint64) string {
	return s.at(logNode, fmt.Sprintf("%020d", index))
}

// batchLength is the length of the random name of a batch, with which each of its records begins.
const batchLength = lifeLength

func decodeRecord(path string, data []byte) (batch string, record []byte, err error) {
	if len(data) < batchLength {
		return "", nil, fmt.Errorf("%s holds no record: %w", path, ErrDamaged)
	}
	return string(data[:batchLength]), data[batchLength:], nil
}
