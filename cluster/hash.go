package cluster

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// String returns 16 hex digits.
func (h Hash) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// hashBytes hashes the record in a buffer, which it may give more room; the kind, after it, keeps equal bytes of different records apart.
func hashBytes(kind byte, buf *[]byte) Hash {
	b := append(*buf, kind)
	*buf = b[:len(b)-1]
	return Hash(xxhash.Sum64(b))
}

// chain is the hash over everything up to and with the record at index.
func chain(prev Hash, index Index, data []byte) Hash {
	var head [16]byte
	binary.LittleEndian.PutUint64(head[:8], uint64(prev))
	binary.LittleEndian.PutUint64(head[8:], uint64(index))
	return Hash(xxhash.Sum64(head[:]) + 31*xxhash.Sum64(data))
}
