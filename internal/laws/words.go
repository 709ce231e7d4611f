package laws

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// The limits of files and functions, in lines.
const (
	maxFile = 600
	maxFunc = 100
)

// Words finds what is not documented, too long, or has a name that says nothing.
func Words(f *File) []string {
	var out []string
	add := func(n ast.Node, format string, args ...any) {
		out = append(out, fmt.Sprintf("%s: %s", f.At(n.Pos()), fmt.Sprintf(format, args...)))
	}
	if slices.Contains([]string{"util", "utils", "common", "helpers", "types", "misc", "base"}, f.AST.Name.Name) {
		add(f.AST, "package %s says nothing", f.AST.Name.Name)
	}
	if f.Size > maxFile {
		add(f.AST, "%d lines, at most %d", f.Size, maxFile)
	}
	for _, d := range f.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if lines := f.Fset.Position(d.End()).Line - f.Fset.Position(d.Pos()).Line + 1; lines > maxFunc {
				add(d, "%s has %d lines, at most %d", d.Name.Name, lines, maxFunc)
			}
			if d.Name.Name == "init" && d.Recv == nil {
				add(d, "init: say it where it is used")
			}
			if !f.Test && d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
				add(d, "%s is not documented", d.Name.Name)
			}
		case *ast.GenDecl:
			if !f.Test {
				undocumented(d, add)
			}
		}
	}
	return out
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

func undocumented(d *ast.GenDecl, add func(ast.Node, string, ...any)) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && d.Doc == nil && s.Comment == nil {
				add(s, "%s is not documented", s.Name.Name)
			}
		case *ast.ValueSpec:
			if s.Doc != nil || s.Comment != nil || d.Doc != nil {
				continue
			}
			for _, n := range s.Names {
				if n.IsExported() {
					add(s, "%s is not documented", n.Name)
				}
			}
		}
	}
}

// Sleeps finds tests that wait by sleeping, but for those in virtual time, and skips without a reason.
func Sleeps(f *File) []string {
	if !f.Test && !strings.Contains(path.Base(f.Dir), "test") {
		return nil
	}
	virtual := slices.ContainsFunc(f.AST.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` })
	var out []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, _ := sel.X.(*ast.Ident)
		switch {
		case x != nil && x.Name == "time" && sel.Sel.Name == "Sleep" && !virtual:
			out = append(out, f.At(call.Pos())+": a test sleeps; wait for a signal or a condition with a deadline")
		case sel.Sel.Name == "SkipNow", sel.Sel.Name == "Skip" && len(call.Args) == 0:
			out = append(out, f.At(call.Pos())+": a test is skipped without a reason")
		}
		return true
	})
	return out
}

// Headings finds packages of protocols and stores whose doc.go lacks the common headings.
func Headings(f *File) []string {
	if path.Base(f.Path) != "doc.go" || f.AST.Doc == nil {
		return nil
	}
	var want []string
	switch path.Dir(f.Dir) {
	case "protocol":
		want = []string{"# Purpose", "# State", "# Guarantees", "# What is not guaranteed", "# Failures", "# Where it comes from"}
	case "store":
		want = []string{"# Purpose", "# Guarantees"}
	}
	if strings.HasSuffix(f.Dir, "test") {
		return nil
	}
	var out []string
	for _, h := range want {
		if !strings.Contains(f.AST.Doc.Text(), h) {
			out = append(out, fmt.Sprintf("%s: the package's comment lacks the heading %q", f.Path, h))
		}
	}
	return out
}
