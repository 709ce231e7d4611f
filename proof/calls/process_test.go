package calls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota"
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
	text, err := json.Marshal(c)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
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
