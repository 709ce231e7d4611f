package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/bench/internal/measure"
	"github.com/rota-run/rota/proof/history"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/protocol"
)

// crowd are the members of one run.
type crowd struct {
	options
	members []*member
	refused []*member       // they ended before they joined
	looks   []time.Duration // what rota status took
	blind   bool            // it is not called
}

// member is one process.
type member struct {
	*process.Process
	name    string
	witness process.Witness
	runs    map[cluster.PartitionID]bool
	newest  int64 // when the newest start was
}

// read takes in what the member has written down since the last time.
func (m *member) read() error {
	records, err := m.witness.Next()
	for _, r := range records {
		switch r.Kind {
		case history.Started:
			m.runs[r.Partition], m.newest = true, max(m.newest, r.At)
		case history.Stopped:
			delete(m.runs, r.Partition)
		}
	}
	return err
}

func (c *crowd) play(ctx context.Context) error {
	began := protocol.Now()
	for i := range c.options.members {
		if err := c.start(ctx, fmt.Sprintf("m%03d", i)); err != nil {
			return err
		}
	}
	since := func() time.Duration { return time.Duration(protocol.Now() - began).Round(time.Millisecond) }
	joins := func() bool { c.dismiss(); return c.count("joined as", "joined ") == len(c.members) }
	if err := c.await(ctx, joins); err != nil {
		return fmt.Errorf("members join: %d of %d: %w", c.count("joined as", "joined "), len(c.members), err)
	}
	fmt.Printf("%d members joined after %v\n", len(c.members), since())
	if n := len(c.refused); n > 0 {
		fmt.Printf("%d were refused: %s\n", n, strings.TrimSpace(c.refused[0].Stderr.String()))
	}
	if err := c.await(ctx, func() bool { return len(c.running()) == c.tasks }); err != nil {
		return fmt.Errorf("tasks run: %d of %d: %w", len(c.running()), c.tasks, err)
	}
	fmt.Printf("%d tasks ran after %v\n", c.tasks, time.Duration(c.last()-int64(began)).Round(time.Millisecond))
	c.report()
	until, before := time.Now().Add(c.watch), c.times("was removed")
	if err := c.await(ctx, func() bool { return time.Now().After(until) }); err != nil {
		return err
	}
	fmt.Printf("at rest for %v: members were removed %d times, %d times before\n", c.watch,
		c.times("was removed")-before, before)
	c.report()
	if !c.kill {
		return nil
	}
	return c.killOne(ctx)
}

// killOne kills the first member and waits until others run its tasks. Meanwhile it does not look with the command,
// which would take the processors from them.
func (c *crowd) killOne(ctx context.Context) error {
	dead := c.members[0]
	at := int64(protocol.Now())
	if err := dead.Kill(); err != nil {
		return err
	}
	c.members, c.blind = c.members[1:], true
	if err := c.await(ctx, func() bool { return len(c.running()) == c.tasks }); err != nil {
		return fmt.Errorf("tasks of the killed member run: %d of %d: %w", len(c.running()), c.tasks, err)
	}
	fmt.Printf("killed %s with %d tasks: the last one ran elsewhere after %v\n", dead.name, len(dead.runs),
		time.Duration(c.last()-at).Round(time.Millisecond))
	c.report()
	return nil
}

// await looks once a second, with the command too, until something holds.
func (c *crowd) await(ctx context.Context, holds func() bool) error {
	deadline := time.Now().Add(c.patience)
	for !holds() {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return context.DeadlineExceeded
		}
		began := time.Now()
		if !c.blind {
			c.look(ctx)
		}
		time.Sleep(max(0, time.Second-time.Since(began)))
		for _, m := range c.members {
			if err := m.read(); err != nil {
				return err
			}
		}
	}
	return nil
}

// look times the command.
func (c *crowd) look(ctx context.Context) {
	began := time.Now()
	if out, err := exec.CommandContext(ctx, c.rota, "status", "--store", c.store).CombinedOutput(); err == nil {
		c.looks = append(c.looks, time.Since(began))
	} else if said := string(out); !strings.Contains(said, "there is no store") && !strings.Contains(said, "is empty") {
		fmt.Printf("status: %v: %s\n", err, strings.TrimSpace(said))
	}
}

// count is how many members have said one of these.
func (c *crowd) count(texts ...string) (n int) {
	for _, m := range c.members {
		if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(m.Stderr.String(), "\n"+t) }) {
			n++
		}
	}
	return n
}

// dismiss takes out those that were refused.
func (c *crowd) dismiss() {
	c.members = slices.DeleteFunc(c.members, func(m *member) bool {
		if m.Ended() {
			c.refused = append(c.refused, m)
		}
		return m.Ended()
	})
}

// times is how often members have said this.
func (c *crowd) times(text string) (n int) {
	for _, m := range c.members {
		n += strings.Count(m.Stderr.String(), "\n"+text)
	}
	return n
}

// running are the tasks that members run now.
func (c *crowd) running() map[cluster.PartitionID]bool {
	all := make(map[cluster.PartitionID]bool)
	for _, m := range c.members {
		for p := range m.runs {
			if strings.HasPrefix(string(p), "check-") {
				all[p] = true
			}
		}
	}
	return all
}

// last is when the newest start was.
func (c *crowd) last() (at int64) {
	for _, m := range c.members {
		at = max(at, m.newest)
	}
	return at
}

// report says what looks and members cost since the last report.
func (c *crowd) report() {
	if n := len(c.looks); n > 0 {
		fmt.Printf("  status: median %v, most %v of %d\n", measure.Median(c.looks).Round(time.Millisecond),
			slices.Max(c.looks).Round(time.Millisecond), n)
	}
	c.looks = nil
	var now, peak int
	var cpu time.Duration
	for _, m := range c.members {
		u := process.UsageOf(m.PID())
		now, peak, cpu = max(now, u.Now), max(peak, u.Peak), cpu+u.CPU
	}
	if c.served != nil && c.served.Requests != nil {
		if n, err := c.served.Requests(context.Background()); err == nil {
			fmt.Printf("  messages to the server: %d\n", n)
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("  memory of a member: %d MB, %d MB at most; processor time of all %v; load %s\n", now>>10, peak>>10,
		cpu.Round(100*time.Millisecond), strings.Fields(string(load) + " ?")[0])
}

func (c *crowd) start(ctx context.Context, name string) error {
	m := &member{name: name, witness: process.Witness{Path: filepath.Join(c.dir, name+".witness")},
		runs: make(map[cluster.PartitionID]bool)}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.rota, "run", "--store", c.store, "--member", name, "--ttl",
		c.ttl.String(), "--listen", "none",
		"--publish", "none", "--witness", m.witness.Path, filepath.Join(c.dir, "tasks"))
	var err error
	if m.Process, err = process.Start(cmd); err != nil {
		return err
	}
	c.members = append(c.members, m)
	return nil
}

func (c *crowd) end() (err error) {
	for _, m := range c.members {
		if c.logs != "" {
			err = errors.Join(err, os.WriteFile(filepath.Join(c.logs, m.name+".log"), []byte(m.Stderr.String()), 0o600))
		}
		err = errors.Join(err, m.Kill())
	}
	return err
}
