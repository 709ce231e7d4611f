package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/rota-run/rota/internal/proof/must"
)

// meeting is a script that waits until n of them have begun: one after another they would wait for ever.
func meeting(dir string, n, i int) string {
	return fmt.Sprintf("cd %s; echo > begun-%d; until [ $(ls begun-* | wc -l) -ge %d ]; do sleep 0.01; done; echo '{\"ok\":1}'", dir, i, n)
}

// inOrder requires texts one after the other.
func inOrder(t *testing.T, out string, texts ...string) {
	t.Helper()
	rest := out
	for _, text := range texts {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Fatalf("no %q in its place in\n%s", text, out)
		}
		rest = after
	}
}

func named(name string, s stage) stage { s.name = name; return s }

// TestTogether: what computes plays beside what lends, and all print in the order of the table, whichever ends first;
// what plays alone has ended before.
func TestTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	computes := named("computes", script(meeting(dir, 2, 0), amounts{"ok": 1}))
	computes.computes = true
	lends := named("lends", script(meeting(dir, 2, 1)+"; echo > "+dir+"/ended", nil))
	lends.lends = true
	after := named("after", script("until [ -e "+dir+"/ended ]; do sleep 0.01; done", nil))
	after.computes = true
	alone := named("alone", script("[ ! -e "+dir+"/begun-0 ] && [ ! -e "+dir+"/begun-1 ]", nil))
	out, code := played(t, computes, lends, after, alone)
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	inOrder(t, out, "ok    stage alone", "ok    stage computes", "ok    stage lends", "ok    stage after",
		"ok    stage alone from 0s: ", "4 passed, 0 failed")
}

// TestTheFirstIsLast: a stage that ends late does not change the order.
func TestTheFirstIsLast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slow := named("slow", script("until [ -e "+dir+"/ended ]; do sleep 0.01; done; echo slow-ends >&2; echo '{}'", nil))
	slow.computes = true
	lends := named("lends", script("echo > "+dir+"/ended", nil))
	lends.lends = true
	out, code := played(t, slow, lends)
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	inOrder(t, out, "----  slow", "ok    stage slow", "----  lends", "ok    stage lends")
}

// TestBackgroundFails: what fails or lacks something in the background fails the proof, with its output, and stops
// nothing else.
func TestBackgroundFails(t *testing.T) {
	t.Parallel()
	lends := named("lends", script("true", nil))
	lends.lends = true
	for name, c := range map[string]struct {
		bad  stage
		want string
	}{
		"it fails": {script("echo why; exit 3", nil), "why\nFAIL  stage bad"},
		"it lacks": {script(`echo '{"seeds":1}'`, amounts{"seeds": 2}), "seeds: 1 of at least 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, next := named("bad", c.bad), named("next", script("true", nil))
			bad.computes, next.computes = true, true
			out, code := played(t, lends, bad, next)
			if code != 1 || !strings.Contains(out, c.want) || !strings.Contains(out, "ok    stage next") ||
				!strings.Contains(out, "2 passed, 1 failed") {
				t.Errorf("exit %d, and\n%s", code, out)
			}
			inOrder(t, out, "FAIL  stage bad", "ok    stage next", "FAIL  stage bad", "2 passed, 1 failed") // at the end once more
		})
	}
}

// TestBackgroundTests: tests that run in the background are counted as others, and a skip is listed.
func TestBackgroundTests(t *testing.T) {
	t.Parallel()
	st, root := moduleOf(t, "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) { t.Skip(len(os.Args) > 0) }\n")
	st.computes = true
	lends := script("true", nil)
	lends.lends = true
	var b strings.Builder
	sum := newSummary(&b)
	sum.root = root
	sum.playAll(context.Background(), []stage{st, lends})
	if code := sum.close(); code != 0 || !strings.Contains(b.String(), "3 passed, 0 failed, 1 skipped") {
		t.Errorf("exit %d, and\n%s", code, b.String())
	}
}

// TestPriority: only beside what lends does a stage play at the lowest priority.
func TestPriority(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skipf("priorities are lowered on Linux alone: %v", err)
	}
	dir := t.TempDir()
	lends := script("until [ -e "+dir+"/low ]; do sleep 0.01; done", nil)
	lends.lends = true
	// The priority is lowered when the command has already begun.
	low := named("low", script("echo > "+dir+
		"/low; until [ $(nice) = 19 ]; do sleep 0.01; done; grep -q 'nice 19$' /proc/self/autogroup || [ ! -e /proc/self/autogroup ]", nil))
	low.computes = true
	if out, code := played(t, low, lends); code != 0 {
		t.Errorf("exit %d, and\n%s", code, out)
	}
	usual := script("[ $(nice) = "+strings.TrimSpace(niceOf(t))+" ]", nil)
	usual.computes = true
	if out, code := played(t, usual); code != 0 {
		t.Errorf("by itself: exit %d, and\n%s", code, out)
	}
}

func niceOf(t *testing.T) string {
	t.Helper()
	n := must.Get(syscall.Getpriority(syscall.PRIO_PROCESS, 0))(t)
	return strconv.Itoa(20 - n) // the kernel's number
}

// TestInterrupted: the end of the context ends a stage in the background with all that it has started.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	st := named("endless", script("cd "+dir+"; sh -c 'echo $$ > draft; mv draft child; exec sleep 1000'", nil))
	st.computes = true
	lends := script("until [ -e "+dir+"/child ]; do sleep 0.01; done", nil)
	lends.lends = true
	stop := named("stop", script("true", nil))
	stop.lends = true
	var b strings.Builder
	sum := newSummary(&b)
	sum.root = dir
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sum.playAll(ctx, []stage{st, lends, stop})
	}()
	defer func() { cancel(); <-ended }()
	var child []byte
	for len(child) == 0 {
		child, _ = os.ReadFile(filepath.Join(dir, "child"))
	}
	cancel()
	<-ended
	pid := must.Get(strconv.Atoi(strings.TrimSpace(string(child))))(t)
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d of the stage lives", pid)
	}
	if sum.close() != 1 || !strings.Contains(b.String(), "FAIL  stage endless") {
		t.Errorf("it is not said:\n%s", b.String())
	}
}

// TestRoom: a stage waits until there is memory for it; the only one never waits.
func TestRoom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		memory int
		waits  bool
	}{"enough": {7, false}, "too little": {6, true}, "unknown": {0, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRoom(c.memory)
				r.enter(4)
				inside := false
				go func() { r.enter(3); inside = true }()
				synctest.Wait()
				if inside == c.waits {
					t.Errorf("with %d GB the second is inside: %v", c.memory, inside)
				}
				r.leave(4)
				synctest.Wait()
				if !inside {
					t.Error("the second waits for nobody")
				}
			})
		})
	}
}

// TestMemoryOf reads how much the machine has.
func TestMemoryOf(t *testing.T) {
	t.Parallel()
	if n := memoryOf("MemTotal:       24684084 kB\nMemFree:  1 kB\n"); n != 23 {
		t.Errorf("%d GB", n)
	}
	if n := memoryOf("what is this"); n != 0 {
		t.Errorf("%d GB of a text that does not say", n)
	}
}

// TestTheTable: all but a few stages of the table play beside others, and none is in two lanes.
func TestTheTable(t *testing.T) {
	t.Parallel()
	for _, st := range stages() {
		if st.lends && st.computes || st.beside && !st.lends || st.computes && st.rerun {
			t.Errorf("%s: lends %v, computes %v, beside %v, rerun %v", st.name, st.lends, st.computes, st.beside,
				st.rerun)
		}
	}
}
