package logqueue

import (
	"encoding/json"
	"fmt"

	"github.com/rota-run/rota/store"
)

// operation is a record of a flow's log. ID is of its author; exactly one of the others is set.
type operation struct {
	ID     string        `json:"id"`
	Make   []store.Shard `json:"make,omitempty"`
	Drop   bool          `json:"drop,omitempty"`
	Take   *take         `json:"take,omitempty"`
	Relet  *relet        `json:"relet,omitempty"`
	Commit []unit        `json:"commit,omitempty"`
}

// take begins leases of messages of one shard.
type take struct {
	Shard    int        `json:"s"` // its place in Make
	Lease    int64      `json:"l"` // nanoseconds
	Messages []delivery `json:"m"`
}

// relet lengthens leases of one shard, or ends them.
type relet struct {
	Shard  int        `json:"s"`
	Lease  int64      `json:"l,omitempty"`
	Keep   []delivery `json:"k,omitempty"`
	Return []delivery `json:"r,omitempty"`
}

// delivery is a message and how often it was delivered: a number of each, in this order.
type delivery [2]uint64

// unit is a store.Unit.
type unit struct {
	Name    string   `json:"n,omitempty"`
	Inputs  []place  `json:"i,omitempty"`
	Outputs []output `json:"o,omitempty"`
}

// place is a message of a shard: a number of each.
type place [2]uint64

// output is a store.Put. Its data are in the record if they are few, else where At says.
type output struct {
	Shard    int    `json:"s"`
	Segments int    `json:"n,omitempty"`
	Seal     bool   `json:"e,omitempty"`
	Data     []byte `json:"d,omitempty"`
	Stored   bool   `json:"t,omitempty"` // at At
	At       uint64 `json:"a,omitempty"`
}

func encode(op operation) ([]byte, error) { return json.Marshal(op) }

func decode(data []byte) (operation, error) {
	var op operation
	if err := json.Unmarshal(data, &op); err != nil {
		return op, fmt.Errorf("read an operation: %w", err)
	}
	return op, nil
}
