package command

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

// declare makes a source of each directory; two with the same name are one source of both.
func (c *config) declare() error {
	c.node.Sources, c.node.Files = make(map[string][]string), make(map[string]fs.FS)
	maps.Copy(c.node.Files, c.own.Sources)
	for _, dir := range c.dirs {
		name, err := directory.Name(dir)
		if err != nil {
			return misused("--source NAME="+dir, "%w", err)
		}
		if err := c.declareOne(name, dir); err != nil {
			return err
		}
	}
	for _, s := range c.sources {
		name, dir, ok := strings.Cut(s, "=")
		if !ok || dir == "" {
			return misused("--source tasks=./tasks", "source %q is not NAME=DIR", s)
		}
		if err := cluster.CheckName(string(directory.Job(name).Job)); name == "" || err != nil {
			return misused("--source tasks="+dir, "%q cannot be the name of a source", name)
		}
		files, err := c.openFiles(name, dir)
		if err != nil {
			return err
		}
		if files != nil {
			c.node.Files[name] = files
			continue
		}
		if err := c.declareOne(name, dir); err != nil {
			return err
		}
	}
	return nil
}

// openFiles opens task files that are elsewhere than in a directory; nil where the text names none.
func (c *config) openFiles(name, text string) (fs.FS, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	i := slices.IndexFunc(c.own.Files, func(k Kind[fs.FS]) bool { return k.Scheme == scheme })
	if i < 0 {
		return nil, nil
	}
	if c.node.Files[name] != nil {
		return nil, misused("--source other="+storeurl.Hide(text), "source %s: it is there twice", name)
	}
	files, err := c.own.Files[i].Open(rest)
	if err != nil {
		return nil, misused("--source "+name+"="+scheme+":…", "source %s: %w", name, err)
	}
	return files, nil
}

func (c *config) declareOne(name, dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return misused(filepath.Dir(dir), "%s is a file: give the directory of task files", dir)
	}
	if err != nil {
		return misused("mkdir "+dir+", or another directory", "%s is not a directory of task files", dir)
	}
	c.node.Sources[name] = append(c.node.Sources[name], dir)
	return nil
}

// readerOf is the member whose files count for a source; "" while there is none.
func readerOf(v cluster.Value, name string) cluster.MemberID {
	p, _ := v.Partition(cluster.PartitionID(directory.Job(name).Job))
	return p.Owner
}

func newSource(e env) *cobra.Command {
	return group("source", "list the sources of tasks, end what they have lost", newSourceList(e), newSourcePrune(e))
}

// Source is what rota source list prints of a source as JSON.
type Source struct {
	Source  string   `json:"source"`
	Reader  string   `json:"reader,omitempty"` // the member whose files count
	Members []string `json:"members"`          // that have it
	Jobs    int      `json:"jobs"`             // that it defines
}

func newSourceList(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "list the sources of tasks, and whose files count",
		Example: "  rota source list --store file:./rota-data",
	}
	return watcher(e, cmd, func(_ context.Context, o *observer, _ []string) error {
		return show(o, sourcesOf(o.value), o.printSources)
	})
}

func (o *observer) printSources(sources []Source) error {
	rows := [][]string{{"SOURCE", "READER", "JOBS", "MEMBERS"}}
	for _, s := range sources {
		rows = append(rows, []string{s.Source, dash(s.Reader), grouped(s.Jobs), dash(strings.Join(s.Members, " "))})
	}
	return table(o.stdout, rows)
}

// sourcesOf are the sources that a member has, or that jobs came from, sorted.
func sourcesOf(v cluster.Value) []Source {
	byName := map[string]*Source{}
	of := func(name string) *Source {
		if byName[name] == nil {
			byName[name] = &Source{Source: name, Reader: string(readerOf(v, name)), Members: []string{}}
		}
		return byName[name]
	}
	for m := range v.Members() {
		for _, l := range m.Labels {
			if name, ok := strings.CutPrefix(l.Key, directory.LabelKey("")); ok {
				of(name).Members = append(of(name).Members, string(m.ID))
			}
		}
	}
	for j := range v.Jobs() {
		if j.Spec.Source != "" && (j.State == cluster.JobPending || j.State == cluster.JobRunning) {
			of(j.Spec.Source).Jobs++
		}
	}
	all := []Source{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, *byName[name])
	}
	return all
}

const pruneHelp = `End the tasks of a source that no living member's directory has.
Members do that by themselves when they have seen a file go. When the only member that had a file has gone with it, a
person has to say it.`

func newSourcePrune(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "prune SOURCE", Short: "end the tasks of a source that no directory has", Long: pruneHelp,
		Args: exactArg("a source; rota source list shows them"), Example: "  rota source prune tasks",
	}
	return changer(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		pruned := []Proposed{}
		_, err := o.operate(ctx, o.hint("rota member list"), func(op *operate.Operator) (operate.Answer, error) {
			all, err := op.Prune(ctx, args[0])
			for _, a := range all {
				o.journaled(a)
				pruned = append(pruned, Proposed{a.Said, true})
			}
			return operate.Answer{}, err
		})
		if err != nil && len(pruned) > 0 {
			o.say("%s of source %s ended before this:", many(len(pruned), "task"), args[0])
		}
		if err != nil {
			return err
		}
		if o.json {
			return o.printJSON(pruned)
		}
		o.say("%s of source %s ended", many(len(pruned), "task"), args[0])
		return nil
	})
}
