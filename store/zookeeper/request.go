package zookeeper

import (
	"encoding/binary"

	"github.com/go-zookeeper/zk"
)

// request is a packet that the library writes, as far as it is looked at: the length of the rest, an id, what it asks for. A read continues with a path,
// the length of which comes first, and a byte that says whether it leaves a watch. The creation of a node ends with four bytes that say of what kind.
type request []byte

// What requests ask for.
const (
	opCreate          = 1
	opGetData         = 4
	opPing            = 11
	opGetChildren2    = 12
	opCreateContainer = 19
	opClose           = -11
)

const (
	requestHead = 12 // bytes before what depends on the kind of the request
	watchLength = 1
	kindLength  = 4
)

func (r request) whole() bool { return len(r) >= requestHead }
func (r request) id() int32   { return int32(binary.BigEndian.Uint32(r[4:])) } //nolint:gosec // the protocol's numbers are signed
func (r request) op() int32   { return int32(binary.BigEndian.Uint32(r[8:])) } //nolint:gosec // the same

// reads is the spot that a request reads; false for one that reads none.
func (r request) reads() (spot, bool) {
	if op := r.op(); op != opGetData && op != opGetChildren2 {
		return spot{}, false
	}
	path := r[requestHead:]
	if len(path) < 4 || uint64(len(path)) != 4+uint64(binary.BigEndian.Uint32(path))+watchLength {
		return spot{}, false
	}
	return spot{string(path[4 : len(path)-watchLength]), r.op() == opGetChildren2}, true
}

// container reports whether a request creates a container node, and says so only at its end.
func (r request) container() bool {
	return r.op() == opCreate && len(r) >= requestHead+kindLength && binary.BigEndian.Uint32(r[len(r)-kindLength:]) == zk.FlagContainer
}

// asking is a copy of a request that asks for something else.
func (r request) asking(op int32) request {
	c := append(request(nil), r...)
	binary.BigEndian.PutUint32(c[8:], uint32(op)) //nolint:gosec // the protocol's numbers are signed
	return c
}

// leaving is a copy of a read that leaves a watch.
func (r request) leaving() request {
	c := append(request(nil), r...)
	c[len(c)-watchLength] = 1
	return c
}
