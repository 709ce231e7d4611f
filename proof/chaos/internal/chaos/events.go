package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/protocol"
)

func (c *Cluster) now() protocol.Instant { return protocol.Now() }

// between is a share of the TTL, from and to in percent.
func (c *Cluster) between(from, to int) time.Duration {
	return c.options.TTL * time.Duration(from+c.chance.IntN(to-from+1)) / 100
}

func names(processes []*started) string {
	var out []string
	for _, p := range processes {
		out = append(out, p.name)
	}
	return strings.Join(out, " ")
}

func (c *Cluster) kill(context.Context) (string, error) {
	p, err := c.pick(anyone)
	if err != nil {
		return "", err
	}
	if err := c.killProcesses(p); err != nil {
		return "", err
	}
	return "kill -9 " + p.name, nil
}

func (c *Cluster) killTwo(context.Context) (string, error) {
	for len(c.awake()) < 3 {
		if _, err := c.revive(); err != nil {
			return "", err
		}
	}
	awake := c.awake()
	c.chance.Shuffle(len(awake), func(i, j int) { awake[i], awake[j] = awake[j], awake[i] })
	return "kill -9 " + names(awake[:2]), c.killProcesses(awake[:2]...)
}

// killAll kills everything at once and starts three again under their names.
func (c *Cluster) killAll(context.Context) (string, error) {
	all := c.those(anyone)
	if err := c.killProcesses(all...); err != nil {
		return "", err
	}
	if err := c.look(); err != nil {
		return "", err
	}
	var back []*started
	for range 3 {
		p, err := c.start(c.absentName())
		if err != nil {
			return "", err
		}
		back = append(back, p)
	}
	c.await("those that were killed are back", func() bool {
		return !slices.ContainsFunc(back, func(p *started) bool { return !p.Ended() && !c.isMember(p) })
	})
	return fmt.Sprintf("kill -9 %s, back %s", names(all), names(back)), nil
}

// absentName is a name that is down, or a new one.
func (c *Cluster) absentName() string {
	if len(c.absent) == 0 {
		return c.newName()
	}
	i := c.chance.IntN(len(c.absent))
	name := c.absent[i]
	c.absent = slices.Delete(c.absent, i, i+1)
	return name
}

// room makes room for one more member.
func (c *Cluster) room() (string, error) {
	if len(c.those(anyone)) < c.options.Members {
		return "", nil
	}
	p, err := c.pick(anyone)
	if err != nil {
		return "", err
	}
	if err := c.killProcesses(p); err != nil {
		return "", err
	}
	return "kill -9 " + p.name + ", ", c.look()
}

func (c *Cluster) startSame(context.Context) (string, error) {
	text, err := c.room()
	if err != nil {
		return "", err
	}
	if len(c.absent) == 0 {
		p, err := c.pick(anyone)
		if err != nil {
			return "", err
		}
		if err := c.killProcesses(p); err != nil {
			return "", err
		}
		text += "kill -9 " + p.name + ", "
		if err := c.look(); err != nil {
			return "", err
		}
	}
	p, err := c.revive()
	if err != nil {
		return "", err
	}
	return text + "start " + p.name + " again", nil
}

func (c *Cluster) startNew(context.Context) (string, error) {
	text, err := c.room()
	if err != nil {
		return "", err
	}
	p, err := c.join(c.newName())
	if err != nil {
		return "", err
	}
	if len(c.absent) > 0 { // a new name instead of an old one, so that names do not pile up
		c.absent = c.absent[1:]
	}
	return text + "start " + p.name, nil
}

func (c *Cluster) suspendShort(context.Context) (string, error) {
	return c.suspendFor(c.between(5, 50))
}

// suspendEdge is long enough that a lease may end, and others may or may not have noticed.
func (c *Cluster) suspendEdge(context.Context) (string, error) {
	return c.suspendFor(c.between(75, 130))
}

func (c *Cluster) suspendFor(d time.Duration) (string, error) {
	p, holds, err := c.suspendOne()
	if err != nil {
		return "", err
	}
	c.later(d, never, c.waking(p, holds, c.now()))
	return fmt.Sprintf("SIGSTOP %s for %s%s", p.name, d.Round(time.Millisecond), lockText(holds)), nil
}

func never() bool { return false }

