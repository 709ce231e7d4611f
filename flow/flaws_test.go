package flow

import (
	"slices"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/mutant"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

// flaw is a flaw of a deciding function, and the scenario that finds it: by one of these promises.
type flaw struct {
	mutant.Flaw
	scenario string
	promises []string
}

func breaks(name, file, old, flawed, scenario string, promises ...string) flaw {
	return flaw{mutant.New(name, "flow/"+file, old, flawed), scenario, promises}
}

// flaws are what could be wrong with the code.
func flaws() []flaw {
	return []flaw{
		breaks("an input is acknowledged before it is committed", "commit.go",
			"c.now, c.output, c.steady = Output, 0, true", "c.now, c.output, c.steady = Acknowledge, 0, true", "a worker dies, no transactions", promiseKept, promiseSink),
		breaks("a unit is never acknowledged", "commit.go",
			"	c.now = Acknowledge\n	return c, c.now, 0\n}", "	c.now = Committed\n	return c, c.now, 0\n}", "a worker dies, no transactions", check.NoGoodEnd),
		breaks("a record of somebody else is passed over", "commit.go",
			"case c.now == Record && a == Exists:", "case c.now == Record && a == Exists && c.output > 0:", "halves, a worker dies", promiseHalves),
		breaks("outputs are written without a record", "commit.go",
			"if steady && outputs == 1 {", "if steady || outputs > 1 {", "halves, a worker dies", promiseHalves),
		breaks("a record of more outputs is cut off", "commit.go",
			"		c.outputs = recorded", "		c.outputs = min(recorded, 1)", "halves, a worker dies", promiseKept, promiseSink),
		breaks("one drained shard is enough", "step.go",
			"case !slices.Contains(s.drained, false):", "case slices.Contains(s.drained, true):", "no fault", promiseKept, promiseSeal, promiseSink),
		breaks("a shard that has nothing is taken for drained", "step.go",
			"		s.idle = true\n		return Effect{Do: Look}", "		return s.seal(0)", "two workers, a lease ends", promiseKept, promiseSeal, promiseSink),
		breaks("a worker stops when its ingress is drained", "step.go",
			"		return s.seal(0)\n	case e.Held", "		return Effect{Do: End}\n	case e.Held", "no fault", promiseEnd),
		breaks("a worker ends when it has sealed", "step.go",
			"	return Effect{Do: Complete}\n}", "	return Effect{Do: End}\n}", "no fault", promiseEnd),
		breaks("one seal for all shards", "step.go",
			"	case from < s.Out:", "	case from < 1:", "no fault", promiseComplete),
		breaks("the task is complete before the seals", "step.go",
			"	case from < s.Out:\n		return Effect{Do: Seal, Shard: from}\n	case s.Sink:", "	case s.Sink:", "no fault", promiseComplete),
		breaks("the sink is never sealed", "step.go",
			"	case s.Sink:", "	case s.Sink && s.In == 0:", "no fault", promiseSink),
		breaks("the sink is sealed by each worker that finds nothing", "step.go",
			"	case e.Held || idle:\n", "	case idle && s.Sink:\n		return Effect{Do: Close}\n	case e.Held || idle:\n", "two workers, a lease ends", promiseSink),
		breaks("a failed call is taken for done", "step.go",
			"	s.blind = true // nothing", "	if s.now.Do == Seal || s.now.Do == Complete {\n		return s.done()\n	}\n	s.blind = true // nothing", "a call fails, an answer is lost", promiseComplete, promiseEnd),
		breaks("a failed look is taken for the end", "step.go",
			"	s.blind = true // nothing", "	if s.now.Do == Look {\n		return s.seal(0)\n	}\n	s.blind = true // nothing", "a call fails, an answer is lost", promiseKept, promiseSeal, promiseSink),
		breaks("a later look takes back what was drained", "step.go",
			"s.drained[i] = s.drained[i] || d", "s.drained[i] = !d && s.drained[i]", "no fault", check.NoGoodEnd),
		breaks("a worker waits for ever after a pause", "step.go",
			"	if s.blind {\n		return Effect{Do: Look}\n	}\n	return s.receive(s.First)", "	return Effect{Do: Pause}", "no fault", check.NoGoodEnd),
		breaks("only the first shard is received from", "step.go",
			"at := (from + i) % s.In; !s.drained[at]", "at := i % s.In; !s.drained[at] && at == 0", "no fault", check.NoGoodEnd),
	}
}

// TestFlawsFit looks whether each flaw can still be laid over the source, and names a scenario. The build tag proof builds and finds them.
func TestFlawsFit(t *testing.T) {
	t.Parallel()
	var set mutant.Set
	for _, f := range flaws() {
		set = append(set, f.Flaw)
		if !slices.ContainsFunc(scenarios(), func(s scenario) bool { return s.name == f.scenario }) {
			t.Errorf("%s: there is no scenario %q", f.Name, f.scenario)
		}
	}
	mutanttest.Fit(t, set)
}
