//go:build linux

package tasks

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/work"
	"github.com/rota-run/rota/work/worktest"
)

// shell is allow-listed in tests only, where it plays any program.
var shell = Options{ExecAllow: []string{"/bin/sh", "/nonexistent/program"},
	EnvAllow: []string{"KEY", "WORDS", "ROTA_*", "LD_*"}}

func sh(script string) object { return object{"argv": []string{"/bin/sh", "-c", script}} }

func TestExecSamples(t *testing.T) {
	t.Parallel()
	h, err := round(t, shell, "exec", sh(`
		echo '{"name":"queue.length","tags":{"queue":"a"},"points":[[1700000000123,4]]}'
		echo plain words
		echo '{"name":"no points","points":[]}'
		echo '{broken'
		head -c 70000 /dev/zero | tr '\0' x; echo
		printf '{"name":"last","points":[[1700000000123,5]]}'`))
	wantUp(t, h, "exec", err)
	got := h.Last(t, "queue.length")
	if got.Tags["queue"] != "a" || got.Tags["task"] != "test" ||
		got.Points[0] != (publish.Point{AtMS: 1700000000123, Value: 4}) {
		t.Errorf("got %+v", got)
	}
	for name, want := range map[string]float64{"last": 5, "exec.exit_code": 0, "exec.lines_ignored": 1,
		"exec.lines_malformed": 3} {
		if got := h.LastValue(t, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if h.LastValue(t, "exec.duration_ms") <= 0 {
		t.Error("no duration")
	}
}

func TestExecEndsBadly(t *testing.T) {
	t.Parallel()
	for script, c := range map[string]struct {
		reason string
		code   float64
	}{
		"echo disk on fire >&2; exit 3": {"exit", 3},
		"kill -9 $$":                    {"signal", -1},
		"sleep 1000":                    {"timeout", -1},
		"trap '' TERM; sleep 1000":      {"timeout", -1},
	} {
		d := define(t, object{"argv": []string{"/bin/sh", "-c", script}, "grace": "50ms"})
		if c.reason == "timeout" {
			d.TimeoutMS = 300
		}
		g, h := worktest.NewGrant(t, d)
		var log strings.Builder
		g.Log = textLog(&log)
		err := worktest.Run(t, Builtin(shell)["exec"], g)
		wantDown(t, h, "exec", c.reason, err)
		if got := h.LastValue(t, "exec.exit_code"); got != c.code {
			t.Errorf("%s: code %v, want %v", script, got, c.code)
		}
		if c.reason == "exit" && !strings.Contains(log.String(), "disk on fire") {
			t.Errorf("the log %q does not say what the program said", log.String())
		}
	}
}

func TestExecOutputIsBounded(t *testing.T) {
	t.Parallel()
	h, err := round(t, shell, "exec",
		sh(fmt.Sprintf("head -c %d /dev/zero | tr '\\0' '\\n'; echo '{\"name\":\"late\",\"points\":[[1,1]]}'",
			execOutput.usual)))
	wantDown(t, h, "exec", "limit", err)
	if got := h.LastValue(t, "exec.bytes_dropped"); got < 10 {
		t.Errorf("%v bytes dropped, want those of the last line", got)
	}
	if len(h.Named("late")) != 0 {
		t.Error("a line beyond the bound became a sample")
	}
}

func TestExecPointsAreBounded(t *testing.T) {
	t.Parallel()
	config := sh(`echo '{"name":"a","points":[[1,1],[2,2]]}'; echo '{"name":"b","points":[[1,1],[2,2]]}'; echo '{"name":"c","points":[[1,1]]}'`)
	config["max_points"] = 3
	h, err := round(t, shell, "exec", config)
	wantDown(t, h, "exec", "limit", err)
	if len(h.Named("a")) != 1 || len(h.Named("b")) != 0 || len(h.Named("c")) != 1 ||
		h.LastValue(t, "exec.samples_dropped") != 1 {
		t.Errorf("got %v, want a and c, and b dropped", h.Samples())
	}
}

func TestExecCleanEnvironment(t *testing.T) {
	t.Setenv("TASKS_TEST_LEAK", "leaked")
	t.Setenv("TASKS_TEST_SECRET", "hunter2")
	out := filepath.Join(t.TempDir(), "env")
	h, err := round(t, shell, "exec", object{
		"argv": []string{"/bin/sh", "-c", "env > " + out + "; pwd >> " + out},
		"env":  object{"KEY": "env:TASKS_TEST_SECRET"},
	})
	wantUp(t, h, "exec", err)
	b := must.Get(os.ReadFile(out))(t)
	got := string(b)
	if strings.Contains(got, "leaked") || !strings.Contains(got, "KEY=hunter2\n") ||
		!strings.Contains(got, execPath+"\n") || !strings.HasSuffix(got, "\n/\n") {
		t.Errorf("the program saw %q", got)
	}
}

// pidIn waits for a line with a process number in a named pipe.
func pidIn(t *testing.T, path string) int {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	line := must.Get(bufio.NewReader(f).ReadString('\n'))(t)
	pid := must.Get(strconv.Atoi(strings.TrimSpace(line)))(t)
	return pid
}

// wantGone waits until a process has ended. It may be a zombie that nobody of ours can reap.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	must.Succeed(t, err)
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000)
	for errors.Is(err, unix.EINTR) { // a child of another test has ended
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000)
	}
	if err != nil || n != 1 {
		t.Errorf("process %d is still there: %d, %v", pid, n, err)
	}
}

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pid")
	must.Succeed(t, unix.Mkfifo(path, 0o600))
	return path
}

