package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/proof/browser"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/process/processtest"
)

var programs string

func TestMain(m *testing.M) {
	os.Exit(processtest.Main(m, &programs, "github.com/rota-run/rota/cmd/rota"))
}

// place is three members in a folder, whose first serves the page.
type place struct {
	dir     string
	address string
	members map[string]*process.Process
}

func start(t *testing.T, tasks int, members ...string) *place {
	t.Helper()
	c := &place{dir: t.TempDir(), members: map[string]*process.Process{}}
	must.Succeed(t, os.Mkdir(filepath.Join(c.dir, "tasks"), 0o750))
	for i := range tasks {
		c.task(t, fmt.Sprintf("check-%02d", i), "type: noop\nevery: 1s\n")
	}
	for i, name := range members {
		c.join(t, name, i == 0)
	}
	return c
}

func (c *place) task(t *testing.T, name, text string) {
	t.Helper()
	must.Succeed(t, os.WriteFile(filepath.Join(c.dir, "tasks", name+".yaml"), []byte(text), 0o640))
}

var listening = regexp.MustCompile(`API (http://[0-9.:]+)`)

func (c *place) join(t *testing.T, name string, serves bool, args ...string) {
	t.Helper()
	listen := "none"
	if serves {
		listen = "127.0.0.1:0"
	}
	args = append([]string{"run", "--store", "file:store", "--member", name, "--listen", listen, "--ttl", "4s"},
		args...)
	m := processtest.Start(t, name, c.command(append(args, "tasks")...))
	c.members[name] = m
	processtest.Await(t, name+" has joined", func() bool { return strings.Contains(m.Stderr.String(), "joined") })
	if found := listening.FindStringSubmatch(m.Stderr.String()); serves && found != nil {
		c.address = found[1]
	}
}

func (c *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(programs, "rota"), args...)
	cmd.Dir = c.dir
	return cmd
}

// shown is a list of the texts of what a selector finds.
func shown(w *browser.Window, selector string) []string {
	return browser.Ask[[]string](w, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.textContent)`, selector))
}

func has(selector, text string) string {
	b, _ := json.Marshal(text)
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.textContent.includes(%s))`, selector, b)
}

const live = `document.getElementById("freshness").textContent === "live"`

// TestPage follows a person through the page: what runs where, a crash, a search, the keyboard, a phone, the dark, and
// a member that no longer answers.
func TestPage(t *testing.T) {
	w := browser.Open(t)
	c := start(t, 12, "a", "b", "c")
	w.Go(c.address + "#members")
	w.Await("it is live", live)
	w.Await("all members have their tasks",
		`["a", "b", "c"].every(m => document.querySelectorAll('[data-member="' + m + '"] .row').length === 4)`)
	w.Picture("members")

	ofC := shown(w, `[data-member="c"] .row .name`)
	must.Succeed(t, c.members["c"].Kill())
	w.Await("the crash is seen",
		`!document.querySelector('[data-member="c"]') && document.querySelectorAll(".row").length === 12`)
	w.Await("the move is said", `document.getElementById("news").textContent.includes("moved")`)
	w.Picture("move")
	for _, name := range ofC {
		w.Await(name+" is on another member", has(`[data-member="a"] .row, [data-member="b"] .row`, name))
	}

	search(t, w, c)
	useKeyboard(t, w, c)
	readJournal(t, w, c)
	askForPlan(t, w, c)
	lookBack(t, w, c)
	goDark(t, w, c)
	usePhone(t, w, c)
	if said := w.Console(); len(said) > 0 {
		t.Errorf("the console: %q", said)
	}
	loseMember(t, w, c)
}

// search finds tasks by a part of their names.
func search(t *testing.T, w *browser.Window, c *place) {
	t.Helper()
	w.Go(c.address + "#tasks")
	w.Await("all tasks are listed", has("main p", "12 tasks"))
	w.Key("/")
	w.Await("the field has the focus", `document.activeElement.id === "filter"`)
	w.Key(kb.Backspace) // the driver sends the character of a key by itself, a keyboard does not
	w.Key("check-1")
	w.Await("two are left", `document.querySelector("main p").textContent === "2 of 12 tasks"`)
	if got := shown(w, ".row .name"); fmt.Sprint(got) != "[check-10 check-11]" {
		t.Errorf("got %v", got)
	}
}

