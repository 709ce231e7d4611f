package datastore

import (
	"cmp"
	"io/fs"
	"time"
)

// TasksConfig says where tasks are and which of them, and how often to look.
type TasksConfig struct {
	Place
	Filter []string      // tokens that the metadata of a task must all have; none: all tasks
	Drift  time.Duration // how far the clocks of those who write tasks may differ; default 30 s
	Poll   time.Duration // how often to ask for what was updated; default 5 s
	Rescan time.Duration // how often to read all keys; default 1 min
	Reload time.Duration // how often to compare the versions of all tasks; default 10 min
	// Timeout bounds one look; default 1 min. The client itself tries again while Datastore is away, so that an outage is an error after this time.
	Timeout time.Duration
}

// tasksKind is the kind of the source document.
const tasksKind = "coalesce-tasks"

// filterKey is the parameter that may be there more than once.
const filterKey = "filter"

func (c TasksConfig) withDefaults() TasksConfig {
	c.Kind = c.kind(tasksKind)
	c.Drift = cmp.Or(c.Drift, 30*time.Second)
	c.Poll = cmp.Or(c.Poll, 5*time.Second)
	c.Rescan = cmp.Or(c.Rescan, time.Minute)
	c.Reload = cmp.Or(c.Reload, 10*time.Minute)
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	return c
}

// OpenTasks opens the source at PROJECT[/NAMESPACE]?filter=squad=backend&filter=…&drift=30s&poll=5s&rescan=1m&reload=10m&timeout=1m&kind=…&database=…; all of the keys may be
// left out. It is for rotacmd.WithFiles.
func OpenTasks(text string) (fs.FS, error) {
	place, values, err := parse(text, filterKey, "drift", "poll", "rescan", "reload", "timeout")
	if err != nil {
		return nil, err
	}
	c := TasksConfig{Place: place, Filter: values[filterKey]}
	err = times(values, map[string]*time.Duration{"drift": &c.Drift, "poll": &c.Poll, "rescan": &c.Rescan, "reload": &c.Reload, "timeout": &c.Timeout})
	if err != nil {
		return nil, err
	}
	return NewTasks(c)
}
