package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/leader"
	"github.com/rota-run/rota/proof/sim/machine/lease"
	"github.com/rota-run/rota/proof/sim/machine/replica"
	"github.com/rota-run/rota/proof/sim/machine/sync"
	"github.com/rota-run/rota/proof/sim/walk"
)

// protocol is one that can be tried out.
type protocol struct {
	*machine.Machine
	rules *walk.Rules
}

// protocolOf is the protocol of a name.
func protocolOf(name string) (protocol, error) {
	var names []string
	for _, p := range []protocol{
		{leader.Machine(), leader.Rules()},
		{lease.Machine(), lease.Rules()},
		{replica.Machine(), replica.Rules()},
		{sync.Machine(), sync.Rules()},
	} {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return protocol{}, fmt.Errorf("unknown protocol %q: there is %s\ntry: rotasim --protocol %s", name,
		strings.Join(names, ", "), names[0])
}

// checkOptions of a walk over every order of events.
type checkOptions struct {
	protocol string
	bounds   walk.Config
	handover string
	states   int
	suite    string
	json     bool
}

func checkCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check",
		Short: "walk every order of the events of a few members",
		Long: "Walks, breadth first, every state that a few members can reach under a bounded number of faults, and checks every promise in each.\n" +
			"A violation is printed as the shortest way to it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.OutOrStdout(), cmd.ErrOrStderr()) },
	}
	o.addFlags(c)
	return c
}

func (o *checkOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", "replica", "the protocol to check")
	f.IntVar(&o.bounds.Members, "members", 3, "members that start, 1 to 9")
	f.IntVar(&o.bounds.Partitions, "partitions", 1, "partitions of the job, 1 to 9")
	for k, usage := range [...]string{
		walk.Crashes:    "members that crash, between any two effects",
		walk.Restarts:   "crashed members that start again",
		walk.Suspicions: "live members that lose their heartbeat",
		walk.Duplicates: "appends whose answer is lost, or that are done twice",
		walk.Failures:   "appends that the store does not do",
		walk.Leaves:     "members that are asked to leave",
		walk.Forgets:    "times that the group is forgotten while nobody is in it (sync)",
		walk.Lines:      "lines between a process that lives and its guardian that are closed",
	} {
		f.IntVar(&o.bounds.Faults[k], walk.Fault(k).String(), 0, usage)
	}
	f.BoolVar(&o.bounds.Guardians, "guardians", false,
		"each process has a guardian, which ends its session after its death (not sync)")
	f.StringVar(&o.handover, "handover", "at-most-one", "hand-over of the partitions: at-most-one, no-gap or fast")
	f.BoolVar(&o.bounds.Prompt, "prompt", true,
		"members without an append under way read at once what is new: far fewer states")
	f.BoolVar(&o.bounds.Sweeps, "sweeps", false, "members list all heartbeats too: many more states")
	f.StringVar(&o.suite, "suite", "",
		"walk a list of bounds instead, each of them completely: push, nightly or guardian")
	f.IntVar(&o.states, "states", 0, "stop after so many states (default: none); a suite that is stopped fails")
	f.BoolVar(&o.json, "json", false, "end with one JSON object")
}

//go:embed suites.txt
var suites string

// walksOf are the bounds of a suite of a protocol: suites.txt has the flags of each walk.
func walksOf(protocol, suite string) (out []walk.Config, err error) {
	if !slices.Contains([]string{"push", "nightly", "guardian"}, suite) {
		return nil, fmt.Errorf("unknown suite %q: there are push, nightly and guardian", suite)
	}
	for line := range strings.Lines(suites) {
		f := strings.Fields(line)
		if f[0] != protocol || f[1] != suite && (suite != "nightly" || f[1] != "push") {
			continue
		}
		var o checkOptions
		var c cobra.Command
		o.addFlags(&c)
		if err := errors.Join(c.ParseFlags(f[2:]), o.bounds.Handover.UnmarshalText([]byte(o.handover)),
			o.bounds.Check()); err != nil {
			return nil, fmt.Errorf("suites.txt: %q: %w", line, err)
		}
		out = append(out, o.bounds)
	}
	return out, nil
}