// useKeyboard opens a task without a mouse.
func useKeyboard(t *testing.T, w *browser.Window, c *place) {
	t.Helper()
	for range 5 { // four heads of columns lie before the list
		w.Key(kb.Tab)
	}
	w.Await("the list has the focus", `document.activeElement.getAttribute("role") === "listbox"`)
	w.Key(kb.ArrowDown)
	w.Await("a row is chosen", `document.querySelector('[aria-selected="true"]')?.dataset.name === "check-10"`)
	w.Key(kb.Enter)
	w.Await("why is shown", has("#detail h2", "check-10")+` && document.querySelector("#detail dl")`)
	w.Await("it has a history", `document.querySelectorAll("#detail tr").length > 0`)
	w.Picture("why")
	w.Key(kb.Escape)
	w.Await("the focus is back",
		`document.getElementById("detail").hidden && document.activeElement.getAttribute("role") === "listbox"`)
}

// readJournal shows one kind of records.
func readJournal(t *testing.T, w *browser.Window, c *place) {
	t.Helper()
	browser.Ask[bool](w, `(document.getElementById("filter").value = "", document.getElementById("filter").dispatchEvent(new Event("input")), location.hash = "journal", true)`)
	w.Await("moves are listed", has("td .moved", "moved"))
	browser.Ask[bool](w, `(document.getElementById("kind").value = "moved", document.getElementById("kind").dispatchEvent(new Event("change")), true)`)
	w.Await("only moves are listed",
		`[...document.querySelectorAll("main td:nth-child(2)")].every(e => e.textContent === "moved")`)
	w.Picture("journal")
}

// askForPlan asks what would come of a member that goes.
func askForPlan(t *testing.T, w *browser.Window, c *place) {
	t.Helper()
	browser.Ask[bool](w, `(location.hash = "members", true)`)
	w.Await("b can be asked about", `document.querySelector('[data-member="b"] button')`)
	browser.Ask[bool](w, `(document.querySelector('[data-member="b"] button').click(), true)`)
	w.Await("all of b would move", has("#detail p", "6 tasks of 12 would move, 0 would wait"))
	w.Key(kb.Escape)
}

// lookBack finds the member that was killed in the history of the log, and that the page says that it is history.
func lookBack(t *testing.T, w *browser.Window, c *place) {
	t.Helper()
	browser.Ask[bool](w, `(location.hash = "history", true)`)
	w.Await("the newest entry is shown, without c",
		`document.querySelector(".history")?.textContent.startsWith("HISTORY, not now: index ") && document.querySelector('[data-then="a"]') && !document.querySelector('[data-then="c"]')`)
	newest := browser.Ask[int](w, `Number(document.getElementById("moment").max)`)
	moved := `(document.getElementById("moment").dispatchEvent(new Event("input")), true)`
	// c had four tasks at some entry: walk back to the last one of those.
	for at := newest; ; at-- {
		if at == 0 {
			t.Fatal("no entry shows the four tasks of c")
		}
		browser.Ask[bool](w, fmt.Sprintf(`(document.getElementById("moment").value = %d, %s)`, at, moved))
		said := ""
		processtest.Await(t, fmt.Sprintf("entry %d is shown", at), func() bool {
			if now := strings.Join(shown(w, ".history"), ""); now != said {
				t.Logf("at %d of %d: %s", at, newest, now)
				said = now
			}
			return strings.HasPrefix(said, fmt.Sprintf("HISTORY, not now: index %d,", at))
		})
		if browser.Ask[int](w, `document.querySelectorAll('[data-then="c"] .row').length`) == 4 {
			break
		}
	}
	if text := strings.Join(shown(w, ".history"), ""); !strings.Contains(text, "by the clock of ") {
		t.Errorf("it does not say whose clock: %q", text)
	}
	w.Picture("history")
	browser.Ask[bool](w, `([...document.querySelectorAll(".controls button")].at(-1).click(), true)`)
	w.Await("what has changed since is shown", has("#detail td", "gone")+" && "+has("#detail p", "HISTORY: index"))
	w.Key(kb.Escape)
	browser.Ask[bool](w, `(document.getElementById("moment-time").value = "23:61:00", document.querySelector(".controls form").requestSubmit(), true)`)
	w.Await("a wrong time is refused", has(".history", "is not a time"))
	browser.Ask[bool](w, `(document.getElementById("moment-time").value = new Date().toTimeString().slice(0, 8), document.querySelector(".controls form").requestSubmit(), true)`)
	w.Await("now is the newest entry",
		fmt.Sprintf(`document.querySelector(".history").textContent.startsWith("HISTORY, not now: index ") && Number(document.getElementById("moment").value) >= %d`, newest))
	browser.Ask[bool](w, `(location.hash = "members", true)`)
}

