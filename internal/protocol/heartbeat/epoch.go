package heartbeat

import (
	"strconv"
	"strings"
)

// Epoch names an epoch of a start of a process, as the last part of its heartbeat's key. It is never used again.
func Epoch(owner, nonce string, number uint64) string {
	return owner + "/" + nonce + "-" + strconv.FormatUint(number, 10)
}

// IsEpoch reports whether a name is of an epoch of that start, whatever its number.
func IsEpoch(name, owner, nonce string) bool {
	return strings.HasPrefix(name, owner+"/"+nonce+"-")
}
