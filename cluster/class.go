package cluster

import (
	"strconv"
	"strings"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/schedule"
)

// defaultWeight is the weight of a task or member that names none.
const defaultWeight = 100

func weightOr(w int64) int64 {
	if w == 0 {
		return defaultWeight
	}
	return w
}

// classOf returns the placement class of a task: tasks with the same rules and weight share one, so that the cost of
// planning grows with the kinds of tasks and not with their number.
func classOf(job JobID, t *TaskSpec) schedule.Class {
	c := schedule.Class{Weight: weightOr(t.Weight), Pin: string(t.Pin), SpreadOver: t.SpreadOver}
	for _, l := range t.Selector {
		c.Selector = append(c.Selector, schedule.Label(l))
	}
	c.Key = classKey(job, t, c)
	if t.Stay {
		c.Key = stays + c.Key
	}
	return c
}

func classKey(job JobID, t *TaskSpec, c schedule.Class) string {
	var b strings.Builder
	b.WriteString(strconv.FormatInt(c.Weight, 10))
	for _, l := range c.Selector {
		b.WriteString("\x01" + l.Key + "=" + l.Value)
	}
	if c.Pin != "" {
		b.WriteString("\x02" + c.Pin)
	}
	if c.SpreadOver != "" {
		b.WriteString("\x03" + c.SpreadOver + "\x03" + string(NewPartitionID(job, t.Name, "")))
	}
	return b.String()
}

// allowed reports whether the member's labels and name fit the task. Allows reports whether the member's name and
// labels let it run the task. It ignores whether the member is joined, draining or full.
func (t *TaskSpec) Allows(m Member) bool { return t.allowed(&m) }

func (t *TaskSpec) allowed(m *Member) bool {
	if t.Pin != "" && t.Pin != m.ID {
		return false
	}
	for _, want := range t.Selector {
		if v, ok := labelValue(m.Labels, want.Key); !ok || v != want.Value {
			return false
		}
	}
	return true
}

func labelValue(labels []Label, key string) (string, bool) {
	for _, l := range labels {
		if l.Key == key {
			return l.Value, true
		}
	}
	return "", false
}

// classKind is what is placed by a view of its own, evenly by itself.
type classKind int

const (
	kindTasks   classKind = iota
	kindWindows           // partitioners, items, tasks that stay: they come and go, and must not move other partitions about
	kindOwn               // what Rota runs for itself: it takes no room of a member, so it also runs where all are full
	kinds
)

// The marks of the kinds, in the keys of their classes.
const (
	stays = "\x04" // not moved to even the load: it begins and ends often, and a move would cut its run for nothing
	own   = "\x05"
)

func kindOf(c *schedule.Class) classKind {
	switch {
	case strings.HasPrefix(c.Key, stays):
		return kindWindows
	case strings.HasPrefix(c.Key, own):
		return kindOwn
	}
	return kindTasks
}

// present reports whether there is anything of a kind.
func (v *Value) present(kind classKind) (some bool) {
	mark := ""
	switch kind {
	case kindWindows:
		mark = stays
	case kindOwn:
		mark = own
	}
	ordered.Below(&v.derived.classes, mark, func(string, classRecord) bool {
		some = true
		return false
	})
	return some
}
