package rotatest_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/rotatest"
)

// The example of the package's documentation, and what comes of it: ten rounds in ten minutes, and one more by the
// member that is left.
func TestMinutely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rounds atomic.Int64
		check := rota.NewCheck("check", func(context.Context, *rota.Grant, struct{}) error {
			rounds.Add(1)
			return nil
		})
		c := rotatest.New(t)
		a := c.Join(rota.Config{Member: "a", Types: []rota.Type{check}})
		b := c.Join(rota.Config{Member: "b", Types: []rota.Type{check}})
		if err := a.Submit(t.Context(), "minutely", rota.Task{Type: "check", Every: time.Minute}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if synctest.Wait(); rounds.Load() < 9 || rounds.Load() > 10 {
			t.Errorf("%d rounds in ten minutes", rounds.Load())
		}
		a.Crash()
		if owner, _ := b.OwnerOf("minutely", ""); owner == "" {
			t.Error("the task has no owner") // it had one before, and only a member that lives writes
		}
		before := rounds.Load()
		time.Sleep(time.Second)
		if p, _ := b.Value().Partition("minutely"); p.Owner != "b" || p.Cause != "a left: its heartbeat is gone" {
			t.Errorf("%s owns it right after the crash of a: %s", p.Owner, p.Cause)
		}
		time.Sleep(3 * time.Minute)
		if synctest.Wait(); rounds.Load() < before+2 {
			t.Errorf("%d rounds after the crash of a", rounds.Load()-before)
		}
		b.Suspend() // and it leaves all the same when the test ends
	})
}

// A suspended member loses its task after its TTL, and finds that out when it goes on.
func TestSuspend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := rotatest.New(t)
		var running sync.Map // names of members
		work := rota.NewType("work", func(ctx context.Context, g *rota.Grant, _ struct{}) error {
			running.Store(string(g.Member), true)
			defer running.Delete(string(g.Member))
			<-ctx.Done()
			return nil
		})
		runs := func(member string) bool { _, ok := running.Load(member); return ok }
		var removed atomic.Bool
		a := c.Join(rota.Config{Types: []rota.Type{work},
			Events: rota.Events{Removed: func(string) { removed.Store(true) }}})
		if err := c.Client(rota.ClientOptions{}).Submit(t.Context(), "job", rota.Task{Type: "work"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		b := c.Join(rota.Config{Types: []rota.Type{work}})
		if synctest.Wait(); !runs("member-1") {
			t.Fatal("member-1 does not run it")
		}
		a.Suspend()
		time.Sleep(30 * time.Second)
		if synctest.Wait(); runs("member-1") || !runs("member-2") {
			t.Errorf("after 30 s without a sign of life of member-1: it runs %t, member-2 runs %t", runs("member-1"),
				runs("member-2"))
		}
		a.Resume()
		time.Sleep(10 * time.Second)
		if synctest.Wait(); !removed.Load() {
			t.Error("member-1 has not found out that it was removed")
		}
		if owner, token := b.OwnerOf("job", ""); owner != "member-2" || token == 0 {
			t.Errorf("%s owns it under %d", owner, token)
		}
	})
}

// TestDocumentation: the code of doc.go is that of TestMinutely, which runs.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	test, err := os.ReadFile("cluster_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(doc), "synctest.Test(t, func")
	code, _, _ = strings.Cut(code, "a.Crash()")
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//"))
		if !strings.Contains(string(test), line) {
			t.Errorf("doc.go has a line that TestMinutely has not: %s", line)
		}
	}
}
