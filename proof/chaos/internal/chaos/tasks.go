package chaos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/history"
)

// tasks are the task files.
type tasks struct {
	dir, acts string
	made      int
	files     []*task // sorted by the time at which they were made
}

// task is one file.
type task struct {
	name   string
	text   string // that it should have
	broken bool   // it has another one
	edits  int
	fixed  bool // neither broken nor removed: each play has one of each sort
}

// player is what tasks demand of members: all but the one that probes a damaged store have this label.
const player = "labels: {chaos: \"yes\"}\n"

// items is how many items a finite task has.
const items = 60

// newTasks writes the first files: of each sort one that stays, and some to play with.
func newTasks(dir, acts string) (*tasks, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make tasks: %w", err)
	}
	t := &tasks{dir: dir, acts: acts}
	for _, f := range []struct{ name, head string }{
		{"no-gap", "handover: no-gap\n"}, {"fast", "handover: fast\n"}, {"keeps", "on_store_loss: keep\n"},
		{"everywhere", "spread: every\n"}, {"parts", "spread: partitioned\npartitions: [a, b, c]\n"},
	} {
		if err := t.add(f.name, fmt.Sprintf("type: witness\nevery: 100ms\n%sconfig: {path: %q}\n", f.head, acts),
			true); err != nil {
			return nil, err
		}
	}
	if err := t.add("idle", "type: noop\nevery: 200ms\nconfig: {emit: true}\n", true); err != nil {
		return nil, err
	}
	if err := t.add("machine", "type: host\nevery: 1s\n", true); err != nil {
		return nil, err
	}
	for range 8 {
		if _, err := t.more(false); err != nil {
			return nil, err
		}
	}
	_, err := t.more(true)
	return t, err
}

func (t *tasks) add(name, text string, fixed bool) error {
	text += player
	t.files = append(t.files, &task{name: name, text: text, fixed: fixed})
	return t.write(name, text)
}

// write replaces a file as careful people do: no reader sees half of it.
func (t *tasks) write(name, text string) error {
	path := filepath.Join(t.dir, name+".yaml")
	draft := filepath.Join(filepath.Dir(t.dir), "draft")
	if err := os.WriteFile(draft, []byte(text), 0o640); err != nil {
		return fmt.Errorf("write a task: %w", err)
	}
	return os.Rename(draft, path)
}

// more adds a task: one that ends or one that does not.
func (t *tasks) more(finite bool) (string, error) {
	t.made++
	if finite {
		name := fmt.Sprintf("items-%d", t.made)
		return name, t.add(name, fmt.Sprintf("type: witness-items\nconfig: {path: %q, items: %d}\n", t.acts, items),
			true)
	}
	name := fmt.Sprintf("check-%d", t.made)
	return name, t.add(name, t.check(0), false)
}

func (t *tasks) check(edit int) string {
	return fmt.Sprintf("# Writes down when it acts, under which token.\ntype: witness\nevery: %dms\ntags: {edit: \"%d\"}\nconfig: {path: %q}\n", 80+10*(edit%5), edit, t.acts)
}

// those are the files to play with.
func (t *tasks) those(fit func(*task) bool) []*task {
	return slices.DeleteFunc(slices.Clone(t.files), func(f *task) bool { return f.fixed || !fit(f) })
}

func (t *tasks) edit(f *task) error {
	f.edits++
	f.text, f.broken = t.check(f.edits)+player, false
	return t.write(f.name, f.text)
}

func (t *tasks) spoil(f *task, how int) error {
	f.broken = true
	texts := []string{strings.Replace(f.text, "every", "evry", 1), "type: [", f.text[:len(f.text)/2] + "\n  - x", "",
		"type: nonsense\n"}
	return t.write(f.name, texts[how%len(texts)])
}

func (t *tasks) remove(f *task) error {
	t.files = slices.DeleteFunc(t.files, func(x *task) bool { return x == f })
	err := os.Remove(filepath.Join(t.dir, f.name+".yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// missing is the name of a task whose file and job do not agree on whether it exists; "" if there is none.
func (t *tasks) missing(v cluster.Value) string {
	for _, f := range t.files {
		// A file that became malformed before anybody read it defines no task yet.
		if j, ok := v.Job(cluster.JobID(f.name)); (!ok || j.State == cluster.JobKilled) && !f.broken {
			return f.name
		}
	}
	return t.surplus(v)
}

// surplus is the name of a task that runs and has no file; "" if there is none.
func (t *tasks) surplus(v cluster.Value) string {
	for j := range v.Jobs() {
		has := slices.ContainsFunc(t.files, func(f *task) bool { return f.name == string(j.ID) })
		if j.State == cluster.JobRunning && !strings.HasPrefix(string(j.ID), "rota.") && !has {
			return string(j.ID)
		}
	}
	return ""
}

// finished tells whether each partition that has an end has come to it.
func (t *tasks) finished(now func() cluster.Value) func() bool {
	return func() bool {
		for p := range now().Partitions() {
			if strings.HasPrefix(string(p.ID), "items-") && !p.Dropped && p.State != cluster.PartitionFinished {
				return false
			}
		}
		return true
	}
}

// promises are what is promised of the partitions that ever were.
func promises(records []history.Record) []history.Promise {
	seen := map[cluster.PartitionID]bool{}
	var out []history.Promise
	for _, r := range records {
		if r.Partition == "" || seen[r.Partition] {
			continue
		}
		seen[r.Partition] = true
		p := history.Promise{Partition: r.Partition}
		switch job, _, _ := r.Partition.Split(); {
		case job == "no-gap" || job == "fast" || job == "keeps":
			p.Overlaps = true
		case strings.HasPrefix(string(job), "items-"):
			p.Items = items
		default:
			continue
		}
		out = append(out, p)
	}
	return out
}

// tendEvery is how often the operator looks, and how long one command may take.
const (
	tendEvery  = time.Second
	tendWithin = 5 * time.Second
)

// tend does what an operator does who sees in `rota status` that a task runs whose file no copy has: the members that
// had the file went with it, and members by themselves do not end such a task (docs/guide/task-files.md). The command
// ends nothing else. Where it fails, it is tried again.
func (c *Cluster) tend(ctx context.Context) {
	if time.Since(c.tended) < tendEvery || c.tasks.surplus(c.follower.now()) == "" {
		return
	}
	c.tended = time.Now()
	ctx, cancel := context.WithTimeout(ctx, tendWithin)
	defer cancel()
	out, err := exec.CommandContext(ctx, c.options.Binary, "source", "prune", filepath.Base(c.taskDir()), "--store",
		c.storeText()).CombinedOutput() //nolint:gosec // the binary under test
	if err == nil {
		c.say("operator  %s", strings.TrimSpace(string(out)))
	}
}
