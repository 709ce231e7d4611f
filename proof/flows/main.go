// Command flows kills what flows run on, and looks whether each segment is at the output once.
//
//	flows [--runs 10] [--stores file,nats,nats3,kafka,kafka3,etcd,zookeeper,postgres,elastic,zookeeper+nats] [--together 3] [--seed 1] [--json]
//
// A run is a flow of three sources, of which two lead to a, and a and the third to b, which counts them by key, and b
// to the output; on three processes with eight slots each. While it runs, processes are killed as by kill -9 and start
// again, and so are servers: of three NATS nodes, or three Kafka brokers, the one that leads most of the flow;
// zookeeper+nats agrees on the one and has the flow on the other. Then everything runs to the end, and the run is
// judged: each segment is in one batch of the output and in no other, and once in a state of b; all are there when the
// output is sealed, and the edge to it took no more.
//
// Exit codes: 0 all promises were kept, 1 one was not, or a run could not be played.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rota-run/rota/proof/server"
)

func main() {
	if server.Child() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if place := os.Getenv(memberVariable); place != "" {
		exit(live(ctx, place))
	}
	exit(play(ctx))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "flows:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// report is what all runs have come to.
type report struct {
	Runs       int    `json:"runs"`
	Segments   int    `json:"segments"`
	Kills      int    `json:"kills"`        // of processes
	ServerKill int    `json:"server_kills"` // of servers
	Redone     int    `json:"redone"`       // batches that were written more than once, with the same segments
	OK         int    `json:"ok"`           // 1: all promises were kept
	Seconds    int    `json:"seconds"`
	Stores     string `json:"stores"`
}

func play(ctx context.Context) error {
	runs := flag.Int("runs", 10, "how many")
	stores := flag.String("stores", "file,nats,nats3,kafka,kafka3,etcd,zookeeper,postgres,elastic,zookeeper+nats",
		"on which stores, in turn")
	together := flag.Int("together", 3, "so many runs at a time")
	seed := flag.Uint64("seed", 1, "of the instants of the kills")
	asJSON := flag.Bool("json", false, "print the report as JSON")
	flag.Parse()

	all, began := report{OK: 1, Stores: *stores}, time.Now()
	kinds, room := strings.Split(*stores, ","), make(chan struct{}, *together)
	errs := make([]error, *runs)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range *runs {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			kind := kinds[i%len(kinds)]
			r, err := one(ctx, kind, *seed+uint64(i)) //nolint:gosec // an index
			mu.Lock()
			defer mu.Unlock()
			all.add(r)
			fmt.Fprintf(os.Stderr, "run %d on %s: %d segments, %d processes and %d servers killed, %d batches written again: %s\n",
				i+1, kind, r.Segments, r.Kills, r.ServerKill, r.Redone, verdict(err))
			errs[i] = err
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	if err != nil {
		all.OK = 0
	}
	all.Seconds = int(time.Since(began).Seconds())
	if *asJSON {
		return errors.Join(err, json.NewEncoder(os.Stdout).Encode(all))
	}
	return err
}

func verdict(err error) string {
	if err != nil {
		return err.Error()
	}
	return "segments lost 0, doubled 0"
}

func (r *report) add(o report) {
	r.Runs++
	r.Segments += o.Segments
	r.Kills += o.Kills
	r.ServerKill += o.ServerKill
	r.Redone += o.Redone
}
