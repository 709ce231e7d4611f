package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/rota-run/rota/proof/browser"
)

// colours defines what a colour is worth to an eye, by the guidelines WCAG 2, and what colour is behind an element.
const colours = `
const parts = (s) => s.match(/[\d.]+/g).map(Number);
const light = (c) => c.slice(0, 3).map(x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
  .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const c = parts(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};`

// pale lists texts that are hard to read on what is behind them.
const pale = `(() => {` + colours + `
return [...document.querySelectorAll("body *")].filter(e =>
  [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && e.offsetParent && !e.closest(".skip") &&
  contrast(parts(getComputedStyle(e).color), behind(e)) < 4.5
).map(e => e.tagName + "." + e.className + " " + e.textContent.slice(0, 40)) })()`

// nameless lists controls of which a screen reader has nothing to say but a sign.
const nameless = `[...document.querySelectorAll("button, input, select, a, [role=listbox]")].filter(e =>
  e.offsetParent && !/[a-z]/i.test((e.getAttribute("aria-label") || e.textContent) + [...e.labels || []].map(l => l.textContent))
).map(e => e.outerHTML.slice(0, 120))`

// unseen is what has the focus, if nothing on the screen shows that.
const unseen = `(() => {` + colours + `
const e = document.activeElement, s = getComputedStyle(e);
const shown = s.outlineStyle !== "none" && contrast(parts(s.outlineColor), behind(e)) >= 3;
return e === document.body || shown ? "" : e.outerHTML.slice(0, 120) })()`

// TestEveryViewIsAccessible: in the light and in the dark each text can be read, each control has a name, and who goes
// through a view by the keyboard sees where.
func TestEveryViewIsAccessible(t *testing.T) {
	w := browser.Open(t)
	c := start(t, 3)
	c.task(t, "wrong", "type: noop\nevry: 1h\n")
	c.task(t, "nowhere", "type: noop\nevery: 1h\nlabels: {zone: mars}\n")
	c.join(t, "a", true)
	c.submit(t, "etl", "tasks:\n  - {name: read, type: noop, every: 1s}\n  - {name: load, type: noop, every: 1s, after: [read]}\n")
	w.Go(c.address)
	w.Await("it is live", live)
	for _, scheme := range []string{"light", "dark"} {
		w.Screen(1280, 800, scheme)
		for name, shown := range map[string]string{
			"problems": "main h2", "members": ".column .row", "tasks": ".row .name", "jobs": "svg.graph rect",
			"journal": "main td", "history": ".then .row",
		} { // order-free: each by itself
			view(w, name)
			w.Await("the view has something to show", fmt.Sprintf("document.querySelector(%q)", shown))
			accessible(t, w, scheme+" "+name)
		}
		view(w, "tasks")
		w.Await("a row", `(r => r && (r.click(), true))(document.querySelector('.row[data-name="nowhere"]'))`)
		w.Await("it is explained", has("#detail h2", "nowhere")+` && document.querySelector("#detail dl")`)
		accessible(t, w, scheme+" why")
		w.Key(kb.Escape)
	}
}

func accessible(t *testing.T, w *browser.Window, where string) {
	t.Helper()
	if texts := browser.Ask[[]string](w, pale); len(texts) > 0 {
		t.Errorf("%s: pale are\n%s", where, strings.Join(texts, "\n"))
	}
	if controls := browser.Ask[[]string](w, nameless); len(controls) > 0 {
		t.Errorf("%s: without a name are\n%s", where, strings.Join(controls, "\n"))
	}
	browser.Ask[bool](w, `(document.querySelector(".skip").focus(), true)`)
	for range 16 {
		w.Key(kb.Tab)
		if element := browser.Ask[string](w, unseen); element != "" {
			t.Errorf("%s: the focus is not seen on %s", where, element)
		}
	}
}
