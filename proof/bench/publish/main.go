// Command publish measures the publishers kafka and elastic beside the bare clients, and a member with 100,000 checks
// that publishes through each.
//
//	go run ./bench/publish [--kafka 200000] [--elastic 30000] [--rounds 3] [--checks 100000] [--for 40s]
//
// The servers are started on this machine. Of each kind the rounds alternate between the bare client and the publisher;
// it prints the samples/s and the processor time of the client per sample, as medians. Then a member runs the checks,
// each with a sample every 10 s, without a sink and with each, and says how late its rounds begin.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/rota-run/rota/proof/bench/internal/measure"
	"github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/publish"
)

func main() { measure.Main("publish", run) }

func run(ctx context.Context, args []string, _, stderr io.Writer) error {
	f := flag.NewFlagSet("publish", flag.ContinueOnError)
	f.SetOutput(stderr)
	records := f.Int("kafka", 200_000, "samples of a round to Kafka; 0: none")
	documents := f.Int("elastic", 30_000, "samples of a round to Elasticsearch; 0: none")
	rounds := f.Int("rounds", 3, "of each")
	checks := f.Int("checks", 100_000, "on one member; 0: none")
	span := f.Duration("for", 40*time.Second, "how long each member is watched")
	if f.Parse(args) != nil {
		return measure.ErrUsage
	}
	broker, err := kafka.Start(ctx, kafka.Options{})
	if err != nil {
		return err
	}
	defer broker.Stop()
	search, err := elastic.Start(ctx, elastic.Options{Kind: elastic.Elasticsearch})
	if err != nil {
		return err
	}
	defer search.Stop()
	if err := prepare(ctx, broker.Servers()[0], search.Servers()[0]); err != nil {
		return err
	}
	fmt.Println("| | samples/s | CPU per sample | ratio of samples/s | ratio of CPU |")
	fmt.Println("|---|---|---|---|---|")
	if *records > 0 {
		if err := compare("kafka", *rounds, samples(*records), bareKafka(broker.Servers()[0]),
			oursKafka(broker.Servers()[0])); err != nil {
			return err
		}
	}
	if *documents > 0 {
		if err := compare("elastic", *rounds, samples(*documents), bareElastic(search.Servers()[0]),
			oursElastic(search.Servers()[0])); err != nil {
			return err
		}
	}
	if *checks == 0 {
		return nil
	}
	return watch(ctx, *checks, *span, broker.Servers()[0], search.Servers()[0])
}

// client sends samples and returns when all were acknowledged.
type client func(all []publish.Sample) error

// side is one of two, and what its rounds cost.
type side struct {
	send         client
	rates, costs []float64 // samples/s, and µs of a processor for each sample
}

// compare prints the medians of the rounds.
func compare(kind string, rounds int, all []publish.Sample, bare, ours client) error {
	b, o := &side{send: bare}, &side{send: ours}
	turn := func(s *side) func(bool) error {
		return func(counts bool) error {
			defer later(all)
			return s.play(all, counts)
		}
	}
	if err := measure.InTurn(rounds, [2]func(bool) error{turn(b), turn(o)}); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	rate, cost, before, used := measure.Median(o.rates), measure.Median(o.costs), measure.Median(b.rates),
		measure.Median(b.costs)
	fmt.Printf("| %s, bare client | %.0f | %.1f µs | | |\n", kind, before, used)
	fmt.Printf("| %s, publisher | %.0f | %.1f µs | %.2f | %.2f |\n", kind, rate, cost, rate/before, cost/used)
	return nil
}

func (s *side) play(all []publish.Sample, counts bool) error {
	used, start := processor(), time.Now()
	if err := s.send(all); err != nil || !counts {
		return err
	}
	took, n := time.Since(start), float64(len(all))
	s.rates, s.costs = append(s.rates, n/took.Seconds()),
		append(s.costs, float64((processor()-used).Nanoseconds())/1000/n)
	return nil
}

// processor is the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// samples are those of a thousand series.
func samples(n int) []publish.Sample {
	out, now := make([]publish.Sample, n), time.Now().Add(-12*time.Hour).UnixMilli()
	for i := range out {
		out[i] = publish.Sample{
			Name: "http.latency", Tags: map[string]string{"member": "web-1", "task": fmt.Sprintf("check-%03d", i%1000),
				"phase": "connect"},
			Points: []publish.Point{{AtMS: now + int64(i/1000), Value: float64(i) / 7}},
		}
	}
	return out
}

// later makes other samples of them: documents of the same time and series would be duplicates.
func later(all []publish.Sample) {
	for i := range all {
		all[i].Points = []publish.Point{{AtMS: all[i].Points[0].AtMS + 600_000, Value: all[i].Points[0].Value}}
	}
}