func TestExecCannotStart(t *testing.T) {
	t.Parallel()
	h, err := round(t, shell, "exec", object{"argv": []string{"/nonexistent/program"}})
	if !errors.Is(err, os.ErrNotExist) || len(h.Samples()) != 0 {
		t.Errorf("got %v and %v, want that there is no such program", err, h.Samples())
	}
}

func TestExecFaults(t *testing.T) {
	t.Parallel()
	checkFaults(t, shell, "testdata/faults_linux.txt")
	if _, err := Builtin(Options{})["exec"].New(define(t, sh("exit 0"))); err == nil ||
		!strings.Contains(err.Error(), "may not run") {
		t.Errorf("a program that is not allowed: %v", err)
	}
	if _, err := Builtin(shell)["exec"].New(define(t,
		object{"argv": []string{"/bin/sh"}, "grace": "10s"})); err != nil {
		t.Errorf("the longest grace: %v", err)
	}
}

// What is cut at a bound is not whole: of output the line is none, of the errors the end is kept.
func TestExecCuts(t *testing.T) {
	t.Parallel()
	const sample = `{"name":"a","points":[[1,1]]}`
	for rest, want := range map[string]int{"": 1, "\n": 0, " and more": 0} {
		n := 0
		l := &execLines{emit: func(publish.Sample) { n++ }, output: len(sample), points: 100}
		_, _ = l.Write([]byte(sample + rest))
		l.flush()
		if n != want || l.dropped != len(rest) {
			t.Errorf("%q behind the bound: %d samples, %d bytes dropped, want %d, %d", rest, n, l.dropped, want,
				len(rest))
		}
	}
	tail := &lastBytes{limit: 10}
	for _, said := range []string{"first line\n", "disk", " on", " fire\n"} {
		_, _ = tail.Write([]byte(said))
	}
	if got := tail.lastLine(); got != "k on fire" {
		t.Errorf("the end is %q", got)
	}
}

// The time limit counts, and without one the period, of which a check takes 10 s at most.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d           work.Definition
		exec, check time.Duration
	}{
		{work.Definition{TimeoutMS: 5, EveryMS: 7}, 5 * time.Millisecond, 5 * time.Millisecond},
		{work.Definition{EveryMS: 7}, 7 * time.Millisecond, 7 * time.Millisecond},
		{work.Definition{EveryMS: 20_000}, 20 * time.Second, 10 * time.Second},
		{work.Definition{}, time.Minute, 10 * time.Second},
	} {
		if exec, check := execTimeout(c.d), roundTimeout(c.d); exec != c.exec || check != c.check {
			t.Errorf("%+v: %v and %v, want %v and %v", c.d, exec, check, c.exec, c.check)
		}
	}
}

// FuzzExecLines feeds output in any pieces: the same lines, whatever the pieces.
func FuzzExecLines(f *testing.F) {
	f.Add([]byte("{\"name\":\"a\",\"points\":[[1,2]]}\nx\n{"), 3)
	f.Fuzz(func(t *testing.T, b []byte, piece int) {
		read := func(step int) (n, ignored, malformed int) {
			l := &execLines{emit: func(publish.Sample) { n++ }, output: execOutput.usual, points: 100}
			for rest := b; len(rest) > 0; {
				k := min(step, len(rest))
				_, _ = l.Write(rest[:k])
				rest = rest[k:]
			}
			l.flush()
			return n, l.ignored, l.malformed
		}
		a, b1, c := read(len(b) + 1)
		x, y, z := read(max(1, piece%17))
		if a != x || b1 != y || c != z {
			t.Fatalf("in one piece %d %d %d, in many %d %d %d", a, b1, c, x, y, z)
		}
	})
}
