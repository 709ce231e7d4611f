package laws

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
)

// Tests finds tests that wait by sleeping, and tests that are skipped without a reason. Sleeping inside synctest.Test
// or virtual.Test is free, since time is virtual there; the pause between two looks at a condition with a deadline, and
// a load that is the passing of time, say so: // waits: why.
func Tests(f *File) []string {
	if !f.Test && !strings.HasSuffix(path.Base(f.Dir), "test") {
		return nil
	}
	names := f.Names()
	virtual, timeouts := virtualTime(f, names), timeoutCases(f)
	var out []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch what := testFault(n, names); {
		case what == "":
		case what == sleeps && (virtual(n) || timeouts[n] || f.said("waits:", n.Pos())):
		default:
			out = append(out, f.At(n.Pos())+": "+what)
		}
		return true
	})
	return out
}

const sleeps = "a test sleeps; wait for a signal, use testing/synctest, or say // waits: why"

func testFault(n ast.Node, names map[string]string) string {
	switch n := n.(type) {
	case *ast.ExprStmt: // <-time.After(d)
		if r, ok := n.X.(*ast.UnaryExpr); ok && r.Op == token.ARROW {
			if call, ok := r.X.(*ast.CallExpr); ok && called(call, names) == "time.After" {
				return sleeps
			}
		}
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		switch {
		case called(n, names) == "time.Sleep":
			return sleeps
		case !ok:
		case sel.Sel.Name == "SkipNow" && len(n.Args) == 0,
			sel.Sel.Name == "Skip" && len(n.Args) == 0 && receiverIsTest(sel):
			return "a test is skipped without a reason"
		}
	}
	return ""
}

func receiverIsTest(sel *ast.SelectorExpr) bool {
	x, ok := sel.X.(*ast.Ident)
	return ok && (x.Name == "t" || x.Name == "b" || x.Name == "f" || x.Name == "tb")
}

// called is the package path and name of a called function of another package; "" for any other call.
func called(call *ast.CallExpr, names map[string]string) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok || names[x.Name] == "" {
		return ""
	}
	return names[x.Name] + "." + sel.Sel.Name
}

// timeoutCases are the statements that wait beside others in a select: a deadline, no sleep.
func timeoutCases(f *File) map[ast.Node]bool {
	cases := make(map[ast.Node]bool)
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectStmt); ok && len(s.Body.List) > 1 {
			for _, c := range s.Body.List {
				if c, ok := c.(*ast.CommClause); ok && c.Comm != nil {
					cases[c.Comm] = true
				}
			}
		}
		return true
	})
	return cases
}

// virtualTime reports whether a node is inside a call of synctest.Test, or of a function of internal/proof/virtual.
func virtualTime(f *File, names map[string]string) func(ast.Node) bool {
	var bubbles []*ast.CallExpr
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if f := called(call, names); f == "testing/synctest.Test" ||
				strings.Contains(f, "internal/proof/virtual.") {
				bubbles = append(bubbles, call)
			}
		}
		return true
	})
	return func(n ast.Node) bool {
		for _, b := range bubbles {
			if b.Pos() <= n.Pos() && n.End() <= b.End() {
				return true
			}
		}
		return false
	}
}
