package laws

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
)

// The limits of files and functions, in lines.
const (
	maxFile = 600
	maxFunc = 100
)

// emptyNames are names of packages that do not say what is inside.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "types", "structs", "misc", "base", "shared", "lib"}

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
			out = append(out, fmt.Sprintf("%s: function %s has %d lines, at most %d", f.At(fn.Pos()), fn.Name.Name, lines, maxFunc))
		}
	}
	return out
}
