package file

import (
	"crypto/rand"
	"encoding/base64"
	"hash/crc32"

	"github.com/rota-run/rota/store"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordSum is the checksum of a record or snapshot. Its index is part of it, so that a misplaced one is noticed too, in a
// way that SQL can compute: an append learns its index in the same statement.
func recordSum(index uint64, data []byte) int64 {
	return int64(index%(1<<31))<<32 + dataSum(data)
}

func dataSum(data []byte) int64 { return int64(crc32.Checksum(data, castagnoli)) }

// docSum is the checksum of a document.
func docSum(key, version, session string, value []byte) int64 {
	head := key + "\x00" + version + "\x00" + session + "\x00"
	return int64(crc32.Update(crc32.Checksum([]byte(head), castagnoli), castagnoli, value))
}

// newVersion is by chance, not counted: so it never comes back, not even when an old copy of the directory is restored.
func newVersion() store.Version { return store.Version(unique()) }

func unique() string {
	var b [15]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