func (o *checkOptions) run(out, progress io.Writer) error {
	p, err := protocolOf(o.protocol)
	if err != nil {
		return err
	}
	if err := o.bounds.Handover.UnmarshalText([]byte(o.handover)); err != nil {
		return err
	}
	debug.SetGCPercent(60) // much lives for long: it is memory that is short
	if o.suite == "push" || o.suite == "guardian" {
		debug.SetGCPercent(200) // 4 GiB are enough
	}
	walks, err := []walk.Config{o.bounds}, o.bounds.Check()
	if o.suite != "" {
		walks, err = walksOf(p.Name, o.suite)
	} else if err == nil && p.rules.Once && o.bounds.Faults[walk.Restarts] > 0 {
		err = fmt.Errorf("restarts of %s are not walked: a walk has no clock\ntry: rotasim --protocol %s, which simulates them", o.protocol, o.protocol)
	}
	if err != nil {
		return err
	}
	r, err := o.walkAll(p, walks, out, progress)
	if err == nil && o.suite != "" && r.Walks < r.LeastWalks {
		err = fmt.Errorf("%d of %d walks were complete", r.Walks, r.LeastWalks)
	}
	return err
}

// walkAll walks several bounds one after the other, prints a row of a table for each, and the sum.
func (o *checkOptions) walkAll(p protocol, walks []walk.Config, out, progress io.Writer) (checkReport, error) {
	total, began := checkReport{LeastWalks: len(walks)}, time.Now()
	fmt.Fprintln(out, "| bounds | states | depth | s |\n|---|---|---|---|")
	for _, bounds := range walks {
		start := time.Now()
		level := func(depth, states, waiting int) { // a large walk takes minutes
			if took := time.Since(start); took > 20*time.Second {
				fmt.Fprintf(progress, "depth %d: %d states, %d to be walked next, %.0f s\n", depth, states, waiting,
					took.Seconds())
			}
		}
		r := check.Explore(walk.New(p.rules, bounds), check.Options{States: o.states, Violations: 1, Level: level})
		fmt.Fprintf(out, "| %s | %d | %d | %.1f |\n", bounds, r.States, r.Depth, time.Since(start).Seconds())
		total.add(r)
		for _, v := range r.Violations {
			fmt.Fprintf(out, "broken: %s\n", v.Promise)
			for i, move := range v.Trace {
				fmt.Fprintf(out, "%4d  %s\n", i+1, move)
			}
		}
		if total.Violations > 0 {
			break
		}
	}
	total.Complete, total.Seconds = total.Walks == total.LeastWalks, time.Since(began).Seconds()
	total.Digest = fmt.Sprintf("%016x", total.digest)
	fmt.Fprintf(out, "%d states, depth %d, complete: %t, %.1f s; digest %s\n", total.States, total.Depth, total.Complete,
		total.Seconds, total.Digest)
	if o.json {
		printJSON(out, total)
	}
	if total.Violations > 0 {
		return total, errBroken
	}
	return total, nil
}

// checkReport is the last line with --json.
type checkReport struct {
	LeastWalks int     `json:"least_walks"`
	Walks      int     `json:"walks"` // that were complete
	States     int     `json:"states"`
	Depth      int     `json:"depth"`
	Complete   bool    `json:"complete"`
	Violations int     `json:"violations"`
	Seconds    float64 `json:"seconds"`
	Digest     string  `json:"digest"` // of what members said in all moves; equal where a change left their steps as they were

	digest uint64
}

func (c *checkReport) add(r check.Report) {
	if r.Complete {
		c.Walks++
	}
	c.States += r.States
	c.digest = c.digest*0x9E3779B97F4A7C15 ^ r.Digest
	c.Depth = max(c.Depth, r.Depth)
	c.Violations += len(r.Violations)
}
