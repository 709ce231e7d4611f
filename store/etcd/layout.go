package etcd

import (
	"fmt"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// format is the value of the format key. A store with a higher number is not opened.
const (
	formatName   = "rota"
	formatNumber = 1
)

// layout names the keys below a prefix.
//
//	P/format            "rota 1"
//	P/docs/<key>        a document; its version is its mod revision
//	P/log/<index>       a record
//	P/head              the index of the newest record, never removed
//	P/began             the index behind which a log that was seeded begins
//	P/snapshot          which snapshot is the newest, and where its chunks lie
//	P/chunks/<index>-<id>/<n>
type layout struct{ prefix string } // with "/" at its end

func newLayout(prefix string) layout { return layout{prefix + "/"} }

func (l layout) format() string   { return l.prefix + "format" }
func (l layout) docs() string     { return l.prefix + "docs/" }
func (l layout) head() string     { return l.prefix + "head" }
func (l layout) began() string    { return l.prefix + "began" }
func (l layout) snapshot() string { return l.prefix + "snapshot" }
func (l layout) chunks() string   { return l.prefix + "chunks/" }

func (l layout) doc(key string) string { return l.docs() + key }

func (l layout) record(index uint64) string { return fmt.Sprintf("%slog/%020d", l.prefix, index) }

// recordsEnd is the first key behind all records.
func (l layout) recordsEnd() string { return clientv3.GetPrefixRangeEnd(l.prefix + "log/") }

// recordIndex is the index in the key of a record.
func (l layout) recordIndex(key []byte) (uint64, error) {
	text, ok := strings.CutPrefix(string(key), l.prefix+"log/")
	index, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("%w: the key %q is not that of a record", ErrDamaged, key)
	}
	return index, nil
}

// chunksBelow is the end of the range of chunks of snapshots before index.
func (l layout) chunksBelow(index uint64) string { return fmt.Sprintf("%s%020d", l.chunks(), index) }

func (l layout) chunkFolder(index uint64, id string) string {
	return fmt.Sprintf("%s%020d-%s/", l.chunks(), index, id)
}

func (l layout) chunk(index uint64, id string, n int) string {
	return fmt.Sprintf("%s%06d", l.chunkFolder(index, id), n)
}
