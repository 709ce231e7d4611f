package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

// TypeName is the task type of directory sources.
const TypeName = "rota.directory"

// LabelKey is the label that a member carries for each source that it declares.
func LabelKey(name string) string { return "rota.source." + name }

// Job is the job that runs a source: on one of the members that declare it.
func Job(name string) cluster.SubmitJob {
	definition, err := json.Marshal(work.Definition{Config: json.RawMessage(fmt.Sprintf(`{"source":%q}`, name))})
	if err != nil {
		panic(err) // a struct of strings
	}
	return cluster.SubmitJob{Job: cluster.JobID("rota.source." + name), Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{
		Type: TypeName, Weight: 1, Selector: []cluster.Label{{Key: LabelKey(name), Value: "yes"}}, Definition: definition,
	}}}}
}

// Name makes a source's name of a directory's path: its last element, so that members with the same tree elsewhere share one source.
func Name(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	name := filepath.Base(abs)
	if err := cluster.CheckName("rota.source." + name); err != nil {
		return "", fmt.Errorf("directory %s: %w", dir, err)
	}
	return name, nil
}

// Config is what a member's directory sources work with.
type Config struct {
	Dirs    map[string][]string // by source name
	Types   func() work.Types   // to check definitions with
	Value   func() cluster.Value
	Propose func(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error)
	Journal func(journal.Record)
	// Rescan is how often the directories are scanned without a hint; default 5 s.
	Rescan time.Duration
}

// debounce is how long a burst of changes may last before it is read.
const debounce = 150 * time.Millisecond

// maxBatch bounds the commands of one proposal.
const maxBatch = 500

// Type is the task type.
func (c Config) Type() work.Type {
	return work.Type{
		Name: TypeName, Doc: "reads task definitions from directories",
		New: func(d work.Definition) (work.Runner, error) {
			var conf struct {
				Source string `json:"source"`
			}
			if err := work.DecodeConfig(d, &conf); err != nil {
				return nil, err
			}
			dirs, ok := c.Dirs[conf.Source]
			if !ok {
				return nil, &work.ConfigError{Path: "config.source", Err: fmt.Errorf("this member does not declare the source %q", conf.Source)}
			}
			return &reader{Config: c, name: conf.Source, dirs: dirs}, nil
		},
	}
}

// reader is one run of a source.
type reader struct {
	Config
	name  string
	dirs  []string
	known map[string]string // faults that were journaled: path → text
}

// Run implements work.Runner: it scans until ctx ends.
func (r *reader) Run(ctx context.Context, g *work.Grant) error {
	if err := r.remember(ctx, g); err != nil {
		return err
	}
	hints, stop := r.watch(g)
	defer stop()
	rescan := r.Rescan
	if rescan <= 0 {
		rescan = 5 * time.Second
	}
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	for {
		if err := r.once(ctx, g); err != nil && ctx.Err() == nil {
			g.Log.Warn("bring tasks in line with the directory", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-hints:
		}
	}
}

func (r *reader) once(ctx context.Context, g *work.Grant) error {
	scan := ScanDirs(r.dirs, r.name, r.Types())
	commands, faults := Diff(scan, r.Value(), r.name, Fence{g.Partition, g.Token})
	r.tellFaults(ctx, g, append(scan.Faults, faults...))
	for len(commands) > 0 {
		n := min(len(commands), maxBatch)
		results, err := r.Propose(ctx, commands[:n]...)
		if err != nil {
			return err
		}
		r.tellRefused(commands[:n], results)
		commands = commands[n:]
	}
	return nil
}

func (r *reader) tellRefused(commands []cluster.Command, results []cluster.Result) {
	for i, res := range results {
		if !res.Accepted {
			r.Journal(journal.Record{Kind: journal.Refused, Message: fmt.Sprintf("%v: %s", commands[i], res.Reason)})
		}
	}
}

// remember loads which faults were journaled by whoever ran the source before.
func (r *reader) remember(ctx context.Context, g *work.Grant) error {
	r.known = make(map[string]string)
	data, err := g.LoadPosition(ctx)
	if err != nil || data == nil {
		return err
	}
	return json.Unmarshal(data, &r.known)
}

// tellFaults journals each fault once, and tells when it is mended.
func (r *reader) tellFaults(ctx context.Context, g *work.Grant, faults []*source.MalformedError) {
	now := make(map[string]string, len(faults))
	changed := false
	for _, f := range faults {
		now[f.Path] = f.Error()
		if r.known[f.Path] != f.Error() {
			changed = true
			rec := f.Record()
			rec.Partition = string(source.ID(f.Path))
			r.Journal(rec)
		}
	}
	for path := range r.known {
		if _, ok := now[path]; !ok {
			changed = true
			r.Journal(journal.Record{Kind: journal.Recovered, Partition: string(source.ID(path)), Message: path + " is well-formed again, or gone"})
		}
	}
	r.known = now
	if !changed {
		return
	}
	data, err := json.Marshal(now)
	if err == nil {
		err = g.SavePosition(ctx, data)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		g.Log.Warn("remember which faults were told", "err", err)
	}
}

// watch gives a hint a little after something below the directories changed. Where that cannot be watched the rescans do.
func (r *reader) watch(g *work.Grant) (<-chan struct{}, func()) {
	hints := make(chan struct{}, 1)
	w, err := fsnotify.NewWatcher()
	if err != nil {
		g.Log.Warn("watch directories: scanning now and then instead", "err", err)
		return hints, func() {}
	}
	for _, dir := range r.dirs {
		addTree(w, dir, g)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		forward(w, hints, g)
	}()
	return hints, func() {
		if err := w.Close(); err != nil {
			g.Log.Debug("close a watch", "err", err)
		}
		<-done
	}
}

func forward(w *fsnotify.Watcher, hints chan<- struct{}, g *work.Grant) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case ev, ok := <-w.Events:
			if !ok {
				return
			}
			if ev.Has(fsnotify.Create) && !strings.HasPrefix(filepath.Base(ev.Name), ".") {
				addTree(w, ev.Name, g)
			}
			timer.Reset(debounce)
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			g.Log.Debug("watch directories", "err", err)
			timer.Reset(debounce)
		case <-timer.C:
			select {
			case hints <- struct{}{}:
			default:
			}
		}
	}
}
