package command

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/pages"
	"github.com/rota-run/rota/journal"
)

// TestErrorsSayWhatToTry runs the command lines of testdata/usage.txt.
func TestErrorsSayWhatToTry(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/usage.txt"))(t)
	p := newPlace(t)
	p.write("tasks/a.yaml", "type: noop\n")
	busy := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer busy.Close()
	_, rows, _ := strings.Cut(strings.ReplaceAll(string(text), "$BUSY", busy.Addr().String()), "\n")
	for row := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(rows), "\n    ", "\t"), "\n") {
		line, want, _ := strings.Cut(row, "\t")
		want = strings.ReplaceAll(want, `\n`, "\n")
		t.Run(line[2:], func(t *testing.T) {
			stdout, stderr, code := p.rota(strings.Fields(line[2:])...)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			said := lines[max(0, len(lines)-2)]
			switch {
			case fmt.Sprint(code) != line[:1]:
				t.Errorf("exit %d; it said %s", code, stderr)
			case stdout != "":
				t.Errorf("stdout has %q", stdout)
			case !strings.HasPrefix(said, "rota: ") || !strings.Contains(stderr, want):
				t.Errorf("it said %q, want something about %q", said, want)
			case !strings.HasPrefix(lines[len(lines)-1], "try: "):
				t.Errorf("it does not say what to try: %q", stderr)
			case strings.Contains(stderr, "hunter2"):
				t.Errorf("it tells a secret: %q", stderr)
			}
		})
	}
}

// mostAtTheTop is how many commands a person reads at one look.
const mostAtTheTop = 20

// TestTheTree: each command says what it does and has an example that it takes; no name stands for two things.
func TestTheTree(t *testing.T) {
	t.Parallel()
	p := newProofreader(t)
	root := newRoot(env{getenv: func(string) string { return "" }})
	top := 0
	for _, c := range everyCommand(root) {
		if c.Hidden {
			continue
		}
		if c.Parent() == root {
			top++
			if c.GroupID == "" {
				t.Errorf("%s is in no group", c.CommandPath())
			}
		}
		if fault := describes(c); fault != "" {
			t.Errorf("%s: %s", c.CommandPath(), fault)
		}
		commands, err := pages.Commands(pages.Block{Text: strings.ReplaceAll(c.Example, "\n  ", "\n")[2:] + "\n"})
		if err != nil || len(commands) == 0 {
			t.Errorf("%s: example %q: %v", c.CommandPath(), c.Example, err)
		}
		for _, x := range commands {
			args, ours := arguments(x.Words)
			if !ours {
				continue
			}
			if err := p.line(args); err != nil {
				t.Errorf("%s: example %q: %v", c.CommandPath(), strings.Join(x.Words, " "), err)
			}
			if said, _, _ := root.Find(args); c != root && said != c && !slices.Contains(c.Commands(), said) {
				t.Errorf("%s: its example is one of %s", c.CommandPath(), said.CommandPath())
			}
		}
	}
	if top < 15 || top > mostAtTheTop {
		t.Errorf("%d commands at the top, at most %d fit", top, mostAtTheTop)
	}
	help, _, _ := here("", "--help")
	if n := strings.Count(help, "\n"); n > 45 || strings.Contains(help, "Additional") {
		t.Errorf("the help has %d lines, and a screen 45:\n%s", n, help)
	}
}

// describes says what a command lacks; "" if nothing.
func describes(c *cobra.Command) string {
	switch {
	case c.Short == "" || c.HasParent() && strings.HasSuffix(c.Short, "."):
		return fmt.Sprintf("it says %q in short", c.Short)
	case !strings.HasPrefix(c.Example, "  rota "):
		return fmt.Sprintf("it has the example %q", c.Example)
	case len(c.Aliases) > 0:
		return fmt.Sprintf("it has other names: %s", c.Aliases)
	}
	for _, other := range c.Root().Commands() {
		if c.Parent() != c.Root() && c.HasParent() && other.Name() == c.Name() && !other.Hidden && !c.HasSubCommands() {
			return "there is one of the same name at the top"
		}
	}
	for _, flag := range []string{"json", "dead", "retry-dead", "drop-dead", "attach", "cancel", "without"} {
		if c.Flags().Lookup(flag) != nil {
			return "the flag --" + flag + " is a command now, or -o json"
		}
	}
	return ""
}

