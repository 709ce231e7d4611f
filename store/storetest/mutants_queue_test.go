//go:build proof

package storetest_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/store"
)

// queueMutants maps what is broken about a queue to the rule that must fail.
func queueMutants() map[string]string {
	return map[string]string{
		"commit counts twice":       "queue/one commit of a unit counts",
		"acknowledged before":       "queue/depth",
		"late commit is done":       "queue/a late commit changes nothing",
		"named units again":         "queue/units without inputs",
		"halves of two commits":     "queue/concurrent commits of one unit",
		"second output lost":        "queue/several outputs are one fact",
		"seal is a message":         "queue/seal once",
		"messages behind the seal":  "queue/seal once",
		"drained too early":         "queue/seal once",
		"leases ignored":            "queue/receive and acknowledge",
		"leases for ever":           "queue/a lease ends",
		"keep ignored":              "queue/a lease is kept",
		"return ignored":            "queue/a late commit changes nothing",
		"two batches swapped":       "queue/one reader gets what was written in its order",
		"peek takes":                "queue/peek",
		"other shards taken":        "queue/make and drop",
		"joined inputs stay":        "queue joins/several inputs are one fact",
		"units named by the second": "queue joins/the first input names the unit",
	}
}

func (m *mutant) MakeFlow(ctx context.Context, flow string, shards []store.Shard) error {
	err := m.Store.MakeFlow(ctx, flow, shards)
	if m.broken == "other shards taken" && len(shards) == 2 {
		return nil
	}
	return err
}

func (m *mutant) Commit(ctx context.Context, flow string, units ...store.Unit) ([]bool, error) {
	units = slices.Clone(units)
	n := m.count("commits")
	for i := range units {
		m.breakUnit(&units[i], n)
	}
	fresh, err := m.Store.Commit(ctx, flow, units...)
	if err != nil && m.broken == "messages behind the seal" && ctx.Err() == nil && units[0].Name == "late" {
		return []bool{true}, nil
	}
	for i, u := range units {
		again := err == nil && !fresh[i] && len(u.Inputs) > 0
		if again && (m.broken == "commit counts twice" || m.broken == "late commit is done" ||
			m.broken == "halves of two commits" && len(u.Outputs) == 2) {
			u.Name, u.Inputs = fmt.Sprint("again/", n, "/", i), nil
			if m.broken == "halves of two commits" {
				u.Outputs = u.Outputs[1:]
			}
			_, _ = m.Store.Commit(ctx, flow, u)
		}
	}
	return fresh, err
}

func (m *mutant) breakUnit(u *store.Unit, n int) {
	switch {
	case m.broken == "named units again" && u.Name != "":
		u.Name = fmt.Sprint(u.Name, "/", n)
	case m.broken == "second output lost" && len(u.Outputs) > 1:
		u.Outputs = u.Outputs[:1]
	case m.broken == "joined inputs stay" && len(u.Inputs) > 1:
		u.Inputs = u.Inputs[:1]
	case m.broken == "units named by the second" && len(u.Inputs) > 1:
		u.Inputs = []store.Message{u.Inputs[1], u.Inputs[0]}
	case m.broken == "seal is a message":
		u.Outputs = slices.Clone(u.Outputs)
		for i := range u.Outputs {
			u.Outputs[i].Seal = false
		}
	}
}

func (m *mutant) Receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	switch m.broken {
	case "leases for ever":
		r.Lease = time.Hour
	case "leases ignored":
		if r.Limit > 0 && r.Lease > time.Second {
			r.Lease = time.Nanosecond
		}
	case "keep ignored":
		if r.Lease > time.Second {
			r.Keep = nil
		}
	case "return ignored":
		r.Return = nil
	case "peek takes":
		if r.Peek {
			r.Peek, r.Lease = false, time.Hour
		}
	}
	all, err := m.Store.Receive(ctx, flow, r)
	if m.broken == "two batches swapped" && len(all) > 1 && !r.Peek {
		all[0], all[1] = all[1], all[0]
	}
	if m.broken == "acknowledged before" && len(all) > 0 {
		for i := range all {
			_, _ = m.Store.Commit(ctx, flow, store.Unit{Inputs: all[i : i+1]})
		}
	}
	return all, err
}

func (m *mutant) Depth(ctx context.Context, flow string, shards ...store.Shard) ([]store.Depth, error) {
	all, err := m.Store.Depth(ctx, flow, shards...)
	for i := range all {
		if m.broken == "drained too early" && all[i].Sealed {
			all[i].Pending = 0
		}
	}
	return all, err
}
