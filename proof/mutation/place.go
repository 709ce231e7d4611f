package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// edit is a change of a file: what stands from at to end becomes is.
type edit struct {
	at, end token.Pos
	is      string
}

// turned are the operators that become others.
var turned = map[token.Token][]string{ // read-only: a table
	token.EQL: {"!="}, token.NEQ: {"=="},
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"}, token.GTR: {">=", "<="}, token.GEQ: {">", "<"},
	token.ADD: {"-"}, token.SUB: {"+"}, token.MUL: {"/"}, token.QUO: {"*"}, token.REM: {"*"},
	token.LAND: {"||"}, token.LOR: {"&&"}, token.INC: {"--"}, token.DEC: {"++"}, token.NOT: {""},
}

// swallow is a call that drops an error, before the error.
const swallow = "func(error) error { return nil }("

// finder finds the faults of one function.
type finder struct {
	text   func(ast.Node) string // of the source
	fails  bool                  // its last result is an error
	within map[ast.Node]bool     // statements that a fault of what is around them is enough for
	edits  []edit
}

// find returns the mistakes that can be made in a function, always in the same order: an operator is another one,
// a statement is missing, a condition always or never holds, an error is swallowed, true is false.
func (f *finder) find(in *ast.FuncDecl) []edit {
	if r := in.Type.Results; r != nil {
		f.fails = f.text(r.List[len(r.List)-1].Type) == "error"
	}
	f.within = make(map[ast.Node]bool)
	ast.Inspect(in.Body, f.visit)
	return f.edits
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit: // its results are others
		inner := finder{text: f.text, within: f.within}
		ast.Inspect(n.Body, inner.visit)
		f.edits = append(f.edits, inner.edits...)
		return false
	case *ast.BinaryExpr:
		f.turn(n.OpPos, n.Op)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			f.turn(n.OpPos, n.Op)
		}
	case *ast.IncDecStmt:
		f.turn(n.TokPos, n.Tok)
	case *ast.BlockStmt:
		f.remove(n.List)
	case *ast.CaseClause:
		f.remove(n.Body)
	case *ast.CommClause:
		f.remove(n.Body)
	case *ast.IfStmt:
		if len(n.Body.List) == 1 && n.Else == nil {
			f.within[n.Body.List[0]] = true
		}
		f.replace(n.Cond, "("+f.text(n.Cond)+") && false")
		f.replace(n.Cond, "("+f.text(n.Cond)+") || true")
	case *ast.Ident:
		switch n.Name {
		case "true":
			f.replace(n, "false")
		case "false":
			f.replace(n, "true")
		}
	case *ast.ReturnStmt:
		if r := n.Results; f.fails && len(r) > 0 && !f.within[n] && f.text(r[len(r)-1]) != "nil" {
			f.replace(r[len(r)-1], swallow+f.text(r[len(r)-1])+")")
		}
	}
	return true
}

func (f *finder) replace(n ast.Node, is string) {
	f.edits = append(f.edits, edit{n.Pos(), n.End(), is})
}

func (f *finder) turn(at token.Pos, op token.Token) {
	for _, is := range turned[op] {
		f.edits = append(f.edits, edit{at, at + token.Pos(len(op.String())), is})
	}
}

func (f *finder) remove(list []ast.Stmt) {
	for _, s := range list {
		if f.removable(s) && !f.within[s] {
			f.replace(s, "")
		}
	}
}

// free are calls that no test of behaviour has to notice: logs, locks (the race detector's), and what only saves.
var free = []string{".Debug(", ".Info(", ".Warn(", ".Error(", "Lock()", "cancel()", "stop()", ".Grow("}

// removable reports whether a function can go on without a statement.
func (f *finder) removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.IncDecStmt, *ast.BranchStmt:
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE || f.text(s.Lhs[0]) == "_" {
			return false
		}
	case *ast.ReturnStmt:
		return len(s.Results) == 0
	default:
		return false
	}
	return !slices.ContainsFunc(free, func(call string) bool { return strings.Contains(f.text(s), call) })
}
