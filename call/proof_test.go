package call

import (
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/mutant"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

type scenario struct {
	name string
	m    model
}

// scenarios are small enough to be walked with every change. The build tag proof adds larger ones.
func scenarios() []scenario {
	errs := ways{err: true}
	return []scenario{
		{"no fault", model{members: 2, handler: true, waiter: true}},
		{"two attempts", model{members: 1, attempts: 2, handler: true, ways: ways{err: true, permanent: true, timeout: true}, from: fromQueued}},
		{"a member dies", model{members: 2, handler: true, faults: faults{crash: 1}, from: fromQueued}},
		{"lease ends", model{members: 2, attempts: 2, faults: faults{lapse: 1}, from: fromQueued}},
		{"a write is late", model{members: 1, handler: true, ways: errs, faults: faults{late: 1}, from: fromQueued}},
		{"an answer is lost", model{members: 1, handler: true, ways: errs, faults: faults{lost: 1}, from: fromQueued}},
		{"an answer is lost, a call fails", model{members: 1, faults: faults{lost: 1, fail: 1}, from: fromQueued}},
		{"a write is late, a call fails", model{members: 1, faults: faults{late: 1, fail: 1}, from: fromQueued}},
		{"a wish to cancel", model{members: 1, handler: true, faults: faults{cancel: 1}, ways: errs, from: fromQueued}},
		{"a wish to cancel, a write is late", model{members: 1, faults: faults{cancel: 1, late: 1}, from: fromQueued}},
		{"a submission is late", model{members: 1, faults: faults{late: 1}}},
		{"a submission is late, a call fails", model{members: 1, faults: faults{late: 1, fail: 1}}},
		{"a submission is lost, a call fails", model{members: 1, faults: faults{lost: 1, fail: 1}}},
		{"the caller dies", model{members: 1, faults: faults{die: 1}, waiter: true}},
		{"the page is old", model{members: 1, faults: faults{eras: 1}, from: fromPage, sweeps: true}},
		{"the page is old, an answer is lost", model{members: 1, faults: faults{eras: 1, lost: 1}, from: fromPage, sweeps: true}},
		{"two calls", model{members: 1, calls: 2, from: fromPage}},
	}
}

// seconds are scenarios that take seconds each: they are walked with the build tag proof.
func seconds() []scenario {
	return []scenario{
		{"lease ends, and it comes back", model{members: 2, faults: faults{lapse: 1, rejoin: 1}, from: fromQueued}},
		{"a wish to cancel, a member dies", model{members: 2, attempts: 2, faults: faults{cancel: 1, crash: 1}, from: fromQueued}},
		{"the page is old, a write is late", model{members: 1, faults: faults{eras: 1, late: 1}, from: fromPage, sweeps: true}},
	}
}

// TestProof walks every order of events within the bounds of each scenario.
func TestProof(t *testing.T) {
	t.Parallel()
	prove(t, scenarios())
}

func prove(t *testing.T, all []scenario) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			r := check.Explore(c.m.prepared(), check.Options{States: 8_000_000, Violations: 1})
			t.Logf("%d states, %d moves, depth %d", r.States, r.Moves, r.Depth)
			if !r.Complete && len(r.Violations) == 0 {
				t.Error("not walked to the end")
			}
			for _, v := range r.Violations {
				t.Errorf("%s:\n%s", v.Promise, strings.Join(v.Trace, "\n"))
			}
		})
	}
}

// flaw is a flaw of a deciding function, and the scenario that finds it: by one of these promises.
type flaw struct {
	mutant.Flaw
	scenario string
	promises []string
}

// breaks is a flaw in a file, which contains the old text once.
func breaks(name, file, old, flawed, scenario string, promises ...string) flaw {
	return flaw{mutant.New(name, "call/"+file, old, flawed), scenario, promises}
}

