package laws

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the import path of the repository.
const Module = "github.com/rota-run/rota"

// File is one Go file of the tree.
type File struct {
	Path string // from the root of the repository, with slashes
	Dir  string // "." for the root
	Test bool
	AST  *ast.File
	Fset *token.FileSet
	Size int // lines
}

// At is a position in the file, for messages.
func (f *File) At(p token.Pos) string { return f.Path + ":" + strconv.Itoa(f.line(p)) }

func (f *File) line(p token.Pos) int { return f.Fset.Position(p).Line }

// Names gives, by the name under which the file uses it, the path of each import.
func (f *File) Names() map[string]string {
	names := make(map[string]string, len(f.AST.Imports))
	for _, imp := range f.AST.Imports {
		p := importPath(imp)
		name := path.Base(p)
		if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
			name = path.Base(path.Dir(p))
		}
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = p
	}
	return names
}

// said tells whether a comment on the line or the line above it has the marker, such as "order-free:", with a reason
// behind it.
func (f *File) said(marker string, p token.Pos) bool {
	line := f.line(p)
	for _, g := range f.AST.Comments {
		for _, c := range g.List {
			if _, reason, ok := strings.Cut(c.Text, marker); !ok || strings.TrimSpace(reason) == "" {
				continue
			}
			if at := f.line(c.Pos()); at == line || at <= line && f.line(g.End()) == line-1 {
				return true
			}
		}
	}
	return false
}

func importPath(imp *ast.ImportSpec) string {
	p, err := strconv.Unquote(imp.Path.Value)
	if err != nil {
		return imp.Path.Value
	}
	return p
}

// Folders that are not walked: what is built or left by a run; and for Go files also what tests read.
var (
	notOurs = []string{".git", "bin", "dist", "rota-data", "node_modules"}
	notCode = append([]string{"testdata"}, notOurs...)
)

// Load parses the Go files below root.
func Load(root string) ([]*File, error) {
	var files []*File
	fset := token.NewFileSet()
	err := walk(root, notCode, func(name, rel string) error {
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		f, err := Parse(fset, name, rel, nil)
		if err == nil {
			files = append(files, f)
		}
		return err
	})
	return files, err
}

// walk calls visit for each file below root, but for those in folders of the names to skip, with its name and its path
// from root.
func walk(root string, skip []string, visit func(name, rel string) error) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(skip, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || d.Name() == ".git" {
			return nil
		}
		return visit(name, filepath.ToSlash(rel))
	})
}

// Parse parses one file, or its text where that is given; rel is where it counts as standing.
func Parse(fset *token.FileSet, name, rel string, text any) (*File, error) {
	tree, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &File{
		Path: rel, Dir: path.Dir(rel), Test: strings.HasSuffix(rel, "_test.go"), AST: tree, Fset: fset,
		Size: fset.File(tree.FileStart).LineCount(),
	}, nil
}
