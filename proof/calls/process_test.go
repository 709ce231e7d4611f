package calls_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	processes "github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/store/file"
)

// childEnv makes the test binary a member of its own: name, directory of the store, slots, TTL.
const childEnv = "ROTA_CALL_CHILD"

type child struct {
	Name  string
	Dir   string
	Slots int64
	TTL   time.Duration
}

// The TTLs of members in processes of their own: one that passes only in a test of what happens then, since a busy
// machine stands still for seconds, and one for that test. A process that is dead is noticed before, by its lock.
const (
	longTTL  = 30 * time.Second
	shortTTL = 4 * time.Second
)

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		if err := runChild(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// runChild is a member until its standard input ends, as it does when the test dies.
func runChild(text string) error {
	var c child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := file.Open(ctx, c.Dir, file.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := rota.Join(ctx, rota.Config{Member: c.Name, Store: s, TTL: c.TTL, Slots: c.Slots,
		Functions: functions(c.Dir, c.Name)})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(os.Stdout, "joined"); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return m.Leave(ctx)
}

// process is a member in a process of its own.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}
}

func spawn(tb testing.TB, c child) *process {
	tb.Helper()
	text := must.Get(json.Marshal(c))(tb)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	in := must.Get(cmd.StdinPipe())(tb)
	out := must.Get(cmd.StdoutPipe())(tb)
	must.Succeed(tb, cmd.Start())
	p := &process{cmd: cmd, stdin: in, done: make(chan struct{})}
	said := make([]byte, len("joined"))
	if _, err := io.ReadFull(out, said); err != nil {
		tb.Fatalf("member %s did not join: %v", c.Name, err)
	}
	go func() {
		defer close(p.done)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}()
	tb.Cleanup(p.kill)
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// leave ends the process in order.
func (p *process) leave() {
	_ = p.stdin.Close()
	<-p.done
}

// pid is the process of a member as hold writes it.
func pid(p *process) string { return strconv.Itoa(p.cmd.Process.Pid) }

// suspend stops a process while it does not write: nobody can while a suspended process has the turn.
func suspend(t *testing.T, dir string, p *process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must.Succeed(t, processes.StopOutside(ctx, p.cmd.Process.Pid, filepath.Join(dir, "queue.lock"),
		filepath.Join(dir, "turn.lock")))
}

// judge looks at what the runs of one call have written, in its order: a token that is smaller than one before it comes
// from a run that overlaps. A process may be suspended between its look at ctx and its write, so each suspension may
// leave one such line.
func judge(t *testing.T, beats []string, suspensions int) {
	t.Helper()
	newest, stale := uint64(0), 0
	for _, b := range beats {
		token := must.Get(strconv.ParseUint(strings.Fields(b)[0], 10, 64))(t)
		if token < newest {
			stale++
		}
		newest = max(newest, token)
	}
	if stale > suspensions {
		t.Errorf("%d of %d lines are of a run that was replaced, after %d suspensions", stale, len(beats), suspensions)
	}
	if newest < uint64(suspensions)+1 {
		t.Errorf("the newest token is %d", newest)
	}
	t.Logf("%d lines, %d stale, newest token %d", len(beats), stale, newest)
}

// join starts a member in this process.
func join(t *testing.T, s rota.Store, name string, slots int64, functions ...rota.Function) {
	t.Helper()
	m, err := rota.Join(t.Context(), rota.Config{Member: name, Store: s, TTL: longTTL, Slots: slots,
		Functions: functions, DrainTimeout: time.Second})
	must.Succeed(t, err)
	t.Cleanup(func() {
		if err := m.Leave(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func submit[A, R any](t *testing.T, f rota.Func[A, R], to rota.CallTarget, arg A) *rota.Call[R] {
	t.Helper()
	c := must.Get(f.Submit(t.Context(), to, arg))(t)
	return c
}

// wait is Wait with patience.
func wait[R any](t *testing.T, c *rota.Call[R]) (R, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := c.Wait(ctx)
	if ctx.Err() != nil {
		t.Fatalf("call %s does not end", c.ID())
	}
	return r, err
}

// receive takes from a channel with patience.
func receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %s in vain: %s", patience, what)
		panic("unreachable")
	}
}

func openFile(tb testing.TB, dir string) *file.Store {
	tb.Helper()
	s := must.Get(file.Open(context.Background(), dir, file.Options{}))(tb)
	tb.Cleanup(func() { s.Close() })
	return s
}

func client(tb testing.TB, s rota.Store, queue string) *rota.Client {
	tb.Helper()
	c := must.Get(rota.Open(s, rota.ClientOptions{Name: queue}))(tb)
	tb.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// patience bounds every wait; it says nothing about how long things should take.
const patience = 60 * time.Second

func await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(patience); !holds(); {
		select {
		case <-tick.C:
		case <-limit:
			tb.Fatalf("waited %s and it is not so: %s", patience, what)
		}
	}
}

func there(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func lines(t *testing.T, dir, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	must.Succeed(t, err)
	text := strings.TrimSpace(string(b))
	if text == "" { // it was made, and not written yet
		return nil
	}
	return strings.Split(text, "\n")
}

func open(t *testing.T, dir, name string) {
	t.Helper()
	must.Succeed(t, mark(dir, name, "go"))
}
