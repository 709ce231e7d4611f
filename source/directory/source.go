package directory

import (
	"context"
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

// TypeName is the task type of directory sources.
const TypeName = "rota.directory"

// LabelKey is the label that a member carries for each source that it declares.
func LabelKey(name string) string { return "rota.source." + name }

// Job returns the job that runs a source: on one of the members that declare it.
func Job(name string) cluster.SubmitJob {
	return cluster.SubmitJob{Job: cluster.JobID("rota.source." + name), Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{
		Type: TypeName, Weight: 1, Selector: []cluster.Label{{Key: LabelKey(name), Value: "yes"}}, Definition: fmt.Appendf(nil, `{"config":{"source":%q}}`, name),
	}}}}
}

// Name derives a source's name from a directory's path: its last element, so that members with the same tree elsewhere share one source.
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
	// Rescan is the longest interval between scans without a hint; default 5 s. It grows, up to 30 s, if scans take long.
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
				return nil, &work.ConfigError{Path: "config.source", Err: fmt.Errorf("this member does not declare the source %q", conf.Source)}
			}
			return &reader{Config: c, name: conf.Source}, nil
		},
	}
}
