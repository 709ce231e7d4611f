// Command rotabench measures what Rota costs on real stores, each on a fresh server of its own that it starts.
//
//	rotabench append [--store etcd,nats] [--rounds 15] [--json]     appends beside the bare client of the store; see package appends
//	rotabench idle [--members 100] [--partitions 1000] [--json]     requests of a cluster that has nothing to do; see package idle
//
// Exit codes: 0 it was measured (and the table says what), 1 it could not be, 2 usage. What this machine has no server
// for is said, and left out.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/proof/bench/internal/measure"
	"github.com/rota-run/rota/proof/bench/internal/place"
	"github.com/rota-run/rota/proof/bench/stores/internal/appends"
	"github.com/rota-run/rota/proof/bench/stores/internal/idle"
	"github.com/rota-run/rota/proof/server"
)

func main() {
	if server.Child() {
		return
	}
	measure.Main("rotabench", run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var play func(context.Context, []string, io.Writer, io.Writer) error
	if len(args) > 0 {
		switch args[0] {
		case "append":
			play = measureAppends
		case "idle":
			play = measureIdle
		}
	}
	if play == nil {
		fmt.Fprintln(stderr, "rotabench: say what to measure\ntry: rotabench append, or rotabench idle; --help behind either")
		return measure.ErrUsage
	}
	return play(ctx, args[1:], stdout, stderr)
}

// settings are what all measurements take.
type settings struct {
	flags  *flag.FlagSet
	stores string
	asJSON bool
}

func newSettings(name, stores string, stderr io.Writer) *settings {
	s := &settings{flags: flag.NewFlagSet("rotabench "+name, flag.ContinueOnError)}
	s.flags.SetOutput(stderr)
	s.flags.StringVar(&s.stores, "store", stores, "kinds of stores, separated by commas: "+
		strings.Join(place.Kinds(), ", "))
	s.flags.BoolVar(&s.asJSON, "json", false, "the last line is all rows as JSON; the rest goes to stderr")
	return s
}

// parse returns the kinds of stores.
func (s *settings) parse(args []string) ([]string, error) {
	if s.flags.Parse(args) != nil {
		return nil, measure.ErrUsage
	}
	kinds := strings.Split(s.stores, ",")
	for _, k := range kinds {
		if !slices.Contains(place.Kinds(), k) {
			return nil, s.misused("there is no kind of store %q: take one of %s", k, strings.Join(place.Kinds(), ", "))
		}
	}
	if s.flags.NArg() > 0 {
		return nil, s.misused("unknown argument %q", s.flags.Arg(0))
	}
	return kinds, nil
}

func (s *settings) misused(format string, args ...any) error {
	fmt.Fprintf(s.flags.Output(), "%s: %s\n", s.flags.Name(), fmt.Sprintf(format, args...))
	return measure.ErrUsage
}

// people is where what people read goes.
func (s *settings) people(stdout, stderr io.Writer) io.Writer {
	if s.asJSON {
		return stderr
	}
	return stdout
}

func tell[R any](s *settings, stdout io.Writer, rows []R, err error) error {
	if err != nil || !s.asJSON {
		return err
	}
	return json.NewEncoder(stdout).Encode(rows)
}

func measureIdle(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := newSettings("idle", strings.Join(place.Kinds(), ","), stderr)
	o := idle.Options{Out: stdout}
	s.flags.IntVar(&o.Members, "members", 100, "members, all in this process, 1 to 1000")
	partitions := s.flags.String("partitions", "1000,10000",
		"numbers of partitions, separated by commas; 100,000 on 100 members need some 10 GB")
	name := s.flags.String("protocol", "replica", "replica or lease")
	s.flags.DurationVar(&o.TTL, "ttl", 10*time.Second, "TTL of the members, at least 1s")
	s.flags.DurationVar(&o.For, "for", time.Minute, "how long is counted, at least 1s")
	s.flags.DurationVar(&o.Start, "start", 5*time.Minute, "how long it may take until all partitions run, at least 1s")
	var err error
	if o.Kinds, err = s.parse(args); err != nil {
		return err
	}
	switch *name {
	case "replica":
		o.Protocol = replica.Protocol{}
	case "lease":
		o.Protocol = lease.Protocol{}
	default:
		return s.misused("%q is no protocol that is measured", *name)
	}
	for _, text := range strings.Split(*partitions, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1_000_000 {
			return s.misused("%q is no number of partitions", text)
		}
		o.Partitions = append(o.Partitions, n)
	}
	if o.Members < 1 || o.Members > 1000 || min(o.TTL, o.For, o.Start) < time.Second {
		return s.misused("give 1 to 1000 members, and a TTL and times of at least 1s")
	}
	o.Out = s.people(stdout, stderr)
	rows, err := idle.Run(ctx, o)
	return tell(s, stdout, rows, err)
}

func measureAppends(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := newSettings("append", "file,"+strings.Join(server.Kinds(), ","), stderr)
	var o appends.Options
	s.flags.IntVar(&o.Rounds, "rounds", 15, "how often each is measured, in turn, 1 to 1000")
	s.flags.IntVar(&o.Calls, "calls", 64, "writes in a round, 1 to 10000")
	var err error
	if o.Kinds, err = s.parse(args); err != nil {
		return err
	}
	if slices.Contains(o.Kinds, "memory") {
		return s.misused("the store memory has no bare client")
	}
	if o.Rounds < 1 || o.Rounds > 1000 || o.Calls < 1 || o.Calls > 10000 {
		return s.misused("give 1 to 1000 rounds of 1 to 10000 calls")
	}
	o.Out = s.people(stdout, stderr)
	rows, err := appends.Run(ctx, o)
	return tell(s, stdout, rows, err)
}