// goDark prefers dark colours.
func goDark(t *testing.T, w *browser.Window, c *place) {
	t.Helper()
	light := browser.Ask[string](w, `getComputedStyle(document.body).backgroundColor`)
	w.Screen(1280, 800, "dark")
	w.Await("it is dark", `getComputedStyle(document.body).backgroundColor !== "`+light+`"`)
	w.Picture("dark")
}

// usePhone makes the screen narrow.
func usePhone(t *testing.T, w *browser.Window, c *place) {
	t.Helper()
	w.Screen(360, 740, "light")
	w.Await("it fits", `document.documentElement.scrollWidth <= 360 && document.querySelectorAll(".row").length > 0`)
	w.Picture("phone")
	w.Screen(1280, 800, "light")
}

// loseMember kills the member that serves the page.
func loseMember(t *testing.T, w *browser.Window, c *place) {
	t.Helper()
	must.Succeed(t, c.members["a"].Kill())
	w.Await("it says that it is old",
		`document.getElementById("freshness").textContent.startsWith("OLD: ") && document.getElementById("freshness").classList.contains("old")`)
	w.Picture("old")
}

// TestATaskThatFails shows that it fails, and that it does so no more: nothing of that is in the value.
func TestATaskThatFails(t *testing.T) {
	w := browser.Open(t)
	c := start(t, 0)
	program := filepath.Join(c.dir, "check")
	c.join(t, "a", true, "--allow-exec", program)
	c.task(t, "site", fmt.Sprintf("type: exec\nevery: 200ms\nconfig: {argv: [%q]}\n", program))
	w.Go(c.address + "#tasks")
	w.Await("it fails", has(".row .failing", "failing"))
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o750); err != nil { //nolint:gosec // a program of the test
		t.Fatal(err)
	}
	w.Await("it runs", has(".row .running", "running"))
}

// TestAJob submits a job with two tasks and finds its graph.
func TestAJob(t *testing.T) {
	w := browser.Open(t)
	c := start(t, 0, "a")
	text := "id: etl\ntasks:\n  - {name: read, type: noop, every: 1s}\n  - {name: load, type: noop, every: 1s, after: [read]}\n"
	must.Succeed(t, os.WriteFile(filepath.Join(c.dir, "etl.yaml"), []byte(text), 0o640))
	if out, err := c.command("job", "submit", "--store", "file:store", "etl.yaml").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.Go(c.address + "#jobs")
	w.Await("the graph has two tasks and an edge",
		`document.querySelectorAll("svg.graph rect").length === 2 && document.querySelectorAll("svg.graph path").length === 1`)
	w.Picture("job")
	if said := w.Console(); len(said) > 0 {
		t.Errorf("the console: %q", said)
	}
}

// TestAFlow shows how far a flow is. A task beside it never ends, so the job stays.
func TestAFlow(t *testing.T) {
	w := browser.Open(t)
	c := start(t, 0)
	c.join(t, "a", true, "--slots", "8", "--allow-tail", c.dir)
	text := "id: words\ntasks:\n- {name: read, type: files.lines, config: {paths: [" + filepath.Join(c.dir, "text") +
		"]}}\n" +
		"- {name: split, type: map, from: read, config: {expr: 'it.split(\" \")', each: true}}\n" +
		"- {name: long, type: filter, from: split, config: {expr: 'it.size() >= 5'}}\n" +
		"- {name: keep, type: map, from: long, config: {expr: it}}\n- {name: beside, type: noop, max: 1, every: 1s}\n"
	for name, text := range map[string]string{"words.yaml": text,
		"text": "the quick brown fox\njumps over the lazy dog\n"} { // order-free: each by itself
		must.Succeed(t, os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o640))
	}
	if out, err := c.command("job", "submit", "--store", "file:store", "words.yaml").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.Go(c.address + "#jobs")
	w.Await("three words have come to the last task", `document.querySelectorAll("svg.graph path").length === 3 && `+
		has("svg.graph text", "in 3 · out 0 · pending 0"))
	w.Picture("flow")
	if said := w.Console(); len(said) > 0 {
		t.Errorf("the console: %q", said)
	}
}

