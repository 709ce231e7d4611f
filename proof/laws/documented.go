package laws

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// Documented finds exported names without a comment. A comment on a group counts for all of it.
func Documented(f *File) []string {
	if f.Test {
		return nil
	}
	var out []string
	add := func(n ast.Node, name string) {
		out = append(out, fmt.Sprintf("%s: %s is exported and not documented", f.At(n.Pos()), name))
	}
	for _, d := range f.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
				add(d, d.Name.Name)
			}
		case *ast.GenDecl:
			undocumented(d, add)
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

func undocumented(d *ast.GenDecl, add func(ast.Node, string)) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && d.Doc == nil && s.Comment == nil {
				add(s, s.Name.Name)
			}
		case *ast.ValueSpec:
			if s.Doc != nil || s.Comment != nil || d.Doc != nil {
				continue
			}
			for _, n := range s.Names {
				if n.IsExported() {
					add(s, n.Name)
				}
			}
		}
	}
}

// Headings finds packages without a comment, and packages of protocols and stores whose comment lacks the headings that
// all of them have. It takes the files of one package.
func Headings(files []*File) []string {
	doc, dir := "", ""
	for _, f := range files {
		if !f.Test {
			dir = f.Dir
			doc += f.AST.Doc.Text()
		}
	}
	if dir == "" {
		return nil
	}
	if doc == "" {
		return []string{dir + ": the package has no comment: write a doc.go"}
	}
	var out []string
	for _, h := range headings(dir) {
		if !slices.Contains(strings.Split(doc, "\n"), h) {
			out = append(out, fmt.Sprintf("%s: the package's comment lacks the heading %q", dir, h))
		}
	}
	return out
}

func headings(dir string) []string {
	limits := []string{"# Purpose", "# Guarantees", "# What is not guaranteed", "# Failures"}
	switch {
	case strings.HasSuffix(dir, "test"):
		return []string{"# Purpose"}
	case slices.Contains([]string{"internal/protocol/duty", "internal/protocol/elect"}, dir):
		return nil // each is a function of its callers
	case slices.Contains([]string{"replica", "leader", "lease", "sync", "heartbeat"}, path.Base(dir)) &&
		path.Dir(dir) == "internal/protocol":
		return append(limits, "# State", "# Where it comes from")
	case path.Dir(dir) == "internal/protocol":
		return append(limits, "# State")
	case path.Dir(dir) == "store", slices.Contains([]string{"store/internal/fold", "store/internal/logqueue",
		"internal/store/handle"}, dir):
		return limits
	case slices.Contains([]string{"store", "work", "internal/work/supervisor", "tasks", "internal/node", "source",
		"internal/api", "cluster", "internal/schedule", "internal/flow", "proof/sim"}, dir):
		return []string{"# Purpose"}
	}
	return nil
}
