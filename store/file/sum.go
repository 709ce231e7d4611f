package file

import (
	"crypto/rand"
	"encoding/base64"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordSum is the checksum of a record or snapshot. Its index is part of it, so that a misplaced one is noticed too, in a
// way that SQL can compute: an append learns its index in the same statement.
func recordSum(index uint64, data []byte) int64 {
	return int64(index%(1<<31))<<32 + dataSum(data)
}

func dataSum(data []byte) int64 { return int64(crc32.Checksum(data, castagnoli)) }

// docSum is the checksum of a row.
func docSum(key, name, session string, value []byte) int64 {
	head := key + "\x00" + name + "\x00" + session + "\x00"
	return int64(crc32.Update(crc32.Checksum([]byte(head), castagnoli), castagnoli, value))
}

func unique() string {
	var b [15]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
