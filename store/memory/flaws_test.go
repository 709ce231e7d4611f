package memory

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

func newFlaw(name, found string, oldNew ...string) mutanttest.Flaw {
	return mutanttest.New(name, "store/memory/step_group.go", found, oldNew...)
}

// flaws are what could be wrong with the group, each found by a test that it names.
func flaws() []mutanttest.Flaw {
	return []mutanttest.Flaw{
		newFlaw("a silent member stays", "TestGroup/a silent member", "!m.waits() && t.at >= m.heard+m.session",
			"m.waits() && t.at >= m.heard+m.session"),
		newFlaw("a member that waits for others is silent", "TestGroupWaits", "!m.waits() && t.at >= m.heard+m.session",
			"t.at >= m.heard+m.session"),
		newFlaw("a heartbeat renews nothing", "TestGroup/heartbeats keep",
			"	t.members[i].heard = t.at\n	if t.phase == groupForming {",
			"	_ = i\n	if t.phase == groupForming {"),
		newFlaw("a heartbeat does not say that members join", "TestGroup/a join begins",
			"		return store.ErrRebalance\n	}\n	return nil", "		return nil\n	}\n	return nil"),
		newFlaw("who does not join again stays", "TestGroup/a member that does not join",
			"return m.join == 0 })\n		t.complete()", "return false })\n		t.complete()"),
		newFlaw("nobody waits for those who must join again", "TestGroup/a member that does not join",
			"t.until = t.at + t.patience()\n		if t.opening", "t.until = t.at\n		if t.opening"),
		newFlaw("a follower does not wait for the leader", "TestGroup/a follower waits",
			"	if t.phase == groupCompleting && m.id != t.leader {\n		return\n	}\n", ""),
		newFlaw("an earlier generation counts", "TestGroup/an earlier generation", "case s.Generation != g.generation:",
			"case false:"),
		newFlaw("all members get the list", "TestGroup/the leader gives",
			"	if !m.Leads() {\n		return m\n	}\n", ""),
		newFlaw("an ID is given again", "TestGroupContract", "		t.admitted++\n",
			"		t.admitted = uint64(len(t.members)) + 1\n"),
		newFlaw("who was removed gets no answer", "TestGroupContract",
			"	t.answer(GroupAnswer{Call: m.join, Err: store.ErrSession})\n", ""),
		newFlaw("a second join leaves the first without an answer", "TestGroupContract",
			"	t.answer(GroupAnswer{Call: m.join, Err: store.ErrRebalance})\n", ""),
		newFlaw("a generation that nobody synced is kept", "TestGroupForgets", "	t.Group = kept\n",
			"	kept.generation, kept.leader = t.generation, t.leader\n	t.Group = kept\n"),
		newFlaw("who has left still leads", "TestGroup/the leader leaves", "	if t.find(t.leader) < 0 {",
			"	if t.leader == \"\" {"),
	}
}

func TestFlawsFit(t *testing.T) {
	t.Parallel()
	mutanttest.Fit(t, mutanttest.Set(flaws()))
}

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "store/memory", flaws(), "-test.timeout", "20s", "-rapid.nofailfile", "-rapid.shrinktime",
		"1s", "-rapid.seed", "1", "-rapid.checks", "2000")
}
