// Package idle counts what a cluster that has nothing to do asks of its store.
//
// # How
//
// All members are in this process, each a node with a store handle of its own: what a server sees is the same as with
// as many processes. They join, a job of so many partitions is submitted, and when each partition runs, and has run for
// two TTLs, requests are counted over a while.
//
// # What is counted
//
// Messages that the server got, by its own count: etcd's grpc_server_msg_received_total, NATS' in_msgs, Elasticsearch's
// counts of its routes, what ZooKeeper calls received packets (pings included). The stores without a server count calls
// of their handles.
//
// # What it is compared with
//
// The goal is members × 3 / TTL for the heartbeats, and one request for each member and second for all the rest,
// whatever the number of partitions. Under the protocol lease it is one for each member and poll, and three more for
// the leader.
package idle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/rota-run/rota/proof/bench/internal/place"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Options of [Run].
type Options struct {
	Kinds      []string // of stores
	Protocol   protocol.Protocol
	Members    int
	Partitions []int
	TTL        time.Duration
	For        time.Duration // how long is counted
	Start      time.Duration // bounds the start of a server and of all members, and the time until all partitions run
	Out        io.Writer     // for people
}

// Row is one measurement.
type Row struct {
	Store      string  `json:"store"`
	Members    int     `json:"members"`
	Partitions int     `json:"partitions"`
	TTLMS      int64   `json:"ttl_ms"`
	Seconds    float64 `json:"seconds"`
	Requests   uint64  `json:"requests"`
	PerSecond  float64 `json:"requests_per_second"`
	Goal       float64 `json:"goal"`    // per second
	Entries    uint64  `json:"entries"` // that were appended while it was counted: 0, or it was not idle
	HeapMB     uint64  `json:"heap_mb"` // of all members together
	OK         bool    `json:"ok"`
}

// String is a line for people.
func (r Row) String() string {
	verdict := "more than the goal"
	if r.OK {
		verdict = "ok"
	}
	return fmt.Sprintf("%-10s %4d members %7d partitions  %8.1f requests/s  goal %6.1f  heap %5d MB  %s", r.Store,
		r.Members, r.Partitions, r.PerSecond, r.Goal, r.HeapMB, verdict)
}

// Run measures each kind of store with each number of partitions. A kind that this machine cannot have is said, and
// left out.
func Run(ctx context.Context, o Options) ([]Row, error) {
	var rows []Row
	for _, kind := range o.Kinds {
		for _, n := range o.Partitions {
			r, err := one(ctx, kind, n, o)
			if errors.Is(err, place.ErrMissing) {
				fmt.Fprintf(o.Out, "NOT MEASURED: %v\n", err)
				break
			}
			if err != nil {
				return rows, fmt.Errorf("%s, %d partitions: %w", kind, n, err)
			}
			fmt.Fprintln(o.Out, r)
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func one(ctx context.Context, kind string, partitions int, o Options) (_ Row, err error) {
	starting, cancel := context.WithTimeout(ctx, o.Start)
	defer cancel()
	p, err := place.Make(starting, kind)
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	c, err := gather(starting, p, o)
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.submit(starting, partitions); err != nil {
		return Row{}, err
	}
	if err := pass(ctx, 2*o.TTL); err != nil {
		return Row{}, err
	}
	return c.measure(ctx, Row{Store: kind, Members: o.Members, Partitions: partitions, TTLMS: o.TTL.Milliseconds()},
		o.For)
}

// measure counts for a while.
func (c *crowd) measure(ctx context.Context, r Row, span time.Duration) (Row, error) {
	index, lost, began := c.nodes[0].Value().Applied(), c.lost.Load(), time.Now()
	before, err := c.requests(ctx)
	if err != nil {
		return r, err
	}
	if err := pass(ctx, span); err != nil {
		return r, err
	}
	after, err := c.requests(ctx)
	if err != nil {
		return r, err
	}
	if n := c.lost.Load() - lost; n > 0 {
		return r, fmt.Errorf("%d times a member was removed: this machine is too slow for so many members at this TTL",
			n)
	}
	took := time.Since(began).Seconds()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	r.Seconds, r.Requests, r.Entries, r.HeapMB = took, after-before, c.nodes[0].Value().Applied()-index,
		mem.HeapAlloc>>20
	r.PerSecond = float64(r.Requests) / took
	r.Goal = c.goal(r.Members)
	r.OK = r.PerSecond <= r.Goal && r.Entries == 0
	return r, nil
}

// goal is how many requests a second are enough. Where members claim, all look at the board in each poll, and the
// leader reads all documents in three requests; where the store gives hints, also after a heartbeat: all after the
// leader's, and the leader after each.
func (c *crowd) goal(members int) float64 {
	n, renewals := float64(members), 3/c.ttl.Seconds()
	if c.protocol.Name() != "lease" {
		return n * (renewals + 1)
	}
	polls, hints := 1/min(c.ttl/20, time.Second).Seconds(), 0.0
	if _, ok := c.stores[0].(store.Watcher); ok {
		hints = renewals
	}
	return n*(renewals+polls+hints) + 3*(polls+n*hints)
}

// pass lets time pass: it is what is measured.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
