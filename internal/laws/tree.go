package laws

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// Module is the import path of the repository.
const Module = "github.com/rota-run/rota"

// File is one Go file of the tree.
type File struct {
	Path string // from the root of the repository, with slashes
	Dir  string
	Test bool
	AST  *ast.File
	Fset *token.FileSet
	Size int // lines
}

// At is a position in the file, for messages.
func (f *File) At(p token.Pos) string {
	pos := f.Fset.Position(p)
	return f.Path + ":" + itoa(pos.Line)
}

// Load parses the Go files below root. Modules of their own and test data are left out.
func Load(root string) ([]*File, error) {
	var files []*File
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(path.Base(rel), ".") || rel == "bench" || rel == "bin" || rel == "contrib" || path.Base(rel) == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		f, err := Parse(name, rel)
		if err == nil {
			files = append(files, f)
		}
		return err
	})
	return files, err
}

// Parse parses one file; rel is where it counts as standing.
func Parse(name, rel string) (*File, error) { return parse(token.NewFileSet(), name, rel) }

// ParseInto parses one more file of a package, sharing the positions of those before.
func ParseInto(files []*File, name, rel string) (*File, error) {
	if files[0] == nil {
		return Parse(name, rel)
	}
	return parse(files[0].Fset, name, rel)
}

func parse(fset *token.FileSet, name, rel string) (*File, error) {
	tree, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &File{
		Path: rel, Dir: path.Dir(rel), Test: strings.HasSuffix(rel, "_test.go"), AST: tree, Fset: fset,
		Size: fset.File(tree.Pos()).LineCount(),
	}, nil
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}
