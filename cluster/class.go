package cluster

import (
	"strconv"
	"strings"

	"github.com/rota-run/rota/schedule"
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

// allowed reports whether the member's labels and name fit the task.
// Allows reports whether the member's name and labels let it run the task. It ignores whether the member is joined, draining or full.
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
