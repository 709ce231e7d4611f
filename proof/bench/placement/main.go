package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/schedule"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "placement:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("placement", flag.ContinueOnError)
	members := flags.Int("members", 1000, "members after the change")
	partitions := flags.Int("partitions", 100_000, "partitions")
	topics := flags.Int("topics", 10, "topics of the peer that the partitions belong to")
	rounds := flags.Int("rounds", 11, "how often each is measured, in turn")
	changes := flags.String("changes", "leave,join,start", "what to plan")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read flags: %w", err)
	}
	if *members < 1 || *partitions < 1 || *topics < 1 || *topics > *partitions || *rounds < 1 {
		return fmt.Errorf("read flags: members, partitions, topics and rounds are at least 1, topics at most partitions")
	}
	runtime.GOMAXPROCS(1)
	fmt.Fprintf(out, "%d members, %d partitions, %d topics, medians of %d rounds, one core, %s\n\n", *members, *partitions, *topics, *rounds, runtime.Version())
	fmt.Fprintf(out, "%-8s %12s %12s %12s %12s %8s %12s %12s\n", "change", "rota", "incremental", "peer", "peer+decode", "ratio", "rota moves", "peer moves")
	for _, change := range strings.Split(*changes, ",") {
		in, err := newInput(change, *members, *partitions, *topics)
		if err != nil {
			return err
		}
		r, err := measure(in, *rounds)
		if err != nil {
			return fmt.Errorf("measure %s: %w", change, err)
		}
		fmt.Fprintln(out, r)
	}
	return nil
}

// result is one line of the table.
type result struct {
	change                             string
	scratch, incremental, peer, decode time.Duration // medians
	moves, peerMoves                   int
}

func (r result) String() string {
	return fmt.Sprintf("%-8s %12s %12s %12s %12s %8.3f %12d %12d", r.change, short(r.scratch), short(r.incremental), short(r.peer),
		short(r.peer+r.decode), float64(r.scratch)/float64(r.peer), r.moves, r.peerMoves)
}

func short(d time.Duration) string { return d.Round(time.Microsecond).String() }

// measure runs both in turn, so that both meet the same machine.
func measure(in input, rounds int) (result, error) {
	o, p := newOurs(in), newPeer(in)
	var scratch, incremental, balance, decode []time.Duration
	var plan schedule.Plan
	var peerPlan kgo.IntoSyncAssignment
	for range rounds {
		runtime.GC()
		var view *schedule.Table
		began := time.Now()
		view = o.view()
		plan = schedule.Place(view, -1)
		scratch = append(scratch, time.Since(began))
		began = time.Now()
		schedule.Place(view, -1)
		incremental = append(incremental, time.Since(began))

		runtime.GC()
		began = time.Now()
		b, err := p.decode()
		if err != nil {
			return result{}, err
		}
		decode = append(decode, time.Since(began))
		began = time.Now()
		if peerPlan, err = p.balance(b); err != nil {
			return result{}, err
		}
		balance = append(balance, time.Since(began))
	}
	after, err := p.owners(peerPlan)
	if err != nil {
		return result{}, err
	}
	return result{
		change: in.name, scratch: median(scratch), incremental: median(incremental), peer: median(balance), decode: median(decode),
		moves: in.moves(o.owners(plan)), peerMoves: in.moves(after),
	}, nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
