package laws

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
)

// TypedPurity finds what only types show: loops over maps, floats that nobody named, and calls from pure files to functions of the same package that
// are not pure themselves, however long the way.
//
// A loop over a map whose order cannot matter says so on its line or above it: // order-free: reason.
func TypedPurity(p *Package) []string {
	var out []string
	reach := impureFuncs(p)
	for _, f := range p.Files {
		if !Pure(f) {
			continue
		}
		sorted := sortedMaps(f)
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if what := p.typedImpurity(f, n, sorted, reach); what != "" {
				out = append(out, fmt.Sprintf("%s: pure code %s", f.At(n.Pos()), what))
			}
			return true
		})
	}
	return out
}

func (p *Package) typedImpurity(f *File, n ast.Node, sorted map[ast.Node]bool, reach map[types.Object]string) string {
	switch n := n.(type) {
	case *ast.RangeStmt:
		t := p.Info.TypeOf(n.X)
		if t == nil {
			return ""
		}
		if _, ok := t.Underlying().(*types.Map); ok && !f.said("order-free:", n.Pos()) {
			return "loops over a map; sort first, or say // order-free: why"
		}
	case *ast.CallExpr:
		if isFloat(p.Info.TypeOf(n)) {
			return "has a float"
		}
		if name := p.mapIterator(n); name != "" && !sorted[n] && !f.said("order-free:", n.Pos()) {
			return "takes maps." + name + " without sorting it; wrap it in slices.Sorted, or say // order-free: why"
		}
	case *ast.Ident:
		if why, ok := reach[p.Info.Uses[n]]; ok {
			return "calls " + why
		}
	}
	return ""
}

func isFloat(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0
}

// mapIterator is the name of the function of package maps that yields in the order of the map; "" for any other call.
func (p *Package) mapIterator(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	fn, ok := p.Info.Uses[sel.Sel].(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Pkg().Path() != "maps" || !slices.Contains([]string{"Keys", "Values", "All"}, fn.Name()) {
		return ""
	}
	return fn.Name()
}

// sortedMaps are the calls that stand directly inside slices.Sorted, slices.SortedFunc or slices.SortedStableFunc.
func sortedMaps(f *File) map[ast.Node]bool {
	sorted := make(map[ast.Node]bool)
	names := f.Names()
	ast.Inspect(f.AST, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if ok && names[x.Name] == "slices" && slices.Contains([]string{"Sorted", "SortedFunc", "SortedStableFunc"}, sel.Sel.Name) {
			sorted[call.Args[0]] = true
		}
		return true
	})
	return sorted
}

// impureFuncs are the functions and methods, declared in files that need not be pure, that do something impure or call one that does, with why.
func impureFuncs(p *Package) map[types.Object]string {
	impure := make(map[types.Object]string)
	calls := make(map[types.Object][]types.Object) // callee → callers
	for _, f := range p.Files {
		names := f.Names()
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || Pure(f) || fn.Body == nil {
				continue
			}
			self := p.Info.Defs[fn.Name]
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if what := bodyImpurity(n, names); what != "" && impure[self] == "" {
					impure[self] = fmt.Sprintf("%s, which %s (%s)", fn.Name.Name, what, f.At(n.Pos()))
				}
				if id, ok := n.(*ast.Ident); ok {
					if callee, ok := p.Info.Uses[id].(*types.Func); ok && callee.Pkg() == p.Types {
						calls[callee] = append(calls[callee], self)
					}
				}
				return true
			})
		}
	}
	for todo := slices.Collect(maps.Keys(impure)); len(todo) > 0; todo = todo[1:] {
		for _, caller := range calls[todo[0]] {
			if _, known := impure[caller]; !known {
				impure[caller] = caller.Name() + ", which calls " + impure[todo[0]]
				todo = append(todo, caller)
			}
		}
	}
	return impure
}

// bodyImpurity is impurity, but floats are left to the file that uses them.
func bodyImpurity(n ast.Node, names map[string]string) string {
	switch n.(type) {
	case *ast.Ident, *ast.BasicLit:
		return ""
	}
	return impurity(n, names)
}
