package main

import (
	"fmt"
	"io"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/sim/check/members"
)

// pushSuite are the walks of every change: about a minute on two cores.
func pushSuite() []members.Config {
	return []members.Config{
		{Members: 2, Partitions: 1, Crashes: 1, Suspicions: 1, Duplicates: 1},
		{Members: 2, Partitions: 1, Crashes: 1, Restarts: 1, Duplicates: 1, Sweeps: true, Prompt: true},
		{Members: 2, Partitions: 1, Suspicions: 1, Failures: 1, Prompt: true},
		{Members: 3, Partitions: 1, Crashes: 1},
		{Members: 3, Partitions: 1, Crashes: 1, Sweeps: true, Prompt: true},
		{Members: 3, Partitions: 1, Crashes: 1, Restarts: 1, Prompt: true},
		{Members: 3, Partitions: 1, Crashes: 2, Prompt: true},
		{Members: 3, Partitions: 2, Crashes: 1, Leaves: 1, Prompt: true},
		{Members: 3, Partitions: 3, Crashes: 1, Handover: cluster.HandoverNoGap, Prompt: true},
		{Members: 3, Partitions: 1, Crashes: 1, Duplicates: 1, Prompt: true},
		{Members: 3, Partitions: 1, Crashes: 1, Suspicions: 1, Prompt: true},
		{Members: 4, Partitions: 1, Crashes: 1, Prompt: true},
	}
}

// nightSuite are those that take hours, or more memory than a small machine has.
func nightSuite() []members.Config {
	return append(pushSuite(),
		members.Config{Members: 2, Partitions: 2, Crashes: 1, Restarts: 1, Suspicions: 1, Duplicates: 1, Leaves: 1, Prompt: true},
		members.Config{Members: 3, Partitions: 1, Crashes: 1, Duplicates: 1},
		members.Config{Members: 3, Partitions: 1, Suspicions: 1},
		members.Config{Members: 3, Partitions: 1, Crashes: 1, Suspicions: 1, Duplicates: 1, Prompt: true},
	)
}

// runSuite walks several bounds one after the other and prints a row of a table for each. Each must be walked completely.
func (o *checkOptions) runSuite(out, progress io.Writer) error {
	suite := pushSuite()
	switch o.suite {
	case "push":
	case "nightly":
		suite = nightSuite()
	default:
		return fmt.Errorf("unknown suite %q: there are push and nightly", o.suite)
	}
	total, began := checkReport{LeastWalks: len(suite)}, time.Now()
	fmt.Fprintln(out, "| bounds | states | depth | s |\n|---|---|---|---|")
	for _, c := range suite {
		o.bounds = c
		start := time.Now()
		r := o.walk(progress)
		fmt.Fprintf(out, "| %s | %d | %d | %.1f |\n", c, r.States, r.Depth, time.Since(start).Seconds())
		total.add(r)
		if len(r.Violations) > 0 {
			printViolations(out, r)
			break
		}
	}
	if err := o.end(out, total, time.Since(began)); err != nil || total.Walks == total.LeastWalks {
		return err
	}
	return fmt.Errorf("%d of %d walks were complete", total.Walks, total.LeastWalks)
}
