package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/rota-run/rota/proof/process/processtest"
	"github.com/rota-run/rota/proof/server/child"
)

// Variable names a folder into which pictures are written.
const Variable = "ROTA_TEST_PICTURES"

// Window is one page. It belongs to one goroutine.
type Window struct {
	t   testing.TB
	ctx context.Context

	mu      sync.Mutex
	console []string // errors and warnings
}

// Open starts a browser that ends with the test.
func Open(t testing.TB) *Window {
	t.Helper()
	program, err := find()
	child.Require(t, "Chromium", err)
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(processtest.Patience),
		chromedp.WindowSize(1280, 800),
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	w := &Window{t: t, ctx: ctx}
	w.do(chromedp.EmulateViewport(1280, 800))
	go w.listen()
	return w
}

func find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", &child.MissingError{What: "chromium", Err: exec.ErrNotFound}
}

func (w *Window) listen() {
	for m, err := range chromedp.Console(w.ctx) {
		if err != nil {
			return // the browser has ended
		}
		if m.IsException() || slices.Contains([]string{"error", "warning", "assert"}, string(m.Type)) {
			w.mu.Lock()
			w.console = append(w.console, m.String())
			w.mu.Unlock()
		}
	}
}

// Console is what the page has complained of so far.
func (w *Window) Console() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.console)
}

func (w *Window) do(steps ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	if err := chromedp.Do(w.ctx, steps...); err != nil {
		w.t.Fatal(err)
	}
}

// Go opens an address.
func (w *Window) Go(address string) {
	w.t.Helper()
	w.do(chromedp.Navigate(address))
}

// Key presses a key, or types a text.
func (w *Window) Key(keys string) {
	w.t.Helper()
	w.do(chromedp.KeyEvent(keys))
}

// Screen makes the screen so large, and dark or light.
func (w *Window) Screen(width, height int64, scheme string) {
	w.t.Helper()
	w.do(chromedp.EmulateViewport(width, height))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: scheme}}}
	if _, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, media); err != nil {
		w.t.Fatal(err)
	}
}

// Ask evaluates an expression in the page.
func Ask[T any](w *Window, expression string) T {
	w.t.Helper()
	v, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		w.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Await waits until an expression is true in the page.
func (w *Window) Await(what, expression string) {
	w.t.Helper()
	processtest.Await(w.t, what, func() bool { return Ask[bool](w, "Boolean("+expression+")") })
}

// Picture keeps what the screen shows, where [Variable] asks for it. A picture of nothing fails the test.
func (w *Window) Picture(name string) {
	w.t.Helper()
	b, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	if err != nil || len(b) < 1000 {
		w.t.Fatalf("picture %s: %d bytes, %v", name, len(b), err)
	}
	dir := os.Getenv(Variable)
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), b, 0o644); err != nil {
		w.t.Fatal(err)
	}
}
