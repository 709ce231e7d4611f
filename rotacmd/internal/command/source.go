package command

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/operate"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
	"github.com/rota-run/rota/source/directory"
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
	i := slices.IndexFunc(c.own.Files, func(k FilesKind) bool { return k.Scheme == scheme })
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
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
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
	cmd := &cobra.Command{Use: "source", Short: "look after the sources of tasks", Args: cobra.ArbitraryArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return misused("rota source --help", "there is no command %q", "source "+args[0])
	}
	cmd.AddCommand(newSourcePrune(e))
	return cmd
}

const pruneHelp = `End the tasks of a source that no living member's directory has.
Members do that by themselves when they have seen a file go. When the only member that had a file has gone with it, a person has to say it.`

func newSourcePrune(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "prune SOURCE", Short: "end the tasks of a source that no directory has", Long: pruneHelp, Args: exactArg("a source, as rota status names it")}
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		place, err := cmd.Flags().GetString("store")
		if err != nil {
			return err
		}
		pruned := []Proposed{}
		_, err = e.operate(ctx, place, "rota members --store "+plain.Word(o.name), func(op *operate.Operator) (operate.Answer, error) {
			all, err := op.Prune(ctx, args[0])
			for _, a := range all {
				e.journaled(a)
				pruned = append(pruned, Proposed{a.Said, true})
			}
			return operate.Answer{}, err
		})
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
