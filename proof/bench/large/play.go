package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	said    *process.Output
	witness *follower
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
		fmt.Printf("%d were refused: %s\n", n, strings.TrimSpace(c.refused[0].said.String()))
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
	fmt.Printf("at rest for %v: members were removed %d times, %d times before\n", c.watch, c.times("was removed")-before, before)
	c.report()
	if !c.kill {
		return nil
	}
	return c.killOne(ctx)
}

// killOne kills the first member and waits until others run its tasks. Meanwhile it does not look with the command, which would take the processors from them.
func (c *crowd) killOne(ctx context.Context) error {
	dead := c.members[0]
	had := dead.witness.held()
	at := int64(protocol.Now())
	if err := dead.Kill(); err != nil {
		return err
	}
	c.members, c.blind = c.members[1:], true
	if err := c.await(ctx, func() bool { return len(c.running()) == c.tasks }); err != nil {
		return fmt.Errorf("tasks of the killed member run: %d of %d: %w", len(c.running()), c.tasks, err)
	}
	fmt.Printf("killed %s with %d tasks: the last one ran elsewhere after %v\n", dead.name, len(had), time.Duration(c.last()-at).Round(time.Millisecond))
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
			if err := m.witness.read(); err != nil {
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
		if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(m.said.String(), "\n"+t) }) {
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
		n += strings.Count(m.said.String(), "\n"+text)
	}
	return n
}

// running are the tasks that members run now.
func (c *crowd) running() map[string]bool {
	all := make(map[string]bool)
	for _, m := range c.members {
		for p := range m.witness.runs {
			if strings.HasPrefix(p, "check-") {
				all[p] = true
			}
		}
	}
	return all
}

// last is when the newest start was.
func (c *crowd) last() (at int64) {
	for _, m := range c.members {
		at = max(at, m.witness.newest)
	}
	return at
}

// report says what looks and members cost since the last report.
func (c *crowd) report() {
	slices.Sort(c.looks)
	if n := len(c.looks); n > 0 {
		fmt.Printf("  status: median %v, most %v of %d\n", c.looks[n/2].Round(time.Millisecond), c.looks[n-1].Round(time.Millisecond), n)
	}
	c.looks = nil
	var now, peak int
	var cpu time.Duration
	for _, m := range c.members {
		u := usageOf(m.PID())
		now, peak, cpu = max(now, u.now), max(peak, u.peak), cpu+u.cpu
	}
	if c.served != nil && c.served.Requests != nil {
		if n, err := c.served.Requests(context.Background()); err == nil {
			fmt.Printf("  messages to the server: %d\n", n)
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("  memory of a member: %d MB, %d MB at most; processor time of all %v; load %s\n", now>>10, peak>>10, cpu.Round(100*time.Millisecond), strings.Fields(string(load) + " ?")[0])
}

func (c *crowd) start(ctx context.Context, name string) error {
	m := &member{name: name, said: &process.Output{}, witness: &follower{path: filepath.Join(c.dir, name+".witness")}}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.rota, "run", "--store", c.store, "--member", name, "--ttl", c.ttl.String(), "--listen", "none",
		"--publish", "none", "--witness", m.witness.path, filepath.Join(c.dir, "tasks"))
	cmd.Stderr = m.said
	var err error
	if m.Process, err = process.Start(cmd); err != nil {
		return err
	}
	c.members = append(c.members, m)
	return nil
}

func (c *crowd) end() error {
	var first error
	for _, m := range c.members {
		if c.logs != "" {
			if err := os.WriteFile(filepath.Join(c.logs, m.name+".log"), []byte(m.said.String()), 0o600); err != nil && first == nil {
				first = err
			}
		}
		if err := m.Kill(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
