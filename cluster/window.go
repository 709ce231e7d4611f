package cluster

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// Limits of one [AdvanceWindow].
const (
	MaxItems  = 1000      // listed items, and as many finished ones
	MaxInputs = 256 << 10 // bytes of all inputs together
	MaxCursor = 4096      // bytes
)

// Window yields the items of a partitioner in the value, sorted by ID: waiting, running and parked ones, and
// finished ones that it has not removed yet. It reads all partitions of the task.
func (v Value) Window(partitioner PartitionID) iter.Seq[Partition] {
	return func(yield func(Partition) bool) {
		job, task, key := partitioner.Split()
		ordered.Below(&v.partitions, NewPartitionID(job, task, "")+"#", func(_ PartitionID, p *partitionRecord) bool {
			return p.ListedBy != key || p.Dropped || yield(p.Partition)
		})
	}
}

// AdvanceWindow is written by a partitioner: a partition of spread partitioned that lists inputs and keeps a window of
// them in the value. One step removes finished items, adds listed ones, and stores the cursor: after a crash the next
// owner continues from there, and nothing is listed twice or skipped. Step must be the partitioner's present one; it
// then grows by one.
type AdvanceWindow struct {
	Partition PartitionID // the partitioner
	Token     Token
	Step      int64
	Cursor    []byte   // where the next listing begins; opaque
	Done      []string // keys of finished items of this window: their partitions are removed; sorted
	Items     []Item   // a key that is already in the window, and not in Done, is skipped
}

func (AdvanceWindow) tag() byte { return 17 }

func (c AdvanceWindow) code(x *coder) Command {
	codeText(x, &c.Partition)
	codeUint(x, &c.Token)
	codeInt(x, &c.Step)
	codeBlob(x, &c.Cursor)
	codeList(x, &c.Done, codeText)
	codeList(x, &c.Items, codeItem)
	return made(x, c)
}

// Item is one input listed by a partitioner. Key is a key within its task.
type Item struct {
	Key   string
	Input []byte // given to the runner with the definition; opaque
}

func codeItem(x *coder, it *Item) {
	codeText(x, &it.Key)
	codeBlob(x, &it.Input)
}

func (c AdvanceWindow) check() error {
	switch {
	case len(c.Items) > MaxItems || len(c.Done) > MaxItems:
		return fmt.Errorf("%d items and %d done, at most %d of each are allowed", len(c.Items), len(c.Done), MaxItems)
	case len(c.Cursor) > MaxCursor:
		return fmt.Errorf("cursor: %d bytes, at most %d are allowed", len(c.Cursor), MaxCursor)
	case !sortedSet(c.Done):
		return errors.New("done: the keys are not sorted, or contain a duplicate")
	}
	return at("items", checkItems(c.Items))
}

// String returns the command on one line.
func (c AdvanceWindow) String() string {
	s := fmt.Sprintf("advance-window %s token=%d step=%d cursor=%q", c.Partition, c.Token, c.Step, c.Cursor)
	if len(c.Done) > 0 {
		s += " done " + strings.Join(c.Done, " ")
	}
	if len(c.Items) > 0 {
		s += " items"
	}
	for _, it := range c.Items {
		s += " " + it.Key
	}
	return s
}

func sortedSet(keys []string) bool {
	for i := 1; i < len(keys); i++ {
		if keys[i-1] >= keys[i] {
			return false
		}
	}
	return true
}

func checkItems(items []Item) error {
	seen, size := make(map[string]bool, len(items)), 0
	for i, it := range items {
		if err := CheckKey(it.Key); err != nil {
			return fmt.Errorf("[%d].key: %w", i, err)
		}
		if seen[it.Key] {
			return fmt.Errorf("[%d].key: duplicate %q", i, it.Key)
		}
		seen[it.Key] = true
		size += len(it.Input)
	}
	if size > MaxInputs {
		return fmt.Errorf("the inputs come to %d bytes, at most %d are allowed: put less into one, or fewer into a step", size, MaxInputs)
	}
	return nil
}

// advanceWindow does one step of a partitioner. What it refuses it refuses whole.
func (c AdvanceWindow) apply(d *draft) string {
	p, ok := d.edit(c.Partition)
	if !ok {
		return "no such partition"
	}
	job, task, key := c.Partition.Split()
	j, t, why := d.windowed(p)
	if why == "" {
		why = p.owned(c.Token)
	}
	switch {
	case why != "":
		return why
	case p.Step != c.Step:
		return fmt.Sprintf("it names step %d, the present one is %d", c.Step, p.Step)
	case p.ListedBy != "":
		return "an item of a window has no window of its own"
	}
	if why := d.windowRefused(job, t.Name, key, &c); why != "" {
		return why
	}
	d.fillWindow(j, task, key, &c)
	p.Step, p.Cursor = p.Step+1, c.Cursor
	p.class = d.classFor(j, p)
	d.setPartition(p)
	return ""
}

// fillWindow takes out what is done, and puts in what was listed.
func (d *draft) fillWindow(j *jobRecord, task, by string, c *AdvanceWindow) {
	for _, done := range c.Done {
		id := NewPartitionID(j.ID, task, done)
		if p, ok := ordered.Get(&d.partitions, id); ok && p.State == PartitionFinished && p.ListedBy == by {
			d.removePartition(id)
		}
	}
	for _, it := range c.Items {
		if !d.live(NewPartitionID(j.ID, task, it.Key)) {
			d.addItem(j, task, by, it, nil)
		}
	}
}

// windowed returns why a partition can have no window, "" if it can.
func (d *draft) windowed(p *partitionRecord) (*jobRecord, *TaskSpec, string) {
	job, task, key := p.ID.Split()
	j, ok := ordered.Get(&d.jobs, job)
	if !ok || j.State != JobRunning || p.Dropped {
		return nil, nil, "its job has ended"
	}
	t, ok := j.Task(task)
	if !ok || t.Spread != SpreadPartitioned || key == "" {
		return nil, nil, "its task is not partitioned"
	}
	return j, t, ""
}

func (d *draft) windowRefused(job JobID, task, by string, c *AdvanceWindow) string {
	for _, key := range c.Done {
		p, ok := ordered.Get(&d.partitions, NewPartitionID(job, task, key))
		if !ok || p.ListedBy != by || p.State != PartitionFinished {
			return "the key " + key + " is not of a finished item of this window"
		}
	}
	for _, it := range c.Items {
		p, ok := ordered.Get(&d.partitions, NewPartitionID(job, task, it.Key))
		if ok && !p.Dropped && p.ListedBy != by {
			return "the key " + it.Key + " is that of another partition of the task: give the item another"
		}
	}
	return ""
}

// live reports whether the partition is there, and not only until its former owner has stopped.
func (d *draft) live(id PartitionID) bool {
	p, ok := ordered.Get(&d.partitions, id)
	return ok && !p.Dropped
}

// classFor is the class of a partition: that of its task, or, for a partitioner and its items, one that stays; Rota's
// own tasks have classes of their own.
func (d *draft) classFor(j *jobRecord, p *partitionRecord) *schedule.Class {
	_, task, _ := p.ID.Split()
	c := j.classOf(task)
	if c == nil || kindOf(c) != kindTasks || !p.inWindow() && !p.ID.Reserved() {
		return c
	}
	key := stays + c.Key
	if p.ID.Reserved() {
		key = own + c.Key
	}
	if known, ok := ordered.Get(&d.derived.classes, key); ok {
		return known.class
	}
	like := *c
	like.Key = key
	return &like
}
