package chaos

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/history"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/protocol"
)

// Kills is what became of the tasks of members that were killed.
type Kills struct {
	Store   string    `json:"store"`
	Members int       `json:"members"`
	TTLMS   int64     `json:"ttl_ms"`
	Rows    []KillRow `json:"rows"`
	Stalls  int       `json:"stalls"` // times in which the machine stood still
	StallMS int64     `json:"stall_ms"`
	Seconds float64   `json:"seconds"`
	OK      bool      `json:"ok"` // nothing took longer than its goal
}

// KillRow is one way of killing. The time of a kill is that until the last task of the killed ran elsewhere, by what
// the members wrote down.
type KillRow struct {
	What     string  `json:"what"`
	TimesMS  []int64 `json:"times_ms"` // sorted
	MedianMS int64   `json:"median_ms"`
	MostMS   int64   `json:"most_ms"`
	GoalMS   int64   `json:"goal_ms"` // 0: none
	Moved    int     `json:"tasks_moved"`
}

// killMembers is how many members there are: two may die at once, and most are left.
const killMembers = 5

// RunKills kills a member as kill -9 does, so many times, and as many times one together with the member that watches
// it; it measures how long their tasks are without an owner. Under a protocol with a leader the first is a plain
// member, and the second dies together with the leader. All is well before each kill.
func RunKills(ctx context.Context, o Options, times int) (Kills, error) {
	o.TTL, o.Events = cmp.Or(o.TTL, 4*time.Second), 2*times
	o = o.withDefaults()
	c := newCluster(o)
	if err := c.prepare(); err != nil {
		return Kills{}, err
	}
	c.stalls = process.WatchStalls()
	r, err := c.kills(ctx, times)
	c.stalls.Close()
	c.close()
	if err != nil {
		c.say("kept for a look: %s", c.dir)
		return r, err
	}
	return r, os.RemoveAll(c.dir)
}

func (c *Cluster) kills(ctx context.Context, times int) (Kills, error) {
	kind, _, _ := strings.Cut(c.storeText(), ":")
	r := Kills{Store: kind, Members: killMembers, TTLMS: c.options.TTL.Milliseconds()}
	if err := c.begin(ctx); err != nil {
		return r, err
	}
	alone, both := KillRow{What: "alone", GoalMS: c.options.takeover().Milliseconds()}, c.pair()
	for range times {
		for _, row := range []*KillRow{&alone, &both} {
			if err := c.fillUp(); err != nil {
				return r, err
			}
			if err := c.killOnce(ctx, row, row == &both); err != nil {
				return r, err
			}
		}
	}
	r.Rows = []KillRow{alone, both}
	if c.options.Server != nil {
		node, err := c.nodes(ctx, times)
		if err != nil {
			return r, err
		}
		r.Rows = append(r.Rows, node)
	}
	r.Stalls, r.StallMS, r.OK = len(c.stalls.Spans()), millis(c.stalls.Longest()), true
	for i := range r.Rows {
		r.Rows[i].sum()
		r.OK = r.OK && (r.Rows[i].GoalMS == 0 || r.Rows[i].MostMS <= r.Rows[i].GoalMS)
	}
	r.Seconds = float64(time.Since(c.began).Milliseconds()) / 1000
	c.say("\n%s", r)
	return r, nil
}

// fillUp starts members until there are enough, and waits until all is well.
func (c *Cluster) fillUp() error {
	for len(c.awake()) < killMembers {
		if _, err := c.revive(); err != nil {
			return err
		}
	}
	if !c.await("all tasks run", c.settled) {
		return fmt.Errorf("wait for all tasks to run: %s", c.whatIsMissing())
	}
	return nil
}

func (c *Cluster) killOnce(ctx context.Context, row *KillRow, both bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	leader := c.leader()
	victim, err := c.pick(func(p *started) bool { return p != leader })
	if err != nil {
		return err
	}
	victims := []*started{victim}
	if both {
		watcher := cmp.Or(leader, c.watcher(victim.member()))
		if watcher == nil {
			return fmt.Errorf("nobody watches %s", victim.name)
		}
		victims = append(victims, watcher)
	}
	var tasks []cluster.PartitionID
	for id, runs := range c.running {
		if slices.ContainsFunc(runs, func(r running) bool { return slices.Contains(victims, r.process) }) {
			tasks = append(tasks, id)
		}
	}
	at := protocol.Now()
	if err := c.killProcesses(victims...); err != nil {
		return err
	}
	if !c.await("others run what the killed ran", c.settled) {
		return fmt.Errorf("kill -9 %s: %s", names(victims), c.whatIsMissing())
	}
	took, moved := c.elsewhere(tasks, victims, int64(at))
	row.TimesMS, row.Moved = append(row.TimesMS, millis(took)), row.Moved+moved
	c.say("kill -9 %-8s %3d tasks ran elsewhere after %d ms", names(victims), moved, millis(took))
	return nil
}

