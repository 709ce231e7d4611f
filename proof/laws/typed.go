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
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Exports finds the compiled form of packages, so that files can be type-checked without compiling what they import once more.
type Exports struct {
	files map[string]string // by import path
}

// FindExports asks the go command, in dir, for the packages and all that they import. It compiles what is not in the build cache.
func FindExports(dir string, packages ...string) (*Exports, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, packages...)...)
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

// Check type-checks the files of one package; all must share one FileSet. Any fault of types is an error: what has no type
// would be seen by no law.
func (e *Exports) Check(importPath string, files []*File) (*Package, error) {
	if len(files) == 0 {
		return nil, errors.New("no files")
	}
	info := &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object), Defs: make(map[*ast.Ident]types.Object),
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
