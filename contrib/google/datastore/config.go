package datastore

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/option"
)

// TasksConfig says where tasks are and which of them, and how often to look.
type TasksConfig struct {
	Place
	Filter []string      // tokens that the metadata of a task must all have; none: all tasks
	Drift  time.Duration // how far the clocks of those who write tasks may differ; default 30 s
	Poll   time.Duration // how often to ask for what was updated; default 5 s
	Rescan time.Duration // how often to read all keys; default 1 min
	Reload time.Duration // how often to compare the versions of all tasks; default 10 min
	// Timeout bounds one look; default 1 min. The client itself tries again while Datastore is away, so that an outage
	// is an error after this time.
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

// OpenTasks opens the source at
// PROJECT[/NAMESPACE]?filter=squad=backend&filter=…&drift=30s&poll=5s&rescan=1m&reload=10m&timeout=1m&kind=…&database=…;
// all of the keys may be left out. It is for rotacmd.WithFiles.
func OpenTasks(text string) (fs.FS, error) {
	place, values, err := parse(text, filterKey, "drift", "poll", "rescan", "reload", "timeout")
	if err != nil {
		return nil, err
	}
	c := TasksConfig{Place: place, Filter: values[filterKey]}
	err = times(values, map[string]*time.Duration{"drift": &c.Drift, "poll": &c.Poll, "rescan": &c.Rescan,
		"reload": &c.Reload, "timeout": &c.Timeout})
	if err != nil {
		return nil, err
	}
	return NewTasks(c)
}

// Place is where entities are.
type Place struct {
	Project   string
	Namespace string // "" for the default one
	Database  string // "" for the default one
	Kind      string // default: that of the source document
	// Options are for the client, such as credentials; default: those of the environment, or the emulator that
	// DATASTORE_EMULATOR_HOST names.
	Options []option.ClientOption
}

// String is the place as people write it.
func (p Place) String() string {
	s := p.Project
	if p.Namespace != "" {
		s += "/" + p.Namespace
	}
	return s
}

// parse reads PROJECT[/NAMESPACE][?KEY=VALUE&…], and gives what the keys say besides the place.
func parse(text string, keys ...string) (Place, url.Values, error) {
	text = strings.TrimPrefix(text, "//")
	where, query, _ := strings.Cut(text, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return Place{}, nil, fmt.Errorf("what follows the ? is not KEY=VALUE&KEY=VALUE")
	}
	known := append(keys, "database", "kind")
	slices.Sort(known)
	for _, k := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !slices.Contains(known, k):
			return Place{}, nil, fmt.Errorf("unknown parameter %q: it takes %s", k, strings.Join(known, ", "))
		case len(values[k]) > 1 && k != filterKey:
			return Place{}, nil, fmt.Errorf("parameter %q is there twice", k)
		}
	}
	p := Place{Database: values.Get("database"), Kind: values.Get("kind")}
	p.Project, p.Namespace, _ = strings.Cut(where, "/")
	if p.Project == "" || strings.ContainsAny(where, " :@") {
		return Place{}, nil, fmt.Errorf("%q is not PROJECT or PROJECT/NAMESPACE", where)
	}
	return p, values, nil
}

// times reads what the values say of times.
func times(values url.Values, of map[string]*time.Duration) error {
	for _, k := range slices.Sorted(maps.Keys(of)) {
		text := values.Get(k)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return fmt.Errorf("parameter %q: %q is not a time: write 30s", k, text)
		}
		*of[k] = d
	}
	return nil
}

func (p Place) kind(usual string) string { return cmp.Or(p.Kind, usual) }
