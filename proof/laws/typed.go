package laws

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Exports finds the compiled form of packages, so that files can be type-checked without compiling what they import
// once more.
type Exports struct {
	files map[string]string // by import path
}

// FindExports asks the go command, in dir, for the packages and all that they import. It compiles what is not in the
// build cache.
func FindExports(dir string, packages ...string) (*Exports, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"},
		packages...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w: %s", err, stderr.String())
	}
	e := &Exports{files: make(map[string]string)}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			e.files[path] = file
		}
	}
	return e, nil
}

// Built tells whether the file is built on this machine, by its name and its build constraints.
func Built(f *File) bool {
	ok, err := build.Default.MatchFile(filepath.Dir(f.Fset.Position(f.AST.Pos()).Filename), path.Base(f.Path))
	return ok && err == nil
}

func (e *Exports) open(path string) (io.ReadCloser, error) {
	file, ok := e.files[path]
	if !ok {
		return nil, fmt.Errorf("no export data of %s", path)
	}
	return os.Open(file)
}

// Package is a package with types.
type Package struct {
	Files []*File
	Info  *types.Info
	Types *types.Package
}

// Check type-checks the files of one package; all must share one FileSet. Any fault of types is an error: what has no
// type would be seen by no law.
func (e *Exports) Check(importPath string, files []*File) (*Package, error) {
	if len(files) == 0 {
		return nil, errors.New("no files")
	}
	info := &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object),
		Defs: make(map[*ast.Ident]types.Object),
	}
	var trees []*ast.File
	for _, f := range files {
		trees = append(trees, f.AST)
	}
	conf := types.Config{Importer: importer.ForCompiler(files[0].Fset, "gc", e.open)}
	pkg, err := conf.Check(importPath, files[0].Fset, trees, info)
	if err != nil {
		return nil, fmt.Errorf("check types of %s: %w", importPath, err)
	}
	return &Package{Files: files, Info: info, Types: pkg}, nil
}

// TypedPurity finds what only types show: loops over maps, floats that nobody named, and calls from pure files to
// functions of the same package that are not pure themselves, however long the way.
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
	if !ok || fn.Pkg() == nil || fn.Pkg().Path() != "maps" ||
		!slices.Contains([]string{"Keys", "Values", "All"}, fn.Name()) {
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
		if ok && names[x.Name] == "slices" && slices.Contains([]string{"Sorted", "SortedFunc", "SortedStableFunc"},
			sel.Sel.Name) {
			sorted[call.Args[0]] = true
		}
		return true
	})
	return sorted
}

// impureFuncs are the functions and methods, declared in files that need not be pure, that do something impure or call
// one that does, with why.
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
