package examples_test

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/process/processtest"
)

var count = flag.Int("files", 10_000, "how many files three processes work on")

// event is a line that a process has written.
type event struct {
	of        *worker
	verb, arg string
	token     uint64
	ended     bool  // it will write no more
	err       error // how it ended
}

// worker is a process of the example files. Its fields are for the goroutine of the test.
type worker struct {
	*process.Process
	name   string
	killed bool
}

// swarm is some processes that share the work.
type swarm struct {
	t      *testing.T
	args   []string
	events chan event
	wg     sync.WaitGroup
	up     map[string]*worker
}

func (s *swarm) start(name string) {
	cmd := exec.Command(filepath.Join(programs, "files"), append([]string{"-member", name}, s.args...)...)
	out, theirs, err := os.Pipe()
	must.Succeed(s.t, err)
	cmd.Stdout = theirs
	p := &worker{name: name, Process: processtest.Start(s.t, name, cmd)}
	theirs.Close()
	s.up[name] = p
	s.wg.Go(func() { s.read(p, out) })
}

func (s *swarm) read(p *worker, out io.ReadCloser) {
	defer out.Close()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		e := event{of: p}
		if _, err := fmt.Sscanf(lines.Text(), "%s %q %d", &e.verb, &e.arg, &e.token); err != nil && e.verb != "list" {
			e.verb, e.arg = "error", lines.Text()
		}
		s.events <- e
	}
	<-p.Done()
	s.events <- event{of: p, ended: true, err: p.Err()}
}

func (s *swarm) kill(p *worker) {
	p.killed = true
	if err := p.Signal(os.Kill); err != nil {
		s.t.Error(err)
	}
}

// account is what the processes have said of the files.
type account struct {
	begun map[string]int
	done  map[string][]event // whoever has done it: in the order of its tokens, for what one has written may be read after what the next one has
	lists *worker            // whoever has listed last
	pages int
}

func (a *account) take(t *testing.T, e event) {
	switch e.verb {
	case "made":
	case "list":
		a.lists = e.of
		a.pages++
	case "begin":
		a.begun[e.arg]++
	case "done":
		by := append(a.done[e.arg], e)
		slices.SortStableFunc(by, func(x, y event) int { return cmp.Compare(x.token, y.token) })
		a.done[e.arg] = by
	default:
		t.Errorf("%s says: %s %s", e.of.name, e.verb, e.arg)
	}
}

func makeFiles(t *testing.T, dir string, n int) map[string]string {
	t.Helper()
	sums := make(map[string]string, n)
	for i := range n {
		name := fmt.Sprintf("%06d.txt", i)
		if i%100 == 7 {
			name = fmt.Sprintf("odd %d\n\"#\xff%%é", i) // what no key may be
		}
		data := []byte(strings.Repeat(name, 1+i%50))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		sum := sha256.Sum256(data)
		sums[name] = hex.EncodeToString(sum[:])
	}
	return sums
}

// Three processes, two of which are killed while they work, one of them the one that lists: every file is done, and
// twice only where a run was cut.
func TestEveryFileIsDone(t *testing.T) {
	t.Parallel()
	n := *count
	in, out := t.TempDir(), t.TempDir()
	sums := makeFiles(t, in, n)
	s := &swarm{t: t, args: []string{"-store", filepath.Join(t.TempDir(), "store"), "-in", in, "-out", out, "-ttl",
		"30s"}, events: make(chan event), up: map[string]*worker{}}
	began := time.Now()
	for _, name := range []string{"a", "b", "c"} {
		s.start(name)
	}
	a := s.play(sums)
	took := time.Since(began)
	s.wg.Wait()
	twice := a.check(t, sums, out)
	again := 0
	for _, n := range a.begun {
		again += n - 1
	}
	t.Logf("%d files in %.1f s, %.0f a second; %d listings; 2 processes killed; %d runs were cut and begun again, %d files were done twice",
		len(sums), took.Seconds(), float64(len(sums))/took.Seconds(), a.pages, again, twice)
}

// play reads what the processes write until all have ended, and kills where the work has come far enough.
func (s *swarm) play(sums map[string]string) *account {
	a := &account{begun: map[string]int{}, done: map[string][]event{}}
	var killed []*worker
	limit := time.NewTimer(5 * time.Minute)
	defer limit.Stop()
	for running := len(s.up); running > 0; {
		select {
		case e := <-s.events:
			if e.ended {
				running--
				if e.err != nil && !e.of.killed {
					s.t.Errorf("%s ended by itself: %v", e.of.name, e.err)
				}
				break
			}
			a.take(s.t, e)
		case <-limit.C:
			for _, p := range s.up {
				s.kill(p)
			}
			s.t.Fatalf("%d of %d files are done", len(a.done), len(sums))
		}
		switch {
		case len(killed) == 0 && len(a.done) >= len(sums)*3/10:
			killed = append(killed, a.lists)
			s.kill(a.lists)
			s.start(a.lists.name) // it comes back under its name
			running++
		case len(killed) == 1 && len(a.done) >= len(sums)*6/10:
			for _, name := range []string{"a", "b", "c"} {
				if p := s.up[name]; p.name != killed[0].name && len(killed) == 1 {
					killed = append(killed, p)
					s.kill(p)
				}
			}
		}
	}
	return a
}

// check looks at every file, and counts those that were done twice.
func (a *account) check(t *testing.T, sums map[string]string, out string) (twice int) {
	t.Helper()
	for name, want := range sums {
		data, err := os.ReadFile(filepath.Join(out, name+".sha256"))
		if got, _, _ := strings.Cut(string(data), " "); err != nil || got != want {
			t.Errorf("the result of %q is %q, %v, want %s", name, got, err, want)
		}
		by := a.done[name]
		for i, e := range by {
			if i < len(by)-1 && !e.of.killed {
				t.Errorf("%q was done again after %s, which was not killed, had done it", name, e.of.name)
			}
		}
		if len(by) > 1 {
			twice++
		}
		if n := a.begun[name]; n < 1 || n > 3 {
			t.Errorf("%q was begun %d times", name, n)
		}
	}
	return twice
}
