package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/protocol/replica"
	"github.com/rota-run/rota/store/file"
)

// asProcess in the environment makes this test binary the program itself.
const asProcess = "ROTA_EXAMPLE_S3"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		os.Exit(1)
	}
	stop()
}

// took is a line that a process has written.
type took struct {
	by    *process
	name  string
	size  int
	token uint64
	fault string // or what else it has said
	ended bool   // it will write no more
}

// observer assembles the value of a store.
type observer func(context.Context, protocol.Store, cluster.Value) (cluster.Value, error)

type process struct {
	name   string
	cmd    *exec.Cmd
	killed bool
	err    error
}

// swarm is some processes that share the work.
type swarm struct {
	t     *testing.T
	args  []string
	lines chan took
	up    []*process

	objects, kills int
}

func (s *swarm) start(name string) {
	cmd := exec.Command(os.Args[0], append([]string{"-member", name}, s.args...)...) //nolint:gosec // this test itself
	cmd.Env = append(os.Environ(), asProcess+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Succeed(s.t, err)
	p := &process{name: name, cmd: cmd}
	s.up = append(s.up, p)
	go s.read(p, out)
}

func (s *swarm) read(p *process, out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		l := took{by: p}
		if _, err := fmt.Sscanf(lines.Text(), "took %q %d %d", &l.name, &l.size, &l.token); err != nil {
			l.fault = lines.Text()
		}
		s.lines <- l
	}
	p.err = p.cmd.Wait()
	s.lines <- took{by: p, ended: true}
}

func (s *swarm) kill(p *process) {
	p.killed = true
	if err := p.cmd.Process.Kill(); err != nil {
		s.t.Error(err)
	}
}

// Three processes, one of which is killed: each object is taken, and twice only where a run was cut.
func TestEachObjectIsTaken(t *testing.T) { eachIsTaken(t, 3000, 1, replica.Protocol{}.Observe) }

// The same of the source document elasticsearch-cluster-state: members claim the objects, and two of three processes are killed.
func TestEachObjectIsClaimed(t *testing.T) {
	eachIsTaken(t, 1000, 2, lease.Protocol{}.Observe, "-protocol", "lease")
}

// eachIsTaken kills some of three processes that agree by a protocol.
func eachIsTaken(t *testing.T, objects, kills int, observe observer, args ...string) {
	t.Helper()
	t.Parallel()
	h, err := toy{objects: objects}.handler()
	must.Succeed(t, err)
	dir, all := filepath.Join(t.TempDir(), "store"), make(chan struct{})
	gateway := httptest.NewServer(behind(all, h))
	defer gateway.Close()
	s := &swarm{t: t, lines: make(chan took), objects: objects, kills: kills}
	s.args = append([]string{"-store", dir, "-endpoint", gateway.URL, "-place", "s3://logs/2026/", "-ttl", "30s"}, args...)
	for _, name := range []string{"a", "b", "c"} {
		s.start(name)
	}
	go func() {
		defer close(all)
		awaitJoined(t, dir, len(s.up), observe)
	}()
	began := time.Now()
	by := s.play(t)
	again := 0
	for i := range objects {
		all := by[name(i)]
		if len(all) == 0 {
			t.Errorf("%s was not taken", name(i))
			continue
		}
		again += len(all) - 1
		for n, l := range all {
			if l.size != size(i) {
				t.Errorf("%s: %d bytes were read, want %d", l.name, l.size, size(i))
			}
			if n < len(all)-1 && !l.by.killed && !all[n+1].by.killed {
				t.Errorf("%s was taken by %s and then by %s, and neither was killed", l.name, l.by.name, all[n+1].by.name)
			}
		}
	}
	t.Logf("%d objects in %.1f s; %d processes killed; %d objects were taken twice", len(by), time.Since(began).Seconds(), kills, again)
}

// behind is a gateway that keeps its objects until a channel is closed: who comes late finds something to do.
func behind(gate <-chan struct{}, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("list-type") {
			select {
			case <-gate:
			case <-r.Context().Done():
			}
		}
		h.ServeHTTP(w, r)
	})
}

// awaitJoined waits until so many members have joined, or the test has ended.
func awaitJoined(t *testing.T, dir string, members int, observe observer) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for joined(t.Context(), dir, observe) != members {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return
		}
	}
}

// joined is how many members there are in a store; none while there is no store.
func joined(ctx context.Context, dir string, observe observer) (n int) {
	st, err := file.Open(ctx, dir, file.Options{ReadOnly: true})
	if err != nil {
		return 0
	}
	defer st.Close()
	v, err := observe(ctx, st, cluster.Value{})
	if err != nil {
		return 0
	}
	for m := range v.Members() {
		if m.State == cluster.MemberJoined {
			n++
		}
	}
	return n
}

// play kills one process when a third is taken and all take part, perhaps another one at two thirds, and waits for the end of the others.
func (s *swarm) play(t *testing.T) map[string][]took {
	by, seen := map[string][]took{}, map[*process]bool{}
	limit := time.NewTimer(4 * time.Minute)
	defer limit.Stop()
	killed := 0
	for running := len(s.up); running > 0; {
		select {
		case l := <-s.lines:
			switch {
			case l.ended:
				running--
				if !l.by.killed && l.by.err != nil {
					t.Errorf("%s has ended: %v", l.by.name, l.by.err)
				}
			case l.fault != "":
				t.Errorf("%s says: %s", l.by.name, l.fault)
			default:
				by[l.name] = append(by[l.name], l)
				seen[l.by] = true
			}
			if killed < s.kills && len(by) >= s.objects*(killed+1)/3 && len(seen) == len(s.up) && !l.by.killed {
				killed++
				s.kill(l.by)
			}
		case <-limit.C:
			for _, p := range s.up {
				s.kill(p)
			}
			t.Fatalf("%d of %d objects are taken", len(by), s.objects)
		}
	}
	if killed != s.kills {
		t.Errorf("%d were killed, want %d: not all took part", killed, s.kills)
	}
	return by
}
