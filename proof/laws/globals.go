package laws

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Globals finds init functions, and package variables that can serve as a registry: maps, channels, and whatever holds
// a lock. A map that is only read says so on its line or above it: // read-only: reason.
func Globals(f *File) []string {
	var out []string
	for _, d := range f.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				out = append(out, f.At(d.Pos())+": init: do it where it is used; cmd lists drivers in a table")
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR && !f.Test {
				out = append(out, globalState(f, d)...)
			}
		}
	}
	return out
}

func globalState(f *File, d *ast.GenDecl) []string {
	var out []string
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		what := stateful(v.Type, f.Names())
		for _, value := range v.Values {
			if what == "" {
				what = stateful(valueType(value), f.Names())
			}
		}
		if what != "" && !f.said("read-only:", v.Pos()) {
			out = append(out, fmt.Sprintf("%s: the package variable %s is a %s; pass it in, or say // read-only: why",
				f.At(v.Pos()), v.Names[0].Name, what))
		}
	}
	return out
}

// valueType is the type that an initial value shows; nil if it shows none.
func valueType(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return e.Type
	case *ast.UnaryExpr:
		return valueType(e.X)
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok && (id.Name == "make" || id.Name == "new") && len(e.Args) > 0 {
			return e.Args[0]
		}
	}
	return nil
}

func stateful(t ast.Expr, names map[string]string) string {
	switch t := t.(type) {
	case *ast.MapType:
		return "map"
	case *ast.ChanType:
		return "channel"
	case *ast.StarExpr:
		return stateful(t.X, names)
	case *ast.IndexExpr:
		return stateful(t.X, names)
	case *ast.SelectorExpr:
		if x, ok := t.X.(*ast.Ident); ok && (names[x.Name] == "sync" || names[x.Name] == "sync/atomic") {
			return x.Name + "." + t.Sel.Name
		}
	}
	return ""
}

// The limits of files and functions, in lines.
const (
	maxFile = 600
	maxFunc = 100
)

// The columns of a comment: a tab counts as four of them.
const (
	maxColumns = 120
	tab        = 4
)

// Columns finds comments that are too wide to be read. What is drawn or tabulated is indented, and may be wider; what
// stands behind code is not looked at.
func Columns(f *File) []string {
	const deepest = 8
	var out []string
	for _, g := range f.AST.Comments {
		for _, c := range g.List {
			depth := f.Fset.Position(c.Pos()).Column - 1
			width := depth*tab + utf8.RuneCountInString(c.Text)
			prose := strings.HasPrefix(c.Text, "// ") && !strings.HasPrefix(c.Text, "//  ")
			if depth <= deepest && width > maxColumns && prose && strings.Contains(c.Text[len("// "):], " ") {
				out = append(out, fmt.Sprintf("%s: a comment has %d columns, at most %d", f.At(c.Pos()), width,
					maxColumns))
			}
		}
	}
	return out
}

// Methods finds methods in package ordered: the compiler makes those of a generic type again in each package that knows
// a type with such a field, which took more time than all else (docs/decisions/0129-ordered-maps-have-functions.md).
func Methods(f *File) []string {
	var out []string
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && f.Dir == "internal/ordered" {
			out = append(out, fmt.Sprintf("%s: %s is a method; a function is compiled once", f.At(fn.Pos()), fn.Name.Name))
		}
	}
	return out
}

// emptyNames are names of packages that do not say what is inside.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "types", "structs", "misc", "base", "shared",
	"lib"}

// Sizes finds files and functions that are too long and packages whose names say nothing.
func Sizes(f *File) []string {
	var out []string
	if name := f.AST.Name.Name; slices.Contains(emptyNames, name) || slices.Contains(emptyNames, path.Base(f.Dir)) {
		out = append(out, fmt.Sprintf("%s: the package name %q says nothing", f.Path, name))
	}
	if f.Size > maxFile {
		out = append(out, fmt.Sprintf("%s: %d lines, at most %d", f.Path, f.Size, maxFile))
	}
	for _, d := range f.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if lines := f.line(fn.End()) - f.line(fn.Pos()) + 1; lines > maxFunc {
			out = append(out, fmt.Sprintf("%s: function %s has %d lines, at most %d", f.At(fn.Pos()), fn.Name.Name,
				lines, maxFunc))
		}
	}
	return out
}
