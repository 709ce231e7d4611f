package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/store"
)

// bellNote is what the document of the bell says: in which flows something has happened lately, and in which order.
type bellNote struct {
	Last    uint64            `json:"last"`              // number of the newest ring; it grows
	Dropped uint64            `json:"dropped,omitempty"` // that of the newest ring that is not in Flows any more
	Flows   map[string]uint64 `json:"flows,omitempty"`   // the newest ring of each
}

// bellFlows is how many flows a note names.
const bellFlows = 256

// readNote reads a note. One that cannot be read has everybody look.
func readNote(data []byte) bellNote {
	var n bellNote
	if len(data) > 0 && json.Unmarshal(data, &n) != nil {
		return bellNote{}
	}
	return n
}

func (n bellNote) encode() []byte {
	data, _ := json.Marshal(n) // never fails
	return data
}

// ring adds rings, in order, and forgets the oldest ones.
func (n bellNote) ring(flows []string) bellNote {
	out := bellNote{Last: n.Last, Dropped: n.Dropped, Flows: make(map[string]uint64, len(n.Flows)+len(flows))}
	for f, at := range n.Flows { // order-free: a copy
		out.Flows[f] = at
	}
	for _, f := range flows {
		out.Last++
		out.Flows[f] = out.Last
	}
	var numbers []uint64
	for _, at := range out.Flows { // order-free: sorted below
		numbers = append(numbers, at)
	}
	slices.Sort(numbers)
	if extra := len(numbers) - bellFlows; extra > 0 {
		out.Dropped = numbers[extra-1]
		for f, at := range out.Flows { // order-free: each by itself
			if at <= out.Dropped {
				delete(out.Flows, f)
			}
		}
	}
	return out
}

// since tells whether a flow was rung after a ring that was heard. A note that was lost, or too long ago, may have said so.
func (n bellNote) since(heard uint64, flow string) bool {
	return n.Last < heard || n.Dropped > heard || n.Flows[flow] > heard
}

// RingFlow notes that something has happened in a flow, named as by [FlowName]: for a process that is no member.
func RingFlow(ctx context.Context, docs store.Docs, flow string) error {
	for try := 0; ; try++ {
		d, err := docs.Get(ctx, bellKey)
		if err == nil || errors.Is(err, store.ErrNotFound) {
			d.Key, d.Value = bellKey, readNote(d.Value).ring([]string{flow}).encode()
			_, err = docs.Put(ctx, d)
		}
		if err == nil {
			return nil
		}
		if try+1 == bellTries || !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("ring for flow %s: %w", flow, err)
		}
	}
}
