package locks_test

import (
	"bufio"
	"context"
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

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/server"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// Tests that need several processes start the test binary again; this variable says in which directory such a process
// holds a lock.
const holderVariable = "ROTA_LOCK_TEST_HOLDER"

// noSessions is the argument of a holder that uses heartbeats alone.
const noSessions = "no-sessions"

func TestMain(m *testing.M) {
	if server.Child() {
		return
	}
	if file := os.Getenv(memberVariable); file != "" {
		member(file)
		return
	}
	if dir := os.Getenv(holderVariable); dir != "" {
		if err := hold(dir, os.Args[1] == noSessions, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// processTTL is much more than a busy machine stands still: a holder that is neither killed nor suspended must not lose
// the lock.
const processTTL = 6 * time.Second

// hold takes the lock x and acts under it, again and again, until it is lost. It says what it does, and when: an
// instant before it asked whether it holds the lock. It ends with its input.
func hold(dir string, heartbeats bool, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(2)
	}()
	defer cancel()
	s, err := file.Open(ctx, dir, file.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	c, err := lock.NewClient(s, lock.Options{TTL: processTTL, NoSessions: heartbeats, Owner: "holder"})
	if err != nil {
		return err
	}
	held, err := c.Lock("x").Acquire(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "held %d\n", held.Token())
	for {
		at := protocol.Now()
		if err := held.Err(); err != nil {
			fmt.Fprintf(out, "lost %d\n", at)
			return nil
		}
		fmt.Fprintf(out, "act %d\n", at)
		time.Sleep(time.Millisecond) // waits: between two acts
	}
}

// holder is such a process.
type holder struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startHolder(t *testing.T, dir, how string) *holder {
	t.Helper()
	cmd := exec.Command(os.Args[0], how)
	cmd.Env = append(os.Environ(), holderVariable+"="+dir)
	cmd.Stderr = os.Stderr
	stdin := must.Get(cmd.StdinPipe())(t)
	stdout := must.Get(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	h := &holder{t: t, cmd: cmd, lines: bufio.NewScanner(stdout)}
	t.Cleanup(func() { stdin.Close(); h.signal(syscall.SIGCONT); h.kill() })
	return h
}

func (h *holder) signal(s syscall.Signal) { _ = h.cmd.Process.Signal(s) } // it may have ended

func (h *holder) kill() {
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
}

// next is the next thing that it says, with its number.
func (h *holder) next() (string, int64) {
	h.t.Helper()
	if !h.lines.Scan() {
		h.t.Fatalf("the holder says no more: %v", h.lines.Err())
	}
	word, number, _ := strings.Cut(h.lines.Text(), " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		h.t.Fatalf("the holder said %q", h.lines.Text())
	}
	return word, n
}

func (h *holder) held() int64 {
	h.t.Helper()
	word, token := h.next()
	if word != "held" {
		h.t.Fatalf("the holder said %q", word)
	}
	return token
}

func openFile(t testing.TB, dir string) *file.Store {
	t.Helper()
	s := must.Get(file.Open(deadline(t), dir, file.Options{}))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

// TestHolderIsKilled: kill -9. With sessions the lock is free at once, without them after the TTL, under a larger
// token.
func TestHolderIsKilled(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"sessions", noSessions} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			h := startHolder(t, dir, how)
			token := h.held()
			l := client(t, openFile(t, dir), lock.Options{TTL: processTTL}).Lock("x")
			if _, err := l.TryAcquire(deadline(t)); err == nil {
				t.Fatal("two hold it")
			}
			got, ctx := make(chan *lock.Held, 1), deadline(t)
			go func() {
				held, err := l.Acquire(ctx)
				if err != nil {
					t.Error(err)
				}
				got <- held
			}()
			for waits := 0; waits == 0; {
				s := must.Get(l.State(ctx))(t)
				waits = len(s.Waiting)
			}
			h.kill()
			killed := time.Now()
			held := <-got
			t.Logf("free %v after kill -9, with a TTL of %v", time.Since(killed).Round(time.Millisecond), processTTL)
			if held == nil || int64(held.Token()) != token+1 {
				t.Fatalf("held %v after token %d", held, token)
			}
		})
	}
}

// TestHolderIsSuspended: SIGSTOP for longer than the TTL. The lock goes to another one, and when the first one wakes it
// does not act again.
func TestHolderIsSuspended(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"sessions", noSessions} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			h := startHolder(t, dir, how)
			token := h.held()
			if word, _ := h.next(); word != "act" {
				t.Fatalf("the holder said %q", word)
			}
			s := openFile(t, dir)
			must.Succeed(t, process.StopOutside(deadline(t), h.cmd.Process.Pid, filepath.Join(dir, "queue.lock"),
				filepath.Join(dir, "turn.lock")))
			held := must.Get(client(t, s, lock.Options{TTL: time.Minute}).Lock("x").Acquire(deadline(t)))(t)
			taken := int64(protocol.Now())
			if int64(held.Token()) != token+1 {
				t.Fatalf("token %d after %d", held.Token(), token)
			}
			h.signal(syscall.SIGCONT)
			for word, at := h.next(); word != "lost"; word, at = h.next() {
				if at >= taken {
					t.Fatalf("it acted %v after another one held the lock", time.Duration(at-taken))
				}
			}
			if err := held.Err(); err != nil {
				t.Errorf("the second holder: %v", err)
			}
		})
	}
}

// patience bounds what only a failure waits for.
const patience = 60 * time.Second

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func client(t testing.TB, s store.Docs, o lock.Options) *lock.Client {
	t.Helper()
	c := must.Get(lock.NewClient(s, o))(t)
	t.Cleanup(func() {
		if err := c.Close(deadline(t)); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}
