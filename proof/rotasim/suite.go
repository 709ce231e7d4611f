package main

import (
	"fmt"
	"io"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/sim/walk"
)

// pushReplica are the walks of every change: about a minute on two cores.
func pushReplica() []walk.Config {
	return []walk.Config{
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

// nightReplica are those that take hours, or more memory than a small machine has.
func nightReplica() []walk.Config {
	return append(pushReplica(),
		walk.Config{Members: 2, Partitions: 2, Crashes: 1, Restarts: 1, Suspicions: 1, Duplicates: 1, Leaves: 1, Prompt: true},
		walk.Config{Members: 3, Partitions: 1, Crashes: 1, Duplicates: 1},
		walk.Config{Members: 3, Partitions: 1, Suspicions: 1},
		walk.Config{Members: 3, Partitions: 1, Crashes: 1, Suspicions: 1, Duplicates: 1, Prompt: true},
	)
}

// guardianReplica are the walks of every change in which processes have guardians.
func guardianReplica() []walk.Config {
	return []walk.Config{
		{Members: 2, Partitions: 1, Crashes: 1, Restarts: 1, Duplicates: 1, Guardians: true, Prompt: true},
		{Members: 2, Partitions: 1, Crashes: 1, Restarts: 1, Lines: 1, Guardians: true, Prompt: true},
		{Members: 3, Partitions: 1, Crashes: 1, Guardians: true, Prompt: true},
	}
}

// pushLeader are the walks of leader of every change.
func pushLeader() []walk.Config {
	return []walk.Config{
		{Members: 2, Partitions: 1, Crashes: 1},
		{Members: 3, Partitions: 1, Crashes: 1, Duplicates: 1, Prompt: true},
		{Members: 3, Partitions: 1, Crashes: 2, Prompt: true},
		{Members: 2, Partitions: 1, Leaves: 1, Prompt: true},
		{Members: 3, Partitions: 1, Suspicions: 1, Prompt: true},
		{Members: 2, Partitions: 1, Crashes: 1, Suspicions: 1, Prompt: true},
		{Members: 3, Partitions: 1, Crashes: 1, Suspicions: 1, Prompt: true},
	}
}

// nightLeader are those that take longer.
func nightLeader() []walk.Config {
	return append(pushLeader(),
		walk.Config{Members: 3, Partitions: 1, Crashes: 1},
		walk.Config{Members: 2, Partitions: 1, Crashes: 1, Suspicions: 1, Duplicates: 1, Prompt: true},
		walk.Config{Members: 3, Partitions: 1, Crashes: 1, Suspicions: 1, Duplicates: 1, Prompt: true},
	)
}

// pushLease are the walks of lease of every change.
func pushLease() []walk.Config {
	return []walk.Config{
		{Members: 2, Partitions: 1, Crashes: 1, Duplicates: 1},
		{Members: 2, Partitions: 1, Crashes: 1, Restarts: 1, Prompt: true},
		{Members: 3, Partitions: 1, Crashes: 1, Duplicates: 1, Prompt: true},
		{Members: 3, Partitions: 2, Crashes: 1, Duplicates: 1, Prompt: true},
		{Members: 2, Partitions: 1, Suspicions: 1, Failures: 1, Prompt: true},
		{Members: 2, Partitions: 2, Leaves: 1, Duplicates: 1, Prompt: true},
		{Members: 2, Partitions: 1, Crashes: 1, Suspicions: 1, Prompt: true},
	}
}

// nightLease are those that take longer.
func nightLease() []walk.Config {
	return append(pushLease(),
		walk.Config{Members: 2, Partitions: 1, Crashes: 1, Suspicions: 1, Duplicates: 1, Prompt: true},
		walk.Config{Members: 2, Partitions: 2, Crashes: 1, Restarts: 1, Leaves: 1, Prompt: true},
		walk.Config{Members: 3, Partitions: 1, Suspicions: 1, Duplicates: 1, Prompt: true},
	)
}

// pushSync are the walks of sync of every change.
func pushSync() []walk.Config {
	return []walk.Config{
		{Members: 2, Partitions: 1, Crashes: 1, Duplicates: 1, Prompt: true},
		{Members: 2, Partitions: 1, Leaves: 1, Failures: 1, Prompt: true},
		{Members: 2, Partitions: 2, Leaves: 1, Prompt: true},
		{Members: 2, Partitions: 2, Crashes: 1, Restarts: 1, Prompt: true},
		{Members: 2, Partitions: 1, Crashes: 1, Suspicions: 1, Prompt: true},
		{Members: 3, Partitions: 1, Crashes: 1, Prompt: true},
		{Members: 1, Partitions: 1, Crashes: 1, Restarts: 1, Failures: 1, Forgets: 1, Prompt: true},
	}
}

// nightSync are those that take longer.
func nightSync() []walk.Config {
	return append(pushSync(),
		walk.Config{Members: 2, Partitions: 1, Suspicions: 1},
		walk.Config{Members: 3, Partitions: 2, Crashes: 1, Prompt: true},
		walk.Config{Members: 3, Partitions: 1, Suspicions: 1, Duplicates: 1, Prompt: true},
	)
}

// runSuite walks several bounds one after the other and prints a row of a table for each. Each must be walked completely.
func (o *checkOptions) runSuite(p protocol, out, progress io.Writer) error {
	suite := p.push
	switch o.suite {
	case "push":
	case "nightly":
		suite = p.night
	case "guardian":
		suite = p.guardians
	default:
		return fmt.Errorf("unknown suite %q: there are push, nightly and guardian", o.suite)
	}
	total, began := checkReport{LeastWalks: len(suite)}, time.Now()
	fmt.Fprintln(out, "| bounds | states | depth | s |\n|---|---|---|---|")
	for _, c := range suite {
		o.bounds = c
		start := time.Now()
		r := o.walk(p, progress)
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
