package mutants

import (
	"context"
	"path/filepath"
	"sync"
)

// story is a test of a package. It notices a flaw in any run, where seeds and walks of the checker meet the flaw by luck, or only with much time: the right
// read must be old, or the right answer late.
type story struct{ pkg, test string }

// stories are those of the flaws that are looked for by one. A flaw that its story does not notice has survived.
func stories() map[string]story {
	const lease, leader, replica, group = "protocol/lease", "protocol/leader", "protocol/replica", "protocol/sync"
	return map[string]story{
		"a draining member gets partitions":                            {"schedule", "TestBudgetConverges"},
		"an entry inside a snapshot is appended for ever":              {replica, "TestWhatWasAppliedIsNotDenied"},
		"an own entry is applied before those that stand before it":    {replica, "TestOwnEntryBehindOthers"},
		"an urgent look at a heartbeat waits":                          {leader, "TestAnUrgentLookDoesNotWait"},
		"another history is read on":                                   {group, "TestAnotherHistoryIsNotReadOn"},
		"lease: a leader numbers its views by its board alone":         {lease, "TestViewsOfAnotherLeader"},
		"lease: a survey reads a job before its partitions":            {lease, "TestASurveyIsNotOneInstant"},
		"lease: a survey reads the Node List first":                    {lease, "TestASurveyIsNotOneInstant"},
		"lease: an index from before a job was forgotten counts":       {lease, "TestAnIndexTakenLongBefore"},
		"lease: an index that was taken long before counts":            {lease, "TestAnIndexTakenLongBefore"},
		"lease: shares are offered under the layout of another leader": {lease, "TestOldListLaysOutNothing"},
		"lease: shares of a former layout are claimed":                 {lease, "TestSharesOfAFormerLayout"},
		"lease: slots that an old list does not show count as free":    {lease, "TestOldListLaysOutNothing"},
		"lease: what an old list shows counts":                         {lease, "TestOldListMakesNothing"},
		"lease: what an old read does not show is given up":            {lease, "TestOldReadsTakeNothing"},
	}
}

// layer is the one that plays the story.
func (s story) layer() layer {
	return layer{name: Story, args: []string{"-test.run", "^" + s.test + "$", "-test.timeout", "60s"}, pkg: s.pkg}
}

// tests is the program with the tests of a package and all flaws in them. It is built when the first story of the package is played.
func (p *program) tests(ctx context.Context, pkg string) (string, error) {
	p.mu.Lock()
	build, ok := p.built[pkg]
	if !ok {
		build = sync.OnceValues(func() (string, error) {
			return p.flaws.BuildTests(ctx, p.root, filepath.Join(p.dir, filepath.FromSlash(pkg)), "./"+pkg)
		})
		p.built[pkg] = build
	}
	p.mu.Unlock()
	return build()
}