// flaws are what could be wrong with the code. The first five were, before there was a proof.
func flaws() []flaw {
	return []flaw{
		breaks("the end of a handler is taken for written when its answer is lost", "step_write.go",
			"return mine && now.State != Running", "return mine && (now.State != Running || now.Outcome != nil)", "a write is late", promiseTold),
		breaks("a page goes while a submission is in doubt", "step_page.go",
			"t.doubt = t.doubt || errors.Is(err, store.ErrUnknown)", "t.doubt = t.doubt || err == nil", "a submission is lost, a call fails", check.NoGoodEnd),
		breaks("an old head that says the same is taken for the new one", "step_page.go",
			"case h.sent && g.body == h.body && g.version != h.at:", "case h.sent && g.body == h.body:", "the page is old, a write is late", check.NoGoodEnd),
		breaks("what is not there to be removed was claimed", "step_page.go",
			"return s.do(lookingLast, getCall{})", "return s.do(tending, askAge{})", "the page is old, a write is late", promiseKept),
		breaks("what is not there after an age is submitted again", "step_page.go",
			"case old: // it may", "case false: // it may", "the page is old, a write is late", promiseOnce),

		breaks("a number is not made void", "step_page.go",
			"return s.do(voiding, voidNumber{})", "return s, submitted{again: true}", "a submission is late", promiseOnce),
		breaks("nobody looks again after a number was made void", "step_page.go",
			"return s.do(lookingAgain, getCall{})", "return s, submitted{again: true}", "a submission is late", promiseOnce),
		breaks("an old page is not looked after", "step_page.go",
			"case s.at == tending && old:", "case s.at == tending && old && s.at != tending:", "the page is old", check.NoGoodEnd),
		breaks("void numbers are run", "step_attempt.go",
			"(l.Token > 0 || !slices.Contains(l.void, l.number))", "(l.Token > 0 || !slices.Contains(l.void, -1))", "a submission is late", promiseOnce),
		breaks("a value that is older than the claim counts", "step_attempt.go",
			"if v.Index() < r.Incarnation {", "if r.Incarnation == 0 {", "lease ends, and it comes back", promiseOverlap, promiseFinal),
		breaks("a running call is anybody's", "step_attempt.go",
			"return !ok || m.Incarnation != r.Incarnation", "return true || !ok || m.Incarnation != r.Incarnation", "lease ends", promiseOverlap),
		breaks("a claim that came late is nobody's", "step_attempt.go",
			"return unbegun, unbegun || gone(c.value, by)", "return unbegun, gone(c.value, by)", "a write is late, a call fails", check.NoGoodEnd),
		breaks("an outcome is written whose run it is", "step_attempt.go",
			"if !ok || a.call.runner().Nonce != a.by.Nonce {", "if !ok {", "lease ends", promiseReplaced),
		breaks("a refused write of an outcome is taken for done", "step_attempt.go",
			"case w.err == nil:\n		return a, told{", "case w.err == nil || errors.Is(w.err, store.ErrConflict):\n		return a, told{", "a wish to cancel", promiseTold),
		breaks("a write whose outcome is unknown is taken for done", "step_write.go",
			"		w.doubt = true\n		return w, getCall{}", "		return w, wrote{call: stored{w.old.key, w.old.version, w.next}}", "a write is late", promiseReplaced),
		breaks("one attempt too many", "step.go",
			"case r.Attempt >= r.Limits.Attempts:", "case r.Attempt > r.Limits.Attempts:", "a member dies", promiseAttempts),
		breaks("a claim that was lost is never counted", "step.go",
			"	case e.Unbegun:\n", "	case e.Unbegun || r.Attempt > 0:\n", "a member dies", promiseAttempts),
		breaks("the handler is left out when the runner was lost", "step.go",
			"return r.fail(id, fail{ID: id, Error: lost, Final: true}), true", "r.Error = lost\n		return r.end(Failed, nil), true", "a member dies", promiseHandler),
		breaks("the token stays", "step.go",
			"Running, r.Attempt+1, r.Token+1, 0, &e.By", "Running, r.Attempt+1, max(r.Token, 1), 0, &e.By", "two attempts", promiseToken, promiseReplaced),
		breaks("a call that is to be cancelled is claimed", "step.go",
			"	case r.Cancel:\n		return r.end(Cancelled, nil), true\n	case e.Unbegun:", "	case e.Unbegun:", "a wish to cancel, a member dies", promiseCancel),
		breaks("a call that is to be cancelled fails", "step.go",
			"	case r.Cancel:\n		return r.end(Cancelled, nil)\n	case !e.Final", "	case !e.Final", "a wish to cancel", promiseCancel),
		breaks("an outcome is cancelled", "step.go",
			"case ended, r.State == Running && r.Cancel:", "case ended && r.State == Cancelled, r.State == Running && r.Cancel:", "a wish to cancel", promiseFinal),
		breaks("a refused wish to cancel is taken for persisted", "step_write.go",
			"		c.writes = false\n		return c, getCall{}", "		return c, wished{}", "a wish to cancel", promiseCancel),
		breaks("listeners are told each time the end is seen", "step.go",
			"return h, false, false", "return h, false, h.failed", "two attempts", promiseCallback),
		breaks("the sweeper removes what runs", "step_page.go",
			"return r.State.Final() || r.State == Queued", "return r.State.Final() || r.State == Running || r.State == Queued", "the page is old", promiseKept),
		breaks("a page goes whose calls wait", "step_page.go",
			"case calls == 0 && age >= pageRest:", "case age >= pageRest:", "the page is old", check.NoGoodEnd),
		breaks("the document goes before the handler has run", "step_page.go",
			"return out, ended, ended && r.State.Final()", "return out, ended, ended", "two attempts", promiseKept),
	}
}

// TestFlawsFit looks whether each flaw can still be laid over the source, and names a scenario.
func TestFlawsFit(t *testing.T) {
	t.Parallel()
	var set mutant.Set
	for _, f := range flaws() {
		set = append(set, f.Flaw)
		if !slices.ContainsFunc(slices.Concat(scenarios(), seconds()), func(s scenario) bool { return s.name == f.scenario }) {
			t.Errorf("%s: there is no scenario %q", f.Name, f.scenario)
		}
	}
	mutanttest.Fit(t, set)
}
