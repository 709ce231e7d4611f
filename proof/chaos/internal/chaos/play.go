package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/process"
)

// prepare makes the directory, the disk and the first task files.
func (c *Cluster) prepare() (err error) {
	if c.dir = c.options.Dir; c.dir == "" {
		c.dir, err = os.MkdirTemp("", "rota-chaos-")
	} else {
		err = os.MkdirAll(c.dir, 0o750)
	}
	if err == nil {
		c.dir, err = filepath.Abs(c.dir) // members run elsewhere
	}
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	if there, err := os.ReadDir(c.dir); err != nil || len(there) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty: give a new directory", c.dir))
	}
	if c.machine, err = prepareMachine(c.dir); err != nil {
		return err
	}
	c.tasks, err = newTasks(c.taskDir(), c.actsFile())
	return err
}

// play deals the deck, heals and judges.
func (c *Cluster) play(ctx context.Context) (Report, error) {
	r := newReport(c.options)
	deck, err := c.deck(&r)
	if err != nil {
		return r, err
	}
	if err := c.begin(ctx); err != nil {
		return r, err
	}
	if !c.await("all tasks run", c.settled) {
		r.violated("G9 not all runs at the beginning: " + c.whatIsMissing())
		deck = nil
	}
	for i, k := range deck {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if err := c.event(ctx, &r, i+1, k); err != nil {
			return r, fmt.Errorf("event %d, %s: %w", i+1, k.name, err)
		}
	}
	if err := c.heal(ctx, &r); err != nil {
		return r, err
	}
	return r, c.judge(&r)
}

// ErrNothing says that this machine can do none of the events that were asked for.
var ErrNothing = errors.New("nothing of this can be done on this machine")

// deck deals the events that the machine can do, and says loudly what it cannot.
func (c *Cluster) deck(r *Report) ([]kind, error) {
	all, err := only(kinds(), c.options.Only)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(k kind) bool { return !k.suits(c.options.Server != nil) })
	var can []kind
	missing := map[string]string{}
	for _, k := range all {
		if why := c.machine.lacks(k.needs); why != "" {
			missing[k.name] = why
			continue
		}
		can = append(can, k)
	}
	if len(all) == 0 {
		return nil, ErrNothing
	}
	for _, k := range deal(all, c.options.Events, c.chance) {
		if why, ok := missing[k.name]; ok {
			r.NotDone[k.name]++
			if r.NotDone[k.name] == 1 {
				c.say("NOT DONE: %s: needs %s: %s", k.name, k.needs, why)
			}
		}
	}
	if len(can) == 0 {
		return nil, ErrNothing
	}
	return deal(can, c.options.Events, c.chance), nil
}

// begin starts three members.
func (c *Cluster) begin(ctx context.Context) error {
	for range 3 {
		if _, err := c.join(c.newName()); err != nil {
			return err
		}
		if c.follower == nil {
			f, err := follow(ctx, c.options.Protocol, c.openLog, c.note)
			if err != nil {
				return err
			}
			c.follower = f
		}
	}
	c.say("seed %d: 3 members, TTL %s, %d events, everything in %s", c.options.Seed, c.options.TTL, c.options.Events,
		c.dir)
	return nil
}

// event does one event and, by chance, waits until all is well again: some faults are to hit a cluster that is still
// busy with others.
func (c *Cluster) event(ctx context.Context, r *Report, number int, k kind) error {
	at := c.now()
	text, err := k.do(c, ctx)
	if err != nil {
		return err
	}
	if err := c.look(); err != nil {
		return err
	}
	c.say("%3d  %-17s %s", number, k.name, text)
	r.count(k.name, at)
	if c.chance.IntN(5) < 2 {
		from, missing := c.now(), ""
		if !c.awaitFor(3*c.bound(), "all tasks run again", c.settledWith(ctx, &missing)) {
			c.say("! %s%s", c.whatIsMissing(), c.follower.trouble())
		} else if took := c.now().Sub(from); took > c.bound()/2 {
			c.say("settled after %s, at last: %s", took.Round(time.Millisecond), missing)
		}
	}
	return nil
}

