package doclog

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

func newFlaw(name, file, found string, oldNew ...string) mutanttest.Flaw {
	return mutanttest.New(name, "store/doclog/"+file, found, oldNew...)
}

// flaws are what could be wrong with the code, each found by a test that it names.
func flaws() []mutanttest.Flaw {
	return []mutanttest.Flaw{
		newFlaw("an append does not look at the base afterwards", "append.go", "TestEveryInterleaving/^an appender and a trimmer$",
			"	if m.Base < index {", "	if m.Base >= 0 {"),
		newFlaw("an append below the base is made again", "append.go", "TestEveryInterleaving/^an appender that is passed$",
			"return index, l.confirm(ctx, index, s.version)",
			"err := l.confirm(ctx, index, s.version)\nvar below belowError\nif !errors.As(err, &below) {\nreturn index, err\n}\ncontinue"),
		newFlaw("an append whose base cannot be read is called not done", "append.go", "TestEveryInterleaving/^two appenders, two faults$",
			"		return unknown(err)\n	}\n	if m.Base < index {", "		return err\n	}\n	if m.Base < index {"),
		newFlaw("an append whose answer was lost is called not done", "append.go", "TestEveryInterleaving/^two appenders, two faults$",
			"			lost = err\n		case lost != nil:", "			return stand{}, nil\n		case lost != nil:"),
		newFlaw("an index taken by a lost create counts as another's", "append.go", "TestEveryInterleaving/^two appenders, two faults$",
			"return l.whose(ctx, index, e.name)", "return stand{}, nil"),
		newFlaw("an index that was trimmed and taken again counts as another's", "append.go", "TestEveryInterleaving/^two appenders that are passed, one reply lost$",
			"	if m.Base >= index {", "	if m.Base > index && m.Base < index {"),
		newFlaw("the seed at the first index is passed by", "append.go", "TestEveryInterleaving/^a seed and two appenders$",
			"	if index > 1 {\n		l.reached", "	if index > 0 {\n		l.reached"),
		newFlaw("a seed is put into a log in use", "seed.go", "TestEveryInterleaving/^a seed of a log in use$",
			"if m.Base == 0 {", "if m.Base < index {"),
		newFlaw("a trim removes before it raises the base", "trim.go", "TestEveryInterleaving/^an appender, a trimmer and a reader$",
			"	m, err := l.change(ctx", "	if m, _, err := l.readMeta(ctx); err == nil {\nm.Base = max(m.Base, min(index, m.Snapshot.Index))\n_ = l.free(ctx, m)\n}\n	m, err := l.change(ctx"),
		newFlaw("a trim passes the snapshot", "trim.go", "TestLog/memory/trim_never",
			"min(index, m.Snapshot.Index)", "index"),
		newFlaw("a trim removes what is behind the base", "trim.go", "TestEveryInterleaving/^two trims of one snapshot$",
			"ok && index <= m.Base {", "ok && index > 0 {"),
		newFlaw("a trim believes the list", "trim.go", "TestEveryInterleaving/^a trimmer, lists lag$",
			"		if gone[index] {", "		if true {"),
		newFlaw("the head comes from a list", "head.go", "TestEveryInterleaving/^two appenders and a reader, lists lag$",
			"	low, step := from, uint64(1)\n", "	docs, err := l.docs.List(ctx, l.entries())\nif n := len(docs); n > 0 && err == nil {\nif last, _ := l.indexOf(docs[n-1].Key); last > from {\nreturn last, nil\n}\n}\nif err == nil {\nreturn from, nil\n}\n	low, step := from, uint64(1)\n"),
		newFlaw("the head is the one that is remembered", "read.go", "TestEveryInterleaving/^two appenders and a reader$",
			"head, err = l.probe(ctx, last)", "head = max(from, last)"),
		newFlaw("a read looks at the base first", "read.go", "TestEveryInterleavingOneByOne/^an appender, a trimmer and a reader$",
			"records, ended, err := l.run(", "early, _, _ := l.readMeta(ctx)\n		records, ended, err := l.run(",
			"head, m := last, g.meta", "head, m := last, &early", "m = nil\n			head, err = l.probe(ctx, from)", "head, err = l.probe(ctx, from)"),
		newFlaw("one request reads the base before the records", "read.go", "TestEveryInterleaving/^a look while it is trimmed$",
			"keys := make([]string, 0, n+1+len(g.keys))", "keys := append(make([]string, 0, n+1+len(g.keys)), l.metaKey())",
			"keys = append(append(keys, l.metaKey()), g.keys...)", "keys = append(keys, g.keys...)",
			"	docs, err := l.many.Gets(ctx, keys)\n", "	docs, err := l.many.Gets(ctx, keys)\nif err == nil {\ndocs = append(append(slices.Clone(docs[1:n+1]), docs[0]), docs[n+1:]...)\n}\n"),
		newFlaw("one request takes the known record for the base", "read.go", "TestEveryInterleaving/^a look while it is trimmed$",
			"keys = append(append(keys, l.metaKey()), g.keys...)", "keys = append(append(keys, l.entryKey(first-1)), g.keys...)",
			"	m, err := l.metaOf(docs[n])\n	g.meta = &m\n", "	g.meta = nil\nif docs[n].Version != \"\" {\ng.meta = &meta{}\n}\n",
			"		for i := range n {\n			if err := do(i)", "		for i := n - 1; i >= 0; i-- {\n			if err := do(i)"), // several removals are under way at once
		newFlaw("a read does not look whether a gap was trimmed", "read.go", "TestEveryInterleaving/^a reader ahead of its memory$",
			"case head < base:", "case false:"),
		newFlaw("a snapshot is named before its parts are there", "snapshot.go", "TestEveryInterleaving/^two trimmers and a reader$",
			"	if err := l.writeParts(ctx, p, s.Data); err != nil {\n		return err\n	}\n", "",
			"	l.sweepParts(ctx, m.Snapshot)\n", "	if err := l.writeParts(ctx, p, s.Data); err != nil {\n		return err\n	}\n	l.sweepParts(ctx, m.Snapshot)\n"),
		newFlaw("an older snapshot replaces a newer one", "snapshot.go", "TestEveryInterleaving/^two trimmers$",
			"		if m.Snapshot.Index < p.Index {", "		if m.Snapshot != p {"),
		newFlaw("parts of newer snapshots are removed", "snapshot.go", "TestEveryInterleaving/^two trimmers$",
			"ok && index <= current.Index && name", "ok && index > 0 && name"),
		newFlaw("parts of older snapshots stay", "snapshot.go", "TestEveryInterleaving/^two trimmers$",
			"ok && index <= current.Index && name", "ok && index > current.Index && name"),
	}
}

func TestFlawsFit(t *testing.T) {
	t.Parallel()
	mutanttest.Fit(t, mutanttest.Set(flaws()))
}
