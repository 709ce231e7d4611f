package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/browser"
	"github.com/rota-run/rota/proof/process/processtest"
)

// guarded is a cluster whose members have a token, and a page that has it.
func guarded(t *testing.T, w *browser.Window, members []string, args ...string) *place {
	t.Helper()
	c := start(t, 0)
	must.Succeed(t, os.WriteFile(filepath.Join(c.dir, "token"), []byte("open-sesame"), 0o600))
	for i, name := range members {
		c.join(t, name, i == 0, append(args, "--api-token", "file:"+filepath.Join(c.dir, "token"))...)
	}
	w.Go(c.address)
	w.Await("it asks for the token", `document.getElementById("login").open`)
	w.Key("open-sesame" + kb.Enter)
	w.Await("it is live", live)
	return c
}

// go to a view without a reload.
func view(w *browser.Window, name string) {
	w.Await("the view "+name,
		fmt.Sprintf(`(location.hash = %q, document.querySelector('nav a[aria-current]').hash === %q)`, name, "#"+name))
}

// press clicks the button of this text.
func press(w *browser.Window, within, text string) {
	w.Await("the button "+text,
		fmt.Sprintf(`(b => b && (b.focus(), b.click(), true))([...document.querySelectorAll(%q)].find(e => e.textContent === %q && !e.disabled))`, within+" button", text))
}

// act asks for an action, answers its question, and waits for what is said of it.
func act(w *browser.Window, within, label, said string) {
	press(w, within, label)
	w.Await("it asks "+label, fmt.Sprintf(`document.querySelector(%q)?.textContent === %q`, within+" .acts .yes",
		label))
	press(w, within, label)
	w.Await(label+": "+said, has(within+" .said", said))
}

var spaces = regexp.MustCompile(`  +`)

// told are the problems of rota status: state, name and text.
func (c *place) told(t *testing.T) (out []string) {
	t.Helper()
	text := must.Get(c.command("status", "--store", "file:store").Output())(t)
	for line := range strings.Lines(string(text)) {
		if problem, ok := strings.CutPrefix(line, "! "); ok {
			problem, _, _ = strings.Cut(problem, "→")
			out = append(out, strings.Join(spaces.Split(strings.TrimSpace(problem), 3), " | ")) // a text may have spaces, too
		}
	}
	slices.Sort(out)
	return out
}

// TestProblems shows what rota status says, with what to do, how old it is, and that there is none.
func TestProblems(t *testing.T) {
	w := browser.Open(t)
	c := start(t, 2, "a", "b")
	w.Go(c.address)
	w.Await("there are none", has("main h2", "No problems")+" && "+has("main .dim", "as of "))
	w.Await("it says what acting needs", has("main .dim", "--api-token env:NAME"))
	w.Picture("no-problems")

	c.task(t, "never", "type: noop\nevry: 1s\n")
	c.task(t, "sick", "type: tcp\nevery: 1s\nconfig: {addr: \"127.0.0.1:1\", allow: [127.0.0.0/8]}\n")
	c.task(t, "gpu", "type: noop\nevery: 1s\nlabels: {gpu: \"yes\"}\n")
	const rows = `[...document.querySelectorAll("main tbody tr")].map(r => [...r.cells].slice(0, 3).map(c => c.textContent).join(" | "))`
	w.Await("a malformed file, a failing task and one without an owner are shown",
		has("main tbody .state", "malformed")+" && "+has("main tbody .state", "failing")+" && "+
			has("main tbody .state", "waiting"))
	since, rounds := regexp.MustCompile(`since [0-9:]+, `), regexp.MustCompile(`\d+ of \d+ rounds`)
	plain := func(list []string) string { // a task fails more often from one look to the next
		text := since.ReplaceAllString(strings.Join(list, "\n"), "")
		return rounds.ReplaceAllString(text, "N of N rounds")
	}
	var want, got []string
	processtest.Await(t, "the page says what rota status says", func() bool {
		want, got = c.told(t), browser.Ask[[]string](w, rows)
		slices.Sort(got)
		return plain(got) == plain(want)
	})
	if len(want) != 3 {
		t.Errorf("rota status has %q", want)
	}
	if empty := browser.Ask[int](w,
		`[...document.querySelectorAll("main tbody td.try")].filter(e => e.textContent === "").length`); empty > 0 {
		t.Errorf("%d problems without what to do", empty)
	}
	w.Picture("problems")
	fits(t, w, "problems")

	press(w, "main", "State")
	w.Await("they are sorted by state",
		`document.querySelector("th[aria-sort=ascending]") && document.querySelector("main tbody .state").textContent === "failing"`)
	press(w, "main", "State")
	w.Await("they are sorted the other way",
		`document.querySelector("th[aria-sort=descending]") && document.querySelector("main tbody .state").textContent === "waiting"`)

	press(w, "main", "never")
	w.Await("its explanation is shown", has("#detail h2", "never")+" && "+has("#detail dd", "evry"))
	w.Key(kb.Escape)
	w.Await("the focus is back on it",
		`document.getElementById("detail").hidden && document.activeElement.textContent === "never"`)
	must.Succeed(t, os.Rename(filepath.Join(c.dir, "store"), filepath.Join(c.dir, "elsewhere")))
	w.Await("the store is away", has("main [role=alert]", "the store does not answer"))
	w.Picture("store-away")
	must.Succeed(t, os.Rename(filepath.Join(c.dir, "elsewhere"), filepath.Join(c.dir, "store")))
	w.Await("the store is back", `document.querySelector("main [role=alert]").hidden`)
}

