package logdocs

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

func newFlaw(name, file, found string, oldNew ...string) mutanttest.Flaw {
	return mutanttest.New(name, "store/internal/logdocs/"+file, found, oldNew...)
}

// flaws are what could be wrong with the code, each found by a test that it names.
func flaws() []mutanttest.Flaw {
	return []mutanttest.Flaw{
		newFlaw("a put is done whatever the version", "step.go", "TestModel", "case present.version != o.expect:", "case o.kind == kindDelete && present.version != o.expect:"),
		newFlaw("a delete is done whatever the version", "step.go", "TestModel", "case present.version != o.expect:", "case o.kind == kindPut && present.version != o.expect:"),
		newFlaw("a version counts the changes of a document", "step.go", "TestModel",
			"doc{value: o.value, version: r.Index}\n	return o, outcome{version: r.Index,", "doc{value: o.value, version: present.version + 1}\n	return o, outcome{version: present.version + 1,"),
		newFlaw("a deletion of what is not there is done", "step.go", "TestModel", "return o, outcome{err: store.ErrNotFound}", "return o, outcome{changed: true}"),
		newFlaw("a conflict is called not found", "step.go", "TestModel", "return o, outcome{err: store.ErrConflict}", "return o, outcome{err: store.ErrNotFound}"),
		newFlaw("a text that names no version is none", "store.go", "TestModel", "if !ok || k == kindDelete", "if !ok && false || k == kindDelete"),
		newFlaw("a delete without a version removes nothing in silence", "store.go", "TestModel", "if !ok || k == kindDelete && expect == 0 {", "if k == kindDelete && expect == 0 {\nreturn 0, nil\n}\nif !ok {"),
		newFlaw("a snapshot has no versions", "step.go", "TestLateHandle", "		d.value = []byte(value)\n", "		d.value, d.version = []byte(value), 1\n"),
		newFlaw("a snapshot says that it is newer than it is", "round.go", "TestModel", "s.state.encode(), s.state.applied\n", "s.state.encode(), s.state.applied+1\n"),
		newFlaw("a handle begins with the log alone", "round.go", "TestLateHandle", "if errors.Is(err, store.ErrTruncated) {", "if false {", "if !s.hasBegun() {\n		if err := s.load", "if false {\n		if err := s.load"),
		newFlaw("a get does not read the log", "store.go", "TestModel",
			"	if err := s.catchUp(ctx, s.o.Confirm); err != nil {\n		return store.Doc{}, err\n	}\n	s.mu.Lock()", "	s.mu.Lock()"),
		newFlaw("a reading that began before counts", "round.go", "TestReadingThatBeganBefore",
			"		r := s.next\n		s.next = nil\n", "		r := s.next\n", "		close(r.done)\n", "		s.mu.Lock()\n		s.next = nil\n		s.mu.Unlock()\n		close(r.done)\n"),
		newFlaw("the end that a leader reports is believed", "round.go", "TestConfirmed", "	if confirm {\n", "	if false {\n"),
		newFlaw("a mark is appended, and not read", "round.go", "TestConfirmed", "case at >= least && (", "case ("),
		newFlaw("an append whose answer was lost is not looked for", "store.go", "TestModel",
			"if lost != nil && !errors.Is(lost, store.ErrUnknown) {", "if lost != nil {"),
		newFlaw("an append that is not found is called not done", "store.go", "TestModel",
			"	case lost != nil:\n		return 0, lost\n", "	case lost != nil:\n		return 0, store.ErrConflict\n"),
		newFlaw("an observer writes", "store.go", "TestReadOnly", "if s.o.ReadOnly {", "if false {"),
		newFlaw("records that are no operations end the reading", "step.go", "TestForeignRecords", "		s.skipped++\n", "		panic(\"not an operation\")\n"),
		newFlaw("the log is never trimmed", "round.go", "TestLateHandle", "err == nil && r.Index > kept {", "err == nil && r.Index < kept {"),
		newFlaw("nobody is told of a change", "round.go", "TestWatch/plain/hint after a change", "		if out.changed {\n", "		if false {\n"),
	}
}

func TestFlawsFit(t *testing.T) {
	t.Parallel()
	mutanttest.Fit(t, mutanttest.Set(flaws()))
}
