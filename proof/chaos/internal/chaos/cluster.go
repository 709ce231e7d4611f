// Package chaos does to a cluster of real processes what happens to processes and disks, and judges what they wrote
// down.
//
// # Purpose
//
// `rotachaos` starts members of the binary rota on a fresh store of the kind `file`, deals faults from a seeded deck,
// heals everything at the end, and lets package history decide whether the promises G1–G6 were kept, and whether all
// was running again in time (G9).
//
// # State
//
// One directory holds all there is: the store (on a small tmpfs where that can be had), task files, a log and a witness
// file for each start of a member, and the acts of all witness tasks, in the order in which they were done. It is
// removed when all went well.
//
// # What is not guaranteed
//
// The seed fixes which faults come in which order and how long they last, not how the processes run: the same seed is
// another run. Faults that the machine cannot do (no root, no strace, no tmpfs) are left out, said, and counted.
package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/history"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/protocol"
)

// Cluster is what is played with. All but what mu guards belongs to the one goroutine that plays.
type Cluster struct {
	options Options
	dir     string
	began   time.Time
	beganAt protocol.Instant
	end     protocol.Instant // of what is judged
	chance  *rand.Rand
	machine machine

	starts    uint64
	names     int                               // names given so far
	absent    []string                          // names of members that are down
	processes []*started                        // every start, in order
	running   map[cluster.PartitionID][]running // all that have not said that they stopped; a process may have ended
	follower  *follower
	tasks     *tasks
	stalls    *process.Stalls
	tended    time.Time            // when the operator acted last
	due       []due                // what is to be undone
	harms     []harm               // that are still to be done to the store
	forget    func(history.Record) // notes nothing
	surprises []string
	late      []string
	injected  map[string]int // system calls that were spoilt, by kind of event

	mu      sync.Mutex // guards what follows
	records []history.Record
	excused []history.Span
	away    bool // the server is
}

// running is a run that goes on, as far as its process wrote down.
type running struct {
	process *started
	token   cluster.Token
}

// String says where the run is.
func (r running) String() string {
	if r.process == nil {
		return "does not run"
	}
	return fmt.Sprintf("runs on %s (start %d) under token %d", r.process.name, r.process.number, r.token)
}

// due is something that goes on for a while, beside other events: when ready says so, or at the latest at an instant,
// it is undone.
type due struct {
	ready func() bool
	at    time.Time
	undo  func() error
}

func (c *Cluster) taskDir() string  { return filepath.Join(c.dir, "tasks") }
func (c *Cluster) actsFile() string { return filepath.Join(c.dir, "acts") }

