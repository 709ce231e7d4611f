package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "group:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
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
		gaps, err := measure(ctx, o, way.dead)
		if err != nil {
			return fmt.Errorf("kill %s: %w", way.what, err)
		}
		slices.Sort(gaps)
		fmt.Fprintf(out, "%-12s %d kills  median %s  most %s\n", way.what, len(gaps), millis(gaps[(len(gaps)-1)/2]), millis(gaps[len(gaps)-1]))
	}
	return nil
}

func millis(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func read(args []string) (options, error) {
	flags := flag.NewFlagSet("group", flag.ContinueOnError)
	o := options{}
	brokers := flags.String("brokers", "", "addresses of brokers, separated by commas; they must allow sessions as short as -session")
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
