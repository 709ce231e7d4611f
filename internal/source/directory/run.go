package directory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// reader is one run of a source.
type reader struct {
	Config
	name    string
	memory  memory
	started time.Time
	watched bool // the store gives hints of new inventories
	listed  time.Time
	copies  map[cluster.MemberID]publication // nil while they could not be read
}

// Run implements work.Runner: it looks until ctx ends.
func (r *reader) Run(ctx context.Context, g *work.Grant) error {
	r.started = time.Now()
	if err := r.remember(ctx, g); err != nil {
		return err
	}
	r.looks(ctx, r.name, g.Log, r.watch(ctx, g), func(scan Scan, hinted bool) bool {
		again, err := r.act(ctx, g, scan, hinted)
		if err != nil && ctx.Err() == nil {
			g.Log.Warn("bring tasks in line with the directory", "err", err)
		}
		return again || err != nil
	})
	return nil
}

// watch gives hints of new inventories; nil where the store has none.
func (r *reader) watch(ctx context.Context, g *work.Grant) <-chan struct{} {
	w, ok := r.Docs.(store.Watcher)
	if !ok {
		return nil
	}
	hints, err := w.Watch(ctx, prefix(r.name))
	if err != nil {
		g.Log.Warn("watch inventories: listing them now and then instead", "err", err)
		return nil
	}
	r.watched = true
	return hints
}

// act does what a look leads to, and reports whether to look again soon.
func (r *reader) act(ctx context.Context, g *work.Grant, scan Scan, hinted bool) (again bool, err error) {
	value := r.Value()
	calls, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	failure := r.list(calls, value, hinted)
	want := r.memory.step(scan, value, r.name, Fence{g.Partition, g.Token}, r.copiesIn(value), time.Since(r.started))
	for _, rec := range want.records {
		r.Journal(rec)
	}
	changed := want.changed
	var done tally
	for commands := want.commands; len(commands) > 0 && err == nil; {
		n := batch(commands)
		var results []cluster.Result
		if results, err = r.Propose(ctx, commands[:n]...); err != nil {
			break
		}
		changed = r.tellRefused(commands[:n], results) || changed
		done.add(commands[:n], results)
		clear(commands[:n]) // what has been entered is in the value
		commands = commands[n:]
	}
	for _, rec := range done.records(scan, r.name) {
		r.Journal(rec)
	}
	if changed {
		r.save(ctx, g)
	}
	return want.again, errors.Join(err, failure)
}

// list reads the inventories when they may have changed, and deletes those of former members that nobody needs. While
// they cannot be read nothing is removed.
func (r *reader) list(ctx context.Context, value cluster.Value, hinted bool) error {
	if r.copies != nil && r.watched && !hinted && time.Since(r.listed) < maxRescan {
		return nil
	}
	var err error
	if r.copies, err = published(ctx, r.Docs, r.name); err != nil {
		return err
	}
	r.listed = time.Now()
	for _, m := range r.copiesIn(value).needless() {
		if err := r.Docs.Delete(ctx, prefix(r.name)+string(m), r.copies[m].version); err != nil &&
			!errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("delete the inventory of %s: %w", m, err)
		}
	}
	return nil
}

// copiesIn are the copies in the light of a value; nil while they are not known.
func (r *reader) copiesIn(value cluster.Value) *Copies {
	if r.copies == nil {
		return nil
	}
	return CopiesOf(value, r.name, inventoriesOf(r.copies))
}

func (r *reader) tellRefused(commands []cluster.Command, results []cluster.Result) (told bool) {
	for i, res := range results[:min(len(results), len(commands))] {
		if res.Accepted {
			continue
		}
		if rec, fresh := r.memory.refused(commands[i], res.Reason); fresh {
			r.Journal(rec)
			told = true
		}
	}
	return told
}

// remember loads what was journaled by the former owner. What cannot be decoded is forgotten: faults are told again
// then.
func (r *reader) remember(ctx context.Context, g *work.Grant) error {
	r.memory = memory{}
	data, err := g.LoadPosition(ctx)
	if err != nil {
		return fmt.Errorf("remember which faults were told: %w", err)
	}
	if len(data) == 0 {
		return nil
	}
	if err := decodeMemory(data, &r.memory); err != nil {
		r.memory = memory{}
		g.Log.Warn("remember which faults were told", "err", err)
	}
	return nil
}

func (r *reader) save(ctx context.Context, g *work.Grant) {
	data, err := r.memory.encode()
	if err == nil {
		err = g.SavePosition(ctx, data)
	}
	if err != nil && ctx.Err() == nil {
		g.Log.Warn("remember which faults were told", "err", err)
	}
}

// TypeName is the task type of directory sources.
const TypeName = "rota.directory"

// LabelKey is the label that a member carries for each source that it declares.
func LabelKey(name string) string { return "rota.source." + name }

// Job returns the job that runs a source: on one of the members that declare it.
func Job(name string) cluster.SubmitJob {
	return cluster.SubmitJob{Job: cluster.JobID("rota.source." + name),
		Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{
			Type: TypeName, Weight: 1, Selector: []cluster.Label{{Key: LabelKey(name), Value: "yes"}},
			Definition: fmt.Appendf(nil, `{"config":{"source":%q}}`, name),
		}}}}
}

// Name derives a source's name from a directory's path: its last element, so that members with the same tree elsewhere
// share one source.
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

// Names are the names of the sources of a member, sorted.
func Names(dirs map[string][]string, files map[string]fs.FS) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(dirs)), maps.Keys(files))
	slices.Sort(names)
	return slices.Compact(names)
}

// Config configures a member's directory sources.
type Config struct {
	Dirs   map[string][]string // by source name; they exist on this member
	Files  map[string]fs.FS    // by source name: files that the program itself has
	Member cluster.MemberID
	Docs   store.Docs // where the members publish their inventories
	Cache  *Cache     // shared by what reads these directories in this process; nil: nothing is shared
	// Incarnation returns that of this member; false while it has not joined.
	Incarnation func() (cluster.Incarnation, bool)
	Types       func() work.Types // to check definitions with
	Value       func() cluster.Value
	Propose     func(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error)
	Journal     func(journal.Record) // default: none
	// Rescan is the longest interval between scans without a hint; default 5 s. It grows, up to 30 s, if scans take
	// long.
	Rescan time.Duration
}

// Type is the task type.
func (c Config) Type() work.Type {
	if c.Journal == nil {
		c.Journal = func(journal.Record) {}
	}
	return work.Type{
		Name: TypeName, Doc: "reads task definitions from directories",
		New: func(d work.Definition) (work.Runner, error) {
			var conf struct {
				Source string `json:"source"`
			}
			if err := work.DecodeConfig(d, &conf); err != nil {
				return nil, err
			}
			if !slices.Contains(Names(c.Dirs, c.Files), conf.Source) {
				return nil, &work.ConfigError{Path: "config.source",
					Err: fmt.Errorf("this member does not declare the source %q", conf.Source)}
			}
			return &reader{Config: c, name: conf.Source}, nil
		},
	}
}
