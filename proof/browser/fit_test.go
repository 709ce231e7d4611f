package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/proof/browser"
)

// clipped lists what has more text than room: across, and names also down.
const clipped = `[...document.querySelectorAll("header *, nav *, main *, #detail *")].filter(e => {
  if (e.closest("svg, progress, .hidden") || e.tagName === "INPUT" || e.tagName === "OPTION" || e.clientWidth === 0) return false;
  const down = e.matches(".row .name, .row .owner, .row .state") && e.scrollHeight > e.clientHeight + 1;
  return down || e.scrollWidth > e.clientWidth + 1 && !e.matches(".columns, div.graph");
}).map(e => e.tagName + "." + e.className + " " + e.scrollWidth + ">" + e.clientWidth + " " + e.scrollHeight + ">" + e.clientHeight + " " + e.textContent.slice(0, 60))`

// torn lists states of problems that stand on two lines: a long text beside them took their room.
const torn = `[...document.querySelectorAll(".problems td:first-child")].filter(e => {
  const r = document.createRange();
  r.selectNodeContents(e);
  return new Set([...r.getClientRects()].map(x => Math.round(x.bottom))).size > 1;
}).map(e => e.textContent)`

// fits checks that nothing on the screen is cut, on a phone and on a desk.
func fits(t *testing.T, w *browser.Window, name string) {
	t.Helper()
	for _, width := range []int64{390, 1280} {
		w.Screen(width, 800, "light")
		w.Await("it has taken the width",
			fmt.Sprintf("innerWidth === %d && new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))", width))
		if cut := browser.Ask[[]string](w, clipped); len(cut) > 0 {
			t.Errorf("%s at %d: cut are\n%q", name, width, cut)
		}
		if words := browser.Ask[[]string](w, torn); len(words) > 0 {
			t.Errorf("%s at %d: torn are\n%q", name, width, words)
		}
		if wide := browser.Ask[int64](w, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("%s at %d: the page is %d wide", name, width, wide)
		}
		w.Picture(fmt.Sprintf("%s-%d", name, width))
	}
}

// TestEveryViewFits looks at each view, and at the pane beside it, with names as long as people give them.
func TestEveryViewFits(t *testing.T) {
	w := browser.Open(t)
	c := start(t, 3)
	long := "homepage-of-eu-central-1-by-https"
	c.task(t, long, "type: noop\nevery: 1h\n")
	c.task(t, strings.Repeat("no name ", 12), "type: noop\nevery: 1h\n")
	c.join(t, "web-1.eu-central-1", true)
	c.join(t, "b", false)
	c.submit(t, "etl", "tasks:\n  - {name: read-all-lines, type: noop, every: 1s}\n  - {name: load, type: noop, every: 1s, after: [read-all-lines]}\n")
	w.Go(c.address)
	w.Await("it is live", live)
	for name, shown := range map[string]string{
		"problems": "main h2", "members": ".column .row", "tasks": ".row .name", "jobs": "svg.graph rect",
		"journal": "main td", "history": ".then .row",
	} { // order-free: each by itself
		view(w, name)
		w.Await("the view has something to show", fmt.Sprintf("document.querySelector(%q)", shown))
		fits(t, w, "view-"+name)
	}
	view(w, "tasks")
	w.Await("the long one", fmt.Sprintf(`(r => r && (r.click(), true))(document.querySelector('.row[data-name=%q]'))`,
		long))
	w.Await("it is explained", has("#detail h2", long)+` && document.querySelector("#detail dl")`)
	fits(t, w, "view-why")
}
