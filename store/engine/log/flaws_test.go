package log

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

// newFlaw is a flaw that is found by the scenarios of a name.
func newFlaw(name, file, found string, oldNew ...string) mutanttest.Flaw {
	return mutanttest.New(name, "store/engine/"+file, "TestEveryInterleaving/^"+found+"$", oldNew...)
}

// with names a scenario in which records are written with the head.
func with(scenario string) string { return "TestEveryInterleavingWith/^" + scenario + "$" }

// newJournalFlaw is a flaw that is found by the scenarios of a name where the store orders the log.
func newJournalFlaw(name, file, found string, oldNew ...string) mutanttest.Flaw {
	return mutanttest.New(name, "store/engine/log/"+file, "TestEveryInterleavingJournal/^"+found+"$", oldNew...)
}

func newValuesFlaw(name, found string, oldNew ...string) mutanttest.Flaw {
	return mutanttest.New(name, "store/engine/log/snapshot.go", "TestEveryInterleavingValues/^"+found+"$", oldNew...)
}

// flaws are what could be wrong with the code, each found by a test that it names. Most were flaws of the log of
// documents before it (decision 24) first.
func flaws() []mutanttest.Flaw {
	return append([]mutanttest.Flaw{
		newFlaw("a conflict with oneself is the outcome", "step_settle.go", "two appenders, two faults",
			"case err == nil, a.lost == nil, a.op.Once && errors.Is(err, store.ErrConflict):",
			"case err == nil, a.lost == nil, errors.Is(err, store.ErrConflict):"),
		newFlaw("a lost answer is the outcome not done", "step_settle.go", "two appenders, two faults",
			"	return &Doubt{Why: a.lost, Row: &row}\n", "	return &driver.Conflict{Row: &row}\n"),
		newFlaw("what may still come is called refused", "step_settle.go", "two appenders, two faults",
			"		return &Doubt{Why: a.lost} // it may still come", "		return store.ErrUnavailable"),
		newFlaw("a refusal behind a lost answer is the outcome", "step_settle.go", "an appender, three faults",
			"case err == nil, a.lost == nil, a.op.Once",
			"case err == nil, a.lost == nil, !unknown && !errors.Is(err, store.ErrConflict), a.op.Once",
			"	unknown := errors.Is(err, store.ErrUnknown)\n	if unknown {\n		a.lost = err\n	}",
			"	unknown := errors.Is(err, store.ErrUnknown)\n	if unknown {\n		a.lost = err\n	} else if a.lost != nil && !errors.Is(err, store.ErrConflict) {\n		a.lost = nil\n	}"),
		newFlaw("an append with a lost answer is made anew", "log/append.go", "two appenders, two faults",
			"		return who == ours, nil", "		return false, nil"),
		newFlaw("an append in a page is made anew", "log/append.go", "an appender that is passed, one fault",
			"	return p.has(index, name), nil", "	return p.has(index, name) && index == 0, nil"),
		newFlaw("an append whose page was freed is made anew", "log/append.go", "an appender that is passed, one fault",
			"		return false, err // it was trimmed, and freed", "		return false, nil"),
		newFlaw("an append whose page cannot be read is called not done", "log/append.go",
			"an appender that is passed, two faults",
			"	row, failed := l.rows.Get(ctx, l.pageKey(s.pageEnd(index)))\n	if failed != nil {\n		return false, errors.Join(err, failed)",
			"	row, failed := l.rows.Get(ctx, l.pageKey(s.pageEnd(index)))\n	if failed != nil {\n		return false, failed"),
		newFlaw("an append with a lost answer counts as done", "log/append.go", "two appenders, two faults",
			"		return who == ours, nil", "		return true, nil"),
		newFlaw("a page is written behind the swap", "log/append.go", "two appenders and a reader",
			"		for _, p := range s.full() {\n			if err := l.rows.Once(ctx, l.pageKey(s.pageEnd(p.after+1)), p.encode(nil)); err != nil {\n				return 0, err\n			}\n		}\n", "",
			"		done, err := l.outcome(",
			"		for _, p := range s.full() {\n			if err := l.rows.Once(ctx, l.pageKey(s.pageEnd(p.after+1)), p.encode(nil)); err != nil {\n				return 0, err\n			}\n		}\n		done, err := l.outcome("),
		newFlaw("a page that could not be written is dropped", "log/append.go", "an appender, three faults",
			"p.encode(nil)); err != nil {\n				return 0, err",
			"p.encode(nil)); err != nil && ctx.Err() != nil {\n				return 0, err"),
		newFlaw("a seed is put into a log in use", "log/seed.go", "a seed, an appender and a reader",
			"		if s.end() == 0 {", "		if s.base < index {"),
		newFlaw("a seed with another index counts as ours", "log/seed.go", "two seeds",
			"!s.unused() || s.first != index", "!s.unused()"),
		newFlaw("a trim frees before it raises the base", "log/trim.go", "an appender, a trimmer and a reader",
			"	s, err := l.change(ctx",
			"	if _, early, err := l.head(ctx); err == nil {\n		_ = l.free(ctx, early.trimmed(min(index, snap.Index)))\n	}\n	s, err := l.change(ctx"),
		newFlaw("a trim frees what is behind the base", "log/trim.go", "a look at what a trim leaves",
			"end <= s.base; end", "end <= s.end(); end"),
		newFlaw("a trim believes the list", "log/trim.go", "a trimmer, lists lag",
			"	for end := first; end <= s.base; end += s.size {",
			"	for end := first; end < first; end += s.size {"),
		newFlaw("a page that came late stays", "log/trim.go", "a page that comes late",
			"l.list(ctx, l.pageKey(0), l.pageKey(first))", "l.list(ctx, l.pageKey(first), l.pageKey(first))"),
		newFlaw("a trim passes the snapshot", "log/trim.go", "a trim beyond the snapshot",
			"s.trimmed(min(index, snap.Index))", "s.trimmed(index)"),
		newFlaw("a read looks at the head first", "log/read.go", "an appender, a trimmer and a reader",
			"q.Keys = append(pages, q.Keys...)", "q.Keys = append(q.Keys, pages...)",
			"append(rows.Range, rows.Keys[:n-1]...), rows.Keys[n-1]", "rows.Keys[1:], rows.Keys[0]"),
		mutanttest.New("records are written behind the head", "store/engine/log/append.go",
			with("two appenders and a reader"),
			"next, name, l.pages(pages)...)",
			"next, name)\n		for _, op := range l.pages(pages) {\n			_, _ = l.rows.Put(ctx, op)\n		}"),
		mutanttest.New("records are written before the head", "store/engine/log/append.go", with("two appenders"),
			"		err = l.swap(ctx, row, next, name, l.pages(pages)...)",
			"		for _, op := range l.pages(pages) {\n			_, _ = l.rows.Put(ctx, op)\n		}\n		err = l.swap(ctx, row, next, name)"),
		mutanttest.New("an empty range is the end of the log", "store/engine/log/read.go",
			with("an appender and a reader, lists lag"),
			"} else if len(all) == 0 {", "} else if len(all) == 0 && !ranged {"),
		mutanttest.New("a range that leaves a record out is read on", "store/engine/log/read.go", "TestRangeWithAGap",
			"			return rows[:i]", "			break"),
		mutanttest.New("a record that is missing where it may be is damage", "store/engine/log/read.go",
			"TestEveryInterleavingByNames/^two appenders and a reader$",
			"		if row.Version == \"\" {\n			return nil, nil",
			"		if row.Version == \"no\" {\n			return nil, nil"),
		mutanttest.New("records of a head that has just been read leave one out", "store/engine/log/read.go",
			"TestEveryInterleavingByNames/^two appenders and a reader$",
			"more, err = l.named(ctx, s, last, limit-len(all))", "more, err = l.named(ctx, s, last+1, limit-len(all))"),
		newFlaw("a read takes the head that is remembered", "log/read.go", "two appenders and a reader",
			"		s, err := l.learn(head)",
			"		s, err := l.learn(head)\n		if known.end() > 0 {\n			s = known\n		}"),
		newFlaw("a read does not say that records were trimmed", "log/read.go", "an appender, a trimmer and a reader",
			"		case after < s.base:", "		case after > s.end():"),
		newFlaw("a snapshot is named before its parts are there", "log/snapshot.go", "a saver, two faults",
			"			return p, err\n", "			continue\n"),
		newFlaw("an older snapshot replaces a newer one", "log/snapshot.go", "two savers",
			"now.Index < r.Index; {", "now.Index != p.Index; {"),
		newFlaw("a snapshot that is replaced while it is read is damage", "log/snapshot.go",
			"a saver and a reader of the snapshot",
			"		if now.Version == row.Version { // else", "		if now.Version != \"\" { // else"),
		newFlaw("parts of newer snapshots are removed", "log/snapshot.go", "two savers",
			`l.key(fmt.Sprintf("s/%020d.", p.Index))`, `l.key(fmt.Sprintf("s0%.0d", p.Index*0))`),
		newFlaw("parts of older snapshots stay", "log/snapshot.go", "two savers",
			"	others := [][]string{keys}\n", "	others := [][]string{nil}\n",
			"others = [][]string{keys[:from], slices", "others = [][]string{nil, slices"),
		newFlaw("a blob is used however late", "log/blob.go", "an appender of a blob that is passed",
			"	if b.entries != nil && index+uint64(len(b.records))-1 <= b.hint+l.reach {",
			"	if b.entries != nil {"),
		newFlaw("blobs are freed up to the base", "log/trim.go", "a trim beside an appender of a blob",
			"s.base-l.reach)))", "s.base)))"),
		newFlaw("a blob is written behind the swap", "log/blob.go", "two appenders of blobs and a reader",
			"l.rows.Once(ctx, l.blobKey(e.ref), data); err != nil {", "ctx.Err(); err != nil {"),
		newFlaw("a blob that is trimmed is damage", "log/blob.go", "a look at a blob while it is trimmed",
			"	if err == nil && f.index <= s.base {", "	if err == nil && f.index < 0 {"),
	}, journalFlaws()...)
}

