package fold

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

func newFlaw(name, file, found string, oldNew ...string) mutanttest.Flaw {
	return mutanttest.New(name, "store/internal/fold/"+file, found, oldNew...)
}

// flaws are what could be wrong with the code, each found by a test that it names.
func flaws() []mutanttest.Flaw {
	return []mutanttest.Flaw{
		newFlaw("a put is done whatever the version", "step.go", "TestModel", "case present.version != o.expect:",
			"case o.kind == kindDelete && present.version != o.expect:"),
		newFlaw("a delete is done whatever the version", "step.go", "TestModel", "case present.version != o.expect:",
			"case o.kind == kindPut && present.version != o.expect:"),
		newFlaw("a version counts the changes of a row", "step.go", "TestModel",
			"row{o.name, o.value, r.Index})\n	return o, outcome{version: version(r.Index),",
			"row{o.name, o.value, present.version + 1})\n	return o, outcome{version: version(present.version + 1),"),
		newFlaw("a conflict does not tell what stands there", "step.go", "TestModel",
			"outcome{err: &driver.Conflict{Row: &now}}",
			"outcome{err: &driver.Conflict{Row: &driver.Row{Key: now.Key}}}"),
		newFlaw("a text that names no version is none", "step.go", "TestModel", "		return never\n",
			"		return 0\n"),
		newFlaw("a free leaves the last row", "step.go", "TestModel", "		if key <= to {\n",
			"		if key < to {\n"),
		newFlaw("a snapshot has no versions", "step.go", "TestLateHandle", "row{d.text(), []byte(d.text()), v})",
			"row{d.text(), []byte(d.text()), min(v, 1)})"),
		newFlaw("a snapshot has no names", "step.go", "TestModel", "row{d.text(), []byte(d.text()), v})",
			"row{d.text()[:0], []byte(d.text()), v})"),
		newFlaw("a snapshot says that it is newer than it is", "save.go", "TestLateHandle",
			"Index: s.state.applied, Data", "Index: s.state.applied + 2, Data"),
		newFlaw("a handle begins with the journal alone", "round.go", "TestLateHandle",
			"		case first > 0 && after < first-1:\n", "		case first > 0 && after > head:\n"),
		newFlaw("a snapshot that is replaced while it is looked for is damage", "save.go", "TestSnapshotIsReplaced",
			"n == 0 || bytes.Equal(newest, pointers[n-1])",
			"n == 0 || newest != nil || bytes.Equal(newest, pointers[n-1])"),
		newFlaw("a read does not read the journal", "rows.go", "TestModel",
			"	if err := s.catchUp(ctx, s.o.Confirm && !q.Stale); err != nil {",
			"	if err := ctx.Err(); err != nil {"),
		newFlaw("a reading that began before counts", "round.go", "TestReadingThatBeganBefore",
			"	return s.done > asked\n", "	return s.done >= asked\n"),
		newFlaw("the end that a leader reports is believed", "round.go", "TestConfirmed",
			"	if confirm {\n		if err := s.mark", "	if false {\n		if err := s.mark"),
		newFlaw("a stale read appends a mark", "rows.go", "TestConfirmed", "s.o.Confirm && !q.Stale", "s.o.Confirm"),
		newFlaw("a mark is of unknown outcome for the reader", "round.go", "TestMarkOfUnknownOutcome",
			"	return inner.NotDone(err)\n", "	_ = inner.NotDone\n	return err\n"),
		newFlaw("a change is applied before what lies in front of it", "round.go", "TestModel",
			"	if s.applied()+1 != r.Index {", "	if s.applied()+1 > r.Index {"),
		newFlaw("an append with a lost answer is called not done", "rows.go", "TestModel",
			"		return outcome{}, inner.Because(ctx, err)\n",
			"		return outcome{}, inner.Because(ctx, inner.NotDone(err))\n"),
		newFlaw("records that are no operations end the reading", "step.go", "TestForeignRecords",
			"		s.skipped++\n", "		panic(\"not an operation\")\n"),
		newFlaw("the journal is never trimmed", "save.go", "TestLateHandle", "err == nil && r.Index > kept {",
			"err == nil && r.Index < kept {"),
		newFlaw("a due snapshot is forgotten", "save.go", "TestSnapshots", "		if s.saving = false; s.due {",
			"		if s.saving = false; false {"),
		newFlaw("a snapshot makes another one due", "round.go", "TestSaveOfASave", " && o.key != s.log.PointerKey()",
			""),
		newFlaw("nobody is told of a change", "round.go", "TestHints", "		if out.hints {\n",
			"		if false {\n"),
		newFlaw("a heartbeat gives a hint", "step.go", "TestHints", "hints: o.kind == kindPut}", "hints: true}"),
		newFlaw("a watch goes on when it cannot read", "watch.go", "TestHints", "			t.end(err)\n",
			"			continue\n"),
	}
}

func TestFlawsFit(t *testing.T) {
	t.Parallel()
	mutanttest.Fit(t, mutanttest.Set(flaws()))
}

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "store/internal/fold", flaws(), "-test.timeout", "20s", "-rapid.nofailfile",
		"-rapid.shrinktime", "1s", "-rapid.seed", "1", "-rapid.checks", "2000")
}
