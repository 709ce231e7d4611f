// Command publish measures the publishers kafka and elastic beside the bare clients, and a member with 100,000 checks that publishes through each.
//
//	go run ./bench/publish [--kafka 200000] [--elastic 30000] [--rounds 3] [--checks 100000] [--for 40s]
//
// The servers are started on this machine. Of each kind the rounds alternate between the bare client and the publisher; it prints the samples/s and the processor time of the client
// per sample, as medians. Then a member runs the checks, each with a sample every 10 s, without a sink and with each, and says how late its rounds begin.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/publish"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	records := flag.Int("kafka", 200_000, "samples of a round to Kafka; 0: none")
	documents := flag.Int("elastic", 30_000, "samples of a round to Elasticsearch; 0: none")
	rounds := flag.Int("rounds", 3, "of each")
	checks := flag.Int("checks", 100_000, "on one member; 0: none")
	span := flag.Duration("for", 40*time.Second, "how long each member is watched")
	flag.Parse()
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
		if err := compare("kafka", *rounds, samples(*records), bareKafka(broker.Servers()[0]), oursKafka(broker.Servers()[0])); err != nil {
			return err
		}
	}
	if *documents > 0 {
		if err := compare("elastic", *rounds, samples(*documents), bareElastic(search.Servers()[0]), oursElastic(search.Servers()[0])); err != nil {
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

// figure is what a round cost.
type figure struct {
	rate float64 // samples/s
	cpu  float64 // µs per sample
}

// compare prints the medians of the rounds.
func compare(kind string, rounds int, all []publish.Sample, bare, ours client) error {
	var b, o []figure
	for i := range rounds + 1 {
		for _, side := range []struct {
			send client
			to   *[]figure
		}{{bare, &b}, {ours, &o}} {
			f, err := measure(all, side.send)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			if i > 0 { // the first one warms the server up
				*side.to = append(*side.to, f)
			}
			later(all)
		}
	}
	before, after := median(b), median(o)
	fmt.Printf("| %s, bare client | %.0f | %.1f µs | | |\n", kind, before.rate, before.cpu)
	fmt.Printf("| %s, publisher | %.0f | %.1f µs | %.2f | %.2f |\n", kind, after.rate, after.cpu, after.rate/before.rate, after.cpu/before.cpu)
	return nil
}

func measure(all []publish.Sample, send client) (figure, error) {
	used, start := processor(), time.Now()
	if err := send(all); err != nil {
		return figure{}, err
	}
	took, n := time.Since(start), float64(len(all))
	return figure{n / took.Seconds(), float64((processor() - used).Nanoseconds()) / 1000 / n}, nil
}

// median takes each figure by itself.
func median(all []figure) figure {
	var rates, costs []float64
	for _, f := range all {
		rates, costs = append(rates, f.rate), append(costs, f.cpu)
	}
	slices.Sort(rates)
	slices.Sort(costs)
	return figure{rates[len(rates)/2], costs[len(costs)/2]}
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
			Name: "http.latency", Tags: map[string]string{"member": "web-1", "task": fmt.Sprintf("check-%03d", i%1000), "phase": "connect"},
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