// suspendLong waits until the others have removed the member, or somebody has killed it; it wakes a while after that.
func (c *Cluster) suspendLong(context.Context) (string, error) {
	p, holds, err := c.suspendOne()
	if err != nil {
		return "", err
	}
	from := c.now()
	removed := func() bool {
		_, ok := c.follower.now().Member(p.member())
		return !ok || p.Ended()
	}
	limit := 2 * c.bound()
	if holds {
		limit = 2 * c.options.TTL
	}
	c.later(limit, removed, c.waking(p, holds, from))
	return "SIGSTOP " + p.name + " until it is removed" + lockText(holds), nil
}

func lockText(holds bool) string {
	if holds {
		return " (in the middle of a write: nobody can write)"
	}
	return ""
}

func (c *Cluster) suspendOne() (*started, bool, error) {
	p, err := c.pick(func(p *started) bool { return !p.traced })
	if err != nil {
		return nil, false, err
	}
	holds, err := c.suspend(p)
	return p, holds, err
}

// waking lets a process go on.
func (c *Cluster) waking(p *started, holds bool, from protocol.Instant) func() error {
	return func() error {
		if holds {
			c.excuse(from, p.name+" was suspended in the middle of a write")
		}
		return c.wake(p)
	}
}

// leave is SIGTERM. Half of the time the next event does not wait for its end.
func (c *Cluster) leave(context.Context) (string, error) {
	p, err := c.pick(func(p *started) bool { return !p.traced })
	if err != nil {
		return "", err
	}
	if err := c.dismiss(p); err != nil {
		return "", err
	}
	if c.chance.IntN(2) == 0 {
		c.await(p.name+" leaves", p.Ended)
	}
	return "SIGTERM " + p.name, nil
}

func (c *Cluster) addTask(context.Context) (string, error) {
	name, err := c.tasks.more(c.chance.IntN(2) == 0)
	return "add " + name, err
}

// file is one of the files that fit, by chance; one is added where none fits.
func (c *Cluster) file(fit func(*task) bool) (*task, error) {
	those := c.tasks.those(fit)
	if len(those) == 0 {
		if _, err := c.tasks.more(false); err != nil {
			return nil, err
		}
		those = c.tasks.files[len(c.tasks.files)-1:]
	}
	return those[c.chance.IntN(len(those))], nil
}

func (c *Cluster) editTask(context.Context) (string, error) {
	f, err := c.file(func(f *task) bool { return !f.broken })
	if err != nil {
		return "", err
	}
	return "edit " + f.name, c.tasks.edit(f)
}

func (c *Cluster) breakTask(context.Context) (string, error) {
	f, err := c.file(func(f *task) bool { return !f.broken })
	if err != nil {
		return "", err
	}
	return "break " + f.name, c.tasks.spoil(f, c.chance.IntN(1000))
}

func (c *Cluster) mendTask(context.Context) (string, error) {
	f, err := c.file(func(f *task) bool { return f.broken })
	if err != nil {
		return "", err
	}
	return "mend " + f.name, c.tasks.edit(f)
}

func (c *Cluster) removeTask(context.Context) (string, error) {
	f, err := c.file(anyTask)
	if err != nil {
		return "", err
	}
	if len(c.tasks.those(anyTask)) <= 4 {
		if _, err := c.tasks.more(false); err != nil {
			return "", err
		}
	}
	return "remove " + f.name, c.tasks.remove(f)
}

func anyTask(*task) bool { return true }

// fillDisk leaves no byte on the store's disk for a while: short of the TTL, or until every member has stopped what it
// ran.
func (c *Cluster) fillDisk(context.Context) (string, error) {
	from := c.now()
	if err := c.machine.fill(); err != nil {
		return "", err
	}
	text := "full until everything has stopped"
	if c.chance.IntN(2) == 0 {
		d := c.between(10, 60)
		c.pass(d)
		text = "full for " + d.Round(time.Millisecond).String()
	} else {
		c.pass(c.options.TTL)
		end := time.Now().Add(2 * c.options.TTL)
		stopped := false
		c.await("tasks stop, or the journal still has room", func() bool {
			stopped = c.look() == nil && c.onlyKeepersRun()
			return stopped || time.Now().After(end)
		})
		if !stopped {
			text = "full, and nobody noticed: the journal had room"
		}
	}
	err := c.machine.free()
	c.excuse(from, "the disk was full")
	return text, err
}

// onlyKeepersRun tells whether nothing runs but tasks that keep on, and what suspended members cannot stop.
func (c *Cluster) onlyKeepersRun() bool {
	for id, runs := range c.running {
		awake := func(r running) bool { return !r.process.Ended() && !r.process.asleep }
		if !strings.HasPrefix(string(id), "keeps") && slices.ContainsFunc(runs, awake) {
			return false
		}
	}
	return true
}
