package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrSealed refuses a message for a sealed shard. Nothing was changed.
var ErrSealed = errors.New("the shard is sealed")

// Queue is the ability to hold the edges of flows. A flow is a set of shards under one name; a shard is a queue of
// messages that ends with a seal.
//
// A message is delivered at least once, until it is acknowledged. Who alone receives from a shard gets its messages in
// the order in which they were stored; what is delivered again comes when it is free again. Commit makes a flow
// correct: it stores outputs and acknowledges inputs as one fact, and has no effect for a unit that any process has
// committed before.
type Queue interface {
	// MakeFlow makes a flow with these shards, all empty. Making it again does nothing; with other shards it returns
	// ErrConflict. Do not reuse the name of a dropped flow.
	MakeFlow(ctx context.Context, flow string, shards []Shard) error
	// DropFlow removes a flow with all its contents. If the flow does not exist it does nothing.
	DropFlow(ctx context.Context, flow string) error
	// Receive delivers messages of one shard, none if there are none now. It never waits for messages. ErrNotFound if
	// the flow or shard does not exist.
	Receive(ctx context.Context, flow string, r Receive) ([]Message, error)
	// Commit makes each unit a fact, or finds that it already is one: fresh reports for each whether this call did it.
	// A unit is done as a whole or not at all, and the units of one call are independent of each other. If the error is
	// not nil, each unit may be done or not: receive again, and continue. ErrNotFound if the flow does not exist,
	// ErrTooLarge as for a record, ErrSealed if an output is for a sealed shard: then no unit of this call is done.
	Commit(ctx context.Context, flow string, units ...Unit) (fresh []bool, err error)
	// Depth returns the progress of shards; of all of them in the order of MakeFlow if none are named. It may be stale,
	// but only in one direction: a shard reported as sealed or drained is.
	Depth(ctx context.Context, flow string, shards ...Shard) ([]Depth, error)
}

// Broker is a queue apart from the store by which the members agree.
type Broker struct {
	Queue
	// Place names where it is, without secrets. All members of a cluster have the same.
	Place string
}

// Shard names a queue of a flow, one of the shards of an edge.
type Shard struct {
	Edge   string // a key; see CheckKey
	Number int
}

// Receive is a request for messages.
type Receive struct {
	Shard Shard
	// Limit is the most messages, 0 for none.
	Limit int
	// Lease is how long no other receiver gets these messages. After that, or earlier if the store cannot prevent it,
	// they are delivered again unless they are acknowledged.
	Lease time.Duration
	// Keep are messages of this shard that were received before; their lease starts again. Return are messages that
	// others may get at once.
	Keep, Return []Message
	// Peek returns messages after the number After, in order, without taking them. Lease, Keep and Return are ignored.
	Peek  bool
	After uint64
}

// Message is one message of a shard. It belongs to the store that delivered it: return it unchanged.
type Message struct {
	Shard     Shard
	Number    uint64 // its place in the shard; grows in the order in which messages were stored
	Segments  int    // number of segments in it, as set by its writer
	Data      []byte
	Delivered int    // number of deliveries, including this one, as far as the store knows; at least 1, 0 for a peek
	Receipt   string // of this delivery, opaque
}

// Unit is one commit: it consumes inputs and stores outputs.
type Unit struct {
	// Inputs are acknowledged. The first one names the unit: once it is acknowledged the unit is a fact.
	Inputs []Message
	// Name names a unit without inputs; a key.
	Name string
	// Outputs are stored, in order.
	Outputs []Put
}

// Put is one output: a message for a shard, or its seal.
type Put struct {
	Shard    Shard
	Segments int
	Data     []byte
	// Seal ends the shard; Segments and Data are ignored. Sealing it again does nothing.
	Seal bool
}

// Depth is the progress of a shard.
type Depth struct {
	Shard   Shard
	Stored  uint64 // messages ever stored
	Pending uint64 // messages not yet acknowledged, delivered or not
	Sealed  bool
	// The same in segments, if the store counts them; else 0.
	Segments, PendingSegments uint64
}

// Drained reports whether the shard is empty and sealed.
func (d Depth) Drained() bool { return d.Sealed && d.Pending == 0 }

// The limits of flows.
const (
	MaxShards   = 10_000 // of a flow
	MaxReceived = 10_000 // messages of one delivery
)

// CheckFlow reports what is wrong with a new flow, or nil.
func CheckFlow(flow string, shards []Shard) error {
	if err := CheckKey(flow); err != nil {
		return err
	}
	if len(shards) == 0 || len(shards) > MaxShards {
		return fmt.Errorf("flow %q has %d shards: between 1 and %d are allowed", flow, len(shards), MaxShards)
	}
	seen := make(map[Shard]bool, len(shards))
	for _, s := range shards {
		if err := CheckKey(s.Edge); err != nil {
			return fmt.Errorf("edge: %w", err)
		}
		if s.Number < 0 || s.Number >= MaxShards {
			return fmt.Errorf("shard %d of edge %q: give a number between 0 and %d", s.Number, s.Edge, MaxShards-1)
		}
		if seen[s] {
			return fmt.Errorf("shard %d of edge %q is named twice", s.Number, s.Edge)
		}
		seen[s] = true
	}
	return nil
}

// CheckReceive reports what is wrong with a request, or nil.
func CheckReceive(r Receive) error {
	if r.Limit < 0 || r.Limit > MaxReceived {
		return fmt.Errorf("limit is %d: give 0 to %d", r.Limit, MaxReceived)
	}
	if !r.Peek && r.Limit+len(r.Keep) > 0 && r.Lease <= 0 {
		return fmt.Errorf("lease is %v: give a time above zero", r.Lease)
	}
	for _, m := range [][]Message{r.Keep, r.Return} {
		for i := range m {
			if m[i].Shard != r.Shard {
				return fmt.Errorf("message %d of shard %v is not one of shard %v", m[i].Number, m[i].Shard, r.Shard)
			}
		}
	}
	return nil
}

// CheckUnit reports what is wrong with a unit, or nil.
func CheckUnit(u Unit) error {
	if len(u.Inputs) > 0 && u.Name != "" {
		return fmt.Errorf("unit %q has inputs as well: the first one names it", u.Name)
	}
	if len(u.Inputs) > 0 {
		return nil
	}
	return CheckKey(u.Name)
}