// heal ends all faults and waits until everything runs.
func (c *Cluster) heal(ctx context.Context, r *Report) error {
	if err := c.undo(true); err != nil {
		return err
	}
	for len(c.awake()) < 3 {
		if _, err := c.revive(); err != nil {
			return err
		}
	}
	from := c.now()
	r.marks = append(r.marks, mark{int64(from), atEnd})
	ok := c.await("all faults are over and all tasks run", c.steady())
	took := c.now().Sub(from) - c.stalls.Since(int64(from)) - c.steadyFor()
	r.HealMS = took.Milliseconds()
	if !ok {
		r.violated("G9 not all runs after the faults stopped: " + c.whatIsMissing())
	} else if bound := c.bound(); took > bound {
		r.violated(fmt.Sprintf("G9 it took %s until all ran after the faults stopped, at most %s is promised", took,
			bound))
	}
	if ok && !c.await("tasks that have an end come to it", c.tasks.finished(c.follower.now)) {
		r.violated("G5 a task that has an end does not come to it")
	}
	c.rest()
	return nil
}

// rest ends the history at an instant at which no task moves: loads are evened after the faults too.
func (c *Cluster) rest() {
	c.await("no task is on its way", func() bool {
		c.end = c.now()
		return c.settled()
	})
}

// steadyFor is how long all must be well at the end. A member that was suspended in the middle of a write has just let
// the others write: what they have waited with may move tasks at once.
func (c *Cluster) steadyFor() time.Duration { return c.options.TTL / 4 }

// steady tells whether all has been well for a while.
func (c *Cluster) steady() func() bool {
	since := c.now()
	return func() bool {
		if !c.settled() {
			since = c.now()
		}
		return c.now().Sub(since) >= c.steadyFor()
	}
}

// settled tells whether the members are those that are awake, and each partition runs where the log says.
func (c *Cluster) settled() bool { return c.look() == nil && c.whatIsMissing() == "" }

// settledWith is settled, beside an operator. What was missing last is noted.
func (c *Cluster) settledWith(ctx context.Context, missing *string) func() bool {
	return func() bool {
		c.tend(ctx)
		if c.look() != nil {
			return false
		}
		m := c.whatIsMissing()
		*missing = cmp.Or(m, *missing)
		return m == ""
	}
}

// whatIsMissing says what is not as it should be; "" if nothing.
func (c *Cluster) whatIsMissing() string {
	if len(c.due) > 0 {
		return "a fault goes on"
	}
	v := c.follower.now()
	live := map[cluster.MemberID]*started{}
	for _, p := range c.awake() {
		live[p.member()] = p
	}
	joined := 0
	for m := range v.Members() {
		if live[m.ID] == nil || m.State != cluster.MemberJoined {
			return fmt.Sprintf("member %s is %s", m.ID, m.State)
		}
		joined++
	}
	if joined != len(live) || v.InHandover() > 0 {
		return fmt.Sprintf("%d of %d members have joined, %d partitions are on their way", joined, len(live),
			v.InHandover())
	}
	if name := c.tasks.missing(v); name != "" {
		return "task " + name + " is not as its file says"
	}
	for p := range v.Partitions() {
		if p.State == cluster.PartitionFinished {
			continue
		}
		// A member that died in a hand-over without a gap may have begun under a newer token, and the owner goes on.
		runs := c.running[p.ID]
		if p.State != cluster.PartitionGranted || !slices.Contains(runs, running{live[p.Owner], p.Token}) {
			var last running
			if len(runs) > 0 {
				last = runs[len(runs)-1]
			}
			return fmt.Sprintf("%s is %s, owner %s, token %d; it is written down that it %s", p.ID, p.State, p.Owner,
				p.Token, last)
		}
	}
	return ""
}

// close ends everything that was started. It is done however the play ended.
func (c *Cluster) close() {
	if err := c.undo(true); err != nil {
		c.say("! %v", err)
	}
	for _, p := range c.those(anyone) {
		_ = process.Continue(p.PID()) // it may have ended, or not be suspended
		_ = p.Signal(syscall.SIGTERM)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, p := range c.processes {
		if _, err := p.Wait(ctx); err != nil {
			_ = p.Kill() // all that it can say is that it was not killed
		}
	}
	if c.follower != nil {
		c.follower.close()
	}
	if err := c.machine.close(); err != nil {
		c.say("! %v", err)
	}
}
