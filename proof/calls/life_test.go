package calls_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
)

// The runner is killed in the middle of the run: the caller gets its result from somebody else.
func TestTheRunnerIsKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	runners := []*process{spawn(t, child{"m0", dir, 2, longTTL}), spawn(t, child{"m1", dir, 2, longTTL})}
	c := client(t, openFile(t, dir), "c")
	call := submit(t, hold, c, spot{dir, "x"})
	await(t, "it runs", func() bool { return len(lines(t, dir, "x.runs")) == 1 })
	first := lines(t, dir, "x.runs")[0]
	for _, r := range runners {
		if first == pid(r) {
			r.kill()
		}
	}
	await(t, "it runs again", func() bool { return len(lines(t, dir, "x.runs")) == 2 })
	open(t, dir, "x")
	got, err := wait(t, call)
	if all := lines(t, dir, "x.runs"); err != nil || len(all) != 2 || all[1] == first || strconv.Itoa(got) != all[1] {
		t.Errorf("got %v, %v after runs by %v", got, err, all)
	}
}

// The caller dies, and all members die: who attaches later gets the result.
func TestACallOutlivesEverybody(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	m := spawn(t, child{"m0", dir, 2, longTTL})
	s := openFile(t, dir)
	dead := client(t, s, "c")
	running, queued := submit(t, hold, dead, spot{dir, "x"}), submit(t, hold, dead, spot{dir, "y"})
	third := submit(t, hold, dead, spot{dir, "z"}) // waits for a slot
	dead.Close(t.Context())
	await(t, "two run", func() bool {
		return len(lines(t, dir, "x.runs"))+len(lines(t, dir, "y.runs"))+len(lines(t, dir, "z.runs")) == 2
	})
	m.kill()
	for _, f := range []string{"x", "y", "z"} {
		open(t, dir, f)
	}
	spawn(t, child{"m0", dir, 2, longTTL})
	again := client(t, s, "another")
	for _, id := range []string{running.ID(), queued.ID(), third.ID()} {
		call := must.Get(hold.Attach(again, id))(t)
		if _, err := wait(t, call); err != nil {
			t.Error(err)
		}
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	} // what was collected is removed then
	for _, id := range []string{running.ID(), queued.ID(), third.ID()} {
		other := must.Get(hold.Attach(client(t, s, "third"), id))(t)
		if _, err := wait(t, other); !errors.Is(err, rota.ErrGone) {
			t.Errorf("it was collected, and a second look gives %v", err)
		}
	}
	if _, err := running.Wait(t.Context()); err == nil {
		t.Error("a closed client tells results")
	}
}

// A member that leaves hands its calls back; that uses up no attempt.
func TestLeavingHandsCallsBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	one := hold.With(rota.FuncOptions{Attempts: 1})
	m := spawn(t, child{"m0", dir, 2, longTTL})
	c := client(t, openFile(t, dir), "c")
	call := submit(t, one, c, spot{dir, "x"})
	await(t, "it runs", func() bool { return len(lines(t, dir, "x.runs")) == 1 })
	m.leave()
	if got := lines(t, dir, "x.stops"); !slices.Equal(got, []string{rota.CauseDrained.Error()}) {
		t.Errorf("it stopped by %q", got)
	}
	spawn(t, child{"m1", dir, 2, longTTL})
	await(t, "it runs again", func() bool { return len(lines(t, dir, "x.runs")) == 2 })
	open(t, dir, "x")
	if _, err := wait(t, call); err != nil {
		t.Error(err)
	}
}

// A runner that is killed again and again uses up the attempts, and the function that follows a failure runs, once,
// though nobody of those who were there at the submission is alive.
func TestAttemptsThatAreLostCount(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	m := spawn(t, child{"m0", dir, 2, longTTL})
	c := client(t, openFile(t, dir), "c")
	fallen := rota.NewFunc("fallen", func(context.Context, rota.Failure) (int, error) { return 0, nil })
	call := submit(t, hold.With(rota.FuncOptions{Attempts: 2, OnFailure: fallen}), c, spot{dir, "x"})
	for n := 1; n <= 2; n++ {
		await(t, "it runs", func() bool { return len(lines(t, dir, "x.runs")) == n })
		m.kill()
		m = spawn(t, child{"m0", dir, 2, longTTL})
	}
	_, err := wait(t, call)
	var e *rota.CallError
	if !errors.As(err, &e) || e.Message != "member m0 was lost during attempt 2" {
		t.Errorf("got %v", err)
	}
	ran := make(chan rota.Failure, 8)
	s := openFile(t, dir)
	join(t, s, "late", 2, rota.NewFunc("fallen",
		func(_ context.Context, f rota.Failure) (int, error) { ran <- f; return 0, nil }))
	if f := receive(t, "the handler runs", ran); f.Call != call.ID() || f.Function != "hold" || f.Attempts != 2 ||
		!strings.Contains(string(f.Arg), `"Name":"x"`) {
		t.Errorf("it got %+v", f)
	}
	await(t, "the handler is done", func() bool {
		docs, err := s.List(t.Context(), "call/c/")
		return err == nil && len(docs) == 1 && strings.Contains(string(docs[0].Value), `"state":"done"`)
	})
	if len(ran) > 0 {
		t.Error("it ran again")
	}
}

// A runner is suspended until others count it out: no run does anything under an old token when one with a newer has
// begun.
func TestASuspendedRunnerDoesNotOverlap(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	members := map[string]*process{}
	for _, name := range []string{"m0", "m1"} {
		members[name] = spawn(t, child{name, dir, 2, shortTTL})
	}
	c := client(t, openFile(t, dir), "c")
	call := submit(t, beat("", "").With(rota.FuncOptions{Attempts: 100}), c, spot{dir, "x"})
	beats := func() []string { return lines(t, dir, "x.beats") }
	runner := func() string {
		all := beats()
		if len(all) == 0 {
			return ""
		}
		return strings.Fields(all[len(all)-1])[1]
	}
	const rounds = 3
	for range rounds {
		await(t, "it runs", func() bool { return members[runner()] != nil })
		was := runner()
		suspend(t, dir, members[was])
		await(t, "another one runs it", func() bool { return runner() != was })
		before := len(beats())
		members[was].signal(syscall.SIGCONT)
		await(t, "it goes on there", func() bool { return len(beats()) > before+100 })
	}
	open(t, dir, "x")
	if _, err := wait(t, call); err != nil {
		t.Fatal(err)
	}
	judge(t, beats(), rounds)
}
