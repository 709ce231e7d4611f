package lease

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

// flaws are those that a member meets too seldom for the simulator: the story that is named finds them. Those of rotasim mutants are met by seeds and walks.
func flaws() []mutanttest.Flaw {
	const decide, facts, pass, calls = "step_decide.go", "step_facts.go", "step_pass.go", "calls.go"
	return []mutanttest.Flaw{
		newFlaw("an index that was taken long before counts", decide, "TestAnIndexTakenLongBefore",
			"if w.index <= max(was.doc.Submitted, was.job.SpecIndex, f.config.Forgotten) {", "if w.index == 0 {"),
		newFlaw("an index from before a job was forgotten counts", decide, "TestAnIndexTakenLongBefore",
			"was.job.SpecIndex, f.config.Forgotten) {", "was.job.SpecIndex) {"),
		newFlaw("shares of a former layout are claimed", facts, "TestSharesOfAFormerLayout",
			"p.doc.State == gone || f.superseded(p) {", "p.doc.State == gone {"),
		newFlaw("shares are offered under the layout of another leader", pass, "TestOldListLaysOutNothing",
			"return p.laid != \"\" && p.f.jobs[job].doc.Layouts[task] == p.laid", "return p.f.jobs[job].doc.Layouts[task] != \"\""),
		newFlaw("slots that an old list does not show count as free", pass, "TestOldListLaysOutNothing",
			"for n := range m.Slots {", "for n := range m.Slots * 0 {"),
		newFlaw("a survey reads the Node List first", calls, "TestASurveyIsNotOneInstant",
			"	case key == keyNodes:\n		return 3\n", "	case key == keyNodes:\n		return -1\n"),
		newFlaw("a survey reads a job before its partitions", calls, "TestASurveyIsNotOneInstant",
			"	return 1\n}\n\n// jobsOf", "	return -1\n}\n\n// jobsOf"),
		newFlaw("a leader numbers its views by its board alone", "step_lead.go", "TestViewsOfAnotherLeader",
			"	s.lead.view = max(s.lead.view, ev.Newest)\n", ""),
	}
}

func newFlaw(name, file, found string, oldNew ...string) mutanttest.Flaw {
	return mutanttest.New(name, "protocol/lease/"+file, "^"+found+"$", oldNew...)
}

func TestFlawsFit(t *testing.T) {
	t.Parallel()
	mutanttest.Fit(t, mutanttest.Set(flaws()))
}