// TestActionsOfJobs does what the view Jobs and the pane of a parked task offer.
func TestActionsOfJobs(t *testing.T) {
	w := browser.Open(t)
	program := filepath.Join(t.TempDir(), "luck")
	must.Succeed(t, os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o750))
	c := guarded(t, w, []string{"a"}, "--slots", "4", "--allow-exec", program)

	state := func(task, want string) {
		t.Helper()
		processtest.Await(t, task+" is "+want, func() bool {
			out, err := c.command("why", task, "--store", "file:store").Output()
			return err == nil && strings.HasPrefix(string(out), task+" is "+want)
		})
	}
	c.submit(t, "luck", fmt.Sprintf("type: command\nconfig: {argv: [%q]}\nretry: {min: 50ms, max: 50ms, attempts: 2}\n",
		program), "--allow-exec", program)
	state("luck", "parked")
	view(w, "tasks")
	w.Await("it is listed as parked",
		`(r => r && (r.click(), true))([...document.querySelectorAll('.row[data-name="luck"]')].find(r => r.textContent.includes("parked")))`)
	must.Succeed(t, os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o750))
	act(w, "#detail", "Try again", "done: unpark-partition luck")
	state("luck", "running")
	w.Key(kb.Escape)

	view(w, "jobs")
	press(w, "main tbody", "luck")
	act(w, "main", "Pause luck", "done: pause")
	state("luck", "paused")
	act(w, "main", "Resume luck", "done: resume")
	state("luck", "running")
	act(w, "main", "Kill luck", "done: kill")
	state("luck", "killed")
	fits(t, w, "jobs")
}

// TestDeadLetters puts back and drops what a flow could not work on, from the problem on.
func TestDeadLetters(t *testing.T) {
	w, dir := browser.Open(t), t.TempDir()
	c := guarded(t, w, []string{"a"}, "--slots", "8", "--allow-tail", dir)
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "text"), []byte("7\nnone\n"), 0o640))
	c.submit(t, "sums", "tasks:\n- {name: read, type: files.lines, config: {paths: ["+filepath.Join(dir, "text")+
		"]}}\n"+
		"- {name: sum, type: map, from: read, config: {expr: 'string(int(it) + 1)'}}\n- {name: keep, type: map, from: sum, config: {expr: it}}\n"+
		"- {name: beside, type: noop, max: 1, every: 1s}\n")
	w.Await("the problem leads to the job",
		`(b => b && (b.click(), true))([...document.querySelectorAll("main tbody tr")].find(r => r.textContent.includes("1 dead letters"))?.querySelector("button"))`)
	act(w, "main", "Drop dead letters", "done: drop-dead sums: 1")
	c.journaled(t, "drop-dead sums: 1")
	w.Await("nothing is left to do",
		`![...document.querySelectorAll("main .acts button")].some(b => b.textContent.includes("dead"))`)
	view(w, "problems")
	w.Await("the problem is gone", `!`+has("main tbody", "dead letters"))
}

// TestActions does the actions of the page, and sees them in the cluster.
func TestActions(t *testing.T) {
	w := browser.Open(t)
	c := guarded(t, w, []string{"a", "b"})
	c.submit(t, "loop", "type: noop\nevery: 1h\n")
	c.task(t, "filed", "type: noop\nevery: 1s\n")
	open := func(task string) {
		view(w, "tasks")
		w.Await("the task "+task,
			fmt.Sprintf(`(r => r && (r.click(), true))(document.querySelector('.row[data-name=%q]'))`, task))
		w.Await("it is explained", has("#detail h2", task)+` && document.querySelector("#detail dl")`)
	}
	state := func(task, want string) {
		t.Helper()
		processtest.Await(t, task+" is "+want, func() bool {
			out, err := c.command("why", task, "--store", "file:store").Output()
			return err == nil && strings.HasPrefix(string(out), task+" is "+want)
		})
	}
	runTasks(t, w, c, open, state)
	moveMembers(t, w, c)
	// The browser itself reports the answers that refuse: before the token is typed, the kill of a file's job, and one
	// plan without b when the answer to its eviction overtakes the event that b has gone.
	missing := 0
	for _, said := range w.Console() {
		switch {
		case strings.Contains(said, "status of 401"), strings.Contains(said, "status of 409"):
		case strings.Contains(said, "status of 404") && missing == 0:
			missing++
		default:
			t.Errorf("the console: %q", said)
		}
	}
}

