package cluster

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// String returns 16 hex digits.
func (h Hash) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// hashBytes hashes a record; the kind keeps equal bytes of different records apart. The kind goes last so that b needs no copy
// when it has room; b is not kept.
func hashBytes(kind byte, b []byte) Hash { return Hash(xxhash.Sum64(append(b, kind))) }

// chain is the hash over everything up to and with the record at index.
func chain(prev Hash, index Index, data []byte) Hash {
	var head [16]byte
	binary.LittleEndian.PutUint64(head[:8], uint64(prev))
	binary.LittleEndian.PutUint64(head[8:], uint64(index))
	return Hash(xxhash.Sum64(head[:]) + 31*xxhash.Sum64(data))
}
