package locks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/process/processtest"
	"github.com/rota-run/rota/proof/server"
	"github.com/rota-run/rota/rotacmd"
)

// memberVariable makes the test binary the command rota with a task type that holds a lock; it says where the type
// writes down who has got it.
const memberVariable = "ROTA_LOCK_TEST_MEMBER"

func member(file string) {
	holder := rota.NewType("holder", func(ctx context.Context, g *rota.Grant, _ struct{}) error {
		return rota.LocksFrom(ctx).Lock("x").Do(ctx, func(ctx context.Context, token rota.Token) error {
			f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(f, "%s %d\n", g.Member, token)
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
	})
	rotacmd.Main(rotacmd.WithTypes(holder))
}

// guardedTTL is what the next owner of the task would wait for, where nobody ended the session of the locks.
const guardedTTL = 20 * time.Second

// TestTheOwnerOfATaskIsKilled: kill -9 of the member that runs a task that holds a lock. The guardian ends the session
// of the locks too: the next owner has the task and the lock long before the TTL has passed.
func TestTheOwnerOfATaskIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there are guardians on Linux alone")
	}
	t.Run("file", func(t *testing.T) { t.Parallel(); killOwner(t, "file:"+filepath.Join(t.TempDir(), "store")) })
	for _, kind := range []string{"etcd", "nats", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, err := server.Spawn(deadline(t), kind, t.TempDir())
			if errors.Is(err, server.ErrMissing) {
				t.Skipf("NOT TESTED: %v", err)
			}
			must.Succeed(t, err)
			t.Cleanup(s.Stop)
			killOwner(t, s.URL+"/locks")
		})
	}
}

func killOwner(t *testing.T, place string) {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "tasks"), 0o750))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "tasks", "t.yaml"), []byte("type: holder\n"), 0o600))
	file := filepath.Join(dir, "holders")
	start := func(name string) (kill func()) {
		cmd := exec.Command(os.Args[0], "run", "--store", place, "--member", name, "--listen", "none", "--ttl",
			guardedTTL.String(), "tasks")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), memberVariable+"="+file)
		p := processtest.Start(t, name, cmd)
		return func() { must.Succeed(t, p.Kill()) }
	}
	holders := func() []string {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Fields(string(text))
	}
	killFirst := start("a")
	processtest.Await(t, "a has the lock", func() bool { return len(holders()) == 2 })
	start("b")
	processtest.Await(t, "both have a guardian, if they need one", func() bool {
		cmd := exec.Command(os.Args[0], "member", "list", "--store", place, "-o", "json")
		cmd.Env = append(os.Environ(), memberVariable+"="+file)
		out, err := cmd.Output()
		return err == nil && strings.Count(string(out), `"guardian":"on"`)+
			strings.Count(string(out), `"guardian":"not needed"`) == 2
	})
	killed := time.Now()
	killFirst()
	processtest.Await(t, "b has the lock", func() bool { return len(holders()) == 4 })
	waited := time.Since(killed)
	t.Logf("b has the task and the lock %v after kill -9, with a TTL of %v", waited.Round(time.Millisecond), guardedTTL)
	if got := strings.Join(holders(), " "); got != "a 1 b 2" {
		t.Errorf("holders and tokens: %s", got)
	}
	if waited > guardedTTL/4 {
		t.Errorf("it took %v", waited)
	}
}
