// Placement plans the same change with Rota and with a peer, in one run on one core, and prints the medians and the
// moves of both.
//
// # What is compared
//
// The peer is the cooperative sticky balancer of github.com/twmb/franz-go, through its public interface: the plan that
// the leader of a Kafka consumer group makes. Two figures are given for it: all it does for a plan (it decodes what
// each member says it owns, then balances), and the balancing alone. Rota's figure from scratch builds its view from
// flat arrays and plans; the incremental one plans on a view that is kept up to date, which is what a member of a
// cluster does. The ratio is the one least in our favour: Rota from scratch against the balancing alone.
//
// Moves are partitions that had a live owner and lose it. The peer's plan is the whole assignment, ours is what
// changes: that is part of why ours costs less, and so is that Rota gets its items in order of ID, as its value keeps
// them.
//
// # What is not compared
//
// The peer knows neither weights nor labels, capacities, pins and draining, so the input has none. Its members name
// topics and partitions; ours has one class with as many items.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/internal/schedule"
	"github.com/rota-run/rota/proof/bench/internal/measure"
)

func main() { measure.Main("placement", run) }

func run(_ context.Context, args []string, out, _ io.Writer) error {
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
	fmt.Fprintf(out, "%d members, %d partitions, %d topics, medians of %d rounds, one core, %s\n\n", *members,
		*partitions, *topics, *rounds, runtime.Version())
	fmt.Fprintf(out, "%-8s %12s %12s %12s %12s %8s %12s %12s\n", "change", "rota", "incremental", "peer", "peer+decode",
		"ratio", "rota moves", "peer moves")
	for _, change := range strings.Split(*changes, ",") {
		in, err := newInput(change, *members, *partitions, *topics)
		if err != nil {
			return err
		}
		r, err := compare(in, *rounds)
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
	return fmt.Sprintf("%-8s %12s %12s %12s %12s %8.3f %12d %12d", r.change, short(r.scratch), short(r.incremental),
		short(r.peer),
		short(r.peer+r.decode), float64(r.scratch)/float64(r.peer), r.moves, r.peerMoves)
}

func short(d time.Duration) string { return d.Round(time.Microsecond).String() }

// compare runs both in turn, so that both meet the same machine.
func compare(in input, rounds int) (result, error) {
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
		change: in.name, scratch: measure.Median(scratch), incremental: measure.Median(incremental),
		peer: measure.Median(balance), decode: measure.Median(decode),
		moves: in.moves(o.owners(plan)), peerMoves: in.moves(after),
	}, nil
}

// input is who owns what when a plan is due. Partition i is partition i/topics of topic i%topics.
type input struct {
	name       string
	members    int
	partitions int
	topics     int
	owner      []int // by partition; −1 for none
}

// newInput is an even sharing after which one member left, one joined, or nothing has been started yet.
func newInput(change string, members, partitions, topics int) (input, error) {
	in := input{name: change, members: members, partitions: partitions, topics: topics, owner: make([]int, partitions)}
	for i := range in.owner {
		switch change {
		case "leave": // members+1 shared them, the last has gone
			if in.owner[i] = i % (members + 1); in.owner[i] == members {
				in.owner[i] = -1
			}
		case "join": // members−1 shared them, the last is new
			in.owner[i] = i % max(members-1, 1)
		case "start":
			in.owner[i] = -1
		default:
			return input{}, fmt.Errorf("change %q: try leave, join or start", change)
		}
	}
	return in, nil
}

func memberID(m int) string { return fmt.Sprintf("member-%06d", m) }

func topic(t int) string { return fmt.Sprintf("topic-%04d", t) }

// moves counts the partitions that had an owner and have another or none.
func (in input) moves(after []int) (n int) {
	for i, o := range in.owner {
		if o >= 0 && after[i] != o {
			n++
		}
	}
	return n
}
