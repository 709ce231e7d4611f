// Command prove runs the stages of the proof and requires a least amount of work from each.
//
//	prove [-stages lint,servers] [-list]
//
// # Purpose
//
// A stage that did not do its least amount fails: a server that is not there, seeds cut short or a suite that is
// skipped never count as proof. The environment variable BUDGET, a duration such as 10m, makes the stages that can do
// more do so; it never makes one do less.
//
// A test on real servers or processes that fails runs once more by itself. If it then passes, the summary lists it as
// FLAKY. Three of them fail the proof. A test that fails twice fails it at once.
//
// The last line is "N passed, N failed, N skipped", of stages and tests together. Exit codes: 0 passed, 1 failed, 2
// usage.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	f := flag.NewFlagSet("prove", flag.ContinueOnError)
	only := f.String("stages", "", "names of stages, separated by commas (default: all)")
	list := f.Bool("list", false, "print each stage with its command and its least amounts")
	if err := f.Parse(args); err != nil || f.NArg() > 0 {
		return 2
	}
	chosen, err := choose(stages(), *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		return 2
	}
	if *list {
		for _, s := range chosen {
			fmt.Println(s)
		}
		return 0
	}
	sum := newSummary(os.Stdout)
	if *only == "" {
		chosen, sum.apart = split(chosen)
	}
	sum.playAll(ctx, chosen)
	return sum.close()
}

// split returns the stages that play where none is named, and the names of the others.
func split(all []stage) (play []stage, apart []string) {
	for _, s := range all {
		if s.apart {
			apart = append(apart, s.name)
		} else {
			play = append(play, s)
		}
	}
	return play, apart
}

// choose returns the stages of these names, in the order of the table.
func choose(all []stage, names string) ([]stage, error) {
	if names == "" {
		return all, nil
	}
	wanted := strings.Split(names, ",")
	var out []stage
	for _, s := range all {
		if i := slices.Index(wanted, s.name); i >= 0 {
			out, wanted = append(out, s), slices.Delete(wanted, i, i+1)
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("unknown stages %s: prove -list prints them", strings.Join(wanted, ", "))
	}
	return out, nil
}
