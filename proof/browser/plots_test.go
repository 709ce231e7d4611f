package browser_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/flows"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/proof/browser"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// drawn is a cluster of one member, with two tasks and a flow, of which a page is served.
type drawn struct {
	url     string
	records *journal.Memory
	queue   store.Queue
	flow    string
}

func serveDrawn(t *testing.T) *drawn {
	t.Helper()
	noop := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}
	v := values.After(t, cluster.Value{},
		cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a", Slots: 2, Capacity: 8},
		cluster.SubmitJob{Job: "check", Spec: noop}, cluster.SubmitJob{Job: "quiet", Spec: noop},
		cluster.SubmitJob{Job: "words", Spec: flows.Spec("noop")})
	docs := memory.New().Open()
	d := &drawn{records: journal.NewMemory(100), queue: docs, flow: flows.Open(t, v, "words", docs)}
	s := httptest.NewServer(api.Handler(api.Config{
		Value: func() cluster.Value { return v }, Journal: d.records, Queue: docs,
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	d.url = s.URL
	return d
}

func (d *drawn) commit(t *testing.T, u store.Unit) {
	t.Helper()
	_, err := d.queue.Commit(t.Context(), d.flow, u)
	must.Succeed(t, err)
}

// caption is a script that is true when a plot says this.
func caption(text string) string { return has("figure.plot figcaption", text) }

// TestPlots: each plot is empty in words, and then shows what there is.
func TestPlots(t *testing.T) {
	w := browser.Open(t)
	d := serveDrawn(t)
	w.Go(d.url + "/#journal")
	w.Await("no moves are said", caption("No moves in the last hour.")+
		` && !document.querySelector("figure.plot svg") && [...document.querySelectorAll("main .dim")].some(e => e.textContent.startsWith("as of "))`)
	w.Go("about:blank")

	gap, now := int64(3100), time.Now().UnixMilli()
	must.Succeed(t, d.records.Append(t.Context(),
		journal.Record{AtMS: now - 7_200_000, Kind: journal.Moved, Partition: "check", To: "z"},
		journal.Record{AtMS: now - 1_800_000, Kind: journal.Moved, Partition: "check", From: "b", To: "a", GapMS: &gap},
		journal.Record{AtMS: now - 900_000, Kind: journal.Moved, Partition: "check", From: "a", To: "a",
			GapAtLeastMS: &gap},
		journal.Record{AtMS: now - 600_000, Kind: journal.RunError, Partition: "check", Member: "a",
			Message: "refused"}))
	w.Go(d.url + "/#journal")
	w.Await("the moves of the last hour are drawn",
		caption("2 moves in the last hour · longest gap 3.1 s · 1 gap not known, or only at least (dashed)")+
			` && document.querySelectorAll("figure.plot path").length === 2 && document.querySelectorAll("figure.plot path.dashed").length === 1`)
	fits(t, w, "plot-moves")

	view(w, "members")
	w.Await("the load is drawn",
		`document.querySelector('[data-member="a"] svg.load')?.getAttribute("aria-label").endsWith(", room for 8")`)
	wide := browser.Ask[[]float64](w,
		`[...document.querySelectorAll('[data-member="a"] svg.load rect')].map(r => Number(r.getAttribute("width")))`)
	w.Await("the members are asked for",
		`(fetch("/v1/members").then(r => r.json()).then(m => { window.load = m[0].tasks }), true)`)
	w.Await("they are told", `window.load > 0`)
	tasks := browser.Ask[float64](w, `window.load`)
	if len(wide) != 2 || wide[1] != wide[0]*tasks/8 || tasks == 0 {
		t.Errorf("the bar of %v tasks of 8 is %v wide", tasks, wide)
	}
	fits(t, w, "plot-load")

	d.results(t, w)
	d.throughput(t, w)
	if said := w.Console(); len(said) > 0 {
		t.Errorf("the console: %q", said)
	}
	w.Go("about:blank") // the stream ends
}

// results looks at what the journal has of a task.
func (d *drawn) results(t *testing.T, w *browser.Window) {
	t.Helper()
	view(w, "tasks")
	w.Await("the task", `(r => r && (r.parentElement.parentElement.focus(), r.click(), true))(document.querySelector('.row[data-name="check"]'))`)
	w.Await("its failure is drawn",
		`(f => f && f.textContent.includes("1 failure and 2 moves of the last hour in the journal") && f.querySelectorAll("path.fails").length === 1 && f.querySelectorAll("path.moves").length === 2)(document.querySelector("#detail figure.plot"))`)
	fits(t, w, "plot-results")
	w.Key(kb.Escape)
	w.Await("the task without records",
		`(r => r && (r.click(), true))(document.querySelector('.row[data-name="quiet"]'))`)
	w.Await("it is said", `(f => f && f.textContent === "The journal has no failure or move of the last hour." && !f.querySelector("svg"))(document.querySelector("#detail figure.plot"))`)
	w.Key(kb.Escape)
}

// throughput sees three items come through.
func (d *drawn) throughput(t *testing.T, w *browser.Window) {
	t.Helper()
	d.commit(t, store.Unit{Name: "1", Outputs: []store.Put{{Shard: flows.Edge, Segments: 3, Data: []byte("a")}}})
	view(w, "jobs")
	press(w, "main tbody", "words")
	w.Await("nothing comes through", caption("Nothing came through between ")+
		` && !document.querySelector("main figure.plot svg")`)
	d.commit(t, store.Unit{Inputs: []store.Message{{Shard: flows.Edge, Number: 1}}})
	w.Await("three came through", caption("Taken in by all tasks: ")+
		` && document.querySelector("main figure.plot path.rate")`)
	fits(t, w, "plot-flow")
}

// TestFocusReturns closes each pane with Escape: what opened it has the focus again.
func TestFocusReturns(t *testing.T) {
	w := browser.Open(t)
	c := guarded(t, w, []string{"a", "b"})
	c.task(t, "never", "type: noop\nevry: 1s\n")
	c.task(t, "check", "type: noop\nevery: 1s\n")
	for _, pane := range []struct{ view, opener, open string }{
		{"problems", `[...document.querySelectorAll("main tbody button")].find(b => b.textContent === "never")`,
			"e.click()"},
		{"members", `document.querySelector('[data-member="b"] button')`, "e.click()"},
		{"members", `document.querySelector('[data-name="check"]')?.closest(".rows")`,
			`e.querySelector('[data-name="check"]').click()`},
		{"tasks", `document.querySelector('.whole [data-name="check"]')?.closest(".rows")`,
			`e.querySelector('[data-name="check"]').click()`},
		{"history", `document.querySelector(".then") && [...document.querySelectorAll(".controls button")].at(-1)`,
			"e.click()"},
	} {
		view(w, pane.view)
		w.Await("the pane of "+pane.view+" is open", `(e => e && (e.focus(), `+pane.open+`, true))(`+pane.opener+`)`)
		w.Await("it has the focus", `document.querySelector("#detail h2") === document.activeElement`)
		w.Key(kb.Escape)
		w.Await("the focus is back in "+pane.view,
			`document.getElementById("detail").hidden && document.activeElement === (`+pane.opener+`)`)
	}

	view(w, "members")
	w.Await("the pane of b",
		`(e => e && (e.focus(), e.click(), true))(document.querySelector('[data-member="b"] button'))`)
	press(w, "#detail", "Drain b")
	w.Await("it asks", `document.querySelector("#detail .yes")`)
	w.Key(kb.Escape)
	w.Await("the button that asked has the focus, and the pane is open",
		`document.activeElement.textContent === "Drain b" && !document.getElementById("detail").hidden`)
	w.Key(kb.Escape)
	w.Await("the focus is back", `document.activeElement.dataset.focus === "member b"`)
}