// TestEvictInTheBrowser: b has announced a restart and is not back; its tasks go to a, as the problem says.
func TestEvictInTheBrowser(t *testing.T) {
	w := browser.Open(t)
	c := guarded(t, w, []string{"a", "b"}, "--hold", "10m")
	for i := range 6 {
		c.task(t, fmt.Sprint("loop", i), "type: noop\nevery: 1s\n")
	}
	tasks := func(what string, is func(list string) bool) {
		t.Helper()
		processtest.Await(t, what, func() bool {
			out, err := c.command("task", "list", "--store", "file:store").Output()
			return err == nil && strings.Count(string(out), "loop") == 6 && is(string(out))
		})
	}
	onB := regexp.MustCompile(`(?m)^loop.* b( |$)`)
	tasks("a and b run them", func(list string) bool {
		return strings.Count(list, "running") == 6 && onB.MatchString(list)
	})
	must.Succeed(t, c.members["b"].Signal(syscall.SIGTERM))
	tasks("some wait for b", func(list string) bool { return strings.Contains(list, "held") })
	view(w, "problems")
	w.Await("it says what to do", has("main tbody", "rota member evict b"))
	view(w, "members")
	w.Await("b can be asked about",
		`(b => b && (b.focus(), b.click(), true))(document.querySelector('[data-member="b"] button'))`)
	act(w, "#detail", "Evict b", "done: evict-member b")
	tasks("a runs them all", func(list string) bool {
		return strings.Count(list, "running") == 6 && !onB.MatchString(list)
	})
	c.journaled(t, "evict-member b")
}

func (c *place) submit(t *testing.T, name, text string, args ...string) {
	t.Helper()
	must.Succeed(t, os.WriteFile(filepath.Join(c.dir, name+".yaml"), []byte(text), 0o640))
	if out, err := c.command(append([]string{"job", "submit", "--store", "file:store", name + ".yaml"},
		args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// journaled waits until the journal has what was asked.
func (c *place) journaled(t *testing.T, what string) {
	t.Helper()
	processtest.Await(t, "the journal has "+what, func() bool {
		out, err := c.command("events", "--store", "file:store").Output()
		return err == nil && strings.Contains(string(out), what)
	})
}

func runTasks(t *testing.T, w *browser.Window, c *place, open func(string), state func(string, string)) {
	t.Helper()
	open("loop")
	act(w, "#detail", "Run now", "done: run-now loop")
	c.journaled(t, "run-now loop")

	press(w, "#detail", "Pause loop")
	w.Picture("question")
	w.Key(kb.Escape)
	w.Await("the question is gone, the pane is not",
		`!document.querySelector("#detail .yes") && !document.getElementById("detail").hidden`)
	act(w, "#detail", "Pause loop", "done: pause")
	state("loop", "paused")
	w.Await("the pane follows", has("#detail dd", "paused"))
	w.Picture("paused")
	act(w, "#detail", "Resume loop", "done: resume")
	state("loop", "running")
	w.Await("the pane follows", has("#detail dd", "running"))
	act(w, "#detail", "Kill loop", "done: kill")
	state("loop", "killed")

	open("filed")
	act(w, "#detail", "Kill filed", "it would come back")
	w.Picture("refused")
	w.Await("an error is said as one", `document.querySelector("#detail .said.old[role=alert]")`)
	state("filed", "running")
}

func moveMembers(t *testing.T, w *browser.Window, c *place) {
	t.Helper()
	members := func(want string) {
		t.Helper()
		processtest.Await(t, "b is "+want, func() bool {
			out, err := c.command("member", "list", "--store", "file:store").Output()
			return err == nil && regexp.MustCompile(`(?m)^b +`+want).Match(out)
		})
	}
	view(w, "members")
	w.Await("b can be asked about",
		`(b => b && (b.focus(), b.click(), true))(document.querySelector('[data-member="b"] button'))`)
	act(w, "#detail", "Drain b", "done: drain")
	members("draining")
	w.Await("the column says so", has(`[data-member="b"] h2`, "draining"))
	act(w, "#detail", "Undrain b", "done: undrain")
	members("joined")
	w.Await("the column says so", has(`[data-member="b"] h2`, "joined"))
	w.Key(kb.Escape)
	w.Await("the focus is back", `document.activeElement.dataset.focus === "member b"`)
	rebalance := `[...document.querySelectorAll("#view button")].some(b => b.textContent === "Rebalance")`
	w.Await("the load is even by itself", "!"+rebalance)
	if out, err := c.command("cluster", "set", "--move-budget", "0", "--store",
		"file:store").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.Await("nothing moves by itself", rebalance)
	act(w, "#view", "Rebalance", "done: rebalance")
	c.journaled(t, "rebalance")
	w.Await("b can be asked about",
		`(b => b && (b.focus(), b.click(), true))(document.querySelector('[data-member="b"] button'))`)
	act(w, "#detail", "Evict b", "done: evict-member b")
	w.Await("b is gone", `!document.querySelector('[data-member="b"]')`)
	w.Await("the pane says so", has("#detail", "b is no member any more."))
}
