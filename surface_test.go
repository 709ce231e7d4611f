package rota_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

var update = flag.Bool("update", false, "rewrite docs/api.txt")

// TestSurface compares all exported identifiers with docs/api.txt, so that no change of the public surface goes
// unnoticed.
func TestSurface(t *testing.T) {
	t.Parallel()
	const golden = "docs/api.txt"
	got := "# The exported identifiers of each package. After a change on purpose: go test -run TestSurface -update .\n"
	for _, dir := range publicFolders(t) {
		if lines := surfaceOf(t, dir); len(lines) > 0 {
			got += "\npackage " + filepath.ToSlash(filepath.Join("rota", dir)) + "\n\t" + strings.Join(lines, "\n\t") +
				"\n"
		}
	}
	if *update {
		must.Succeed(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want := must.Get(os.ReadFile(golden))(t)
	if got == string(want) {
		return
	}
	before, after := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for _, line := range before {
		if !slices.Contains(after, line) {
			t.Errorf("gone: %s", line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			t.Errorf("new: %s", line)
		}
	}
	t.Errorf("%s is not up to date: go test -run TestSurface -update .", golden)
}

// publicFolders returns the folders that users of this module can import, sorted.
func publicFolders(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		_, err = os.Stat(filepath.Join(path, "go.mod"))
		name := d.Name()
		if path != "." && (err == nil || name == "internal" || name == "testdata" || name == "cmd" ||
			name == "examples" || name[0] == '.') {
			return fs.SkipDir
		}
		dirs = append(dirs, path)
		return nil
	})
	must.Succeed(t, err)
	return dirs
}

// surfaceOf describes what the files of a folder export, for all platforms together. Sorted, each line once.
func surfaceOf(t *testing.T, dir string) []string {
	t.Helper()
	names := must.Get(filepath.Glob(filepath.Join(dir, "*.go")))(t)
	var s surface
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution))(t)
		for _, d := range f.Decls {
			s.declaration(d)
		}
	}
	slices.Sort(s.lines)
	return slices.Compact(s.lines)
}

type surface struct{ lines []string }

func (s *surface) add(format string, args ...any) {
	s.lines = append(s.lines, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

func (s *surface) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		s.function(d)
	case *ast.GenDecl:
		var last ast.Expr // the type of a constant that repeats the expression of the one above
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				if spec.Type != nil || spec.Values != nil {
					last = spec.Type
				}
				s.values(d.Tok, spec.Names, last)
			case *ast.TypeSpec:
				s.typ(spec)
			}
		}
	}
}

func (s *surface) function(d *ast.FuncDecl) {
	sig := d.Name.Name + written(d.Type.TypeParams) + strings.TrimPrefix(written(d.Type), "func")
	switch {
	case !d.Name.IsExported():
	case d.Recv == nil:
		s.add("func %s", sig)
	case ast.IsExported(receiver(d.Recv.List[0].Type)):
		s.add("method (%s) %s", written(d.Recv.List[0].Type), sig)
	}
}

// receiver is the name of a receiver's type, without its pointer and type parameters.
func receiver(e ast.Expr) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(written(e), "*"), "[")
	return name
}

func (s *surface) values(kind token.Token, names []*ast.Ident, typ ast.Expr) {
	for _, n := range names {
		if n.IsExported() {
			s.add("%s %s %s", kind, n.Name, written(typ))
		}
	}
}

func (s *surface) typ(spec *ast.TypeSpec) {
	if !spec.Name.IsExported() {
		return
	}
	name := spec.Name.Name
	params := written(spec.TypeParams)
	switch t := spec.Type.(type) {
	case *ast.StructType:
		s.add("type %s%s struct", name, params)
		s.members("field "+name, t.Fields)
	case *ast.InterfaceType:
		s.add("type %s%s interface", name, params)
		s.members("interface "+name, t.Methods)
	default:
		alias := ""
		if spec.Assign.IsValid() {
			alias = "= "
		}
		s.add("type %s%s %s%s", name, params, alias, written(t))
	}
}

// members are the exported fields of a struct or the methods of an interface. A method that is not exported seals the
// interface.
func (s *surface) members(prefix string, list *ast.FieldList) {
	for _, f := range list.List {
		if len(f.Names) == 0 {
			s.add("%s embeds %s", prefix, written(f.Type))
		}
		for _, n := range f.Names {
			if n.IsExported() {
				s.add("%s.%s %s", prefix, n.Name, written(f.Type))
			} else if _, method := f.Type.(*ast.FuncType); method && strings.HasPrefix(prefix, "interface") {
				s.add("%s is sealed", prefix)
			}
		}
	}
}

// written prints a type as it is written, and type parameters in brackets.
func written(n ast.Node) string {
	switch n := n.(type) {
	case nil:
		return ""
	case *ast.FieldList:
		if n == nil {
			return ""
		}
		all := make([]string, len(n.List))
		for i, f := range n.List {
			all[i] = names(f.Names) + " " + written(f.Type)
		}
		return "[" + strings.Join(all, ", ") + "]"
	case *ast.FuncType:
		plain := *n
		plain.TypeParams = nil
		return printed(&plain)
	default:
		return printed(n)
	}
}

func printed(n ast.Node) string {
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		return err.Error()
	}
	return b.String()
}

func names(all []*ast.Ident) string {
	var out []string
	for _, n := range all {
		out = append(out, n.Name)
	}
	return strings.Join(out, ", ")
}