func journalFlaws() []mutanttest.Flaw {
	return []mutanttest.Flaw{
		newJournalFlaw("an append to a journal with a lost answer is made anew", "append.go",
			"two appenders, two faults",
			"		indexes, err = l.order.Append(ctx, records)\n",
			"		indexes, err = l.order.Append(ctx, records)\n		if errors.Is(err, store.ErrUnknown) {\n			indexes, err = l.order.Append(ctx, records)\n		}\n"),
		newJournalFlaw("a lost answer of a journal is the outcome not done", "append.go", "two appenders, two faults",
			"		indexes, err = l.order.Append(ctx, records)\n",
			"		indexes, err = l.order.Append(ctx, records)\n		if errors.Is(err, store.ErrUnknown) {\n			err = store.ErrUnavailable\n		}\n"),
		newJournalFlaw("a read of a journal does not say that records were trimmed", "journal.go",
			"an appender, a trimmer and a reader",
			"	case first > 0 && after < first-1:", "	case first > 0 && after > head:"),
		newJournalFlaw("a trim of a journal passes the snapshot", "trim.go", "a trim beyond the snapshot",
			"l.trimJournal(ctx, min(index, snap.Index))", "l.trimJournal(ctx, index)"),
		newJournalFlaw("a trim frees a journal before it looks for the snapshot", "trim.go",
			"a trim beyond the snapshot",
			"	snap, _, err := l.pointer(ctx)\n",
			"	if l.order != nil {\n		_ = l.trimJournal(ctx, index)\n	}\n	snap, _, err := l.pointer(ctx)\n"),
		newValuesFlaw("a snapshot names values that were put before another one", "two savers",
			"if p.Index == 0 || l.values != nil {", "if p.Index == 0 {"),
		newValuesFlaw("values of older snapshots stay", "two savers",
			"		if len(p.At) > 0 {", "		if len(p.At) > 1 {"),
		newValuesFlaw("the values before are freed before the snapshot is named",
			"a saver and a reader of the snapshot",
			"		p.At, err = l.values.PutValues(ctx, parts)\n",
			"		if p.At, err = l.values.PutValues(ctx, parts); err == nil {\n			l.sweep(ctx, p)\n		}\n"),
		mutanttest.New("a journal with a snapshot is begun again", "store/engine/log/journal.go", "TestSeedJournal",
			`	if err == nil && saved != "" {`, `	if err == nil && saved != "" && index == 0 {`),
		mutanttest.New("records of a batch are counted from the first", "store/engine/log/batch.go",
			"TestBatchOfAJournal",
			"			r.index = indexes[i]", "			r.index = indexes[0] + uint64(i)"),
		mutanttest.New("records for an append are not weighed", "store/engine/log/batch.go", "TestTurnsOfAJournal",
			"size > min(batchBytes, limits.Swap)", "size > 2*min(batchBytes, limits.Swap)"),
		mutanttest.New("a record that is too large for others has no turn", "store/engine/log/batch.go",
			"TestTurnsOfAJournal",
			"		if n > 0 && l.order != nil", "		if l.order != nil"),
		mutanttest.New("who leaves ends the append of the others", "store/engine/log/batch.go", "TestWhoLeavesATurn",
			"t.left == 0 {", "t.left >= 0 {"),
		mutanttest.New("an append goes on when nobody waits", "store/engine/log/batch.go", "TestWhoLeavesATurn",
			"t.left == 0 {", "t.left < 0 {"),
		mutanttest.New("a snapshot beyond the end of a journal is saved", "store/engine/log/journal.go",
			"TestLogJournal",
			"	return max(first, 1) - 1, end, err", "	return max(first, 1) - 1, end + 1000, err"),
		mutanttest.New("losers come back at once", "store/engine/log/append.go", "TestManyHandles/^8$",
			"c.lose(took, sumOf([]byte(name)))", "min(0, c.lose(took, sumOf([]byte(name))))"),
		mutanttest.New("losers come back together", "store/engine/log/step_contest.go", "TestPause",
			"time.Duration(seed>>16)", "time.Duration(seed>>32)"),
		mutanttest.New("a loser waits for ever longer", "store/engine/log/step_contest.go", "TestPause",
			"min(c.lost, doublings)", "min(c.lost, 30)"),
	}
}

func TestFlawsFit(t *testing.T) {
	t.Parallel()
	mutanttest.Fit(t, mutanttest.Set(flaws()))
}

func TestFlawsAreFound(t *testing.T) {
	t.Parallel()
	mutanttest.AreFound(t, "store/engine/log", flaws())
}