// nodes kills one node of the server after the other. Its time is the longest in which nobody ran a task: 0 where the
// members go on until others have taken over from the node. A server of one node is started again at once, and takes as
// long as it takes.
func (c *Cluster) nodes(ctx context.Context, times int) (KillRow, error) {
	s := c.options.Server
	row := KillRow{What: "node of the server"}
	if s.Nodes > 1 {
		row.GoalMS = c.options.takeover().Milliseconds()
	}
	for i := range times {
		if err := c.fillUp(); err != nil {
			return row, err
		}
		if ctx.Err() != nil {
			return row, context.Cause(ctx)
		}
		node, from := i%s.Nodes, c.now()
		if err := s.Kill(node); err != nil {
			return row, fmt.Errorf("kill a node: %w", err)
		}
		if s.Nodes > 1 {
			c.pass(c.options.TTL * 3 / 2) // what ends with it has ended
		}
		if err := s.Restart(ctx, node); err != nil {
			return row, fmt.Errorf("start a node again: %w", err)
		}
		if !c.await("all tasks run", c.settled) {
			return row, fmt.Errorf("kill -9 node %d: %s", node, c.whatIsMissing())
		}
		gap, stopped := c.unowned(int64(from))
		row.TimesMS, row.Moved = append(row.TimesMS, millis(gap)), row.Moved+stopped
		c.say("kill -9 node %d    %3d tasks stopped, at most for %d ms", node, stopped, millis(gap))
	}
	return row, nil
}

// unowned is the longest time since an instant in which nobody ran a task, and how many tasks that befell.
func (c *Cluster) unowned(since int64) (longest time.Duration, tasks int) {
	c.mu.Lock()
	records := slices.Clone(c.records)
	c.mu.Unlock()
	slices.SortStableFunc(records, func(a, b history.Record) int { return cmp.Compare(a.At, b.At) })
	newest := map[cluster.PartitionID]cluster.Token{}
	stopped, gaps := map[cluster.PartitionID]int64{}, map[cluster.PartitionID]bool{}
	for _, r := range records {
		at, waits := stopped[r.Partition]
		switch {
		case r.Kind == history.Started:
			newest[r.Partition] = max(newest[r.Partition], r.Token)
			if delete(stopped, r.Partition); waits {
				longest, gaps[r.Partition] = max(longest, time.Duration(r.At-at)), true
			}
		case r.Kind == history.Stopped && r.At >= since && r.Token == newest[r.Partition]: // else another one runs it already
			stopped[r.Partition] = r.At
		}
	}
	return longest, len(gaps)
}

// takeover is how long tasks of a member that was killed may be without an owner, at most: also without a guardian.
func (o Options) takeover() time.Duration { return o.TTL + time.Second }

// pair is the row of two that die at once. Who follows a leader has to begin its term and to read what is there.
func (c *Cluster) pair() KillRow {
	if c.leader() == nil {
		return KillRow{What: "with its watcher", GoalMS: c.options.takeover().Milliseconds()}
	}
	return KillRow{What: "with the leader", GoalMS: (c.options.takeover() + time.Second/2).Milliseconds()}
}

// leader is the process that leads; nil under a protocol without a leader.
func (c *Cluster) leader() *started {
	l, ok := c.follower.now().Leader()
	if !ok {
		return nil
	}
	for _, p := range c.awake() {
		if p.member() == l.Member {
			return p
		}
	}
	return nil
}

// watcher is the process whose member watches another one's heartbeat; nil if there is none.
func (c *Cluster) watcher(m cluster.MemberID) *started {
	v := c.follower.now()
	for _, p := range c.awake() {
		if v.Reactions(p.member()).Watch.ID == m && p.member() != m {
			return p
		}
	}
	return nil
}

// elsewhere is the time until the last of some partitions ran again. One that ended with its member, as those of tasks
// that run on each, does not.
func (c *Cluster) elsewhere(those []cluster.PartitionID, killed []*started,
	since int64) (took time.Duration, moved int) {
	dead := map[uint64]bool{}
	for _, p := range killed {
		dead[p.number] = true
	}
	first := map[cluster.PartitionID]int64{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.records {
		if r.Kind != history.Started || r.At < since || dead[r.Incarnation] || !slices.Contains(those, r.Partition) {
			continue
		}
		if at, ok := first[r.Partition]; !ok || r.At < at {
			first[r.Partition] = r.At
		}
	}
	for _, at := range first {
		took = max(took, time.Duration(at-since))
	}
	return took, len(first)
}

func (r *KillRow) sum() {
	slices.Sort(r.TimesMS)
	if n := len(r.TimesMS); n > 0 {
		r.MedianMS, r.MostMS = r.TimesMS[n/2], r.TimesMS[n-1]
	}
}

// String is a table for people.
func (r Kills) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s %6s %12s %10s %8s  goal\n", "killed", "times", "tasks moved", "median ms", "most ms")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "%-18s %6d %12d %10d %8d  %d\n", row.What, len(row.TimesMS), row.Moved, row.MedianMS,
			row.MostMS, row.GoalMS)
	}
	fmt.Fprintf(&b, "%s, %d members, TTL %d ms · the machine stood still %d times, for %d ms at most · %.1f s\n",
		r.Store, r.Members, r.TTLMS, r.Stalls, r.StallMS, r.Seconds)
	return b.String()
}