func (c *Cluster) say(format string, args ...any) {
	fmt.Fprintf(c.options.Out, "%6.1fs  %s\n", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

func (c *Cluster) note(r history.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records = append(c.records, r)
}

// excuse notes that nobody could do anything since an instant.
func (c *Cluster) excuse(from protocol.Instant, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.excused = append(c.excused, history.Span{From: int64(from), To: int64(protocol.Now()), Why: why})
}

// await looks again and again until a condition holds; false when patience is over, which is noted.
func (c *Cluster) await(what string, holds func() bool) bool {
	return c.awaitFor(patience, what, holds)
}

func (c *Cluster) awaitFor(limit time.Duration, what string, holds func() bool) bool {
	end := time.Now().Add(limit)
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(end) {
			c.late = append(c.late, fmt.Sprintf("at %.1fs, waited %s: %s", time.Since(c.began).Seconds(), limit, what))
			c.say("! waited %s and it is not so: %s", limit, what)
			return false
		}
		<-tick.C
	}
	return true
}

// pass lets time pass, as part of a fault.
func (c *Cluster) pass(d time.Duration) {
	end := time.Now().Add(d)
	c.await("time passes", func() bool { return !time.Now().Before(end) })
}

// later undoes something when it is time, beside other events.
func (c *Cluster) later(at time.Duration, ready func() bool, undo func() error) {
	c.due = append(c.due, due{ready, time.Now().Add(at), undo})
}

// undo undoes what is due; all of it if asked to.
func (c *Cluster) undo(all bool) error {
	var rest []due
	for i, d := range c.due {
		if !all && time.Now().Before(d.at) && !d.ready() {
			rest = append(rest, d)
			continue
		}
		if err := d.undo(); err != nil {
			c.due = append(rest, c.due[i+1:]...)
			return err
		}
	}
	c.due = rest
	return nil
}

// awake are the processes that run, are not suspended and do not leave.
func (c *Cluster) awake() []*started {
	return c.those(func(p *started) bool { return !p.asleep && !p.leaving })
}

// those are the processes that run and are as wanted.
func (c *Cluster) those(wanted func(*started) bool) []*started {
	var out []*started
	for _, p := range c.processes {
		if !p.Ended() && wanted(p) {
			out = append(out, p)
		}
	}
	return out
}

// pick is one of the awake processes by chance, every other time the leader, where there is one. Where only one is
// awake, another one is started first.
func (c *Cluster) pick(fit func(*started) bool) (*started, error) {
	for {
		awake := c.awake()
		fitting := slices.DeleteFunc(slices.Clone(awake), func(p *started) bool { return !fit(p) })
		if len(awake) >= 2 && len(fitting) > 0 {
			return c.victim(fitting), nil
		}
		if _, err := c.revive(); err != nil {
			return nil, err
		}
	}
}

func (c *Cluster) victim(of []*started) *started {
	if l, ok := c.follower.now().Leader(); ok && c.chance.IntN(2) == 0 {
		if i := slices.IndexFunc(of, func(p *started) bool { return p.member() == l.Member }); i >= 0 {
			return of[i]
		}
	}
	return of[c.chance.IntN(len(of))]
}

func anyone(*started) bool { return true }

// revive starts a member that is down under its name, or a new one, and waits until it has joined.
func (c *Cluster) revive() (*started, error) {
	if len(c.absent) == 0 {
		return c.join(c.newName())
	}
	i := c.chance.IntN(len(c.absent))
	name := c.absent[i]
	c.absent = slices.Delete(c.absent, i, i+1)
	return c.join(name)
}

func (c *Cluster) newName() string {
	c.names++
	return fmt.Sprintf("m%d", c.names)
}

// join starts a member and waits until the cluster has it.
func (c *Cluster) join(name string) (*started, error) {
	p, err := c.start(name)
	if err != nil {
		return nil, err
	}
	c.await(name+" joins", func() bool { return p.Ended() || c.isMember(p) })
	return p, c.look()
}

// isMember tells whether this start of the member has joined.
func (c *Cluster) isMember(p *started) bool {
	if err := c.look(); err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.records, func(r history.Record) bool {
		return r.Kind == history.Joined && r.Incarnation == p.number && r.Member == p.member()
	})
}

// look takes in what has happened: ends of processes, lines of witnesses, the log; and undoes what is due.
func (c *Cluster) look() error {
	for _, p := range c.processes {
		if !p.seen || p.expected {
			if err := c.readWitness(p); err != nil {
				return err
			}
		}
	}
	c.reap()
	for _, p := range c.processes {
		if p.Ended() && p.name != probeName && !slices.Contains(c.absent, p.name) &&
			!slices.ContainsFunc(c.processes, func(q *started) bool { return q.name == p.name && !q.Ended() }) {
			c.absent = append(c.absent, p.name)
		}
	}
	return c.undo(false)
}

func newCluster(o Options) *Cluster {
	return &Cluster{
		options: o, began: time.Now(), beganAt: protocol.Now(), chance: rand.New(rand.NewPCG(o.Seed, 0x5eed)),
		running: map[cluster.PartitionID][]running{}, injected: map[string]int{}, forget: func(history.Record) {},
	}
}

// Run plays it. The error says that it could not be played; what the members did wrong stands in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	o = o.withDefaults()
	c := newCluster(o)
	if err := c.prepare(); err != nil {
		return Report{}, err
	}
	c.stalls = process.WatchStalls()
	r, err := c.play(ctx)
	c.stalls.Close()
	c.close()
	if err == nil && r.OK && !o.Keep {
		return r, os.RemoveAll(c.dir)
	}
	c.say("kept for a look: %s", c.dir)
	r.Kept = c.dir
	return r, err
}
