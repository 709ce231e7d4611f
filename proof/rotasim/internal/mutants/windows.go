package mutants

import flaw "github.com/rota-run/rota/internal/proof/mutant"

// windows are the flaws of partitioners and of tasks that are repartitioned.
func windows() []flaw.Flaw {
	const window, share = "cluster/window.go", "cluster/plan_share.go"
	return []flaw.Flaw{
		flaw.New("a late step of a window counts", window,
			"case p.Step != c.Step:", "case p.Step < c.Step:"),
		flaw.New("a former partitioner's step counts", window,
			"		why = p.owned(c.Token)\n", "		why = p.owned(p.Token)\n"),
		flaw.New("a step of a window forgets its cursor", window,
			"p.Step, p.Cursor = p.Step+1, c.Cursor", "p.Step = p.Step+1"),
		flaw.New("what is done stays in the window", window,
			"			d.removePartition(id)\n", "			_ = id\n"),
		flaw.New("items move to even the load", window,
			"if kindOf(c) != kindWindows || m.Draining", "if kindOf(c) == kindWindows || m.Draining"),
		flaw.New("new shares run beside old ones", "cluster/plan_share.go",
			"	if leaving {\n", "	if leaving && len(held) > 0 {\n"),
		flaw.New("a lost share is not made up for", "cluster/plan_share.go",
			" || p.Count != int64(len(held))", ""),
		flaw.New("every share is the first", "cluster/plan_share.go",
			"Index: int64(i), Count:", "Index: 0 * int64(i), Count:"),
	}
}