// TestOldNamesSayTheNew: who types a name that is no more is told the command, which is there.
func TestOldNamesSayTheNew(t *testing.T) {
	t.Parallel()
	root := newRoot(env{getenv: func(string) string { return "" }})
	for old, now := range renames {
		_, errs, code := here("", old, "x", "--store", "file:x", "--all")
		if want := fmt.Sprintf("rota: unknown command %q\ntry: rota %s\n", old, now); code != exitUsage ||
			errs != want {
			t.Errorf("rota %s: exit %d, %q, want %q", old, code, errs, want)
		}
		if c, rest, err := root.Find(strings.Fields(now)); err != nil || len(rest) > 0 || c.HasSubCommands() {
			t.Errorf("rota %s: there is no such command", now)
		}
	}
}

// TestEveryListSaysWhatItLeavesOut, and the command that it names leaves out nothing.
func TestEveryListSaysWhatItLeavesOut(t *testing.T) {
	const n = 110 // jobs, of which each member has more than fit
	w := newWritten(t, nil)
	client := must.Get(call.NewClient(w.st, call.ClientOptions{}))(t)
	defer client.Close()
	var records []journal.Record
	for i := range problemsShown + 1 {
		records = append(records, journal.Record{AtMS: time.Now().Add(-time.Second).UnixMilli(),
			Kind: journal.Malformed, Partition: fmt.Sprint("bad", i)})
	}
	var jobs []cluster.Command
	for i := range n {
		name := fmt.Sprintf("j%03d", i)
		jobs = append(jobs, cluster.SubmitJob{Job: cluster.JobID(name), Spec: one(cluster.SpreadSingle)})
		records = append(records, journal.Record{AtMS: time.Now().UnixMilli(), Kind: journal.Asked, Partition: name})
	}
	pinned := one(cluster.SpreadPartitioned)
	pinned.Tasks[0].Pin, pinned.Tasks[0].Partitions = "b", strings.Split("abcdefghijklmnop", "")
	w.say(cluster.SubmitJob{Job: "pinned", Spec: pinned})
	for i := 0; i < n; i += 2 { // an entry for two: more entries than fit
		w.say(jobs[i : i+2]...)
	}
	for range rowsShown + 1 {
		must.Succeed(t, must.Err(client.Submit(t.Context(), "f", nil, call.Options{})))
	}
	must.Succeed(t, journal.NewDocs(w.st, "a", 0).Append(t.Context(), records...))
	w.alive()
	w.shows("events --limit 1", exitOK, "j109")
	for command, want := range map[string]string{ // order-free: each by itself
		"status":                    "more: rota status --all",
		"task list":                 "and 76 more: rota task list --all",
		"task list --state running": "rota task list --state running --all",
		"job list":                  "and 61 more: rota job list --all",
		"function list":             "and 1 more: rota function list --all",
		"log list":                  "before: rota log list --all",
		"log show 59":               "and 76 more: rota log show 59 --all",
		"log diff 3 58":             "more: rota log diff 3 58 --all",
		"member plan a":             "the moves: rota member plan a --all",
		"member plan b":             "and 1 more would wait: rota member plan b --all",
		"member show a":             "and 13 more: rota member show a --all",
		"events":                    "there are older ones: rota events --limit 500",
	} {
		out, errs, code := w.rota(append(strings.Fields(command), "--store", "file:store")...)
		if code != exitOK || !strings.Contains(out+errs, want) {
			t.Errorf("rota %s: exit %d, no %q in\n%s%s", command, code, want, errs, out)
			continue
		}
		_, hint, found := strings.Cut(out+errs, ": rota ")
		if !found {
			continue
		}
		hint, _, _ = strings.Cut(hint, "\n")
		if out, errs, code := w.rota(strings.Fields(hint)...); code != exitOK || strings.Contains(out+errs, hint) ||
			strings.Contains(out+errs, " more") || strings.Contains(out+errs, "older") {
			t.Errorf("rota %s: exit %d\n%s%s", hint, code, errs, out)
		}
	}
}