// TestStoreAway moves the store away: the page says that what it shows is old.
func TestStoreAway(t *testing.T) {
	w := browser.Open(t)
	c := start(t, 2, "a")
	w.Go(c.address)
	w.Await("it is live", live)
	must.Succeed(t, os.Rename(filepath.Join(c.dir, "store"), filepath.Join(c.dir, "elsewhere")))
	w.Await("it says so", `document.getElementById("freshness").textContent.startsWith("OLD: the member is not ready")`)
	must.Succeed(t, os.Rename(filepath.Join(c.dir, "elsewhere"), filepath.Join(c.dir, "store")))
	w.Await("it is live again", live)
}

// TestToken asks for the token of a member, and shows nothing before it has it.
func TestToken(t *testing.T) {
	w := browser.Open(t)
	c := start(t, 1)
	must.Succeed(t, os.WriteFile(filepath.Join(c.dir, "token"), []byte("open-sesame"), 0o600))
	c.join(t, "a", true, "--api-token", "file:"+filepath.Join(c.dir, "token"))
	w.Go(c.address)
	w.Await("it asks for the token", `document.getElementById("login").open`)
	if got := shown(w, ".row"); len(got) > 0 {
		t.Errorf("it shows %q", got)
	}
	w.Key("wrong" + kb.Enter)
	w.Await("it refuses a wrong one",
		`document.getElementById("login").open && document.getElementById("login-error").textContent !== ""`)
	w.Key("open-sesame" + kb.Enter)
	w.Await("it is live", live)
	browser.Ask[bool](w, `(location.hash = "tasks", true)`)
	w.Await("the task is shown", has(".row", "check-00"))
	if kept := browser.Ask[int](w, `sessionStorage.length + localStorage.length + document.cookie.length`); kept > 0 {
		t.Errorf("the token is kept beyond the page: %d", kept)
	}
}

// large has 100,000 tasks on 10 members.
func large(t testing.TB) cluster.Value {
	t.Helper()
	var v cluster.Value
	apply := func(commands ...cluster.Command) { v = values.Apply(t, v, values.Entry(v, 1000, commands...)) }
	for i := range 10 {
		id := cluster.MemberID(fmt.Sprintf("member-%d", i))
		apply(cluster.PrepareJoin{Member: id, Heartbeat: "pulse/" + string(id)})
		m, _ := v.Member(id)
		for by := range v.Members() {
			if v.Successor(by.ID) == id && m.State == cluster.MemberPrepared {
				apply(cluster.AcceptJoin{Member: id, Incarnation: m.Incarnation, By: by.ID,
					ByIncarnation: by.Incarnation})
			}
		}
	}
	for j := range 100 {
		keys := make([]string, 1000)
		for i := range keys {
			keys[i] = fmt.Sprintf("key-%04d", i)
		}
		apply(cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("job-%03d", j)), Spec: cluster.JobSpec{
			Tasks: []cluster.TaskSpec{{Type: "noop", Spread: cluster.SpreadPartitioned, Partitions: keys}},
		}})
	}
	return v
}

// TestLarge shows 100,000 tasks: only what is on the screen is in the page, and a search finds one of them.
func TestLarge(t *testing.T) {
	w := browser.Open(t)
	v := large(t)
	s := httptest.NewServer(api.Handler(api.Config{Value: func() cluster.Value { return v }}))
	t.Cleanup(s.Close)
	w.Go(s.URL + "/#tasks")
	w.Await("the first are shown", `document.querySelectorAll(".row").length > 10`)
	t.Logf("the first rows after %.0f ms",
		browser.Ask[float64](w, `performance.getEntriesByName("first-contentful-paint")[0]?.startTime || 0`))
	w.Await("all are known", has("main p", "100,000 tasks"))
	if n := browser.Ask[int](w, `document.querySelectorAll("*").length`); n > 1000 {
		t.Errorf("the page has %d elements", n)
	}
	w.Key("/")
	w.Key(kb.Backspace)
	w.Key("job-042#key-0777")
	w.Await("one is found", `document.querySelector("main p").textContent === "1 of 100,000 tasks" && document.querySelectorAll(".row").length === 1`)
	w.Picture("large")
	if said := w.Console(); len(said) > 0 {
		t.Errorf("the console: %q", said)
	}
	w.Go("about:blank") // the stream ends
}
