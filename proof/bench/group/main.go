// Group measures how long partitions of a Kafka consumer group have no owner when members are killed, as `rotachaos
// kills` does for Rota: five processes, kill -9 of one of them, or of two at the same instant, again and again.
//
// # What is compared
//
// The members are clients of github.com/twmb/franz-go, cooperative sticky, with the session timeout as long as Rota's
// TTL and a third of that between heartbeats, as Rota renews its heartbeat. The gap is from the instant of the kill
// until the last partition of the killed has been assigned to a member that lives, by what that member wrote down when
// it was told; fetching begins after that and is not counted. All processes of one machine share the clock.
//
// # What is not compared
//
// A consumer group has neither fencing tokens nor a member's own deadline: a member that is suspended goes on when it
// wakes up. Its partitions come with a log of their own, ours with a task. The broker must allow sessions that short
// (group.min.session.timeout.ms).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/proof/bench/internal/measure"
	"github.com/rota-run/rota/protocol"
)

// options of the measurement and of each member.
type options struct {
	brokers    []string
	group      string // and the topic
	member     string // set in the processes of members
	members    int
	partitions int
	kills      int
	session    time.Duration
}

func main() { measure.Main("group", run) }

func run(ctx context.Context, args []string, out, _ io.Writer) error {
	o, err := read(args)
	if err != nil {
		return err
	}
	if o.member != "" {
		return live(ctx, o, out)
	}
	for _, way := range []struct {
		what string
		dead int // at a time
	}{{"alone", 1}, {"two at once", 2}} {
		gaps, err := gapsOf(ctx, o, way.dead)
		if err != nil {
			return fmt.Errorf("kill %s: %w", way.what, err)
		}
		fmt.Fprintf(out, "%-12s %d kills  median %s  most %s\n", way.what, len(gaps), millis(measure.Median(gaps)),
			millis(slices.Max(gaps)))
	}
	return nil
}

func millis(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func read(args []string) (options, error) {
	flags := flag.NewFlagSet("group", flag.ContinueOnError)
	o := options{}
	brokers := flags.String("brokers", "",
		"addresses of brokers, separated by commas; they must allow sessions as short as -session")
	flags.StringVar(&o.group, "group", "", "of a member: the group and topic; set by the measurement")
	flags.StringVar(&o.member, "member", "", "be a member of this name; set by the measurement")
	flags.IntVar(&o.members, "members", 5, "processes")
	flags.IntVar(&o.partitions, "partitions", 100, "partitions of the topic")
	flags.IntVar(&o.kills, "kills", 20, "kills of each way")
	flags.DurationVar(&o.session, "session", 4*time.Second, "session timeout of the members")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("read flags: %w", err)
	}
	if *brokers == "" {
		return o, errors.New("NOT MEASURED: no broker; give -brokers 127.0.0.1:9092")
	}
	o.brokers = strings.Split(*brokers, ",")
	if o.members < 3 || o.partitions < o.members || o.kills < 1 || o.session < 100*time.Millisecond {
		return o, errors.New("read flags: at least 3 members, as many partitions, 1 kill, sessions of 100ms")
	}
	return o, nil
}

// line is what a member writes down when it is told.
type line struct {
	Member     string           `json:"member"`
	At         protocol.Instant `json:"at"`
	Assigned   []int32          `json:"assigned,omitempty"`
	Unassigned []int32          `json:"unassigned,omitempty"`
}

// live is one member, until ctx ends.
func live(ctx context.Context, o options, out io.Writer) error {
	var mu sync.Mutex
	enc := json.NewEncoder(out)
	tell := func(l line) {
		l.Member, l.At = o.member, protocol.Now()
		mu.Lock()
		defer mu.Unlock()
		_ = enc.Encode(l) // without a reader there is no measurement
	}
	unassigned := func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
		tell(line{Unassigned: lost[o.group]})
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(o.brokers...), kgo.ClientID(o.member), kgo.ConsumerGroup(o.group), kgo.ConsumeTopics(o.group),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.SessionTimeout(o.session),
		kgo.HeartbeatInterval(o.session/3), kgo.RebalanceTimeout(2*o.session),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) {
			tell(line{Assigned: got[o.group]})
		}),
		kgo.OnPartitionsRevoked(unassigned), kgo.OnPartitionsLost(unassigned),
	)
	if err != nil {
		return fmt.Errorf("start a member: %w", err)
	}
	defer client.Close()
	for ctx.Err() == nil {
		client.PollFetches(ctx)
	}
	return nil
}
