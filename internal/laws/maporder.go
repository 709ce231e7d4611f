package laws

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/types"
	"strings"
)

// MapOrder finds loops over maps in the pure files of a package: the order of a map differs from run to run and must not reach any result.
// A loop whose order cannot matter says so on its line: // order-free: reason.
func MapOrder(files []*File) []string {
	if len(files) == 0 {
		return nil
	}
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
	conf := types.Config{Importer: importer.ForCompiler(files[0].Fset, "source", nil), Error: func(error) {}, FakeImportC: true}
	trees := make([]*ast.File, len(files))
	for i, f := range files {
		trees[i] = f.AST
	}
	_, _ = conf.Check(files[0].Dir, files[0].Fset, trees, info) // what cannot be resolved has no type and is not a map of ours
	var out []string
	for _, f := range files {
		out = append(out, mapLoops(f, info)...)
	}
	return out
}

func mapLoops(f *File, info *types.Info) []string {
	free := make(map[int]bool)
	for _, g := range f.AST.Comments {
		for _, c := range g.List {
			if strings.Contains(c.Text, "order-free:") {
				free[f.Fset.Position(c.Pos()).Line] = true
			}
		}
	}
	var out []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		r, ok := n.(*ast.RangeStmt)
		if !ok {
			return true
		}
		t := info.TypeOf(r.X)
		if t == nil {
			return true
		}
		if _, isMap := t.Underlying().(*types.Map); isMap && !free[f.Fset.Position(r.Pos()).Line] {
			out = append(out, fmt.Sprintf("%s: pure code loops over a map; sort first, or say // order-free: why", f.At(r.Pos())))
		}
		return true
	})
	return out
}
