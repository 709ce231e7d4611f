package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// rotasim runs the command and returns the object on its last line.
func rotasim(ctx context.Context, t *testing.T, args ...string) (map[string]any, error) {
	t.Helper()
	var out strings.Builder
	c := command()
	c.SetArgs(append(args, "--json"))
	c.SetOut(&out)
	c.SetErr(&out)
	failure := c.ExecuteContext(ctx)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var r map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out.String())
	}
	return r, failure
}

// TestBudgetAddsSeeds: the seeds that were asked for are run however little time there is, and have one digest.
func TestBudgetAddsSeeds(t *testing.T) {
	t.Parallel()
	short := []string{"--first", "16", "--seeds", "3", "--hours", "0.02"}
	least, err := rotasim(t.Context(), t, append(short, "--budget", "1ns")...)
	if err != nil || least["seeds"] != 3.0 || least["least_seeds"] != 3.0 {
		t.Errorf("got %v, %v", least, err)
	}
	more, err := rotasim(t.Context(), t, append(short, "--budget", "300ms")...)
	if seeds, _ := more["seeds"].(float64); err != nil || seeds < 3 || more["least_seeds"] != 3.0 ||
		more["digest"] != least["digest"] {
		t.Errorf("got %v, %v, want the digest %v", more, err, least["digest"])
	}
}

// TestTooLittleFails: fewer seeds than asked for, a pair that is not reached, and a walk that is not complete are
// failures.
func TestTooLittleFails(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		args string
		want string
	}{
		{over, "--seeds 100000 --hours 0.02", "of 100000 seeds were run"},
		{t.Context(), "--seeds 1 --hours 0.02 --again 0 --all-pairs", "pairs of fault and phase were never reached"},
		{t.Context(), "check --suite push --states 5", "0 of 12 walks were complete"},
	} {
		if r, err := rotasim(c.ctx, t, strings.Fields(c.args)...); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v", c.args, r, err)
		}
	}
}

// TestCheckSaysWhatWasWalked: a walk of given bounds, complete and not.
func TestCheckSaysWhatWasWalked(t *testing.T) {
	t.Parallel()
	bounds := []string{"check", "--members", "2", "--suspicions", "1", "--failures", "1"}
	if r, err := rotasim(t.Context(), t, bounds...); err != nil || r["states"] != 1436.0 || r["walks"] != 1.0 ||
		r["complete"] != true {
		t.Errorf("got %v, %v", r, err)
	}
	if r, err := rotasim(t.Context(), t, append(bounds, "--states", "100")...); err != nil || r["walks"] != 0.0 ||
		r["complete"] != false {
		t.Errorf("stopped: got %v, %v", r, err)
	}
}

// TestLeaderDoesNotRestart: what a walk cannot show is refused, instead of a violation that is none.
func TestLeaderDoesNotRestart(t *testing.T) {
	t.Parallel()
	c := command()
	c.SetArgs([]string{"check", "--protocol", "leader", "--crashes", "1", "--restarts", "1"})
	if err := c.ExecuteContext(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "restarts of leader are not walked") {
		t.Errorf("got %v", err)
	}
}

// TestMutantsOutcome: a run that did not try each flaw, or did not notice one, fails.
func TestMutantsOutcome(t *testing.T) {
	t.Parallel()
	for _, r := range []mutantReport{{Mutants: 2, Tried: 1, Killed: 1},
		{Mutants: 1, Tried: 1, Survivors: []string{"it"}}} {
		if r.failure() == nil {
			t.Errorf("%+v is no failure", r)
		}
	}
	if err := (&mutantReport{Mutants: 1, Tried: 1, Killed: 1}).failure(); err != nil {
		t.Error(err)
	}
}
